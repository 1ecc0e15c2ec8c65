"""Reading a journal, also while it is written. The rules that the comments name are those of the package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from playhead import disk
from playhead.errors import Closed, Damaged, NotFound
from playhead.journal.segment import HEADER_SIZE, Position, Segment, identify, path_of, segments_in


class Record(NamedTuple):
    """A record and where it lies."""

    position: Position
    payload: bytes


class Damage(NamedTuple):
    """Bytes of a segment in which no record can be read; `start == stop` where records are missing between two."""

    path: Path
    start: int
    stop: int
    reason: str


class JournalReader:
    """Reads a journal from its start, and follows it while another process writes. For one thread at a time.

    Args:
        folder: The journal.
        start: The first segment to read. Those before the first that exists are taken to be removed on purpose.
        strict: Raise `Damaged` where `damage` would note something, there and at every later poll.

    Raises:
        NotFound: There is no such folder.
        StoreTooNew: By any method, where a segment is of a later format.

    Attributes:
        folder: The journal.
        damage: What could not be read; reading goes on behind it.
        segment: The segment that is read, or awaited.
        offset: Behind the last whole record of that segment; 0 before its header.
        number: The number of the next record, None before anything was read.
    """

    def __init__(self, folder: disk.StrPath, *, start: int = 0, strict: bool = False) -> None:
        self.folder = Path(folder)
        self.damage: list[Damage] = []
        self.segment = start
        self.offset = 0
        self.number: int | None = None
        self._strict = strict
        self._closed = False
        self._marker: bytes | None = None
        self._file: Segment | None = None
        self._aside: Segment | None = None  # for `read`, apart from the file that a poll under way reads
        self._searched = (-1, 0, 0)  # segment, offset and size for which nothing whole was found behind the offset
        segments_in(self.folder)

    def poll(self) -> Iterator[Record]:
        """Give the records that became whole since the last poll, one after the other.

        Those not taken from the iterator come again with the next poll. Finish or drop one before the next begins.
        """
        for position, payload in self.poll_views():
            yield Record(position, bytes(payload))

    def poll_views(self) -> Iterator[tuple[Position, bytes | memoryview]]:
        """As `poll`, with payloads where they were read to: one that is kept keeps a whole block in memory."""
        yield from self._advance(verify=True)

    def poll_positions(self, *, verify: bool = True) -> Iterator[Position]:
        """As `poll`, without the payloads.

        Args:
            verify: Check every record. Else only heads of frames are read, and damage to a payload shows at `read`.
        """
        for position, _ in self._advance(verify=verify):
            yield position

    def read(self, position: Position) -> bytes:
        """Give the payload of one record. Safe in threads.

        Raises:
            Damaged: It is not there as it was written.
            NotFound: Its segment was removed.
        """
        self._check_open()
        aside = self._aside
        if aside is None or aside.number != position.segment:
            aside = self._aside = self._open_aside(position.segment)
        return aside.read(position, self._known_marker())

    def close(self) -> None:
        """Give the files back. Closing twice is fine."""
        self._closed = True
        if self._file is not None:
            self._file.close()
        self._file = self._aside = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._closed:
            raise Closed(f"the reader of the journal {self.folder} is closed")

    def _open_aside(self, number: int) -> Segment:
        """Open a segment for `read`; one that was open for it closes when the last thread that reads it is done."""
        try:
            return Segment(self.folder, number)
        except FileNotFoundError as error:
            raise NotFound.among("segment", number, segments_in(self.folder), hint="It was removed.") from error

    def _known_marker(self) -> bytes | None:
        if self._marker is None:
            self._marker = identify(self.folder)
        return self._marker

    def _advance(self, *, verify: bool) -> Iterator[tuple[Position, bytes | memoryview]]:
        self._check_open()
        while (file := self._open_segment()) is not None:
            sealed = self._has_successor()  # asked before the end is looked for: rule 2
            while True:
                for position, payload in self._run(file, verify=verify):
                    self._expect(position.number, file, position.offset)
                    self.offset, self.number = position.end, position.number + 1
                    yield position, payload
                    self._check_open()
                if not self._skip(file, sealed=sealed):
                    break
            if not sealed:
                return
            file.close()
            self._file, self.offset, self.segment = None, 0, self.segment + 1

    def _open_segment(self) -> Segment | None:
        while self._file is None:
            try:
                self._file = Segment(self.folder, self.segment)
            except FileNotFoundError:
                if not self._has_successor():
                    return None
                path = path_of(self.folder, self.segment)
                if path.exists():  # made between the two looks: rule 3
                    continue
                if min(segments_in(self.folder), default=self.segment) < self.segment:  # rule 4
                    self._report(Damage(path, 0, 0, "the segment is missing"))
                else:
                    self.number = None  # nobody knows how many records went with it
                self.segment += 1
        return self._file

    def _has_successor(self) -> bool:
        return (
            path_of(self.folder, self.segment + 1).exists() or max(segments_in(self.folder), default=0) > self.segment
        )

    def _run(self, file: Segment, *, verify: bool) -> Iterable[tuple[Position, bytes | memoryview]]:
        """Give the frames from the offset on that follow one another."""
        marker = self._known_marker()
        if marker is None or (self.offset == 0 and not self._read_header(file, marker)):
            return ()
        if verify:
            return file.frames(self.offset, marker)
        found = list(file.hops(self.offset, marker))
        # A whole record vouches that those before it stay (rule 1); without it a writer may yet cut the last ones off.
        while found and not file.is_whole(found[-1].offset, marker):
            found.pop()
        return ((position, b"") for position in found)

    def _read_header(self, file: Segment, marker: bytes) -> bool:
        header = file.header()
        if header is None:
            return False
        if header.marker == marker and header.segment == file.number:
            self._expect(header.first, file, 0)
            self.offset, self.number = HEADER_SIZE, header.first
            return True
        what = f"segment {header.segment}" if header.marker == marker else "a segment of another journal"
        size = file.size()
        self._report(Damage(file.path, 0, size, f"it is {what}"))
        self.offset = size
        return False

    def _expect(self, number: int, file: Segment, offset: int) -> None:
        if self.number is None or self.number == number:
            return
        missing = f"records {self.number} to {number - 1} are missing"
        repeated = f"record {number} comes where {self.number} was due"
        self._report(Damage(file.path, offset, offset, missing if number > self.number else repeated))

    def _skip(self, file: Segment, *, sealed: bool) -> bool:
        """Step over damage at the offset; False where there is nothing more to read, or not yet."""
        start, size = self.offset, file.size()
        if start >= size and not (sealed and start == 0):  # a segment with a successor has a header at least
            return False
        place = (file.number, start, size)
        found = None if place == self._searched and not sealed else file.find(start + 1, self._marker)
        if found is None:
            self._searched = place  # idle polls must not search the same bytes again and again
            if sealed:
                self._report(Damage(file.path, start, size, "no record can be read from here to the end"))
                self.offset = size
            return False
        if not self._is_readable(file, start):  # the second look of rule 1
            self._report(Damage(file.path, start, found, "no record can be read here"))
            self.offset = found
        return True

    def _is_readable(self, file: Segment, offset: int) -> bool:
        if offset == 0:
            return file.header() is not None
        return self._marker is not None and file.is_whole(offset, self._marker)

    def _report(self, damage: Damage) -> None:
        if self._strict:
            raise Damaged(damage.path, "whole records", f"from byte {damage.start} to {damage.stop}: {damage.reason}")
        self.damage.append(damage)
