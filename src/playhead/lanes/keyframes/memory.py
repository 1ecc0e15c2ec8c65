"""In which order the axes of an array lie in memory: sums depend on it, and so does what is made of the array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

Axes = tuple[int, ...]  # from that whose elements lie farthest apart to that whose are neighbours


def axes_of(array: NDArray[Any]) -> Axes | None:
    """Give the order of an array's axes in memory, as NumPy keeps it where it copies; None for that of the shape.

    Gaps between elements, and axes that run backwards, are not told: a copy has none.
    """
    if array.ndim < 2 or array.flags.c_contiguous:
        return None
    # An axis of one element lies anywhere; those come first, so that equal arrays are told alike.
    axes = tuple(sorted(range(array.ndim), key=lambda axis: (array.shape[axis] != 1, -abs(array.strides[axis]))))
    long = [axis for axis in axes if array.shape[axis] != 1]
    return None if long == sorted(long) else axes


def is_reversed(axes: Axes, shape: Sequence[int]) -> bool:
    """Tell whether the first index runs fastest."""
    long = [axis for axis in axes if shape[axis] != 1]
    return long == sorted(long, reverse=True)


def strides(itemsize: int, shape: Sequence[int], axes: Axes) -> tuple[int, ...]:
    """Give how many bytes apart elements lie along each axis, where there are no gaps."""
    found, apart = [0] * len(shape), itemsize
    for axis in reversed(axes):
        found[axis] = apart
        apart *= shape[axis]
    return tuple(found)


def check_axes(axes: Sequence[Any], dimensions: int) -> Axes:
    """See that axes are those of an array, each once.

    Raises:
        ValueError: They are not.
    """
    if any(type(axis) is not int for axis in axes) or sorted(axes) != list(range(dimensions)):
        raise ValueError("no order of axes")
    return tuple(axes)
