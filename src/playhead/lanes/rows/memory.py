"""Memory for rows: as large as they are, in huge pages where the kernel has them, or shared with other processes."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

_HUGE = 1 << 21
_COLLAPSE, _FIXED = 25, 0x10  # MADV_COLLAPSE of Linux 6.1 and MAP_FIXED, which Python has no names for

_GROUPS = Path("/sys/fs/cgroup")
_MINE = Path("/proc/self/cgroup")
_MEMORY = Path("/proc/meminfo")


def private(size: int) -> mmap.mmap:
    """Take memory of this process and of those that fork from it.

    Rows that lie all over many gigabytes need as many entries of the processor's page tables; huge pages need 512
    times fewer.
    """
    taken = mmap.mmap(-1, max(1, size), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        try:
            taken.madvise(mmap.MADV_HUGEPAGE)
        except OSError:  # this kernel has none
            return taken
    return taken


class Shared:
    """Memory that processes of any start share: a file that has no name but the descriptor of who made it.

    Args:
        size: Its bytes.
        path: How another process finds it; None makes it.

    Attributes:
        bytes: The memory.
    """

    def __init__(self, size: int, path: str | None = None) -> None:
        if path is None:
            self._fd = os.memfd_create("playhead-rows")
            os.ftruncate(self._fd, max(1, size))
        else:
            self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._map, self._first = _mapped(self._fd, max(1, size))
        self.bytes = memoryview(self._map)[self._first : self._first + size]
        self.path = path or f"/proc/{os.getpid()}/fd/{self._fd}"

    def claim(self, start: int, stop: int) -> bool:
        """Take huge pages for bytes that are about to be written.

        The kernel by itself gives shared memory small pages where `shmem_enabled` is `never`, as it mostly is.

        Returns:
            Whether there are some; small ones hold the same rows.
        """
        first, behind = start // _HUGE * _HUGE, min(-(-stop // _HUGE) * _HUGE, len(self.bytes) // _HUGE * _HUGE)
        for page in range(first, behind, _HUGE):
            self.bytes[page]  # it makes one page of many, but not of none
        try:
            if behind > first:
                self._map.madvise(_COLLAPSE, self._first + first, behind - first)
        except OSError:  # it cannot, or has none left
            return False
        return behind > first

    def __del__(self) -> None:
        fd, self._fd = getattr(self, "_fd", -1), -1
        if fd >= 0:
            os.close(fd)


def _mapped(fd: int, size: int) -> tuple[mmap.mmap, int]:
    """Map a file to where huge pages fit; give the memory, and where in it the file begins.

    Python lets the kernel choose the place, so a larger one is taken first, and the file put into it.
    """
    room = mmap.mmap(-1, size + _HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = np.frombuffer(room, np.uint8).ctypes.data
    first = -address % _HUGE
    map_at = ctypes.CDLL(None).mmap
    map_at.restype = ctypes.c_void_p
    map_at.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
    how = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | _FIXED
    if map_at(address + first, size, *how, fd, 0) == address + first:
        return room, first
    return mmap.mmap(fd, size), 0


def available() -> int:
    """Tell how many bytes can still be taken without driving out what others use."""
    free = [_field(_MEMORY, "MemAvailable:", 1 << 52) * 1024]
    for folder, limit, used in _limits():
        most, taken = _text(folder / limit).strip(), _text(folder / used).strip()
        if most.isdecimal() and taken.isdecimal():  # `max` where there is none
            free.append(int(most) - int(taken) + _field(folder / "memory.stat", "inactive_file", 0))
    return max(0, min(free))


def _limits() -> Iterator[tuple[Path, str, str]]:
    """Give the control groups that this process is in, from the inmost, and the names of limit and use in them."""
    for line in _text(_MINE).splitlines():
        _, kinds, within = line.split(":", 2)
        if kinds and "memory" not in kinds.split(","):
            continue
        root = _GROUPS / "memory" if kinds else _GROUPS
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes") if kinds else ("memory.max", "memory.current")
        inmost = Path(within.lstrip("/"))
        for group in (inmost, *inmost.parents):  # in a container only the root may be there
            yield root / group, *names


def _field(path: Path, name: str, otherwise: int) -> int:
    lines = (line.split() for line in _text(path).splitlines())
    return next((int(words[1]) for words in lines if words[:1] == [name]), otherwise)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
