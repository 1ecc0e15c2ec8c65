"""Frames of Zstandard that hold packed values: made smaller, or as they are.

What hardly gets smaller, such as random numbers, would be a few parts in a hundred smaller, and take thirty times as
long to read. Where it is long, it lies in its frame as it is: any reader of Zstandard copies it out, and this one looks
at it where it lies.
"""

from __future__ import annotations

from playhead import zstd

LEVEL = 3

_AS_IT_IS = -1  # the level at which numbers stay as they are, and only what repeats is told once
_WORTH = 0.875
_LONG = 4096  # bytes, from which on what repeats is not told once either
_BEGIN = b"\x28\xb5\x2f\xfd\xa0"  # magic; the size of the content follows in four bytes, then pieces
_SIZE, _PIECE = 4, 3  # bytes of that size; and of what is said of a piece: its size, 0 for bare, 1 bit for the last
_MOST_IN_PIECE = 1 << 17
_HEAD = len(_BEGIN) + _SIZE + _PIECE


def squeezed(packed: bytes) -> bytes:
    """Put packed values into a frame, smaller where that is worth it."""
    found = zstd.compress(packed, LEVEL)
    if len(found) < len(packed) * _WORTH:
        return found
    return zstd.compress(packed, _AS_IT_IS) if len(packed) < _LONG else _as_it_is(packed)


def gets_smaller(packed: bytes) -> bool:
    """Tell whether compressing packed values is worth it."""
    return len(zstd.compress(packed, LEVEL)) < len(packed) * _WORTH


def _as_it_is(packed: bytes) -> bytes:
    parts = [_BEGIN, len(packed).to_bytes(_SIZE, "little")]
    for start in range(0, len(packed), _MOST_IN_PIECE):
        piece = packed[start : start + _MOST_IN_PIECE]
        parts += [_piece(len(piece), is_last=start + len(piece) == len(packed)), piece]
    return b"".join(parts)


def _piece(size: int, *, is_last: bool) -> bytes:
    return (size << 3 | is_last).to_bytes(_PIECE, "little")


def look(frame: bytes, most: int) -> memoryview:
    """Give what is in a frame, up to a limit; no copy of it where it lies there as it is, in one piece.

    Raises:
        Malformed: It is no such frame, or its content is larger.
    """
    size = len(frame) - _HEAD
    if (
        0 < size <= min(most, _MOST_IN_PIECE)
        and frame.startswith(_BEGIN)
        and frame[len(_BEGIN) : _HEAD] == size.to_bytes(_SIZE, "little") + _piece(size, is_last=True)
    ):
        return memoryview(frame)[_HEAD:]
    return memoryview(zstd.expand_all(frame, most))
