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
    """Copies that are to be made: contiguous arrays, each into memory of its size.

    The arrays and the memory are held until then.
    """

    def __init__(self) -> None:
        self._targets: list[memoryview] = []
        self._arrays: list[NDArray[Any]] = []
        self._bytes = 0

    def add(self, target: memoryview, value: NDArray[Any]) -> None:
        """Copy a contiguous array into memory, later.

        Args:
            target: Bytes that can be written, as many as the array has.
            value: The array.
        """
        self._targets.append(target)
        self._arrays.append(value)
        self._bytes += value.nbytes

    def make(self) -> None:
        """Make all copies."""
        if self._bytes < _LEAST_BYTES or not self._in_one_call():
            for target, value in zip(self._targets, self._arrays, strict=True):
                target[:] = value.data.cast("B")

    def _in_one_call(self) -> bool:
        """Let the kernel make them; tell whether it did, which a sandbox may forbid it."""
        if _read is None:
            return False
        own = os.getpid()
        for start in range(0, len(self._arrays), _MOST_PIECES):
            targets, values = self._targets[start : start + _MOST_PIECES], self._arrays[start : start + _MOST_PIECES]
            sizes = [value.nbytes for value in values]
            to = array("Q", [part for pair in zip(map(_address_of, targets), sizes, strict=True) for part in pair])
            of = array("Q", [part for pair in zip(map(_address_of, values), sizes, strict=True) for part in pair])
            count = len(values)
            if _read(own, to.buffer_info()[0], count, of.buffer_info()[0], count, 0) != sum(sizes):
                return False
        return True


def _address_of(memory: Any) -> int:
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(memory))
    except TypeError:  # it cannot be written to
        return int(np.asarray(memory).__array_interface__["data"][0])
