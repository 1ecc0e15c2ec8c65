"""Which type and shape arrays of a replay have, where many steps say it and some of them only roughly.

An encoded array says its type. Lists of numbers do not: they take the type of the encoded arrays beside them, where it
holds each number as it is, and else the smallest that is usual for such values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from playhead.integrations.mosaic.blobs import ACTIONS, Value

_BYTES = 255
_EXACT = {"float16": 1 << 11, "float32": 1 << 24, "float64": 1 << 53}  # up to which each whole number is held


@dataclass(frozen=True, slots=True)
class Kind:
    """What is known of an array.

    Attributes:
        shape: Of a row.
        dtype: What encoded arrays said; None where there were only lists.
        is_float: Some list had a fraction.
        is_single: All such numbers are those of 32-bit floats.
        is_bool: Whatever was listed was true or false.
        low: The smallest whole number that was listed.
        high: The largest.
    """

    shape: tuple[int, ...]
    dtype: str | None = None
    is_float: bool = False
    is_single: bool = True
    is_bool: bool = True
    low: int = 0
    high: int = 0

    @classmethod
    def of(cls, value: Value) -> Kind:
        """Describe one array."""
        array = value.array
        if not value.is_listed:
            return cls(array.shape, array.dtype.newbyteorder("<").str)
        if array.dtype.kind == "f":
            with np.errstate(over="ignore"):
                single = array.astype(np.float32)
            is_single = bool(np.array_equal(single.astype(array.dtype), array, equal_nan=True))
            return cls(array.shape, is_float=True, is_single=is_single, is_bool=False)
        return cls(array.shape, is_bool=array.dtype.kind == "b", low=int(array.min()), high=int(array.max()))

    def merged(self, other: Kind) -> Kind | None:
        """Describe an array that has rows of both; None where there can be none."""
        if self.shape != other.shape or len({self.dtype, other.dtype} - {None}) > 1:
            return None
        both = replace(
            self,
            dtype=self.dtype or other.dtype,
            is_float=self.is_float or other.is_float,
            is_single=self.is_single and other.is_single,
            is_bool=self.is_bool and other.is_bool,
            low=min(self.low, other.low),
            high=max(self.high, other.high),
        )
        return both if both.holds() else None

    def holds(self) -> bool:
        """Tell whether the type that was said holds everything that was listed."""
        if self.dtype is None:
            return not self.is_float or max(-self.low, self.high) <= _EXACT["float64"]
        dtype = np.dtype(self.dtype)
        if dtype.kind in "iu":
            return not self.is_float and np.iinfo(dtype).min <= self.low and self.high <= np.iinfo(dtype).max
        if dtype.kind == "b":
            return self.is_bool and not self.is_float
        if dtype.kind != "f":
            return (self.is_float, self.low, self.high) == (False, 0, 0)
        is_wide_enough = not self.is_float or dtype.itemsize == 8 or (dtype.itemsize == 4 and self.is_single)
        return is_wide_enough and max(-self.low, self.high) <= _EXACT[dtype.name]

    def resolved(self, name: str) -> np.dtype[Any]:
        """Choose the type of the array."""
        if self.dtype is not None:
            return np.dtype(self.dtype)
        if self.is_float:
            return np.dtype(np.float64)
        if self.is_bool:
            return np.dtype(np.bool_)
        if len(self.shape) > 1 and self.low >= 0 and self.high <= _BYTES:
            return np.dtype(np.uint8)
        is_small = np.iinfo(np.int32).min <= self.low and self.high <= np.iinfo(np.int32).max
        if name == ACTIONS and is_small:
            return np.dtype(np.int32)
        return np.dtype(np.int64 if self.high < 1 << 63 else np.uint64)


Kinds = dict[str, Kind]


def merge(known: Mapping[str, Kind], more: Mapping[str, Kind]) -> Kinds | None:
    """Describe arrays of which some steps have the one and some the other; None where they are not alike.

    What belongs together (`observations.camera`, `observations.speed`) is there whole, or not at all.
    """
    for group in {_group(name) for name in more} & {_group(name) for name in known}:
        if {name for name in known if _group(name) == group} != {name for name in more if _group(name) == group}:
            return None
    both = dict(known)
    for name, kind in more.items():
        found = known[name].merged(kind) if name in known else kind
        if found is None:
            return None
        both[name] = found
    return both


def _group(name: str) -> str:
    return name.partition(".")[0]
