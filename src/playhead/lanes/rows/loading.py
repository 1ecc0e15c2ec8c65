"""How rows come from files into memory: several threads, each block checked while the processor still has it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from playhead.errors import Damaged
from playhead.lanes.rows.npy import Header

BLOCK_BYTES = 1 << 20
_AT_ONCE = 16  # blocks that a thread takes at a time

Watch = Callable[[int], None]  # told how many more bytes are there


def checksum(data: Any) -> int:
    """Give the checksum of a block."""
    return int(xxhash.xxh3_64_intdigest(data))


def blocks_in(size: int, block_bytes: int = BLOCK_BYTES) -> int:
    """Count the blocks of so many bytes."""
    return -(-size // block_bytes)


def load(
    path: Path,
    header: Header,
    into: memoryview,
    sums: NDArray[np.uint64] | None,
    *,
    block_bytes: int = BLOCK_BYTES,
    threads: int | None = None,
    claim: Callable[[int, int], None] | None = None,
    watch: Watch | None = None,
) -> None:
    """Read rows into memory.

    Args:
        path: The file.
        header: What it says.
        into: Memory of just their size.
        sums: The checksums of its blocks; None where nobody knows them.
        block_bytes: The size of a block.
        threads: How many read; by default one for each processor.
        claim: Told which bytes of the memory are about to be filled, from which to which.
        watch: Told of progress.

    Raises:
        Damaged: The file is shorter, or a block is not what was written.
    """
    share = block_bytes * _AT_ONCE
    workers = max(1, min(threads or len(os.sched_getaffinity(0)), blocks_in(len(into), share)))
    told = threading.Lock()
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(start: int) -> None:
        stop = min(start + share, len(into))
        if claim is not None:
            claim(start, stop)
        for first in range(start, stop, block_bytes):
            view = into[first : min(first + block_bytes, stop)]
            fill(fd, path, header.offset + first, view)
            if sums is not None:
                check(path, header.offset + first, view, int(sums[first // block_bytes]))
        if watch is not None:
            with told:
                watch(stop - start)

    try:
        with ThreadPoolExecutor(workers, "playhead-rows") as pool:
            for _ in pool.map(read, range(0, len(into), share)):
                pass
    finally:
        os.close(fd)


def fill(fd: int, path: Path, offset: int, view: memoryview) -> None:
    """Read bytes of a file until the memory is full."""
    filled = 0
    while filled < len(view):
        count = os.preadv(fd, [view[filled:]], offset + filled)
        if not count:
            at = offset + filled
            raise Damaged(path, f"{len(view) - filled:,} bytes at offset {at:,}", "its end", _REMEDY)
        filled += count


def check(path: Path, offset: int, view: Any, expected: int) -> None:
    """See that a block is what was written.

    Raises:
        Damaged: It is not.
    """
    found = checksum(view)
    if found != expected:
        where = f"the block of {len(view):,} bytes at offset {offset:,}"
        raise Damaged(path, f"{where} to have the checksum {expected:016x}", f"{found:016x}", _REMEDY)


_REMEDY = "Its bytes, or metadata.db, are not those that were written: build the table again, or restore a copy"


def check_some(
    path: Path,
    header: Header,
    size: int,
    sums: NDArray[np.uint64],
    numbers: Sequence[int],
    block_bytes: int = BLOCK_BYTES,
) -> None:
    """See that some blocks of a file are what was written.

    Args:
        path: The file.
        header: What it says.
        size: The bytes of its rows.
        sums: The checksums of all its blocks.
        numbers: Which blocks.
        block_bytes: The size of a block.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    buffer = memoryview(bytearray(min(block_bytes, size)))
    try:
        for number in numbers:
            first = number * block_bytes
            view = buffer[: min(block_bytes, size - first)]
            fill(fd, path, header.offset + first, view)
            check(path, header.offset + first, view, int(sums[number]))
    finally:
        os.close(fd)
