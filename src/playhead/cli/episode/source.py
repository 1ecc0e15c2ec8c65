"""Which dataset or episode is meant: a name in the store, or a path."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playhead import layout, strictjson
from playhead.cli.errors import complain
from playhead.errors import Damaged, NotAStore, NotFound
from playhead.layout import DatasetFolder, EpisodeFolder
from playhead.paths import as_path

if TYPE_CHECKING:
    from playhead.dataset import EditedDataset
    from playhead.episode import Episode

DROPPED, UNFINISHED = "dropped", "unfinished"

_TWELVE = re.compile(r"\d{12}")
_INDEX = re.compile(r"-?\d+")
_LISTED = 8


@dataclass(frozen=True, slots=True)
class Entry:
    """An episode in the list of its dataset.

    Attributes:
        folder: Its files.
        index: Its place in the dataset; None for one that is dropped or unfinished.
        state: Empty, `dropped` or `unfinished`.
    """

    folder: EpisodeFolder
    index: int | None
    state: str = ""


class Source:
    """A dataset that a text means.

    A list of ten thousand episodes must not take seconds, so that nothing large is imported here before it is needed.

    Args:
        label: What to call it: its name in the store, else its path.
        path: Its folder.
        name: Its name in the store; None where it lies elsewhere.
    """

    def __init__(self, label: str, path: Path, name: str | None = None) -> None:
        self.label = label
        self.path = path
        self.name = name

    @cached_property
    def folders(self) -> list[EpisodeFolder]:
        """The folders of all episodes, in order."""
        place = DatasetFolder(self.path)
        return [place.episode(number) for number in place.numbers()]

    @cached_property
    def dataset(self) -> EditedDataset | None:
        """The dataset with its edits, where it has any. Where they cannot be read, this says so and leaves them out."""
        files = [str(DatasetFolder(self.path).edits), *(f"{folder.root}/{layout.EDITS}" for folder in self.folders)]
        if not any(os.path.exists(file) for file in files):
            return None
        from playhead.dataset import LocalDataset

        try:
            edited = LocalDataset(self.path).edited
            len(edited)  # the last of the edits are read by this
        except Damaged as error:
            complain(f"the edits are left out: {error}")
            return None
        return edited

    @cached_property
    def entries(self) -> list[Entry]:
        """All episodes in the order of their folders, those that are dropped or unfinished too."""
        dropped = frozenset() if self.dataset is None else self.dataset.dropped
        found: list[Entry] = []
        index = 0
        for folder in self.folders:
            if folder.is_unfinished():
                found.append(Entry(folder, None, UNFINISHED))
            elif dropped and uid_of(folder) in dropped:
                found.append(Entry(folder, None, DROPPED))
            else:
                found.append(Entry(folder, index))
                index += 1
        return found

    def open(self, entry: Entry) -> Episode:
        """Open an episode that is not unfinished, with its edits."""
        from playhead.episode import DiskEpisode

        if self.dataset is None or entry.index is None:
            return DiskEpisode(entry.folder.root)
        return self.dataset[entry.index]

    def __len__(self) -> int:
        return sum(entry.index is not None for entry in self.entries)


@dataclass(frozen=True, slots=True)
class Found:
    """An episode that a text means.

    Attributes:
        label: What to call it in messages and commands.
        path: Its folder.
        entry: Its place in its dataset; None for a folder that stands alone.
        source: Its dataset.
    """

    label: str
    path: Path
    entry: Entry | None = None
    source: Source | None = None

    @property
    def is_unfinished(self) -> bool:
        """Whether its recording has not come to its end."""
        return EpisodeFolder(os.fspath(self.path)).is_unfinished()

    def open(self) -> Episode:
        """Open it, with the edits of its dataset.

        Raises:
            NotFound: It is unfinished; the message says how to recover it.
        """
        from playhead.episode import DiskEpisode

        if self.is_unfinished:
            raise NotFound(f"the episode {self.label} is unfinished. Run: playhead episode recover {self.label}")
        if self.source is None or self.entry is None:
            return DiskEpisode(self.path)
        return self.source.open(self.entry)


def datasets(given: str | None) -> list[Source]:
    """List the datasets of the store.

    Args:
        given: The value of `--store`.

    Raises:
        NotAStore: There is no store.
    """
    store = _store(given)
    return [Source(name, store.dataset(name).path, name) for name in store.datasets()]


def find_dataset(given: str | None, text: str) -> Source:
    """Give the dataset that a text means.

    Args:
        given: The value of `--store`.
        text: A name in the store, or a path.

    Raises:
        NotFound: None is meant; the message lists those there are.
    """
    found = _dataset(given, text)
    if found is None and _is_episode(as_path(text)):
        raise NotFound(f"{text} is one episode, not a dataset. See: playhead episode show {text}")
    if found is None:
        raise _no_dataset(given, text)
    return found


def find_episode(given: str | None, text: str) -> Found:
    """Give the episode that a text means.

    Args:
        given: The value of `--store`.
        text: DATASET/INDEX, DATASET/UID or a path.

    Raises:
        NotFound: None is meant, or more than one.
    """
    if _is_episode(as_path(text)):
        return _at_path(given, as_path(text))
    head, slash, key = text.rpartition("/")
    source = _dataset(given, head) if slash else None
    if source is not None and key:
        return _by_index(source, key) or _by_uid(source, key)
    if _dataset(given, text) is not None:
        name = text.rstrip("/")
        raise NotFound(f"{text} is a dataset; name an episode of it: {name}/0 is the first, {name}/-1 the last")
    if slash:
        raise _no_dataset(given, head)
    raise NotFound(f"no episode {text!r}: write DATASET/INDEX, DATASET/UID or a path. See: playhead episode ls")


def find(given: str | None, text: str) -> Source | Found:
    """Give the dataset or the episode that a text means; see `find_dataset` and `find_episode`."""
    if (source := _dataset(given, text)) is not None:
        return source
    if "/" not in text and not as_path(text).exists():
        raise _no_dataset(given, text)
    return find_episode(given, text)


def _store(given: str | None) -> layout.Layout:
    root = layout.locate(given)
    found = layout.Layout(root)
    if not found.marker.is_file():
        raise NotAStore(f"there is no store at {root}; name one with --store, or give the path of a folder of episodes")
    return found


def _dataset(given: str | None, text: str) -> Source | None:
    """Look for a dataset; what does not read as a path is first a name in the store."""
    if not text.startswith((".", "/")) and not text.endswith("/"):
        for source in _in_store(given):
            if source.name == text:
                return source
    path = as_path(text)
    return _at(given, path) if _is_dataset(path) else None


def _at(given: str | None, path: Path) -> Source:
    """Name a dataset that was given as a path; one that lies in the store has a name there."""
    named = (source for source in _in_store(given) if source.path.resolve() == path.resolve())
    return next(named, None) or Source(os.fspath(path), path)


def _in_store(given: str | None) -> list[Source]:
    try:
        return datasets(given)
    except NotAStore:
        return []


def _no_dataset(given: str | None, text: str) -> NotFound:
    try:
        known = _store(given).datasets()
    except NotAStore as absence:
        return NotFound(f"no dataset {text!r}: {absence}")
    path = as_path(text)
    hint = (
        f"The folder {path} holds no episodes"
        if path.is_dir()
        else "A folder of episodes elsewhere is named by its path"
    )
    return NotFound.among("dataset", text, known, hint=hint)


def _is_dataset(path: Path) -> bool:
    return any(any(_numbered(block)) for block in _numbered(path))


def _is_episode(path: Path) -> bool:
    if not path.is_dir() or any(_numbered(path)):
        return False
    folder = EpisodeFolder(os.fspath(path))
    return os.path.exists(folder.meta) or folder.is_unfinished() or any(path.glob("*.parquet"))


def _numbered(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            yield from (Path(entry.path) for entry in entries if _TWELVE.fullmatch(entry.name) and entry.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return


def _at_path(given: str | None, path: Path) -> Found:
    path = Path(os.path.abspath(path))
    if not (_TWELVE.fullmatch(path.name) and _TWELVE.fullmatch(path.parent.name)):
        return Found(os.fspath(path), path)
    source = _at(given, path.parents[1])
    entry = next((entry for entry in source.entries if entry.folder.root.endswith(path.name)), None)
    return Found(os.fspath(path), path, entry, source)


def _by_index(source: Source, key: str) -> Found | None:
    if not _INDEX.fullmatch(key):
        return None
    count = len(source)
    index = int(key) + (count if key.startswith("-") else 0)
    entry = next((entry for entry in source.entries if entry.index == index), None)
    return None if entry is None else Found(f"{source.label}/{index}", entry.folder.path, entry, source)


def _by_uid(source: Source, key: str) -> Found:
    fitting = [entry for entry in source.entries if uid_of(entry.folder).startswith(key)]
    if not fitting:
        count = len(source)
        there = f"{count:,}, from 0 to {count - 1}" if count else "none"
        raise NotFound(
            f"no episode {key!r} in {source.label}; there is: {there}. See: playhead episode ls {source.label}"
        )
    labels = [
        entry.folder.root if entry.index is None else f"{source.label}/{entry.index}"
        for entry in fitting[: _LISTED + 1]
    ]
    if len(fitting) > 1:
        shown = ", ".join(labels[:_LISTED]) + (" …" if len(labels) > _LISTED else "")
        raise NotFound(f"{key!r} is the beginning of more than one uid: {shown}. Write more of it")
    return Found(labels[0], fitting[0].folder.path, fitting[0], source)


def uid_of(folder: EpisodeFolder) -> str:
    """Give the identity of an episode; empty where it has none that can be read."""
    try:
        return uid_among(load(folder.meta)) or ""
    except (Damaged, OSError):
        return ""


def load(path: str) -> dict[str, Any]:
    """Read a JSON file of an episode as `facts.load` does, which for ten thousand of them would import the catalogue.

    Raises:
        Damaged: It is not a JSON object.
    """
    try:
        with open(path, "rb") as file:
            content = strictjson.decode(file.read())
    except FileNotFoundError:
        return {}
    except strictjson.JSONDecodeError as error:
        raise Damaged(path, "JSON", str(error)) from error
    if not isinstance(content, dict):
        raise Damaged(path, "a JSON object", type(content).__name__)
    return content


def created_among(meta: dict[str, Any]) -> int | None:
    """Give when an episode began as a `meta.json` tells; None where it tells no time that a clock could show."""
    created = meta.get("created_ts_ns")
    return created if isinstance(created, int) and -(1 << 63) <= created < 1 << 63 else None


def uid_among(meta: dict[str, Any]) -> str | None:
    """Give the identity that a `meta.json` tells, as `Episode.uid` gives it."""
    if "uid" in meta:
        return str(meta["uid"])
    return f"ts-{meta['created_ts_ns']}" if "created_ts_ns" in meta else None
