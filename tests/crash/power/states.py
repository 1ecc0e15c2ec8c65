"""The states that a power cut may leave, made of a record of what a program did to the disk.

What was synced is there: the content of a file by a sync of the file, the names in a folder by a sync of the folder. Of the
rest, any part may be:

- Of a file, its changes up to one of them, that one in part; or of each of its blocks another version, with the size of a
  third one, as when a file has grown and its last blocks are zeros.
- Of a folder, its changes up to one of them; or any of them, if of each name those that come before one that is there are
  there too. A rename is whole or did not happen, also one from folder to folder.
- Names may be there without contents, and contents without names.

Each state is one number: the same number gives the same state.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.power.recording import Event, What

_BLOCKS = (512, 4096)
_EXCHANGE = 2
_ANY_NAMES = 1 / 3  # of the states have any of the changes of names
_ENDS = (What.SYNC, What.SYNC_ALL, What.RENAME, What.UNLINK, What.LINK, What.NOTE)

Change = tuple[int, bytes] | int  # bytes at an offset, or a size


@dataclass(eq=False, slots=True)
class File:
    """A file: what is on the medium for sure, and what was done to it since."""

    synced: bytes = b""
    changes: list[Change] = field(default_factory=list)

    def sync(self) -> None:
        if self.changes:
            self.synced = self.content()
            self.changes = []

    def content(self, many: int | None = None, torn: float = 0.0) -> bytes:
        """Return it after the first changes, and a part of the next."""
        many = len(self.changes) if many is None else many
        data = bytearray(self.synced)
        for change in self.changes[:many]:
            _do(data, change)
        if torn and many < len(self.changes) and not isinstance(change := self.changes[many], int):
            _do(data, (change[0], change[1][: int(len(change[1]) * torn)]))
        return bytes(data)

    def sizes(self) -> list[int]:
        """Return its size before and after each change."""
        found = [len(self.synced)]
        for change in self.changes:
            found.append(change if isinstance(change, int) else max(found[-1], change[0] + len(change[1])))
        return found

    def mixed(self, chance: random.Random, block: int, size: int) -> bytes:
        """Return each block as it was after any of the changes, cut or filled up to a size."""
        many = len(self.changes)
        data = bytearray(self.synced) + bytes(max(0, max(self.sizes()) - len(self.synced)))
        extreme = chance.random() < 0.5
        seen: dict[int, int] = {}  # until which change a block came

        def until(number: int) -> int:
            if number not in seen:
                seen[number] = chance.choice((0, many)) if extreme else chance.randint(0, many)
            return seen[number]

        for place, change in enumerate(self.changes):
            start, new = (change, bytes(len(data) - change)) if isinstance(change, int) else change
            end = start + len(new)
            for number in range(start // block, -(-end // block)):
                if place < until(number):
                    low, high = max(start, number * block), min(end, (number + 1) * block)
                    data[low:high] = new[low - start : high - start]
        return bytes(data[:size])

    def left(self, chance: random.Random) -> bytes:
        """Return what a cut may leave of it."""
        if not self.changes:
            return self.synced
        way, many = chance.randrange(6), len(self.changes)
        if way == 0:
            return self.synced
        if way == 1:
            return self.content(chance.randint(0, many), chance.random())
        if way == 2:  # the size is there, what was written is not
            size = self.sizes()[-1]
            return self.synced[:size] + bytes(max(0, size - len(self.synced)))
        if way == 3:  # what was written is there, the size is not
            return self.content()[: len(self.synced)]
        return self.mixed(chance, chance.choice(_BLOCKS), chance.choice(self.sizes()))


def _do(data: bytearray, change: Change) -> None:
    size = change if isinstance(change, int) else change[0]
    if len(data) < size:
        data.extend(bytes(size - len(data)))
    if isinstance(change, int):
        del data[change:]
    else:
        data[change[0] : change[0] + len(change[1])] = change[1]


@dataclass(eq=False, slots=True)
class Folder:
    """A folder: the names in it that are on the medium for sure, and what was done since, with the event's number."""

    synced: dict[bytes, Node] = field(default_factory=dict)
    changes: list[tuple[int, bytes, Node | None]] = field(default_factory=list)
    floor: int = 0  # changes before this event are on the medium, since the other half of a rename is
    halves: set[int] = field(default_factory=set)  # the renames of which the other half is on the medium

    def sync(self) -> None:
        self.synced = self.names()
        self.changes = []
        self.halves.clear()

    def names(self, those: Container[int] | None = None) -> dict[bytes, Node]:
        """Return what is in it after the changes of some events; after all, if none are named."""
        found = dict(self.synced)
        for number, name, node in self.changes:
            if those is None or number in those:
                if node is None:
                    found.pop(name, None)
                else:
                    found[name] = node
        return found


