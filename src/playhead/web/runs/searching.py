"""Search in a text log, piece by piece and for a limited time.

Patterns are matched by RE2, whose time grows with the text alone: no pattern of a stranger can hang the server.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from playhead import clock
from playhead.web.errors import BadRequest
from playhead.web.runs.logfile import TIME, Line, LogFile, read_line

SECONDS = 2.0


def search(log: LogFile, wanted: str, *, is_pattern: bool, start: int, limit: int) -> tuple[list[Line], bool]:
    """Find lines by their text without the time; letters match in any case, unless capitals are wanted.

    Args:
        log: The log.
        wanted: What to look for.
        is_pattern: It is a regular expression.
        start: The byte from which on.
        limit: How many lines at most.

    Returns:
        The lines, and whether there may be more: past the limit, or past the time.

    Raises:
        BadRequest: It is not a regular expression.
    """
    deadline = clock.elapsed_ns() + int(SECONDS * clock.SECOND)
    any_case = wanted == wanted.lower()
    found: list[Line] = []
    if is_pattern:
        _check(wanted)
    for at, piece in log.pieces(start):
        hits = _by_pattern(piece, wanted, any_case) if is_pattern else _by_text(piece, wanted, any_case)
        for place, line in hits:
            if at + place < start:
                continue
            if len(found) == limit:
                return found, True
            found.append(read_line(at + place, line))
        if clock.elapsed_ns() > deadline:
            return found, at + len(piece) < log.size
    return found, False


def _check(pattern: str) -> None:
    try:
        pc.match_substring_regex(pa.array([""]), pattern=pattern)
    except pa.ArrowInvalid as error:
        raise BadRequest(f"{pattern[:80]!r} is not a regular expression: {error}") from None


def _by_pattern(piece: bytes, pattern: str, any_case: bool) -> Iterator[tuple[int, bytes]]:
    lines = _split(piece)
    texts = pa.array([read_line(0, line).text for line in lines], pa.string())
    hits = pc.match_substring_regex(texts, pattern=pattern, ignore_case=any_case).to_numpy(zero_copy_only=False)
    place = 0
    for line, hit in zip(lines, hits, strict=True):
        if hit:
            yield place, line
        place += len(line)


def _split(piece: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in piece.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _by_text(piece: bytes, wanted: str, any_case: bool) -> Iterator[tuple[int, bytes]]:
    sought = wanted.encode()
    if any_case and not wanted.isascii():  # letters outside ASCII change their length
        yield from ((at, line) for at, line in _placed(piece) if wanted in read_line(0, line).text.lower())
        return
    text = piece.lower() if any_case else piece
    at = text.find(sought)
    while at >= 0:
        begin = text.rfind(b"\n", 0, at) + 1
        end = text.find(b"\n", at) + 1 or len(text)
        time = TIME.match(piece, begin)
        if time is None or text.find(sought, time.end(), end) >= 0:
            yield begin, piece[begin:end]
        at = text.find(sought, end)


def _placed(piece: bytes) -> Iterator[tuple[int, bytes]]:
    place = 0
    for line in _split(piece):
        yield place, line
        place += len(line)
