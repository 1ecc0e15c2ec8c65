"""What the values of one signal are: their type, and their shape where they are arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.errors import WrongShape, WrongType

TEXT = "str"
_SCALARS: dict[type, str] = {float: "<f8", int: "<i8", bool: "|b1", str: TEXT}
_NUMBERS = "biuf"


@dataclass(frozen=True, slots=True)
class Kind:
    """The type and shape that all values of a signal share.

    Attributes:
        dtype: NumPy's word for the type, little-endian, or `str`.
        shape: The shape of an array; None for a single value.
    """

    dtype: str
    shape: tuple[int, ...] | None = None

    @property
    def items(self) -> int:
        """The numbers in one value."""
        return int(np.prod(self.shape, dtype=np.int64)) if self.shape else 1

    def to_json(self) -> dict[str, Any]:
        """Give it as plain JSON."""
        return {"dtype": self.dtype, "shape": None if self.shape is None else list(self.shape)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Kind:
        """Read what `to_json` gave."""
        shape = data["shape"]
        return cls(str(data["dtype"]), None if shape is None else tuple(map(int, shape)))

    def __str__(self) -> str:
        name = self.dtype if self.dtype == TEXT else np.dtype(self.dtype).name
        return name if self.shape is None else f"{name} of shape {self.shape}"


def kind_of(value: Any) -> Kind:
    """Tell what a value is.

    Raises:
        WrongType: It cannot be recorded.
    """
    word = _SCALARS.get(type(value))
    if word is not None:
        return Kind(word)
    array = as_array(value)
    return Kind(_little(array.dtype), array.shape or None)


def as_array(value: Any) -> NDArray[Any]:
    """Take an array, a list, a tuple, an Arrow array or a NumPy scalar.

    Raises:
        WrongType: It is something else, or holds something other than numbers.
    """
    if not isinstance(value, (np.ndarray, np.generic)):
        if hasattr(value, "to_numpy"):
            value = np.asarray(value)  # of Arrow, pandas and Polars
        elif isinstance(value, (list, tuple)):
            value = _from_list(value)
        else:
            raise WrongType(
                f"a value of type {type(value).__name__} cannot be recorded as a signal: "
                "use a number, a text, an array, or set_static for what does not change"
            )
    array = np.asarray(value)
    if array.dtype.kind not in _NUMBERS or array.dtype.itemsize > 8:
        raise WrongType(
            f"an array of dtype {array.dtype} cannot be recorded as a signal: use booleans, integers or floats"
        )
    return array


def _from_list(value: Any) -> NDArray[Any]:
    try:
        return np.asarray(value)
    except ValueError as error:
        raise WrongType(f"a list that makes no even array cannot be recorded as a signal: {error}") from error


def _little(dtype: np.dtype[Any]) -> str:
    return dtype.newbyteorder("<").str


def mismatch(found: Kind, expected: Kind) -> WrongShape | WrongType:
    """Say how a value differs from those before it."""
    if (found.shape is None) != (expected.shape is None):
        return WrongType(f"expected the type of the values before, {expected}, got {found}")
    if found.dtype != expected.dtype:
        word = "type" if expected.shape is None else "dtype"
        return WrongType(f"expected the {word} of the values before, {expected}, got {found}")
    return WrongShape(f"expected the shape of the values before, {expected.shape}, got {found.shape}")