Node = File | Folder | bytes  # the last is where a symbolic link leads


class Medium:
    """What is on a disk, and what may be, after some of the events of a record."""

    def __init__(self) -> None:
        self.root = Folder()
        self.told: list[str] = []
        self.number = 0
        self._nodes: dict[int, Node] = {}
        self._moves: list[tuple[int, Folder, Folder]] = []  # renames from folder to folder
        self._last_sync = 0

    def do(self, event: Event) -> None:
        """Let one event happen."""
        number, what, node = self.number, event.what, self._nodes.get(event.file)
        self.number += 1
        if what is What.NOTE:
            self.told.append(event.data.decode())
        elif what is What.ROOT:
            self._nodes[event.file] = self.root
        elif what is What.SYNC_ALL:
            for each in [*self._nodes.values()]:
                self._sync(each)
        elif what is What.SYNC:
            self._sync(node)
        elif isinstance(node, File):
            if what is What.WRITE:
                node.changes.append((event.other, event.data))
            elif what is What.TRUNCATE:
                node.changes.append(event.other)
        elif isinstance(node, Folder):
            self._name(number, event, node)
        elif what in (What.CREATE, What.MKDIR, What.SYMLINK):
            self._nodes.pop(event.other, None)  # a number that is used again, outside of what is recorded

    def _name(self, number: int, event: Event, folder: Folder) -> None:
        what, new = event.what, self._nodes.get(event.other)
        if what is What.RENAME:
            to = new if isinstance(new, Folder) else Folder()
            one, other = folder.names().get(event.name), to.names().get(event.second)
            folder.changes.append((number, event.name, other if event.more & _EXCHANGE else None))
            to.changes.append((number, event.second, one))
            if to is not folder:
                self._moves.append((number, folder, to))
        elif what is What.UNLINK:
            folder.changes.append((number, event.name, None))
        else:
            if what is What.CREATE:
                new = File()
            elif what is What.MKDIR:
                new = Folder()
            elif what is What.SYMLINK:
                new = event.second
            if new is not None:
                self._nodes[event.other] = new
                folder.changes.append((number, event.name, new))

    def _sync(self, node: Node | None) -> None:
        if isinstance(node, File):
            node.sync()
        elif isinstance(node, Folder):
            for number, *both in self._moves:
                if node in both and any(number == change[0] for change in node.changes):
                    for one in both:
                        one.floor = max(one.floor, number + 1)
                        if one is not node:
                            one.halves.add(number)
            node.sync()
        self._last_sync = self.number

    def folders(self) -> list[Folder]:
        """List the folders, also those that have no name."""
        return [node for node in self._nodes.values() if isinstance(node, Folder)]

    def cuts(self, chance: random.Random) -> dict[Folder, int]:
        """Choose for each folder the event up to which its changes are there."""
        folders = self.folders()
        way = chance.randrange(6)
        if way == 0:
            found = dict.fromkeys(folders, 0)
        elif way == 1:
            found = dict.fromkeys(folders, self.number)
        elif way == 2:  # one journal for all folders, and each sync writes all of it, as ext4 and XFS have
            found = dict.fromkeys(folders, chance.randint(self._last_sync, self.number))
        else:
            found = {folder: chance.choice((0, self.number, chance.randint(0, self.number))) for folder in folders}
        found = {folder: max(until, folder.floor) for folder, until in found.items()}
        settled = False
        while not settled:
            settled = True
            for number, one, other in self._moves:
                there = [folder for folder in (one, other) if found.get(folder, 0) > number]
                if len(there) == 1:
                    settled = False
                    found[one] = max(found.get(one, 0), number + 1)
                    found[other] = max(found.get(other, 0), number + 1)
        return found

    def any_names(self, chance: random.Random) -> set[int]:
        """Choose any of the changes of names: the numbers of their events."""
        folders = [folder for folder in self.folders() if folder.changes]
        share = chance.choice((0.1, 0.5, 0.9))
        numbers = sorted({number for folder in folders for number, _, _ in folder.changes})
        found = {number for number in numbers if chance.random() < share}
        found.update(*(folder.halves for folder in folders))
        return _with_earlier(found, folders)

    def kept_names(self, chance: random.Random) -> Callable[[Folder], Container[int] | None]:
        """Choose for each folder the events whose changes are there."""
        if chance.random() < _ANY_NAMES:
            found = self.any_names(chance)
            return lambda _: found
        cuts = self.cuts(chance)
        return lambda folder: None if folder not in cuts else range(cuts[folder])

    def leave(self, path: Path, chance: random.Random) -> None:
        """Make, in a folder that is there, what a cut may leave now."""
        kept = self.kept_names(chance)
        odd = chance.random() / 2  # how many of the files are not as the others are
        usual = chance.choice(("kept", "lost", "any"))

        def content(file: File) -> bytes:
            if not file.changes:
                return file.synced
            if usual == "any" or chance.random() < odd:
                return file.left(chance)
            return file.content() if usual == "kept" else file.synced

        _fill(self.root, path, lambda folder: folder.names(kept(folder)), content, {})

    def leave_all(self, path: Path) -> None:
        """Make, in a folder that is there, what the program sees now."""
        _fill(self.root, path, Folder.names, File.content, {})


