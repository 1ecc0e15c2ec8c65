"""The text log of a run: any stretch of it by bytes, and the time of each line, without reading it whole.

Lines begin with date, time and zone. Those of older versions and of Runicorn begin with the time of day alone, in local
time. On which day that was follows from the line before that has a date, or the start of the run, and the midnights
since; where in the file those lie is found once, and then only in what was added.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playhead.web.files import open_plain, plain_size

BLOCK = 1 << 16
LONGEST = 1 << 16  # bytes of a line; what is behind them is cut off

TIME = re.compile(
    rb"(?:([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}[+-][0-9]{2}:[0-9]{2})"
    rb"|([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])) \| ?"
)
_PIECE_OF_SEARCH = 1 << 20
_LONGEST_KEPT = 1 << 23  # bytes without a newline
_PIECE = 1 << 22  # bytes looked at together for midnights
_WHOLE = 1 << 26  # a log up to this size is looked at whole, of a larger one a part of each piece
_HOUR = 3_600
_DAY = 24 * _HOUR
_MOST_DAYS = 1 << 31
_FAR = 1 << 33  # seconds since 1970
_LONGEST_TIME = 64  # bytes of a line in which its time is found


class Line(NamedTuple):
    """One line.

    Attributes:
        at: Where it begins.
        text: What it says, without the time.
        time: The time of day in seconds, if it has that and no date.
        when: The time in seconds since 1970, if it has a date.
    """

    at: int
    text: str
    time: int | None
    when: float | None = None


class LogFile:
    """A text log.

    Args:
        path: The file; one that is not there is empty, and so is a link, which may lead anywhere.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = plain_size(path)

    def open(self) -> BinaryIO:
        """Open it.

        Raises:
            NotFound: It was removed.
        """
        return open_plain(self.path)

    def from_byte(self, start: int, count: int) -> tuple[list[Line], int]:
        """Give lines from a byte on, and where the next one begins; a byte within a line means that line."""
        if self.size == 0:
            return [], 0
        with self.open() as file:
            begin = _line_begin(file, min(max(start, 0), self.size))
            lines: list[Line] = []
            end = begin
            for at, raw, behind in _lines(file, begin, self.size):
                if len(lines) == count:
                    break
                lines.append(read_line(at, raw))
                end = behind
            return lines, end

    def before_byte(self, stop: int, count: int) -> tuple[list[Line], int]:
        """Give the last lines that begin before a byte, and where the line behind them begins."""
        if self.size == 0 or stop <= 0:
            return [], 0
        with self.open() as file:
            stop = min(stop, self.size)
            begin = _back(file, stop, count)
            found = [(read_line(at, raw), behind) for at, raw, behind in _lines(file, begin, stop)]
            return [line for line, _ in found[-count:]] if count else [], found[-1][1] if found else stop

    def pieces(self, start: int = 0) -> Iterator[tuple[int, bytes]]:
        """Give the log from a byte on, in pieces of whole lines, each with the byte at which it begins."""
        if start >= self.size:
            return
        with self.open() as file:
            at = _line_begin(file, start)
            file.seek(at)
            rest = b""
            while block := file.read(_PIECE_OF_SEARCH):
                piece = rest + block
                end = piece.rfind(b"\n") + 1
                if end == 0 and len(piece) < _LONGEST_KEPT:
                    rest = piece
                    continue
                end = end or len(piece)
                yield at, piece[:end]
                at, rest = at + end, piece[end:]
            if rest:
                yield at, rest


