"""What is recorded and not sealed yet: the segments of a journal, also while it grows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import disk, owner, strictjson
from playhead.errors import Damaged, NotFound
from playhead.journal import Damage, JournalReader, Position
from playhead.journal.segment import path_of
from playhead.lanes.arrays import codec, rows
from playhead.lanes.arrays.kind import AXES, GROUPS, STEPS, ArrayKind
from playhead.lanes.arrays.parts import Part
from playhead.lanes.arrays.pieces import Gone, Piece
from playhead.lanes.arrays.reeltape import RECORD, ROWS_NUMBER
from playhead.lanes.arrays.rows import ROW, Block
from playhead.layout import ReelFiles
from playhead.tape import DECLARATION, HEAD, SAMPLES

_HEADS = HEAD.size + RECORD.size


class LivePart(Part):
    """A segment of a journal, as far as it has been read.

    Args:
        path: The segment.
        reader: Reads its records.
        segment: The number of the segment.
    """

    def __init__(self, path: Path, reader: JournalReader, segment: int) -> None:
        self.path = path
        self.segment = segment
        self._reader = reader
        self.bases, self.lengths = dict.fromkeys(AXES, 0), dict.fromkeys(AXES, 0)
        self.kinds, self.groups, self.agents, self.facts, self.notes = {}, list(GROUPS), [], {}, []
        self.settings: dict[str, Any] = {}
        self._numbered: dict[int, ArrayKind] = {}
        self._records: dict[tuple[str, str], list[tuple[int, int, Position]]] = {}
        self._blocks: list[Block] = []
        self._joined: NDArray[Any] | None = None
        self._lost: list[tuple[int, int]] = []

    def declare(self, number: int, facts: dict[str, Any]) -> None:
        """Hear of the steps, or of an array."""
        if number == ROWS_NUMBER:
            if self.settings:
                return  # said again
            self.settings = facts
            self.bases |= {axis: int(base) for axis, base in facts["bases"].items()}
            self.groups, self.agents, self.facts = list(facts["groups"]), list(facts["agents"]), facts["facts"]
            return
        kind = ArrayKind.from_json(facts)
        self._numbered[number] = self.kinds[kind.axis, kind.name] = kind
        self._records.setdefault((kind.axis, kind.name), [])

    def check_owner(self, files: ReelFiles) -> None:
        """See that the segment is of a reel.

        Raises:
            Misplaced: It is of another one.
        """
        owner.check(self.path, self.settings.get(owner.FIELD), files.owner())

    def add_block(self, block: Block) -> None:
        """Hear of steps."""
        if not self.settings and not self._blocks:  # what the segment says of itself was lost
            self.bases[STEPS] = block.first
        due = self.span().stop
        if block.first < due:  # written again, since nobody knew that it was
            again = due - block.first
            block = block._replace(first=due, rows=block.rows[again:], infos=block.infos[again:])
        if block.first > due:
            self._lost.append((due, block.first))
        self._blocks.append(block)
        self._joined = None
        self.lengths[STEPS] = block.first + len(block.rows) - self.bases[STEPS]
        for note in block.notes:
            for axis in AXES[1:]:
                if axis in note:
                    self.lengths[axis] = note[axis] + 1 - self.bases[axis]
            if "agent" in note and note["agent"] not in self.agents:
                self.agents.append(note["agent"])
            if "group" in note and note["group"] not in self.groups:
                self.groups.append(note["group"])
            self.notes.append(note)

    def add_record(self, number: int, first: int, count: int, position: Position) -> None:
        """Hear of rows of an array."""
        kind = self._numbered.get(number)
        if kind is not None:  # else its declaration was lost, and reading its rows says so
            self._records[kind.axis, kind.name].append((first, count, position))

    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Give steps as rows of `ROW`."""
        self._refuse_lost(start, stop)
        if self._joined is None:
            joined = np.zeros(self.lengths[STEPS], ROW)
            for block in self._blocks:
                at = block.first - self.bases[STEPS]
                joined[at : at + len(block.rows)] = block.rows
            self._joined = joined
        base = self.bases[STEPS]
        return self._joined[start - base : stop - base]

    def infos(self, start: int, stop: int) -> list[bytes]:
        """Give the infos of steps."""
        self._refuse_lost(start, stop)
        found: list[bytes] = []
        for block in self._blocks:
            low, high = max(start, block.first), min(stop, block.first + len(block.rows))
            if low < high:
                found += block.infos[low - block.first : high - block.first]
        return found

    def _refuse_lost(self, start: int, stop: int) -> None:
        for low, high in self._lost:
            if low < stop and start < high:
                raise Damaged(self.path, f"steps {low} to {high - 1}", "a hole in the journal")

    @property
    def lost(self) -> list[tuple[int, int]]:
        """Steps of which the journal has lost the block."""
        return self._lost

    def losses(self) -> list[Damaged]:
        """Say which steps were lost."""
        return [Damaged(self.path, f"steps {low} to {high - 1}", "a hole in the journal") for low, high in self._lost]

    def pieces(self, kind: ArrayKind, start: int, stop: int) -> Iterator[Piece]:
        """Walk over the records of an array."""
        records = self._records[kind.axis, kind.name]
        place = _first_behind(records, start)
        for first, count, position in records[place:]:
            if first >= stop:
                return
            yield Piece(first, count, codec.ZSTD, count, partial(self._load, position), str(self.path))

    def _load(self, position: Position) -> memoryview:
        try:
            return memoryview(self._reader.read(position))[_HEADS:]
        except NotFound as error:
            raise Gone from error

    def noted(self, kind: ArrayKind, start: int, stop: int) -> NDArray[np.bool_]:
        """Tell which rows of another axis than the steps the notes say an array has."""
        found = np.zeros(stop - start, np.bool_)
        for note in self.notes:
            if kind.axis in note and start <= note[kind.axis] < stop and kind.name in note["arrays"]:
                found[note[kind.axis] - start] = True
        return found

    def whole_chunk(self, kind: ArrayKind, start: int) -> Any:
        """Give the bytes of a chunk that one record holds just as a file will; None where it must be put together."""
        records = self._records[kind.axis, kind.name]
        place = _first_behind(records, start)
        if place < len(records) and records[place][:2] == (start, kind.chunk):
            return self._load(records[place][2])
        return None


