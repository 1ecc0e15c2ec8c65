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

from numpy.typing import NDArray

_MOST_PIECES = 1024  # in a call
_LEAST_BYTES = 1 << 20  # below, a plain copy is done before a call would have begun

_read = getattr(ctypes.CDLL(None), "process_vm_readv", None)
if _read is not None:
    _read.restype = ctypes.c_ssize_t
    _size = ctypes.c_ulong
    _read.argtypes = [ctypes.c_int, ctypes.c_void_p, _size, ctypes.c_void_p, _size, _size]


class Copies:
    """Copies that are to be made: contiguous arrays, one behind the other into memory of their size.

    The arrays and the memory are held until then.
    """

    def __init__(self) -> None:
        self._all: list[tuple[memoryview, list[NDArray[Any]]]] = []

    def add(self, target: memoryview, values: list[NDArray[Any]]) -> None:
        """Copy contiguous arrays into memory, later.

        Args:
            target: Bytes that can be written, as many as the arrays have.
            values: The arrays.
        """
        self._all.append((target, values))

    def make(self) -> None:
        """Make all copies."""
        if sum(len(target) for target, _ in self._all) < _LEAST_BYTES or not self._in_few_calls():
            for target, values in self._all:
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
        for target, values in self._all:
            if len(of) // 2 + len(values) > _MOST_PIECES and not _copied(own, to, of):
                return False
            to.extend((_address_of(target), len(target)))
            size = values[0].nbytes
            of.extend([part for value in values for part in (_address_of(value), size)])
        return _copied(own, to, of)


def _copied(own: int, to: array[int], of: array[int]) -> bool:
    """Copy pieces of memory, and forget them; tell whether all of them were."""
    assert _read is not None
    due = sum(to[1::2])
    done = _read(own, to.buffer_info()[0], len(to) // 2, of.buffer_info()[0], len(of) // 2, 0)
    del to[:], of[:]
    return bool(done == due)


def _address_of(memory: Any) -> int:
    if type(memory) is memoryview or memory.flags.writeable:
        return ctypes.addressof(ctypes.c_char.from_buffer(memory))  # a quarter of the time that the other takes
    return int(memory.__array_interface__["data"][0])
