"""A sealed file: HDF5 for everybody, with a list of its chunks at the end for us.

Behind the last byte that HDF5 knows of lie a Zstandard frame and 24 bytes: magic, size and CRC of the frame, version.
The frame holds a JSON text that says what the file is, and for every chunk of every dataset its offset, size and CRC;
`rest` in it is the CRC of all bytes of HDF5 outside of chunks, so that every byte of the file is covered by one.
So our reader asks the HDF5 library for nothing: it reads a chunk where it lies, checks it and decompresses it, and what
is damaged elsewhere in the file does not concern it. Other programs never look behind HDF5's last byte.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from playhead import disk, owner, strictjson
from playhead.errors import Damaged, StoreTooNew
from playhead.lanes.arrays import codec
from playhead.lanes.arrays.head import check_described
from playhead.lanes.arrays.pieces import Gone, Piece
from playhead.layout import WHOLE, ReelFiles

VERSION = 1
OURS = "playhead"  # the root attribute of our files, which are never read without their list of chunks
SMALL_ROWS = 4096  # of a dataset of small numbers in a chunk

_MAGIC = b"\x89PHREEL\n"
_TAIL = struct.Struct("<8sQII")
_CHUNK = np.dtype([("offset", "<u8"), ("size", "<u4"), ("crc", "<u4")])
_MOST_HEAD = 1 << 31
_SMALL_LEVEL, _MOST_OF_GZIP = 1, 9
_BLOCK = 1 << 20


class Stored(NamedTuple):
    """A dataset of a sealed file."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    chunk: int
    rows: int
    codec: str
    table: NDArray[Any]


# -- writing ----------------------------------------------------------------------------------------------------------


class _Calm(io.RawIOBase):
    """A file for the HDF5 library, which may end the process where a write fails: the error waits for `check`."""

    def __init__(self, draft: disk.Draft) -> None:
        super().__init__()
        self._draft = draft
        self._error: OSError | None = None

    def check(self) -> None:
        if self._error is not None:
            raise self._error

    def write(self, data: Any, /) -> int:
        if self._error is None:
            try:
                return self._draft.write(data)
            except OSError as error:
                self._error = error
        return memoryview(data).nbytes

    def readinto(self, buffer: Any, /) -> int:
        size = 0
        if self._error is None:
            try:
                size = self._draft.readinto(buffer)
            except OSError as error:
                self._error = error
        view = memoryview(buffer).cast("B")
        view[size:] = bytes(len(view) - size)
        return len(view)

    def truncate(self, size: int | None = None, /) -> int:
        if self._error is None:
            try:
                return self._draft.truncate(size)
            except OSError as error:
                self._error = error
        return size or 0

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        return self._draft.seek(offset, whence)

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


