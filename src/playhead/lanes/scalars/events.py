"""Lines of `events.jsonl`: one JSON object an event, `{"ts": seconds, "type": …, "data": {…}}`.

A metrics event holds its values beside `global_step` and, where given, `stage`. `ts` has nine decimals: a float to
other programs, exact nanoseconds to us. NaN and the infinities are null among the values, as other programs have it,
and `not_finite` behind `data` says which they are. The first line of a file says behind its data whose the file is.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from math import isfinite
from operator import lt
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from playhead import clock, disk, layout, owner, strictjson
from playhead.errors import WrongType

METRICS = "metrics"
IMAGE = "image"
DIGEST = "sha256"  # of the file of an image

# Keys of a metrics event that are not metrics.
STEP, STAGE, TIME = "global_step", "stage", "time"

_FAR = 2**63
_WHOLE = 2.0**53  # up to here every integer is a float
_PLAIN = frozenset((int, float))
_METRICS_DATA = b',"type":"metrics","data":'
_MARK = b'},"%b":' % strictjson.NOT_FINITE.encode()  # behind the data
_BEGIN = b'{"ts":'
_IMAGE_LINE = b'"type":"image"'
_OWNER = b',"%b":' % owner.FIELD.encode()  # the last field of the first line
_OWNER_HEAD = 1 << 16  # bytes in which the first line is looked for: a longer one says nothing
_BLOCK = 1 << 22  # bytes of a long line that are read at once
LONGEST = 64 << 20  # bytes of a line: a longer one is not written, and not held in memory to be read


# One line, read: stamp in nanoseconds, type, data. A bare tuple, since a run has millions.
Event = tuple[int, str, dict[str, Any]]


class EventWriter:
    """Appends events to one file. When a call returns, its line is in the kernel and survives kill -9.

    Not safe in threads: whoever records holds a lock.

    Args:
        path: The file.
        after_ns: The newest stamp that exists.
        last_step: The step after which automatic ones go on.
        whose: Whose a new file says it is.
    """

    def __init__(self, path: Path, *, after_ns: int = 0, last_step: int = 0, whose: owner.Fields | None = None) -> None:
        self._file = disk.Appender(path, patience=disk.PATIENCE)
        self._owner = _OWNER + orjson.dumps(whose) + b"}\n" if whose and not self._file.size else b""
        self._stamps = clock.Stamps(after_ns)
        self.step = last_step
        self._names: set[str] = set()
        self._rounded: set[str] = set()  # metrics of which it was said that they lose digits
        self._tails: dict[str | None, bytes] = {None: b"}}\n"}

    def metrics(self, values: Mapping[str, Any], step: int | None = None, stage: str | None = None) -> int:
        """Append values of one instant.

        Returns:
            Where their line begins.

        Raises:
            WrongType: If a value is not a number, a step not an integer, or all values are too many for one line.
                Nothing is written then.
            BadName: A name cannot be a metric.
        """
        body, odd = self._straight(values), None
        if body is None:
            values, step, stage = self._admitted(values, step, stage)
            body = orjson.dumps(values)  # which makes null of NaN and the infinities
            odd = {name: strictjson.special(value) for name, value in values.items() if not isfinite(value)}
        if step is None:
            step = self.step + 1
        elif type(step) is not int or not -_FAR < step < _FAR:
            step = integer_step(step)
        tail = self._tails.get(stage)
        if tail is None:
            tail = self._tail(stage)
        if odd:
            tail = tail[:-3] + _MARK + orjson.dumps(odd) + b"}\n"
        digits = b"%d" % self._stamps.next()
        comma = b',"global_step":%d' if values else b'"global_step":%d'
        # Joining is three times as fast as formatting with %b.
        parts = (b'{"ts":', digits[:-9], b".", digits[-9:], _METRICS_DATA, body[:-1], comma % step, tail)
        line = b"".join(parts)
        if odd is not None:  # not of known names alone, as the first line never is
            line = self._owned(line)
        if len(line) > LONGEST:
            raise _too_long(line)
        start = self._file.append(line)
        if odd is not None:
            self._owner = b""
        self.step = step
        return start

    def _owned(self, line: bytes) -> bytes:
        """Let the first line of a file say whose it is."""
        return line[:-2] + self._owner if self._owner else line

    def other(self, type: str, data: Mapping[str, Any]) -> int:
        """Append an event of another type.

        Returns:
            Its stamp.

        Raises:
            WrongType: If it is too long for one line. Nothing is written then.
        """
        stamp = self._stamps.next()
        digits = b"%d" % stamp
        head = b'{"ts":%b.%b,"type":%b,"data":' % (digits[:-9], digits[-9:], orjson.dumps(type))
        line = self._owned(head + strictjson.encode(strictjson.plain(data)) + b"}\n")
        if len(line) > LONGEST:
            raise _too_long(line)
        self._file.append(line)
        self._owner = b""
        return stamp

    def is_there(self) -> bool:
        """Tell whether the file still has its name."""
        return self._file.is_there()

    def sync(self) -> None:
        """Wait until every line is on the medium."""
        self._file.sync()

    def close(self) -> None:
        """Give the file back."""
        self._file.close()

    @property
    def size(self) -> int:
        """The bytes written so far."""
        return self._file.size

    def now_ns(self) -> int:
        """Read the clock that stamps the events."""
        return self._stamps.now()

    @property
    def last_ns(self) -> int:
        """The newest stamp."""
        return self._stamps.last

    def _straight(self, values: Mapping[str, Any]) -> bytes | None:
        """Encode a dict of known names and plain finite numbers, as nearly all are; None for anything else.

        One sum vouches for all values: a NaN or an infinity gives one that is not finite, and an integer of too many
        digits a large one. Only Python's own numbers are added, since those of NumPy wrap around and warn.
        """
        if type(values) is not dict or not values.keys() <= self._names:
            return None
        numbers = values.values()
        if not _PLAIN.issuperset(map(type, numbers)):
            return None
        try:
            total = sum(numbers)
            if type(total) is float:
                if -_WHOLE <= total <= _WHOLE or (total - total == 0 and int not in map(type, numbers)):
                    return orjson.dumps(values)
            elif max(numbers) <= _WHOLE and min(numbers) >= -_WHOLE:
                return orjson.dumps(values)
        except (ValueError, OverflowError):  # no value at all, or an integer past every float
            return None
        return None

    def _admitted(
        self, values: Mapping[str, Any], step: int | None, stage: str | None
    ) -> tuple[dict[str, Any], int | None, str | None]:
        """Check names, turn every number into JSON, and take step and stage out of the values."""
        if not isinstance(values, Mapping):
            raise WrongType(f"log takes a mapping of names to numbers, not {type(values).__name__}")
        numbers: dict[str, Any] = {}
        for name, value in values.items():
            if name in self._names:
                known = name
            elif name in ("step", STEP):
                step = integer_step(value) if step is None else step
                continue
            elif name == STAGE:
                stage = str(value) if stage is None else stage
                continue
            else:
                known = layout.check_label(name, "metric name")
            number = _number(name, value)
            if known not in self._rounded and _is_rounded(value, number):
                self._warn_rounded(known, value)
            numbers[known] = number
        self._names.update(numbers)
        return numbers, step, stage

    def _warn_rounded(self, name: str, value: Any) -> None:
        self._rounded.add(name)
        warnings.warn(
            f"the metric {name!r} is {value}, and a metric keeps integers past 2**53 as the nearest float, "
            f"{float(value):.17g}; record what has to be exact as text in the summary",
            RuntimeWarning,
            stacklevel=5,
        )

    def _tail(self, stage: str | None) -> bytes:
        tail = b',"stage":%b}}\n' % orjson.dumps(layout.check_label(stage or "", "stage"))
        if len(self._tails) < 100:
            self._tails[stage] = tail
        return tail


def _too_long(line: bytes) -> WrongType:
    return WrongType(f"an event of {len(line):,} bytes, and one may have {LONGEST:,}; record it in several calls")


def _number(name: str, value: Any) -> float | int:
    if isinstance(value, float):  # np.float64 is one
        return float(value)
    if isinstance(value, int):
        return int(value) if -_FAR <= value < _FAR else _wide(name, value)
    if hasattr(value, "item"):  # NumPy and torch scalars, and arrays of one value
        try:
            item = value.item()
        except (ValueError, RuntimeError):
            shape = tuple(getattr(value, "shape", ()))
            raise WrongType(f"the value of {name!r} has shape {shape}; log takes single numbers") from None
        return _number(name, item) if type(item) is not type(value) else _wide(name, item)  # a long double is its own
    return _wide(name, value)


def _is_rounded(value: Any, number: float) -> bool:
    """Tell whether a value is an integer that is no float."""
    if abs(number) <= _WHOLE:
        return False
    value = value.item() if hasattr(value, "item") else value
    return isinstance(value, int) and float(number) != value


def _wide(name: str, value: Any) -> float:
    """Give the nearest float of a number that is none."""
    try:
        return float(value)
    except OverflowError:
        raise WrongType(f"the value of {name!r} is an integer past the largest float") from None
    except (TypeError, ValueError):
        hint = "; give it as 'name/key': number" if isinstance(value, Mapping) else ""
        raise WrongType(f"the value of {name!r} is {value!r} ({type(value).__name__}), not a number{hint}") from None


def integer_step(step: Any) -> int:
    """Give a step as an integer; NumPy and torch integers and whole floats are taken.

    Raises:
        WrongType: It is none.
    """
    if hasattr(step, "item"):
        step = step.item()
    if (
        isinstance(step, (int, float))
        and not isinstance(step, bool)
        and abs(step) < _FAR  # NaN is not
        and int(step) == step
    ):
        return int(step)
    raise WrongType(f"a step is an integer, not {step!r}")


class Stretch(NamedTuple):
    """Whole lines of a file.

    Attributes:
        data: The lines, each with its newline.
        size: The bytes of the file that they are, and those that were skipped.
        skipped: How many lines were skipped, since they are too long to be events.
    """

    data: bytes
    size: int
    skipped: int = 0


_NOTHING = Stretch(b"", 0)


def read(path: Path, offset: int, size: int) -> Stretch:
    """Read whole lines from an offset on, about `size` bytes of them; nothing where there is no whole line."""
    try:
        fd = disk.open_to_read(path)
    except FileNotFoundError:
        return _NOTHING
    try:
        data = os.pread(fd, size, offset)
        stop = data.rfind(b"\n") + 1
        if stop:
            return Stretch(data[:stop], stop)
        return _read_long(fd, offset, data) if data else _NOTHING
    finally:
        os.close(fd)


def _read_long(fd: int, offset: int, head: bytes) -> Stretch:
    """Read one line of which the first bytes are known; one without end is torn, or still being written.

    One of over `LONGEST` bytes is skipped, and not held in memory: nobody writes such a one as an event.
    """
    length, parts = len(head), [head]
    while more := os.pread(fd, _BLOCK, offset + length):
        stop = more.find(b"\n") + 1
        parts.append(more[:stop] if stop else more)
        length += len(parts[-1])
        if length > LONGEST:
            parts.clear()
        if stop:
            return Stretch(b"".join(parts), length, int(length > LONGEST))
    return _NOTHING


def owner_of(path: Path) -> object:
    """Return whose an event file says it is; None if it does not say so, as those of earlier versions."""
    return _split_owner(read(path, 0, _OWNER_HEAD).data)[1]


def without_owner(data: bytes) -> bytes:
    """Return the first lines of a file without what they say of their owner."""
    return _split_owner(data)[0]


def _split_owner(data: bytes) -> tuple[bytes, object]:
    end = data.find(b"\n")
    at = data.rfind(_OWNER, 0, max(end, 0))
    if at < 0 or data[end - 2 : end] != b"}}":
        return data, None
    try:
        said = orjson.loads(data[at + len(_OWNER) : end - 1])
    except orjson.JSONDecodeError:
        return data, None
    return data[:at] + data[end - 1 :], said


def parse(data: bytes, after_ns: int = 0) -> tuple[list[Event], int]:
    """Parse whole lines.

    Args:
        data: Lines, each with its newline.
        after_ns: The newest stamp before them; where stamps of another program do not increase, the next free ones are
            given.

    Returns:
        The events, and how many lines were not events.
    """
    lines = data.split(b"\n")
    lines.pop()
    events = _own_metrics(lines, after_ns)
    return (events, 0) if events is not None else _parse_any(lines, after_ns)


# Where things lie in a metrics line of ours: `{"ts":1794727420.687950612,"type":"metrics","data":{…}}`.
_SECONDS, _POINT, _NANOSECONDS = slice(6, 16), slice(16, 17), slice(17, 26)
_TYPE, _DATA = slice(26, 26 + len(_METRICS_DATA)), slice(26 + len(_METRICS_DATA), -1)


def _is_own(line: bytes) -> bool:
    return line[:6] == _BEGIN and line[_POINT] == b"." and line[26:27] == b","


def _own_metrics(lines: list[bytes], after_ns: int) -> list[Event] | None:
    """Parse lines that are all metrics as `EventWriter` writes them; None if one is not.

    Nearly all stretches of a file are so, and cost a third of what `_parse_any` takes.
    """
    if not all(line[_TYPE] == _METRICS_DATA and _is_own(line) for line in lines):
        return None
    try:
        stamps = [int(line[_SECONDS] + line[_NANOSECONDS]) for line in lines]
        found = _contents(lines)
    except ValueError:
        return None
    if len(found) != len(lines) or not all(map(lt, [after_ns, *stamps], stamps)) or not {*map(type, found)} <= {dict}:
        return None
    return list(zip(stamps, repeat(METRICS), found, strict=False))


def _contents(lines: list[bytes]) -> list[Any]:
    """Decode the data of metrics lines of ours.

    Raises:
        ValueError: One of them is something else.
    """
    bodies = [line[_DATA] for line in lines]
    joined = b",".join(bodies)
    if _MARK not in joined:
        found: list[Any] = orjson.loads(b"[" + joined + b"]")
        return found
    odd: dict[int, bytes] = {}
    for place, body in enumerate(bodies):
        at = body.rfind(_MARK)
        if at > 0:
            bodies[place], odd[place] = body[: at + 1], body[at + len(_MARK) :]
    found = orjson.loads(b"[" + b",".join(bodies) + b"]")
    words = orjson.loads(b"[" + b",".join(odd.values()) + b"]")
    if len(found) != len(lines) or len(words) != len(odd):
        raise ValueError("a line holds something else")
    for place, said in zip(odd, words, strict=True):
        _restore(found[place], said)
    return found


def hide(content: dict[str, Any]) -> bool:
    """Put null in the place of NaN and infinities among the values of an event, in place; say so beside them.

    Returns:
        Whether there were any.
    """
    data = content["data"]
    odd = {name: strictjson.special(value) for name, value in data.items() if isinstance(value, float)}
    odd = {name: word for name, word in odd.items() if isinstance(word, str)}
    if odd:
        data.update(dict.fromkeys(odd))
        content[strictjson.NOT_FINITE] = odd
    return bool(odd)


def _restore(data: Any, said: Any) -> None:
    """Put the words for NaN and the infinities where there is null, in place; of odd lines, what can be."""
    if isinstance(data, dict) and isinstance(said, dict):
        for name, word in said.items():
            if isinstance(word, str) and word in strictjson.SPECIAL and data.get(name, word) is None:
                data[name] = word


def _parse_any(lines: list[bytes], after_ns: int) -> tuple[list[Event], int]:
    events: list[Event] = []
    bad, last = 0, after_ns
    for line, content in zip(lines, _decoded(lines), strict=True):
        if not isinstance(content, dict) or not isinstance(content.get("data"), dict):
            bad += bool(line.strip())
            continue
        stamp = _stamp(line, content)
        if stamp is None:
            bad += 1
            continue
        values = content["data"]
        _restore(values, content.get(strictjson.NOT_FINITE))
        if TIME in values and not _is_own(line) and _repeats(values[TIME], stamp):
            del values[TIME]
        last = stamp if stamp > last else last + 1
        events.append((last, content.get("type", ""), values))
    return events, bad


def _decoded(lines: list[bytes]) -> Iterable[Any]:
    try:
        found: list[Any] = orjson.loads(b"[" + b",".join(lines) + b"]")
    except orjson.JSONDecodeError:
        found = []
    # A broken line may hold two values, or half of one that the next line ends.
    return found if len(found) == len(lines) else [_decoded_line(line) for line in lines]


def _decoded_line(line: bytes) -> Any:
    try:
        return strictjson.decode(line)
    except strictjson.JSONDecodeError:
        return None


def _stamp(line: bytes, content: dict[str, Any]) -> int | None:
    digits = line[_SECONDS] + line[_NANOSECONDS]
    if _is_own(line) and len(digits) == 19 and digits.isdigit():
        return int(digits)
    seconds = content.get("ts")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 <= seconds < 2**33:
        return None
    return round(seconds * clock.SECOND)


def _repeats(time: object, stamp: int) -> bool:
    """Tell the time that Runicorn repeats within an event from a metric that is called `time`."""
    return isinstance(time, float) and abs(time * clock.SECOND - stamp) < 1_000_000


def digests_of_images(path: Path) -> Iterator[tuple[str, str]]:
    """Walk over the images of an event file that have a digest: the path of each in the run, and that digest."""
    offset = 0
    while (found := read(path, offset, _BLOCK)).size:
        offset += found.size
        for line in found.data.split(b"\n") if _IMAGE_LINE in found.data else ():
            data = (
                content.get("data")
                if _IMAGE_LINE in line and isinstance(content := _decoded_line(line), dict)
                else None
            )
            if isinstance(data, dict) and isinstance(data.get("path"), str) and isinstance(data.get(DIGEST), str):
                yield data["path"], data[DIGEST]


def torn_bytes(path: Path) -> int:
    """Count the bytes after the last whole line: what a crash in the middle of a write left."""
    try:
        with open(disk.open_to_read(path), "rb") as file:
            end = file.seek(0, os.SEEK_END)
            block = 1 << 16
            for stop in range(end, 0, -block):
                start = max(0, stop - block)
                file.seek(start)
                at = file.read(stop - start).rfind(b"\n")
                if at >= 0:
                    return end - (start + at + 1)
            return end
    except FileNotFoundError:
        return 0
