"""What callers hand in, as rows of an array: nothing is recorded as another value than was given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.errors import WrongShape, WrongType
from playhead.lanes.arrays.kind import ArrayKind

_INTEGERS = (np.int32, np.int64, np.uint64)


def _holds(dtype: np.dtype[Any], value: Any) -> bool:
    return bool(np.iinfo(dtype).min <= value <= np.iinfo(dtype).max)


def as_array(name: str, value: Any, dtype: np.dtype[Any] | None = None) -> NDArray[Any]:
    """Give what a caller handed in as an array; whole numbers are int32 where they fit.

    Args:
        name: The array, for messages.
        value: An array, a number, lists of numbers, bytes.
        dtype: The type of the rows before.

    Raises:
        WrongType: It is no array.
    """
    if type(value) is np.ndarray:
        return value
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        integer = dtype if dtype is not None and dtype.kind in "iu" else None
        wanted = integer or next((np.dtype(t) for t in _INTEGERS if _holds(np.dtype(t), value)), np.dtype(np.int64))
        if not _holds(wanted, value):
            raise WrongType(f"{name}: {value} does not fit into {wanted}")
        return np.array(value, wanted)
    try:
        return np.asarray(value)
    except (ValueError, TypeError) as error:
        raise WrongType(f"{name}: {type(value).__name__} is not an array: {error}") from error


def fitted(value: Any, kind: ArrayKind) -> NDArray[Any]:
    """Give a value as a row of its array.

    An array must have the type of those before, since it says what it is; numbers and lists of them need only have
    values that the type holds.

    Raises:
        WrongShape, WrongType: It is not one.
    """
    dtype = np.dtype(kind.dtype)
    array = as_array(kind.name, value, dtype)
    if array.shape != kind.shape:
        raise WrongShape(
            f"{kind.name} has the shape {list(array.shape)} where those before have {list(kind.shape)}: "
            "arrays of a run keep their shape; record another environment into another run"
        )
    if array.dtype == dtype:
        return array
    is_shorter = array.dtype.kind == dtype.kind == "S" and array.itemsize <= dtype.itemsize
    if is_shorter or array.dtype.newbyteorder("<") == dtype:
        return array.astype(dtype)
    if type(value) is not np.ndarray and array.dtype.kind in "biuf" and dtype.kind in "iufc":
        return _cast(array, kind, dtype)
    raise WrongType(
        f"{kind.name} has the type {array.dtype} where those before have {dtype}: arrays of a run keep their type"
    )


def _cast(array: NDArray[Any], kind: ArrayKind, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Bring numbers into a type; floats may lose digits, nothing else is lost."""
    with np.errstate(all="ignore"):
        cast: NDArray[Any] = array.astype(dtype)
        is_rounded = dtype.kind in "fc"
        is_kept = np.isfinite(array) == np.isfinite(cast) if is_rounded else cast == array
    if not np.all(is_kept):
        raise WrongType(f"{kind.name}: {array.tolist()} does not fit into {dtype}, the type of those before")
    return cast
