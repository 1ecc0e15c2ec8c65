"""Memory that is used again. What the kernel gives anew it fills with zeros first: for an episode that takes as long as
copying it, and for the frames of a running game it is done at a bad time.
"""

from __future__ import annotations

import ctypes
import math
import mmap
from contextlib import suppress as _suppress
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_LEAST = 4 << 20  # bytes of an array for which this is worth it
_MOST_IDLE = 256 << 20  # bytes that are kept for the next array
_PAGE = 2 << 20  # a large one
_LARGEST_KEPT = (32 << 20) - (8 << 10)  # what glibc still takes a hint from

_NEVER = -1  # advice that only Linux takes
_HUGE: int = getattr(mmap, "MADV_HUGEPAGE", _NEVER)
_FREE: int = getattr(mmap, "MADV_FREE", _NEVER)

_libc = ctypes.CDLL(None)
_libc.malloc.restype = ctypes.c_void_p
_libc.malloc.argtypes = [ctypes.c_size_t]
_libc.free.restype = None
_libc.free.argtypes = [ctypes.c_void_p]

_idle: list[mmap.mmap] = []  # the newest last; every change is one call, so that threads need no lock


class _Lease:
    """What an array and all views of it hold: their memory is used again when the last of them is gone."""

    __slots__ = ("__array_interface__", "_memory")

    def __init__(self, memory: mmap.mmap, size: int) -> None:
        self._memory = memory
        address = np.frombuffer(memory, np.uint8).__array_interface__["data"][0]
        self.__array_interface__ = {"data": (address, False), "shape": (size,), "typestr": "|u1", "version": 3}

    def __del__(
        self, idle: list[mmap.mmap] = _idle, most: int = _MOST_IDLE, advice: int = _FREE, suppress: Any = _suppress
    ) -> None:  # where the program ends, only what it is given is still there
        with suppress(OSError):
            self._memory.madvise(advice)  # the kernel may take it, where it has need of it
        idle.append(self._memory)
        with suppress(IndexError):  # another thread was faster
            while sum(map(len, idle)) > most:
                idle.pop(0)


def empty(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Make an array as `np.empty` does; a large one in memory that an earlier one of about its size was in.

    That memory stays with the process, 256 MB at most, until the kernel has need of it.
    """
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    if size < _LEAST or _NEVER in (_HUGE, _FREE) or kind.hasobject:
        return np.empty(shape, kind)
    try:
        memory = _used_before(size) or _new(size)
    except OSError:  # there is none: NumPy says so
        return np.empty(shape, kind)
    return np.asarray(_Lease(memory, size)).view(kind).reshape(shape)


def forget() -> None:
    """Give the kernel back what is kept."""
    _idle.clear()


def keep_freed() -> None:
    """Let the C library keep small memory that is freed, rather than give it back and ask for it anew.

    Glibc does so by itself once it has seen an array of up to 32 MB freed; it is shown one. Else the frames of a game
    that are freed in batches are given back each time, and the thread that makes new ones waits for the kernel.

    Not one of NumPy's, who asks for large pages wherever a large array lies, also where small ones will lie later: the
    first who writes to such a page waits for milliseconds until it is filled with zeros.
    """
    _libc.free(_libc.malloc(_LARGEST_KEPT))


def _used_before(size: int) -> mmap.mmap | None:
    for memory in reversed(_idle):
        if size <= len(memory) <= size + size // 4 + _PAGE:
            with _suppress(ValueError):  # another thread was faster
                _idle.remove(memory)
                return memory
    return None


def _new(size: int) -> mmap.mmap:
    memory = mmap.mmap(-1, -(-size // _PAGE) * _PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with _suppress(OSError):  # a kernel without large pages
        memory.madvise(_HUGE)
    return memory
