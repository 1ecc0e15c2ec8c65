"""What differs between two states: where, how much, and whether that is within a tolerance.

The order of a dict's keys and of an array's memory is no difference: both have the same values in the same places.
Without a tolerance all else is, to the last bit: 1 is not 1.0, 0.0 not −0.0, and a NaN is equal only to the same NaN.
With one, numbers are compared by value, whatever their types, by NumPy's rule for `isclose`: a and b are equal where
|a − b| ≤ absolute + relative · |b|, and NaN where both are NaN. Texts, keys, lengths and shapes must still be the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playhead import strictjson
from playhead.errors import WrongType
from playhead.lanes.keyframes import tree

_SHOWN = 60  # characters of a value in a report


class Tolerance(NamedTuple):
    """How far apart two numbers may be, and still count as equal.

    Attributes:
        relative: In parts of the second one.
        absolute: In its own unit.
    """

    relative: float = 0.0
    absolute: float = 0.0

    @classmethod
    def of(cls, given: float | tuple[float, float] | None) -> Tolerance | None:
        """Make one of a number, which is both, or of a pair.

        Raises:
            WrongType: It is none.
        """
        if given is None:
            return None
        pair = given if isinstance(given, tuple) else (given, given)
        is_good = len(pair) == 2 and all(isinstance(one, (int, float)) and 0 <= one < math.inf for one in pair)
        if not is_good:
            raise WrongType(f"a tolerance is a number from 0, or a relative and an absolute one, not {given!r}")
        return cls(*map(float, pair))

    def allows(self, first: int, second: int) -> bool:
        """Tell whether two whole numbers of any size are equal by it."""
        return abs(first - second) <= Fraction(self.absolute) + Fraction(self.relative) * abs(second)


@dataclass(frozen=True, slots=True)
class Place:
    """One place at which two states differ.

    Attributes:
        path: Where: `['w'][3]`.
        first: What the first state has there: a number, or a few words.
        second: What the second has.
        absolute: How far apart they are; None where they are no numbers.
        relative: The same, in parts of the second.
    """

    path: str
    first: Any
    second: Any
    absolute: float | None = None
    relative: float | None = None

    def __str__(self) -> str:
        apart = "" if self.absolute is None else f", {self.absolute:.6g} apart (relative {self.relative:.6g})"
        return f"state{self.path}: {self.first} and {self.second}{apart}"


@dataclass(slots=True)
class Comparison:
    """What differs between two states.

    Attributes:
        places: How many numbers, texts or keys differ.
        worst: The place of the largest difference; one that cannot be put in numbers is larger than any.
        absolute: The largest difference of two numbers.
        relative: The largest one in parts of the second number.
    """

    places: int = 0
    worst: Place | None = field(default=None)
    absolute: float = 0.0
    relative: float = 0.0

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs."""
        return not self.places

    def to_json(self) -> dict[str, Any]:
        """Give it as JSON."""
        return {"is_equal": self.is_equal, **strictjson.plain(self)}

    def __str__(self) -> str:
        if self.worst is None:
            return "equal"
        more = f", and {self.places - 1:,} more places" if self.places > 1 else ""
        return f"{self.worst}{more}"

    def _add(self, place: Place, count: int = 1) -> None:
        self.places += count
        if self.worst is None or _rank(place) > _rank(self.worst):
            self.worst = place

    def _look(self, first: Any, second: Any, at: tuple[Any, ...], tolerance: Tolerance | None) -> None:
        if isinstance(first, dict) and isinstance(second, dict):
            for key in dict.fromkeys((*first, *second)):
                if key not in first:
                    self._say((*at, key), "nothing", _shown(second[key]))
                elif key not in second:
                    self._say((*at, key), _shown(first[key]), "nothing")
                else:
                    self._look(first[key], second[key], (*at, key), tolerance)
        elif _are_sequences(first, second, tolerance):
            if len(first) != len(second):
                self._say(at, f"{len(first)} items", f"{len(second)} items")
            for place, (one, other) in enumerate(zip(first, second, strict=False)):
                self._look(one, other, (*at, place), tolerance)
        elif type(first) is int and type(second) is int:
            if first != second and (tolerance is None or not tolerance.allows(first, second)):
                self._say_numbers(at, first, second)
        elif _are_numbers(first, second, tolerance):
            self._look_at_numbers(np.asarray(first), np.asarray(second), at, tolerance)
        elif type(first) is not type(second) or tree.pack(first) != tree.pack(second):
            self._say(at, _shown(first), _shown(second))

    def _look_at_numbers(
        self, first: NDArray[Any], second: NDArray[Any], at: tuple[Any, ...], tolerance: Tolerance | None
    ) -> None:
        if first.shape != second.shape or (tolerance is None and first.dtype != second.dtype):
            self._say(at, _kind(first), _kind(second))
            return
        wrong = _unequal(first, second, tolerance)
        count = int(np.count_nonzero(wrong))
        if not count:
            return
        if not (_is_numeric(first) and _is_numeric(second)):
            where = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
            self._say((*at, *map(int, where)), _shown(first[where]), _shown(second[where]), count)
            return
        with np.errstate(all="ignore"):
            apart = np.abs(_wide(first) - _wide(second))
            apart = np.where(wrong, np.where(np.isnan(apart), np.inf, apart), -1.0)
            parts = np.where(wrong, np.where(apart == 0, 0.0, apart / np.abs(_wide(second))), -1.0)
        parts = np.where(np.isnan(parts), np.inf, parts)
        where = np.unravel_index(int(np.argmax(apart)), apart.shape)
        self._amount(float(apart[where]), float(np.max(parts)))
        values = _plain(first[where]), _plain(second[where])
        self._add(Place(_text((*at, *map(int, where))), *values, float(apart[where]), float(parts[where])), count)

    def _say(self, at: tuple[Any, ...], first: Any, second: Any, count: int = 1) -> None:
        self._add(Place(_text(at), first, second), count)

    def _say_numbers(self, at: tuple[Any, ...], first: int, second: int) -> None:
        apart = abs(first - second)
        sizes = _as_float(Fraction(apart)), _as_float(Fraction(apart, abs(second))) if second else math.inf
        self._amount(*sizes)
        self._add(Place(_text(at), _plain(first), _plain(second), *sizes))

    def _amount(self, absolute: float, relative: float) -> None:
        self.absolute, self.relative = max(self.absolute, absolute), max(self.relative, relative)


