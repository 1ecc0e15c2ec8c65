"""Arrays that hold one value of a space, from when it is seen until the step that it belongs to is recorded.

What an environment gave is copied at once: it may write its next observation into the same memory, and its caller may
do with it what he likes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from playhead.errors import WrongShape, WrongType

if TYPE_CHECKING:
    from gymnasium import Space

Keep = Callable[[Any], None]

_BYTES_PER_CHARACTER = 4  # of UTF-8, at most
_SMALL = 1 << 31
_LARGE, _HUGE = 1 << 12, 1 << 20  # bytes


class Cells:
    """Holds a value of a space as arrays, one for each leaf.

    Args:
        space: The space.
        description: What `spaces.describe` says of it.

    Attributes:
        arrays: The arrays by name; always the same ones.
        keep: Takes the next value. It raises `WrongShape` or `WrongType` where that is not one of the space.
    """

    __slots__ = ("arrays", "keep")

    def __init__(self, space: Space[Any], description: Mapping[str, Any]) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self.keep: Keep = _keeper(space, description, self.arrays)

    def restart(self) -> None:
        """Hear that an episode begins."""


def _keeper(space: Any, description: Mapping[str, Any], arrays: dict[str, NDArray[Any]]) -> Keep:
    match description["type"]:
        case "Dict":
            parts = [(key, _keeper(space[key], part, arrays)) for key, part in description["spaces"].items()]
            return _keep_dict(parts)
        case "Tuple":
            return _keep_tuple([_keeper(*pair, arrays) for pair in zip(space, description["spaces"], strict=True)])
        case "Discrete":
            cell = np.zeros((), _narrow(space))
            keep = _keep_number(description["array"], cell)
        case "Text":
            cell = np.zeros((), f"S{max(1, _BYTES_PER_CHARACTER * space.max_length)}")
            keep = _keep_text(description["array"], cell)
        case _:
            cell = np.zeros(space.shape, space.dtype)
            keep = _keep_array(description["array"] or "an array of no size", cell)
    if description["array"] is not None:
        arrays[description["array"]] = cell
    return keep


def _narrow(space: Any) -> np.dtype[Any]:
    low, high = int(space.start), int(space.start) + int(space.n) - 1
    return next(
        np.dtype(t) for t in (np.int32, np.int64, np.uint64) if np.iinfo(t).min <= low and high <= np.iinfo(t).max
    )


def _keep_dict(parts: list[tuple[str, Keep]]) -> Keep:
    names = {key for key, _ in parts}

    def keep(value: Any) -> None:
        if not isinstance(value, Mapping) or value.keys() != names:
            found = f"the keys {sorted(map(str, value))}" if isinstance(value, Mapping) else type(value).__name__
            raise WrongType(f"a Dict space with the keys {sorted(names)} was declared, and {found} came")
        for key, keep_part in parts:
            keep_part(value[key])

    return keep


def _keep_tuple(parts: list[Keep]) -> Keep:
    def keep(value: Any) -> None:
        if not isinstance(value, (tuple, list, np.ndarray)) or len(value) != len(parts):
            found = f"{len(value)}" if hasattr(value, "__len__") else type(value).__name__
            raise WrongType(f"a Tuple space of {len(parts)} was declared, and {found} came")
        for keep_part, part in zip(parts, value, strict=True):
            keep_part(part)

    return keep


def _keep_array(name: str, cell: NDArray[Any]) -> Keep:
    shape, dtype = cell.shape, cell.dtype
    copy = copier(cell)

    def keep(value: Any) -> None:
        if type(value) is not np.ndarray or value.dtype != dtype or value.shape != shape:
            value = declared(name, value, shape, dtype)
        copy(value)

    return keep


def copier(cell: NDArray[Any]) -> Keep:
    """Give what copies an array of the same shape and type into a cell.

    NumPy lets go of the interpreter while it copies a large array. Where another thread is busy, getting it back costs
    more than the copy.
    """
    if not (_LARGE <= cell.nbytes < _HUGE and cell.dtype.kind in "biuf" and cell.dtype.itemsize <= 8):

        def copy_small(value: NDArray[Any]) -> None:
            cell[...] = value

        return copy_small
    memory = cell.data.cast("B")

    def copy(value: NDArray[Any]) -> None:
        if value.flags.c_contiguous:
            memory[:] = value.data.cast("B")
        else:
            cell[...] = value

    return copy


def _keep_number(name: str, cell: NDArray[Any]) -> Keep:
    def keep(value: Any) -> None:
        try:
            cell[()] = index(value)
        except (TypeError, OverflowError):
            cell[()] = declared(name, value, (), cell.dtype)

    return keep


def is_small_number(space: Any) -> bool:
    """Tell whether values of a space are whole numbers of 32 bits."""
    from gymnasium import spaces

    return isinstance(space, spaces.Discrete) and _narrow(space) == np.int32


def whole(value: Any) -> int:
    """Give a value of a space of small whole numbers, as Python has it.

    Raises:
        WrongShape, WrongType: It is none.
    """
    try:
        number = index(value)
    except TypeError:
        return int(declared("actions", value, (), np.dtype(np.int32)))
    return number if -_SMALL <= number < _SMALL else int(declared("actions", number, (), np.dtype(np.int32)))


def _keep_text(name: str, cell: NDArray[Any]) -> Keep:
    def keep(value: Any) -> None:
        if not isinstance(value, str):
            raise WrongType(f"{name}: a text was declared, and {type(value).__name__} came")
        try:
            data = value.encode()
        except UnicodeEncodeError as error:
            raise WrongType(f"{name}: {value!r} cannot be written as UTF-8: {error.reason}") from error
        if len(data) > cell.itemsize or "\0" in value:
            most = cell.itemsize // _BYTES_PER_CHARACTER
            raise WrongType(f"{name}: {value[:40]!r} is no text of at most {most} characters without U+0000")
        cell[()] = data

    return keep


def declared(name: str, value: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Give a value in the type that its space declares; floats may lose digits, nothing else may be lost.

    Raises:
        WrongShape, WrongType: It is not a value of the space.
    """
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise WrongType(f"{name}: {type(value).__name__} cannot be made an array: {error}") from error
    if array.dtype.kind not in "biufc":
        raise WrongType(f"{name}: {dtype} was declared, and a {type(value).__name__} of {array.dtype} came")
    if array.shape != shape:
        raise WrongShape(
            f"{name} has the shape {list(array.shape)} where its space declares {list(shape)}: "
            "make the space of the environment say what it gives and takes"
        )
    with np.errstate(all="ignore"):
        cast: NDArray[Any] = array.astype(dtype)
        is_rounded = array.dtype.kind in "biuf" and dtype.kind in "fc"
        is_same = np.isfinite(array) == np.isfinite(cast) if is_rounded else cast == array
    if not np.all(is_same):
        lost = array[~is_same].flat[0] if array.ndim else array[()]
        raise WrongType(f"{name}: {lost!r} does not fit into {dtype}, the type that its space declares")
    return cast
