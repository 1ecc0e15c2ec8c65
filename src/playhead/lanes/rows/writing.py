"""How rows are added to a file: behind those that count; whatever a crash left there is cut off first."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from playhead import disk
from playhead.errors import Damaged
from playhead.lanes.rows import npy
from playhead.lanes.rows.loading import blocks_in, check, fill


class RowsWriter:
    """Adds rows to one file.

    Args:
        path: The file; made if no rows of it count.
        dtype: Of a row.
        block_bytes: The size of a block.
        rows: How many rows of it count; what lies behind them is cut off.
        blocks: How many blocks of them have a checksum.
        last: The checksum of the last one.

    Attributes:
        sums: The checksums that are new or others, by the number of the block.
    """

    def __init__(
        self, path: Path, dtype: np.dtype[Any], block_bytes: int, rows: int = 0, blocks: int = 0, last: int = 0
    ) -> None:
        self.path, self.rows, self._block = path, rows, block_bytes
        self._dtype, self._size = dtype, rows * dtype.itemsize
        self._hash = xxhash.xxh3_64()
        self.sums: dict[int, int] = {}
        head = npy.header(dtype, 0)
        if not rows:
            disk.make_folders(path.parent)
            disk.remove(path)
            self._file = disk.Appender(path)
            self._file.append(head)
            self._offset = len(head)
            return
        found = npy.read(path)
        npy.check_count(path, found, rows)
        if blocks != blocks_in(self._size, block_bytes):
            raise Damaged(path, "a checksum of each block in metadata.db", f"{blocks}", npy.AGAIN)
        self._offset = found.offset
        if path.stat().st_size > found.offset + self._size:
            disk.truncate(path, found.offset + self._size)
        self._file = disk.Appender(path)
        self._begin_in(self._size % block_bytes, last)

    def _begin_in(self, size: int, checksum: int) -> None:
        """Go on with a block that is partly there; what is there must be what was written."""
        if not size:
            return
        first = self._size - size
        view = memoryview(bytearray(size))
        fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fill(fd, self.path, self._offset + first, view)
        finally:
            os.close(fd)
        check(self.path, self._offset + first, view, checksum)
        self._hash.update(view)

    def add(self, rows: NDArray[Any]) -> None:
        """Add rows at the end."""
        data = memoryview(np.ascontiguousarray(rows, self._dtype).view(np.uint8).reshape(-1).data)
        self._file.append_all([data])
        self.rows += len(rows)
        while data:
            number, within = divmod(self._size, self._block)
            part = data[: self._block - within]
            self._hash.update(part)
            self._size, data = self._size + len(part), data[len(part) :]
            self.sums[number] = self._hash.intdigest()
            if self._size % self._block == 0:
                self._hash.reset()

    def finish(self) -> None:
        """Wait until all of it is on the medium."""
        self._file.sync()
        self.close()

    def close(self) -> None:
        """Give the file back."""
        self._file.close()