def _line_begin(file: BinaryIO, at: int) -> int:
    """Give the begin of the line that holds a byte."""
    position = at
    while position > 0:
        start = max(0, position - BLOCK)
        file.seek(start)
        found = file.read(position - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        position = start
    return 0


def _back(file: BinaryIO, stop: int, count: int) -> int:
    """Give where so many lines before a byte begin."""
    position, missing = stop, count + 1  # the newline of the last line is not one between two
    while position > 0:
        start = max(0, position - BLOCK)
        file.seek(start)
        block = file.read(position - start)
        here = block.count(b"\n")
        if here >= missing:
            at = len(block)
            for _ in range(missing):
                at = block.rfind(b"\n", 0, at)
            return start + at + 1
        missing -= here
        position = start
    return 0


def _lines(file: BinaryIO, start: int, stop: int) -> Iterator[tuple[int, bytes, int]]:
    """Walk over lines: where each begins, what it holds, cut where it is very long, and where the next begins."""
    file.seek(start)
    at = start
    while at < stop:
        raw = file.readline(LONGEST)
        if not raw:
            return
        end, rest = at + len(raw), raw
        while not rest.endswith(b"\n") and len(rest) >= LONGEST:
            rest = file.readline(LONGEST)
            end += len(rest)
        yield at, raw, end
        at = end


def read_line(at: int, raw: bytes) -> Line:
    """Read a line that begins at a byte."""
    found, time, when = TIME.match(raw), None, None
    if found is not None:
        dated, hours, minutes, seconds = found.groups()
        if dated is None:
            time = int(hours) * _HOUR + int(minutes) * 60 + int(seconds)
        else:
            when = _when(dated)
            found = None if when is None else found
    text = raw[found.end() if found else 0 :].rstrip(b"\r\n").decode("utf-8", errors="replace")
    return Line(at, text, time, when)


def _when(dated: bytes) -> float | None:
    """Read date, time and zone; None if there is no such time, or if no run can have been recorded then."""
    try:
        when = datetime.fromisoformat(dated.decode()).timestamp()
    except (ValueError, OverflowError):
        return None
    return when if 0 <= when < _FAR else None


class Days:
    """Where in a log a new day begins.

    Args:
        created_at: When the run was made, in seconds since 1970.
    """

    def __init__(self, created_at: float) -> None:
        self._created_at = created_at
        self._midnight = datetime.fromtimestamp(created_at).replace(hour=0, minute=0, second=0, microsecond=0)
        self._lock = threading.Lock()
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._last = (datetime.fromtimestamp(self._created_at) - self._midnight).seconds
        self._day = 0
        self._seen = 0
        self._changes: list[tuple[int, int]] = []

    def look(self, log: LogFile) -> None:
        """Look at what is new in a log."""
        with self._lock:
            if log.size < self._seen:  # another file
                self._begin_anew()
            if log.size > self._seen:
                with log.open() as file:
                    self._scan(file, log.size)

    def _scan(self, file: BinaryIO, size: int) -> None:
        sparse = size - self._seen > _WHOLE
        while self._seen < size:
            start = self._seen
            file.seek(start)
            piece = file.read(min(BLOCK if sparse else _PIECE, size - start))
            if not piece:
                return  # the file was cut since; the next look sees that
            end = piece.rfind(b"\n") + 1
            if end == 0 and start + len(piece) >= size:
                return  # a line that is still being written
            self._take(start, piece[: end or len(piece)])
            self._seen = start + (end or len(piece))
            if sparse and self._seen + _PIECE < size:
                file.seek(self._seen + _PIECE)
                self._seen += _PIECE + len(file.readline(BLOCK))

    def _take(self, start: int, piece: bytes) -> None:
        """Find midnights in whole lines."""
        data = np.frombuffer(piece, np.uint8)
        begins = np.flatnonzero(data == ord("\n")) + 1
        begins = np.concatenate([[0], begins]) if len(begins) else np.zeros(1, np.int64)
        begins = begins[begins + 11 <= len(data)]
        if not len(begins):
            return
        head = data[begins[:, None] + np.arange(11)].astype(np.int64)
        is_time, is_dated = _is_like(head, b"00:00:00 |"), _is_like(head, b"0000-00-00T")
        seconds = (head[:, [0, 1, 3, 4, 6, 7]] - ord("0")) @ np.array([36_000, 3_600, 600, 60, 10, 1])
        edges = np.flatnonzero(np.diff(is_dated.astype(np.int8), prepend=0, append=0)).tolist()
        done = 0
        for dated, behind in zip(edges[::2], edges[1::2], strict=True):
            self._pass(start, begins[done:dated], seconds[done:dated], is_time[done:dated])
            begin = int(begins[behind - 1])
            self._go_to(start + begin, read_line(0, piece[begin : begin + _LONGEST_TIME]).when)
            done = behind
        self._pass(start, begins[done:], seconds[done:], is_time[done:])

    def _go_to(self, at: int, when: float | None) -> None:
        """Set the day and the time of day to those of a line that has a date."""
        if when is None:
            return
        local = datetime.fromtimestamp(when)
        day = (local.date() - self._midnight.date()).days
        self._last = local.hour * _HOUR + local.minute * 60 + local.second
        if day != self._day:
            self._day = day
            self._changes.append((at, day))

    def _pass(
        self, start: int, begins: NDArray[np.int64], seconds: NDArray[np.int64], is_time: NDArray[np.bool_]
    ) -> None:
        """Find midnights in lines without a date."""
        begins, seconds = begins[is_time], seconds[is_time]
        steps = np.diff(np.concatenate([[self._last], seconds]))
        # Lines of several processes may stand a little out of order; a whole hour back is another day.
        for place in np.flatnonzero((steps < -_HOUR) | (steps > _DAY - _HOUR)):
            self._day = max(0, self._day + (1 if steps[place] < 0 else -1))
            self._changes.append((start + int(begins[place]), self._day))
        if len(seconds):
            self._last = int(seconds[-1])

    def moment(self, line: Line) -> float | None:
        """Return the time of a line in seconds since the run was made; None for a line without one."""
        if line.when is not None:
            return max(0.0, line.when - self._created_at)
        if line.time is None:
            return None
        place = bisect_right(self._changes, (line.at, _MOST_DAYS))
        day = self._changes[place - 1][1] if place else 0
        when = self._midnight + timedelta(days=day, seconds=line.time)
        return max(0.0, when.timestamp() - self._created_at)


def _is_like(heads: NDArray[np.int64], form: bytes) -> NDArray[np.bool_]:
    """Find the lines that begin in a form, in which 0 stands for a digit."""
    fits = np.ones(len(heads), np.bool_)
    for place, sign in enumerate(form):
        column = heads[:, place]
        fits &= (column >= ord("0")) & (column <= ord("9")) if sign == ord("0") else column == sign
    return fits


class Calendars:
    """The days of the logs that were asked for lately."""

    MOST = 100

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Days] = OrderedDict()

    def of(self, run_id: str, created_at: float, log: LogFile) -> Days:
        """Give the days of a log, as far as it goes now."""
        with self._lock:
            days = self._known.pop(run_id, None) or Days(created_at)
            self._known[run_id] = days
            while len(self._known) > self.MOST:
                self._known.popitem(last=False)
        days.look(log)
        return days
