"""States of a Mersenne Twister, told by an earlier one.

The generator has 624 words, all of which are replaced at each turn, by a rule: half of what an Atari game needs to be
saved. Where the words of a state follow from those of another within a few turns, the number of turns says as much.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WORDS, _MIDDLE = 624, 397
_UPPER, _LOWER, _MATRIX = np.uint32(0x80000000), np.uint32(0x7FFFFFFF), np.uint32(0x9908B0DF)
_TEXT = re.compile(rb"(?:\d{1,10} ){624}\d{1,3}")  # as C++ writes one: its words, and how many of them are used
_MOST_TURNS = 256

Words = NDArray[np.uint32]


def turned(words: Words) -> Words:
    """Give the words of a generator after its next turn."""
    new = words.copy()
    _turn(new, words, 0, _WORDS - _MIDDLE)
    _turn(new, words, _WORDS - _MIDDLE, 2 * (_WORDS - _MIDDLE))
    _turn(new, words, 2 * (_WORDS - _MIDDLE), _WORDS - 1)
    mixed = (words[-1] & _UPPER) | (new[0] & _LOWER)
    new[-1] = new[_MIDDLE - 1] ^ (mixed >> np.uint32(1)) ^ (_MATRIX if mixed & np.uint32(1) else np.uint32(0))
    return new


def _turn(new: Words, words: Words, start: int, stop: int) -> None:
    mixed = (words[start:stop] & _UPPER) | (words[start + 1 : stop + 1] & _LOWER)
    first = start + _MIDDLE if start == 0 else start + _MIDDLE - _WORDS
    source = words if start == 0 else new
    far = source[first : first + stop - start]
    new[start:stop] = far ^ (mixed >> np.uint32(1)) ^ np.where(mixed & np.uint32(1), _MATRIX, np.uint32(0))


def shortened(data: bytes, base: bytes) -> Any:
    """Tell a state by an earlier one.

    Args:
        data: A state that holds generators as text.
        base: An earlier one of the same simulator.

    Returns:
        What is left of it, and for each generator where it was, how many turns it took, and how many words are used;
        None where one does not follow from what it was.
    """
    found, earlier = list(_TEXT.finditer(data)), list(_TEXT.finditer(base))
    if not found or len(found) != len(earlier):
        return None
    left, marks, at = [], [], 0
    for one, was in zip(found, earlier, strict=True):
        words, used = _read(one[0])
        turns = _turns(_read(was[0])[0], words)
        if turns is None:
            return None
        left.append(data[at : one.start()])
        marks.append([one.start(), turns, used])
        at = one.end()
    left.append(data[at:])
    short = [b"".join(left), marks]
    return short if whole(short, base) == data else None


def whole(short: Any, base: bytes) -> bytes:
    """Give the state that `shortened` told."""
    rest, marks = short
    parts, at, shift = [], 0, 0
    for (start, turns, used), was in zip(marks, _TEXT.finditer(base), strict=True):
        words = _read(was[0])[0]
        for _ in range(turns):
            words = turned(words)
        text = b" ".join(b"%d" % word for word in [*words.tolist(), used])
        parts += [rest[at : start - shift], text]
        at = start - shift
        shift += len(text)
    return b"".join([*parts, rest[at:]])


def _read(text: bytes) -> tuple[Words, int]:
    numbers = np.array(text.split(), np.uint64)
    return numbers[:-1].astype(np.uint32), int(numbers[-1])


def _turns(words: Words, wanted: Words) -> int | None:
    for turns in range(_MOST_TURNS):
        if np.array_equal(words, wanted):
            return turns
        words = turned(words)
    return None
