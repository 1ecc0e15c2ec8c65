"""Copying many arrays to where they are needed while another thread has the interpreter.

Python and NumPy copy one array at a time. Either they hold the interpreter meanwhile, and the thread that steps an
environment waits, or they let go of it and must ask for it back, for each array. Linux copies any number of pieces of
memory in one call: slower than a plain copy, but nobody waits for it.
"""

from __future__ import annotations

import ctypes
import os
from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MOST_PIECES = 1024  # in a call
_LEAST_BYTES = 1 << 20  # below, a plain copy is done before a call would have begun

_read = getattr(ctypes.CDLL(None), "process_vm_readv", None)
if _read is not None:
    _read.restype = ctypes.c_ssize_t
    _size = ctypes.c_ulong
    _read.argtypes = [ctypes.c_int, ctypes.c_void_p, _size, ctypes.c_void_p, _size, _size]


class Copies:
    """Copies that are to be made: contiguous arrays of one size, one behind the other into memory.

    The arrays and the memory are held until then.
    """

    def __init__(self) -> None:
        self._all: list[tuple[memoryview, list[NDArray[Any]], list[int]]] = []

    def add(self, target: memoryview, values: list[Any]) -> bool:
        """Copy arrays into memory, later; tell whether they can be, since they are contiguous.

        Args:
            target: Bytes that can be written, as many as the arrays have.
            values: The arrays, of one size.
        """
        try:
            places = _places_of(values)
        except (TypeError, ValueError):  # what can only be read has its place elsewhere; what is no array, none
            if not all(map(_is_there, values)):
                return False
            places = [int(value.__array_interface__["data"][0]) for value in values]
        self._all.append((target, values, places))
        return True

    def make(self) -> None:
        """Make all copies."""
        if sum([len(target) for target, _, _ in self._all]) < _LEAST_BYTES or not self._in_few_calls():
            for target, values, _ in self._all:
                at = 0
                for value in values:
                    target[at : at + value.nbytes] = value.data.cast("B")
                    at += value.nbytes

    def _in_few_calls(self) -> bool:
        """Let the kernel make them; tell whether it did, which a sandbox may forbid it."""
        if _read is None:
            return False
        own = os.getpid()
        to, of = array("Q"), array("Q")
        for target, _, places in self._all:
            if len(of) // 2 + len(places) > _MOST_PIECES and not _copied(own, to, of):
                return False
            to.extend((*_places_of([target]), len(target)))
            pieces = array("Q", [len(target) // len(places)]) * (2 * len(places))
            pieces[::2] = array("Q", places)
            of.extend(pieces)
        return _copied(own, to, of)


def _copied(own: int, to: array[int], of: array[int]) -> bool:
    """Copy pieces of memory, and forget them; tell whether all of them were."""
    assert _read is not None
    due = sum(to[1::2])
    done = _read(own, to.buffer_info()[0], len(to) // 2, of.buffer_info()[0], len(of) // 2, 0)
    del to[:], of[:]
    return bool(done == due)


def _places_of(values: list[Any]) -> list[int]:
    """Say where contiguous memory lies that can be written; without a call of ours for each, since there are many.

    Raises:
        TypeError, ValueError: Some is not contiguous, can only be read, or is no memory.
    """
    return list(map(ctypes.addressof, map(ctypes.c_char.from_buffer, values)))


def _is_there(value: Any) -> bool:
    return type(value) is np.ndarray and value.flags.c_contiguous