class DatasetWriter:
    """Writes the chunks of one dataset, in order, each once."""

    def __init__(self, dataset: Any, stored: Stored, level: int, calm: _Calm) -> None:
        self._dataset = dataset
        self._level = level
        self._calm = calm
        self.stored = stored
        self.crcs: dict[int, int] = {}

    def write(self, place: int, data: Any) -> None:
        """Write a chunk as it will lie in the file.

        Args:
            place: Its first row; a multiple of the chunk.
            data: A whole chunk, compressed.
        """
        stored = self.stored
        is_raw = stored.codec == codec.LZF and len(data) == stored.chunk * _row_bytes(stored)
        self._dataset.write_direct_chunk((place, *[0] * len(stored.shape)), bytes(data), 1 if is_raw else 0)
        self._calm.check()
        self.crcs[place] = crc32(data)

    def write_rows(self, place: int, rows: NDArray[Any]) -> None:
        """Compress and write a chunk; the last may have fewer rows and is padded."""
        if len(rows) < self.stored.chunk:  # HDF5 ends the process over a chunk that is too short
            padded = np.zeros((self.stored.chunk, *self.stored.shape), self.stored.dtype)
            padded[: len(rows)] = rows
            rows = padded
        self.write(place, codec.encode(self.stored.codec, rows, self._level))

    def table(self) -> NDArray[Any]:
        """List the chunks."""
        table = np.zeros(-(-self.stored.rows // self.stored.chunk), _CHUNK)

        def note(found: Any) -> None:
            place = found.chunk_offset[0]
            table[place // self.stored.chunk] = (found.byte_offset, found.size, self.crcs[place])

        self._dataset.chunk_iter(note)
        return table


class SealedWriter:
    """Writes a sealed file; nobody sees it before `finish`.

    Args:
        target: Where it will be.
        level: Of the compression.
    """

    def __init__(self, target: Path, level: int = 1) -> None:
        import h5py

        self._level = level
        self._draft = disk.Draft(target)
        self._calm = _Calm(self._draft)
        self._datasets: dict[str, DatasetWriter] = {}
        self.file = h5py.File(self._calm, "w")

    def dataset(
        self,
        path: str,
        dtype: Any,
        shape: Sequence[int],
        *,
        rows: int,
        chunk: int,
        compression: str,
        level: int | None = None,
    ) -> DatasetWriter:
        """Make a dataset of a number of rows; `level` is that of the file unless it is given."""
        from h5py import h5d, h5p, h5s, h5t, h5z

        stored = Stored(np.dtype(dtype), tuple(shape), chunk, rows, compression, np.empty(0, _CHUNK))
        if level is None:
            level = _SMALL_LEVEL if compression == codec.SHUFFLED else self._level
        if compression == codec.GZIP:
            level = min(level, _MOST_OF_GZIP)  # texts have it also where arrays have Zstandard, which goes further
        creation = h5p.create(h5p.DATASET_CREATE)
        creation.set_chunk((chunk, *shape))
        match compression:
            case codec.ZSTD:
                creation.set_filter(codec.ZSTD_FILTER, h5z.FLAG_OPTIONAL, (self._level,))
            case codec.LZF:
                creation.set_filter(h5z.FILTER_LZF, h5z.FLAG_OPTIONAL)
            case codec.GZIP:
                creation.set_deflate(level)
            case codec.SHUFFLED:
                creation.set_shuffle()
                creation.set_deflate(_SMALL_LEVEL)
        links = h5p.create(h5p.LINK_CREATE)
        links.set_create_intermediate_group(True)
        space = h5s.create_simple((rows, *shape), (h5s.UNLIMITED, *shape))
        kind = h5t.py_create(stored.dtype, logical=True)
        made = h5d.create(self.file.id, path.encode(), kind, space, creation, links)
        self._datasets[path] = DatasetWriter(made, stored, level, self._calm)
        return self._datasets[path]

    def put(self, path: str, values: NDArray[Any], *, compression: str = codec.SHUFFLED) -> None:
        """Make a dataset of what is in memory."""
        row_bytes = values.nbytes // max(1, len(values))
        chunk = max(1, min(SMALL_ROWS, (1 << 20) // max(1, row_bytes)))
        made = self.dataset(
            path, values.dtype, values.shape[1:], rows=len(values), chunk=chunk, compression=compression
        )
        for place in range(0, len(values), chunk):
            made.write_rows(place, values[place : place + chunk])

    def put_texts(self, path: str, texts: Sequence[bytes]) -> None:
        """Make a dataset of texts, each of which takes as much as the longest, chunk by chunk."""
        width = max(map(len, texts), default=0) or 1
        chunk = max(1, min(SMALL_ROWS, (1 << 20) // width))
        made = self.dataset(path, f"S{width}", (), rows=len(texts), chunk=chunk, compression=codec.GZIP)
        for place in range(0, len(texts), chunk):
            made.write_rows(place, np.array(texts[place : place + chunk], f"S{width}"))

    def finish(self, head: dict[str, Any]) -> None:
        """Put the file in its place, on the medium; the caller syncs the folder.

        Args:
            head: What the file is, as JSON.
        """
        tables = {path: made.table() for path, made in self._datasets.items()}
        described = [
            {
                "path": path,
                "dtype": made.stored.dtype.str,
                "shape": list(made.stored.shape),
                "chunk": made.stored.chunk,
                "rows": made.stored.rows,
                "codec": made.stored.codec,
            }
            for path, made in self._datasets.items()
        ]
        self._close()
        self._calm.check()
        end = self._draft.seek(0, os.SEEK_END)
        rest = _crc_of_rest(self._read_back, tables.values(), end)
        text = strictjson.encode(head | {"datasets": described, "rest": rest})
        self._draft.seek(0, os.SEEK_END)
        self._draft.write(_framed(text, b"".join(table.tobytes() for table in tables.values())))
        self._draft.commit(named=False)

    def _read_back(self, offset: int, size: int) -> bytes:
        self._draft.seek(offset)
        return self._draft.read(size) or b""

    def discard(self) -> None:
        """Remove what was written so far. Discarding twice is fine."""
        self._close()
        self._draft.discard()

    def _close(self) -> None:
        if self.file:
            self.file.close()


def _framed(text: bytes, tables: bytes) -> bytes:
    """Make what lies behind HDF5: what the file says of itself, and its chunks."""
    frame = codec.compress(struct.pack("<I", len(text)) + text + tables, 3)
    return frame + _TAIL.pack(_MAGIC, len(frame), crc32(frame), VERSION)


def _row_bytes(stored: Stored) -> int:
    return int(np.prod(stored.shape, dtype=np.int64)) * stored.dtype.itemsize


def _crc_of_rest(read: Callable[[int, int], bytes], tables: Iterable[NDArray[Any]], end: int) -> int:
    """Give the CRC of all bytes before `end` that are in no chunk.

    Args:
        read: Gives bytes from an offset on, as many as are asked for.
        tables: The chunks of each dataset.
        end: Where HDF5 ends.
    """
    chunks = sorted((offset, size) for table in tables for offset, size, _ in table.tolist() if size)
    crc, at = 0, 0
    for offset, size in [*chunks, (end, 0)]:
        for start in range(at, min(offset, end), _BLOCK):
            crc = crc32(read(start, min(_BLOCK, offset - start)), crc)
        at = max(at, offset + size)
    return crc


# -- reading ----------------------------------------------------------------------------------------------------------


class SealedFile:
    """A sealed file, open for reading.

    Args:
        path: The file.

    Raises:
        FileNotFoundError: It is not there.
        Damaged: What it says of itself cannot be read.
        Foreign: It is an HDF5 file without our list of chunks.
        StoreTooNew: It was sealed by a later version.

    Attributes:
        path: The file.
        head: What it is.
        datasets: By HDF5 path.
        crc: Of what it says of itself: tells it from any other file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._identity: tuple[int, int] | None = None
        with self._opened() as fd:
            self.head, self.datasets = self._load(fd)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int]:
        """Open the file for a moment: a reel may have more parts than a process may have files.

        Raises:
            Gone: Another file has its name by now.
        """
        try:
            fd = disk.open_to_read(self.path)
        except FileNotFoundError as error:
            if self._identity is None:
                raise
            raise Gone from error
        try:
            found = os.fstat(fd)
            self._identity = self._identity or (found.st_dev, found.st_ino)
            if self._identity != (found.st_dev, found.st_ino):
                raise Gone
            yield fd
        finally:
            os.close(fd)

    def _load(self, fd: int) -> tuple[dict[str, Any], dict[str, Stored]]:
        frame = self._frame(fd)
        try:
            return _unpacked(codec.expand_all(frame, _MOST_HEAD))
        except (codec.Malformed, struct.error, KeyError, TypeError, ValueError) as error:
            raise Damaged(self.path, "a list of chunks at its end", str(error)) from error

    def _frame(self, fd: int) -> bytes:
        """Read what the file says of itself, compressed, and see that it is what was written."""
        size = os.fstat(fd).st_size
        tail = os.pread(fd, _TAIL.size, max(0, size - _TAIL.size))
        if len(tail) < _TAIL.size or tail[:8] != _MAGIC:
            raise Foreign(self.path, "a list of chunks at its end", "none")
        _, length, crc, version = _TAIL.unpack(tail)
        frame = os.pread(fd, length, size - _TAIL.size - length) if length + _TAIL.size <= size else b""
        if crc32(frame) != crc or not frame:
            raise Damaged(self.path, f"a list of chunks with CRC {crc:08x} at its end", f"CRC {crc32(frame):08x}")
        if version != VERSION:
            raise StoreTooNew(f"{self.path} has format {version}; this Playhead knows {VERSION}. Install a later one")
        self.crc = crc
        self._end = size - _TAIL.size - length
        return frame

    def copy(self, target: Path, changes: Mapping[str, Any]) -> None:
        """Put a copy in its place, on the medium, that says other things of itself; the caller syncs the folder.

        Args:
            target: Where it will be.
            changes: What it says otherwise.

        Raises:
            Damaged: What the file says of itself is not what was written.
        """
        draft = disk.Draft(target)
        try:
            with self._opened() as fd:
                whole = codec.expand_all(self._frame(fd), _MOST_HEAD)
                for offset in range(0, self._end, _BLOCK):
                    draft.write(os.pread(fd, min(_BLOCK, self._end - offset), offset))
            end = 4 + struct.unpack_from("<I", whole)[0]
            draft.write(_framed(strictjson.encode(strictjson.decode(whole[4:end]) | changes), whole[end:]))
            draft.commit(named=False)
        except BaseException:
            draft.discard()
            raise

    def digest(self) -> str:
        """Return the SHA-256 of what the file says of itself, which has the checksum of every byte."""
        with self._opened() as fd:
            data = os.pread(fd, os.fstat(fd).st_size - self._end, self._end)
        return hashlib.sha256(data).hexdigest()

    def pieces(self, path: str, start: int, stop: int, base: int = 0) -> Iterator[Piece]:
        """Walk over the chunks that hold rows of a dataset.

        Args:
            path: The dataset.
            start: The first row, counted from `base`.
            stop: Behind the last.
            base: What the first row of the dataset is called.
        """
        stored = self.datasets[path]
        chunk = stored.chunk
        for place in range((start - base) // chunk, min(-(-(stop - base) // chunk), len(stored.table))):
            offset, size, crc = stored.table[place].tolist()
            if size:
                first = place * chunk
                count = min(chunk, stored.rows - first)
                yield Piece(
                    base + first,
                    count,
                    stored.codec,
                    chunk,
                    partial(self.load, path, offset, size, crc),
                    str(self.path),
                )

    def flaws(self) -> Iterator[Damaged]:
        """Check every byte of the file; a file that was sealed before `rest` was noted is checked by its chunks.

        Yields:
            What is not as it was written.
        """
        for path, stored in self.datasets.items():
            for offset, size, crc in stored.table.tolist():
                try:
                    if size:
                        self.load(path, offset, size, crc)
                except Damaged as damage:
                    yield damage
        due = self.head.get("rest")
        if due is not None and (found := self.rest()) != due:
            yield Damaged(self.path, f"what HDF5 says of its datasets, with CRC {due:08x}", f"CRC {found:08x}")

    def rest(self) -> int:
        """Give the CRC of all bytes of HDF5 outside of chunks, as they are now."""
        with self._opened() as fd:
            tables = [stored.table for stored in self.datasets.values()]
            return _crc_of_rest(lambda offset, size: os.pread(fd, size, offset), tables, self._end)

    def close(self) -> None:
        """Do nothing: the file is open only while it is read."""

    def load(self, path: str, offset: int, size: int, crc: int) -> bytes:
        """Read the bytes of a chunk.

        Raises:
            Damaged: They are not those that were written.
        """
        with self._opened() as fd:
            data = os.pread(fd, size, offset) if offset + size <= self._end else b""
        if len(data) != size or (found := crc32(data)) != crc:
            was = f"CRC {found:08x}" if len(data) == size else "the end of the file"
            raise Damaged(self.path, f"a chunk of {path} with CRC {crc:08x} at byte {offset}", was)
        return data


def opened(files: ReelFiles, number: int | None = None) -> SealedFile:
    """Open a sealed file of a reel, and see that it is the one that its name says.

    Args:
        files: The reel.
        number: The number of the part; without it, the file of the whole reel.

    Raises:
        FileNotFoundError: It is not there.
        Damaged: As `SealedFile`; `Misplaced` if it is a file of another reel, another part of this one, or a part
            where all of it should be.
    """
    file = SealedFile(files.file if number is None else files.part(number))
    said = file.head.get(owner.FIELD)
    is_view = number is None and "parts" in file.head
    due = files.owner() if is_view else files.owner(number or 0, whole=number is None)
    if isinstance(said, dict) and WHOLE not in said:  # a file of an earlier version
        due.pop(WHOLE, None)
    owner.check(file.path, said, due)
    return file


def _unpacked(whole: bytes) -> tuple[dict[str, Any], dict[str, Stored]]:
    (text_size,) = struct.unpack_from("<I", whole)
    head = strictjson.decode(whole[4 : 4 + text_size])
    if not isinstance(head, dict) or not all(_are_crcs(head.get(name, [])) for name in ("parts", "also")):
        raise ValueError(f"{repr(head)[:200]} is not what a file says of itself")
    at = 4 + text_size
    datasets = {}
    for found in head.pop("datasets"):
        check_described(found)
        count = -(-found["rows"] // found["chunk"])
        table = np.frombuffer(whole, _CHUNK, count, at)
        at += table.nbytes
        datasets[found["path"]] = Stored(
            np.dtype(found["dtype"]),
            tuple(found["shape"]),
            found["chunk"],
            found["rows"],
            found["codec"],
            table,
        )
    return head, datasets


def _are_crcs(value: Any) -> bool:
    return isinstance(value, list) and all(type(crc) is int for crc in value)


class Foreign(Damaged):
    """A file without our list of chunks: one of another program, or one of ours that is damaged."""
