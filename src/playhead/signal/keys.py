"""What may stand between the brackets: single positions and times, slices, and lists of them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.errors import BadKey, BadSlice, OutOfRange, PlayheadError

LEAST, MOST = -(1 << 63), (1 << 63) - 1  # the times that a stamp can be

INDEX = "an index"
TIME = "a time in nanoseconds"
_STEP = "a step"

_TRUTHS = (bool, np.bool_)


def are_several(key: Any) -> bool:
    """Tell a list of keys, of whatever kind, from a single one."""
    return key.ndim > 0 if isinstance(key, np.ndarray) else isinstance(key, Sequence)


def as_integer(key: Any, what: str) -> int:
    """Take a whole number of any kind; nothing else, not even a bool.

    Raises:
        BadKey: It is something else.
    """
    if isinstance(key, _TRUTHS):
        raise BadKey(f"{what} is a whole number. Boolean indexing is not supported: pass np.flatnonzero(mask)")
    try:
        return operator.index(key)
    except TypeError:
        others = ", a slice or a list of whole numbers" if what in (INDEX, TIME) else ""
        raise BadKey(f"{what} is a whole number{others}, not {type(key).__name__}") from None


def as_integers(keys: Any, what: str, outside: Callable[[int], PlayheadError]) -> NDArray[np.int64]:
    """Take a list, a tuple or an array of whole numbers; an array of int64 is given back itself.

    Args:
        keys: The numbers.
        what: What they are, for the message.
        outside: Makes the error for a number that does not fit into 64 bits.

    Raises:
        BadKey: It is something else: a mask, fractions, more than one dimension.
    """
    if not isinstance(keys, np.ndarray):
        return _listed(keys, what, outside)
    if keys.dtype == np.bool_:
        raise BadKey("Boolean indexing is not supported: pass positions, as np.flatnonzero(mask) gives them")
    if keys.ndim != 1:
        raise BadKey(f"a list of whole numbers has one dimension, this one has {keys.ndim}")
    if keys.dtype == object:
        return _listed(keys.tolist(), what, outside)
    if keys.dtype.kind not in "iu":
        raise BadKey(f"{what} is a whole number; this array holds {keys.dtype}: convert it with .astype(np.int64)")
    if keys.dtype.kind == "u" and keys.size and int(keys.max()) > MOST:
        raise outside(int(keys.max()))
    return keys.astype(np.int64, copy=False)


def _listed(keys: Any, what: str, outside: Callable[[int], PlayheadError]) -> NDArray[np.int64]:
    if not isinstance(keys, Sequence) or isinstance(keys, (str, bytes)):
        raise BadKey(f"{what} is a whole number, a slice or a list of whole numbers, not {type(keys).__name__}")
    # NumPy would make 1 of True, fractions of numbers beyond 64 bits, and sometimes text of everything.
    are_plain = type(keys) in (list, tuple) and set(map(type, keys)) <= {int}
    numbers = keys if are_plain else [as_integer(key, what) for key in keys]
    try:
        return np.array(numbers, np.int64)
    except OverflowError:
        raise outside(next(number for number in numbers if not LEAST <= number <= MOST)) from None


def one_position(key: Any, length: int) -> int:
    """Resolve an index, counted from the end where it is negative.

    Raises:
        OutOfRange: There is no such position.
    """
    index = as_integer(key, INDEX)
    position = index + length if index < 0 else index
    if not 0 <= position < length:
        raise _out_of_range(index, length)
    return position


def several_positions(keys: Any, length: int) -> NDArray[np.int64]:
    """Resolve a list of indices.

    Raises:
        OutOfRange: One of them does not exist.
    """
    indices = as_integers(keys, INDEX, lambda index: _out_of_range(index, length))
    wrong = (indices < -length) | (indices >= length)
    if wrong.any():
        raise _out_of_range(int(indices[wrong][0]), length)
    return np.where(indices < 0, indices + length, indices)


def _out_of_range(index: int, length: int) -> OutOfRange:
    return OutOfRange(f"index {index} is out of range: there are {length}")


def sliced_positions(key: slice, length: int) -> range:
    """Resolve a slice that goes forward.

    Raises:
        BadSlice: Its step is zero or negative.
    """
    if key.step is not None and as_integer(key.step, _STEP) <= 0:
        raise BadSlice(f"Slice step must be positive, not {key.step}; use reversed(signal) to go backwards")
    try:
        return range(*key.indices(length))
    except TypeError:
        raise BadKey("the bounds of a slice are whole numbers") from None


def sliced_any_way(key: slice, length: int) -> range:
    """Resolve a slice that may also go backwards, as of episodes.

    Raises:
        BadSlice: If its step is zero.
        BadKey: If a bound is not a whole number.
    """
    try:
        return range(*key.indices(length))
    except TypeError:
        raise BadKey("the bounds of a slice are whole numbers") from None
    except ValueError:
        raise BadSlice("Slice step must not be zero") from None


def position_from(stamps: NDArray[np.int64], time: int) -> int:
    """Find the first stamp at or after a time, which may lie beyond 64 bits."""
    if not LEAST <= time <= MOST:
        return 0 if time < LEAST else len(stamps)
    return int(stamps.searchsorted(time, "left"))


def position_until(stamps: NDArray[np.int64], time: int) -> int:
    """Find the newest stamp at or before a time, which may lie beyond 64 bits; -1 where there is none."""
    if not LEAST <= time <= MOST:
        return -1 if time < LEAST else len(stamps) - 1
    return int(stamps.searchsorted(time, "right")) - 1


def stepped_times(key: slice) -> tuple[int, int | None, int]:
    """Take the start, stop and step of a slice of time.

    Raises:
        BadSlice: The step is not positive, or there is no start.
    """
    step = as_integer(key.step, _STEP)
    if step <= 0:
        raise BadSlice(f"Slice step must be positive, not {step}")
    if key.start is None:
        raise BadSlice("a slice of time with a step needs a start: signal.time[signal.start_ts::step]")
    return as_integer(key.start, TIME), None if key.stop is None else as_integer(key.stop, TIME), step


def times_between(start: int, stop: int, step: int) -> NDArray[np.int64]:
    """Give every time from a start, below a stop.

    Raises:
        BadKey: The last of them is no time: it does not fit into 64 bits.
    """
    count = max(0, -((start - stop) // step))
    newest = start + (count - 1) * step
    if count and newest > MOST:
        raise too_late(newest)
    # Not np.arange(start, stop, step), which counts in fractions and loses the last time of a long range. Without a
    # sign, since the step itself may need 64 bits; what overflows comes back.
    steps = np.arange(count, dtype=np.uint64) * np.uint64(step % (1 << 64))
    return (steps + np.uint64(start % (1 << 64))).view(np.int64)


def too_late(time: int) -> BadKey:
    """Say that a time cannot be the stamp of a sample."""
    return BadKey(f"{TIME} has 64 bits; {time} does not fit, so no sample can be shown at it")