def _first_behind(records: Sequence[tuple[int, int, Position]], start: int) -> int:
    """Find the first record that ends behind a row."""
    low, high = 0, len(records)
    while low < high:
        middle = (low + high) // 2
        if records[middle][0] + records[middle][1] <= start:
            low = middle + 1
        else:
            high = middle
    return low


class Following:
    """Reads a journal as it grows, segment by segment.

    Args:
        folder: The journal.

    Raises:
        NotFound: There is none.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._reader = JournalReader(folder)
        self._held = disk.HeldFolder(folder)
        self._parts: dict[int, LivePart] = {}
        self._broken: list[tuple[int, Damaged]] = []

    @property
    def is_gone(self) -> bool:
        """Whether the journal was removed, and perhaps another begun in its place."""
        return not self._held.is_there()

    def poll(self) -> list[LivePart]:
        """Read what is new; give a part for each segment that holds anything."""
        for position, payload in self._reader.poll_views():
            part = self._parts.get(position.segment)
            if part is None:
                path = path_of(self._folder, position.segment)
                part = self._parts[position.segment] = LivePart(path, self._reader, position.segment)
            try:
                self._take(part, position, memoryview(payload))
            except Damaged as damage:
                self._broken.append((position.segment, damage))
            except codec.Malformed as error:
                self._broken.append((position.segment, Damaged(part.path, "a block of steps", str(error))))
        return list(self._parts.values())

    def _take(self, part: LivePart, position: Position, payload: memoryview) -> None:
        what, number = HEAD.unpack_from(payload)
        if what == DECLARATION:
            part.declare(number, strictjson.decode(bytes(payload[HEAD.size :]))["facts"])
        elif what == SAMPLES and number == ROWS_NUMBER:
            part.add_block(rows.unpack(payload[HEAD.size :]))
        elif what == SAMPLES:
            first, count = RECORD.unpack_from(payload, HEAD.size)
            part.add_record(number, first, count, position)

    @property
    def damage(self) -> list[Damaged]:
        """What could not be read, segments that are missing included."""
        return [_damaged(hole) for hole in self._reader.damage] + [error for _, error in self._broken]

    def damage_of(self, segment: int) -> list[Damaged]:
        """Give what could not be read of a segment; that those before it were removed, or lost, is no damage to it."""
        path = path_of(self._folder, segment)
        holes = [hole for hole in self._reader.damage if hole.path == path and hole.start < hole.stop]
        return [_damaged(hole) for hole in holes] + [error for where, error in self._broken if where == segment]

    def close(self) -> None:
        """Give the files back. Closing twice is fine."""
        self._reader.close()
        self._held.close()

    def __del__(self) -> None:
        if hasattr(self, "_held"):  # else there was no journal
            self.close()


def _damaged(hole: Damage) -> Damaged:
    where = f"a hole from byte {hole.start} to {hole.stop}: " if hole.start < hole.stop else ""
    return Damaged(hole.path, "whole records", where + hole.reason)