def compare(first: Any, second: Any, tolerance: float | tuple[float, float] | None = None) -> Comparison:
    """Find what differs between two states.

    Args:
        first: One.
        second: The other, to which a relative difference refers.
        tolerance: How far apart numbers may be: one number, relative and absolute, or a pair of both.
    """
    found = Comparison()
    found._look(first, second, (), Tolerance.of(tolerance))
    return found


def _rank(place: Place) -> float:
    return math.inf if place.absolute is None else place.absolute


def _text(at: tuple[Any, ...]) -> str:
    return "".join(f"[{key!r}]" for key in at)


def _plain(number: Any) -> Any:
    """Give a number as Python's own, or as text where it is very long."""
    if isinstance(number, np.generic):
        return (
            complex(number)
            if number.dtype.kind == "c"
            else float(number)
            if number.dtype.kind == "f"
            else number.item()
        )
    return number if _is_word(number) else _shown(number)


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # an integer of thousands of digits
        text = f"a very long {type(value).__name__}"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _kind(array: NDArray[Any]) -> str:
    return f"{array.dtype} of shape {array.shape}"


def _are_sequences(first: Any, second: Any, tolerance: Tolerance | None) -> bool:
    kinds = (list, tuple)
    return (
        isinstance(first, kinds)
        and isinstance(second, kinds)
        and (type(first) is type(second) or tolerance is not None)
    )


def _are_numbers(first: Any, second: Any, tolerance: Tolerance | None) -> bool:
    """Tell whether two values can be looked at as arrays: such, or what is like one of its items."""
    kinds = (np.ndarray, np.generic, float, complex)
    if tolerance is None:
        return type(first) is type(second) and isinstance(first, kinds)
    return all(isinstance(one, (*kinds, bool)) or _is_word(one) for one in (first, second))


def _is_word(value: Any) -> bool:
    return type(value) is int and -(1 << 63) <= value < 1 << 63


def _is_numeric(array: NDArray[Any]) -> bool:
    return array.dtype.kind in "biufc"


def _unequal(first: NDArray[Any], second: NDArray[Any], tolerance: Tolerance | None) -> NDArray[np.bool_]:
    if tolerance is not None and _is_numeric(first) and _is_numeric(second):
        near = np.isclose(first, second, tolerance.relative, tolerance.absolute, equal_nan=True)
        return np.asarray(~(near | (first == second)))
    if first.dtype != second.dtype:
        return np.ones(first.shape, np.bool_)
    if first.dtype.char in "gG":  # some of whose bytes mean nothing
        parts = [(first, second)] if first.dtype.kind == "f" else [(first.real, second.real), (first.imag, second.imag)]
        same = [((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b)) for a, b in parts]
        return np.asarray(~np.logical_and.reduce(same))
    both = [np.frombuffer(one.tobytes(), np.uint8).reshape(one.size, one.dtype.itemsize) for one in (first, second)]
    return np.asarray((both[0] != both[1]).any(axis=1).reshape(first.shape))


def _wide(array: NDArray[Any]) -> NDArray[Any]:
    return array if array.dtype.char in "gG" else array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _as_float(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf
