"""Copying many arrays to where they are needed while another thread has the interpreter.

Python and NumPy copy one array at a time. Either they hold the interpreter meanwhile, and the thread that steps an
environment waits, or they let go of it and must ask for it back, for each array. In C any number is copied by one call.
"""

from __future__ import annotations

import ctypes
from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.native import library
from playhead.native.colours import Colours, is_numbered

_LEAST_BYTES = 1 << 20  # below, a plain copy is done before a call would have begun

if library is not None:
    library.playhead_gather.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.playhead_gather.restype = None


class Copies:
    """Copies that are to be made: contiguous arrays of one size, one behind the other into memory.

    The arrays and the memory are held until then.
    """

    def __init__(self) -> None:
        self._all: list[tuple[memoryview, list[NDArray[Any]], list[int], Colours | None]] = []

    def add(self, target: memoryview, values: list[Any], colours: Colours | None = None) -> bool:
        """Copy arrays into memory, later; tell whether they can be, since they are contiguous.

        Args:
            target: Bytes that can be written, as many as the arrays have.
            values: The arrays, of one size.
            colours: What those are numbers of that are no pixels: they are spelled out.
        """
        try:
            places = _places_of(values)
        except (TypeError, ValueError):  # what can only be read has its place elsewhere; what is no array, none
            if not all(map(_is_there, values)):
                return False
            places = [int(value.__array_interface__["data"][0]) for value in values]
        are_told = colours is not None and any(map(is_numbered, values))
        self._all.append((target, values, places, colours if are_told else None))
        return True

    def make(self) -> None:
        """Make all copies."""
        if library is not None and sum([len(target) for target, _, _, _ in self._all]) >= _LEAST_BYTES:
            pieces = array("Q")
            for target, values, places, colours in self._all:
                pieces.extend(_pieces(target, values, places, colours))
            library.playhead_gather(pieces.buffer_info()[0], len(pieces) // 4)
            return
        for target, values, _, colours in self._all:
            size = len(target) // len(values)
            for at, value in zip(range(0, len(target), size), values, strict=True):
                pixels = value if colours is None else colours.spelled(value)
                target[at : at + size] = pixels.data.cast("B")


def _pieces(target: memoryview, values: list[NDArray[Any]], places: list[int], colours: Colours | None) -> array[int]:
    """Say where each piece goes, where it lies, how large it is, and what colours it tells, if it does."""
    [start] = _places_of([target])
    size = len(target) // len(places)
    found = array("Q", [size]) * (4 * len(places))
    found[0::4] = array("Q", range(start, start + len(target), size))
    found[1::4] = array("Q", places)
    if colours is None:
        found[3::4] = array("Q", bytes(8 * len(places)))
    else:
        address = colours.address
        found[3::4] = array("Q", [address if is_numbered(value) else 0 for value in values])
    return found


def _places_of(values: list[Any]) -> list[int]:
    """Say where contiguous memory lies that can be written; without a call of ours for each, since there are many.

    Raises:
        TypeError, ValueError: Some is not contiguous, can only be read, or is no memory.
    """
    return list(map(ctypes.addressof, map(ctypes.c_char.from_buffer, values)))


def _is_there(value: Any) -> bool:
    return type(value) is np.ndarray and value.flags.c_contiguous
