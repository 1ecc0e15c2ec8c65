"""Values of a space as arrays that nobody else holds, one for each leaf.

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

Arrays = dict[str, Any]
Keep = Callable[[Any, Arrays], None]

_BYTES_PER_CHARACTER = 4  # of UTF-8, at most
_SMALL = 1 << 31
_NOT_PLAIN = ("Dict", "Tuple", "Discrete", "Text")


class Cells:
    """Takes values of a space apart.

    Args:
        space: The space.
        description: What `spaces.describe` says of it.

    Attributes:
        names: The names of the arrays.
        plain: The name, shape and type of the only array, where a value is just that; else None.
        keep: Takes a value, and puts its arrays into a dict by their names. It raises `WrongShape` or `WrongType` where
            the value is not one of the space.
    """

    __slots__ = ("keep", "names", "plain")

    def __init__(self, space: Space[Any], description: Mapping[str, Any]) -> None:
        self.names: list[str] = []
        self.keep: Keep = _keeper(space, description, self.names)
        self.plain: tuple[str, tuple[int, ...], np.dtype[Any]] | None = None
        if len(self.names) == 1 and description["type"] not in _NOT_PLAIN:
            self.plain = self.names[0], tuple(space.shape or ()), np.dtype(space.dtype)

    def restart(self) -> None:
        """Hear that an episode begins."""


def _keeper(space: Any, description: Mapping[str, Any], names: list[str]) -> Keep:
    name: Any = description.get("array")  # None where there is nothing to keep
    match description["type"]:
        case "Dict":
            parts = [(key, _keeper(space[key], part, names)) for key, part in description["spaces"].items()]
            return _keep_dict(parts)
        case "Tuple":
            return _keep_tuple([_keeper(*pair, names) for pair in zip(space, description["spaces"], strict=True)])
        case "Discrete":
            keep = _keep_number(name, np.dtype(_narrow(space)))
        case "Text":
            keep = _keep_text(name, max(1, _BYTES_PER_CHARACTER * space.max_length))
        case _:
            keep = _keep_array(name, space.shape, np.dtype(space.dtype))
    if name is not None:
        names.append(name)
    return keep


def _narrow(space: Any) -> np.dtype[Any]:
    low, high = int(space.start), int(space.start) + int(space.n) - 1
    return next(
        np.dtype(t) for t in (np.int32, np.int64, np.uint64) if np.iinfo(t).min <= low and high <= np.iinfo(t).max
    )


def _keep_dict(parts: list[tuple[str, Keep]]) -> Keep:
    names = {key for key, _ in parts}

    def keep(value: Any, into: Arrays) -> None:
        if not isinstance(value, Mapping) or value.keys() != names:
            found = f"the keys {sorted(map(str, value))}" if isinstance(value, Mapping) else type(value).__name__
            raise WrongType(f"a Dict space with the keys {sorted(names)} was declared, and {found} came")
        for key, keep_part in parts:
            keep_part(value[key], into)

    return keep


def _keep_tuple(parts: list[Keep]) -> Keep:
    def keep(value: Any, into: Arrays) -> None:
        if not isinstance(value, (tuple, list, np.ndarray)) or len(value) != len(parts):
            found = f"{len(value)}" if hasattr(value, "__len__") else type(value).__name__
            raise WrongType(f"a Tuple space of {len(parts)} was declared, and {found} came")
        for keep_part, part in zip(parts, value, strict=True):
            keep_part(part, into)

    return keep


def _keep_array(name: str | None, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Keep:
    if name is None:  # it has no values

        def check(value: Any, _into: Arrays) -> None:
            declared("an array of no size", value, shape, dtype)

        return check

    def keep(value: Any, into: Arrays) -> None:
        if type(value) is not np.ndarray or value.dtype != dtype or value.shape != shape:
            into[name] = declared(name, value, shape, dtype)
        else:
            into[name] = value.copy()

    return keep


def _keep_number(name: str, dtype: np.dtype[Any]) -> Keep:
    def keep(value: Any, into: Arrays) -> None:
        try:
            into[name] = np.array(index(value), dtype)
        except (TypeError, OverflowError):
            into[name] = declared(name, value, (), dtype)

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


def _keep_text(name: str, most_bytes: int) -> Keep:
    dtype = np.dtype(f"S{most_bytes}")

    def keep(value: Any, into: Arrays) -> None:
        if not isinstance(value, str):
            raise WrongType(f"{name}: a text was declared, and {type(value).__name__} came")
        try:
            data = value.encode()
        except UnicodeEncodeError as error:
            raise WrongType(f"{name}: {value!r} cannot be written as UTF-8: {error.reason}") from error
        if len(data) > most_bytes or "\0" in value:
            most = most_bytes // _BYTES_PER_CHARACTER
            raise WrongType(f"{name}: {value[:40]!r} is no text of at most {most} characters without U+0000")
        into[name] = np.array(data, dtype)

    return keep


def declared(name: str, value: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Give a value in the type that its space declares, as a copy; floats may lose digits, nothing else may be lost.

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