def _with_earlier(numbers: set[int], folders: Sequence[Folder]) -> set[int]:
    """Add what came before any of some events at the same names: of one name, changes are there in their order."""
    found, size = set(numbers), -1
    while size != len(found):
        size = len(found)
        for folder in folders:
            there: set[bytes] = set()
            for number, name, _ in reversed(folder.changes):
                if number in found:
                    there.add(name)
                elif name in there:
                    found.add(number)
    return found


def _fill(
    folder: Folder,
    path: Path,
    names: Callable[[Folder], dict[bytes, Node]],
    content: Callable[[File], bytes],
    made: dict[File, Path],
) -> None:
    for name, node in sorted(names(folder).items()):
        target = path / os.fsdecode(name)
        if isinstance(node, Folder):
            target.mkdir()
            _fill(node, target, names, content, made)
        elif isinstance(node, bytes):
            target.symlink_to(os.fsdecode(node))
        elif node in made:
            target.hardlink_to(made[node])
        else:
            _write(target, content(node))
            made[node] = target


def _write(path: Path, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def moments(events: Sequence[Event], seeds: Iterable[int]) -> list[tuple[int, int]]:
    """Choose for each seed after how many events the cut comes; in order of the moments, each with its seed."""
    ends = [number + 1 for number, event in enumerate(events) if event.what in _ENDS]
    notes = [number + 1 for number, event in enumerate(events) if event.what is What.NOTE]
    found = []
    for seed in seeds:
        chance = random.Random(seed)
        where = chance.random()
        if where < 0.4:
            moment = chance.randint(0, len(events))
        else:
            moment = chance.choice(notes if where > 0.8 and notes else ends) - chance.randint(0, 1)
        found.append((moment, seed))
    return sorted(found)


def left(events: Sequence[Event], seeds: Iterable[int]) -> Iterator[tuple[int, Medium]]:
    """Go through the moments of some seeds: each seed, and what is on the disk then."""
    medium = Medium()
    for moment, seed in moments(events, seeds):
        while medium.number < moment:
            medium.do(events[medium.number])
        yield seed, medium
