"""The Parquet file of one signal: `timestamp` and `value`, a row a sample.

Pages carry checksums. Beyond them the file's metadata says, under `playhead.signal`, what the values are, whose file it
is, and the CRC-32 of all stamps and of all values as they come out again, so that a flipped bit anywhere in the file is
noticed: also in the footer, which no page checksum covers. `playhead.signal.crc32` is the checksum of that text. Files
of other programs lack both, and are read with what checks they have.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from playhead import disk
from playhead.errors import Damaged
from playhead.lanes.vectors import about
from playhead.lanes.vectors.about import About
from playhead.lanes.vectors.kind import TEXT, Kind
from playhead.lanes.vectors.recorder import Samples, unpack
from playhead.owner import Fields
from playhead.tape import Declaration, Sealed, Sealer

CHUNK_ROWS = 10_000
_MOST_ITEMS = 1 << 24  # numbers in a row group: offsets of lists have 31 bits
_REMEDY = "Restore it from a copy"
_SMALL = 1 << 18  # bytes
_UNREADABLE = (pa.ArrowException, OSError, ValueError, KeyError, TypeError, OverflowError, MemoryError)


class VectorSealer(Sealer):
    """Writes the file of one signal.

    Args:
        declaration: What the tape says of it; None for a signal without a sample.
        path: The file.
        chunk_rows: Rows in a row group.
        keep_empty: Whether a signal without a sample has a file.
        owner: Whose file it is.
        durable: False if the caller syncs the file, together with others.
    """

    def __init__(
        self,
        declaration: Declaration | None,
        path: disk.StrPath,
        chunk_rows: int = CHUNK_ROWS,
        *,
        keep_empty: bool = True,
        owner: Fields | None = None,
        durable: bool = True,
    ) -> None:
        super().__init__()
        self._keep_empty = keep_empty
        self._owner = owner
        self._durable = durable
        self._kind = Kind("<i8") if declaration is None else Kind.from_json(declaration.facts)
        self._rows = max(1, min(chunk_rows, _MOST_ITEMS // max(1, self._kind.items)))
        self._waiting: list[Samples] = []
        self._waiting_rows = 0
        self._count = self._stamps_crc = self._values_crc = 0
        self._draft = disk.Draft(path)
        schema = pa.schema([("timestamp", pa.int64()), ("value", _arrow_type(self._kind))])
        self._writer = pq.ParquetWriter(
            self._draft,
            schema,
            write_page_checksum=True,
            use_dictionary=["value"] if self._kind.dtype == TEXT else False,
            column_encoding={"timestamp": "DELTA_BINARY_PACKED"},
        )

    def add(self, payload: memoryview) -> None:
        """Take samples from the tape."""
        samples = unpack(payload, self._kind)
        self._waiting.append(samples)
        self._waiting_rows += len(samples.stamps)
        while self._waiting_rows >= self._rows:
            self._write(self._rows)

    def _write(self, rows: int) -> None:
        stamps = np.concatenate([samples.stamps for samples in self._waiting])
        values = np.concatenate([samples.values for samples in self._waiting])
        text = b"".join([samples.text for samples in self._waiting])
        end = int(values[:rows].sum(dtype=np.int64)) if self._kind.dtype == TEXT else 0
        self._waiting = [Samples(stamps[rows:], values[rows:], text[end:])]
        self._waiting_rows -= rows
        self._put(stamps[:rows], values[:rows], text[:end])

    def _put(self, stamps: NDArray[np.int64], values: NDArray[Any], text: bytes) -> None:
        self._count += len(stamps)
        self._stamps_crc = crc32(_bytes(stamps), self._stamps_crc)
        if self._kind.dtype == TEXT:
            self._values_crc = crc32(text, crc32(_bytes(values.astype("<u4")), self._values_crc))
        else:
            self._values_crc = crc32(_bytes(values), self._values_crc)
        column = _to_arrow(values, text, self._kind)
        self._writer.write_table(
            pa.table([pa.array(stamps), column], schema=self._writer.schema), row_group_size=len(stamps)
        )

    def finish(self) -> None:
        """Put the file in its place."""
        if self._waiting_rows:
            self._write(self._waiting_rows)
        if not self._count and not self._keep_empty:
            self.discard()
            return
        said = About(self._kind, self._count, self._rows, self._stamps_crc, self._values_crc, self._owner)
        self._writer.add_key_value_metadata(said.metadata())
        self._writer.close()
        if self._owner is not None:
            self.sealed.append(Sealed.of(self._draft))
        self._draft.commit(durable=self._durable, named=False)

    def discard(self) -> None:
        """Remove what was written so far."""
        self._writer.is_open = False  # else its end would still write a footer
        self._draft.discard()


def _arrow_type(kind: Kind) -> pa.DataType:
    found = pa.string() if kind.dtype == TEXT else pa.from_numpy_dtype(np.dtype(kind.dtype))
    for _ in kind.shape or ():
        found = pa.list_(found)
    return found


def _to_arrow(values: NDArray[Any], text: bytes, kind: Kind) -> pa.Array:
    if kind.dtype == TEXT:
        offsets = np.zeros(len(values) + 1, np.int32)
        np.cumsum(values, out=offsets[1:])
        return pa.StringArray.from_buffers(len(values), pa.py_buffer(offsets), pa.py_buffer(text))
    column = pa.array(values.reshape(-1))
    sizes = values.shape[1:]
    for axis in reversed(range(len(sizes))):
        lists = int(np.prod(values.shape[: axis + 1], dtype=np.int64))
        column = pa.ListArray.from_arrays(
            pa.array(np.arange(lists + 1, dtype=np.int32) * np.int32(sizes[axis])), column
        )
    return column


def _bytes(array: NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(array).view(np.uint8).data.cast("B") if array.size else memoryview(b"")


class ParquetSamples:
    """The file of one signal, open for reading; nothing but its footer is read until it is asked for.

    Args:
        path: The file, of Playhead or of any generation of Positronic.
        timeline: The clock to read, where the file has several.

    Raises:
        Damaged: It is no such file.
    """

    def __init__(self, path: disk.StrPath, timeline: str | None = None) -> None:
        self.path = Path(path)
        file = _opened(path)
        try:
            self._file = pq.ParquetFile(file, page_checksum_verification=True)
            names = self._file.schema_arrow.names
            metadata = self._file.metadata.metadata or {}
        except _UNREADABLE as error:
            raise Damaged(self.path, "a Parquet file", _said(error), _REMEDY) from error
        self._about = about.read(self.path, metadata)
        self._kind = None if self._about is None else self._about.kind
        self.clock = choose_clock(self.path, names, "timestamp", timeline)
        if "value" not in names:
            raise Damaged(self.path, "a field 'value'", f"the fields {', '.join(names)}")
        self.count: int = self._file.metadata.num_rows
        self.clocks = tuple(name for name in names if name != "value")
        if self._about is not None and self._about.count != self.count:
            raise Damaged(self.path, f"{self._about.count} samples", f"{self.count}", _REMEDY)

    @property
    def kind(self) -> Kind | None:
        """What the values are; None where the file does not say."""
        return self._kind

    @property
    def owner(self) -> Fields | None:
        """Whose file it is; None if the file does not say."""
        return None if self._about is None else self._about.owner

    def stamps(self) -> NDArray[np.int64]:
        """Read the stamps.

        Raises:
            Damaged: They are not what was written.
        """
        column = self._read(self.clock)
        if column.type != pa.int64() or column.null_count:
            raise Damaged(self.path, "a stamp of 64 bits in each row", f"{column.type}, {column.null_count} missing")
        stamps = np.asarray(column.to_numpy(), np.int64)
        if self._about is not None and self.clock == "timestamp":
            self._compare(self._about.stamps_crc, crc32(_bytes(stamps)))
        if (stamps[1:] <= stamps[:-1]).any():
            raise Damaged(self.path, "stamps that strictly increase", "some that do not", _REMEDY)
        return stamps

    def values(self) -> NDArray[Any]:
        """Read the values, one a row.

        Raises:
            Damaged: They are not what was written.
        """
        column = self._read("value")
        if column.null_count:
            raise Damaged(self.path, "a value in each row", f"{column.null_count} missing")
        if self._about is None or self._kind is None:
            return _foreign(column)
        if column.type != _arrow_type(self._kind):
            raise Damaged(self.path, f"values of {_arrow_type(self._kind)}", f"{column.type}", _REMEDY)
        if self._kind.dtype == TEXT:
            self._compare(self._about.values_crc, _text_crc(column, self._about.rows))
            return self._texts(column)
        values = self._numbers(column, self._kind)
        self._compare(self._about.values_crc, crc32(_bytes(values)))
        return values

    def _numbers(self, column: pa.ChunkedArray, kind: Kind) -> NDArray[Any]:
        parts: list[NDArray[Any]] = []
        for chunk in column.chunks:
            inner = chunk
            for size in kind.shape or ():
                if not _is_even(inner, size):
                    raise Damaged(self.path, f"lists of {size}", "others", _REMEDY)
                inner = inner.flatten()
            parts.append(inner.to_numpy(zero_copy_only=False))
        flat = parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.empty(0, kind.dtype)
        if len(flat) != self.count * kind.items:
            raise Damaged(self.path, f"{self.count * kind.items} numbers", f"{len(flat)}", _REMEDY)
        return np.asarray(flat).reshape(self.count, *(kind.shape or ()))

    def _texts(self, column: pa.ChunkedArray) -> NDArray[Any]:
        try:
            return np.array(column.to_pylist(), object)
        except UnicodeDecodeError as error:
            raise Damaged(self.path, "texts in UTF-8", str(error), _REMEDY) from error

    def _compare(self, expected: int, found: int) -> None:
        if expected != found:
            raise Damaged(self.path, f"the checksum {expected}", f"{found}", _REMEDY)

    def _read(self, name: str) -> pa.ChunkedArray:
        try:
            found = self._file.read(columns=[name], use_threads=False).column(0)  # one thread reads a column
            found.validate(full=self._about is None)  # what a checksum of ours covers is compared with it
        except _UNREADABLE as error:
            raise Damaged(self.path, f"whole pages of {name!r}", _said(error), _REMEDY) from error
        if len(found) != self.count:
            raise Damaged(self.path, f"{self.count} rows of {name!r}", f"{len(found)}", _REMEDY)
        return found


def _opened(path: disk.StrPath) -> pa.BufferReader | disk.OpenFile:
    """Open a file for Arrow, which would wait for a pipe, and takes no path that is not UTF-8.

    A small one is read at once: calling Python for each part of it takes longer.
    """
    file = disk.OpenFile(path)
    if file.size > _SMALL:
        return file
    with file:
        return pa.BufferReader(file.read())


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


def choose_clock(path: Path, names: Iterable[str], ours: str, timeline: str | None) -> str:
    """Choose the field that holds the stamps.

    Args:
        path: The file, for the message.
        names: Its fields.
        ours: What the field is called where there is one clock.
        timeline: The clock that was asked for.
    """
    clocks = [name for name in names if name == ours or name.startswith(("ts.", "ts_ns."))]
    wanted = (ours, "ts.recorded", *clocks) if timeline is None else (f"ts.{timeline}", f"ts_ns.{timeline}")
    for name in wanted:
        if name in clocks:
            return name
    raise Damaged(path, f"a field {wanted[0]!r} with stamps", f"the clocks {', '.join(clocks) or 'none'}")


def _is_even(lists: pa.Array, size: int) -> bool:
    if not pa.types.is_list(lists.type) or lists.null_count:
        return False
    lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
    return bool((lengths == size).all())


def _text_crc(column: pa.ChunkedArray, rows: int) -> int:
    crc = at = 0
    lengths = np.asarray(_lengths(column), "<u4")
    text = b"".join(_utf8(chunk) for chunk in column.chunks)
    for start in range(0, len(lengths), rows):
        part = lengths[start : start + rows]
        end = at + int(part.sum(dtype=np.int64))
        crc = crc32(text[at:end], crc32(_bytes(part), crc))
        at = end
    return crc


def _lengths(column: pa.ChunkedArray) -> NDArray[Any]:
    parts = [
        np.diff(np.frombuffer(c.buffers()[1], np.int32)[c.offset : c.offset + len(c) + 1])
        for c in column.chunks
        if len(c)
    ]
    return np.concatenate(parts) if parts else np.empty(0, np.int32)


def _utf8(chunk: pa.Array) -> bytes:
    if not len(chunk):
        return b""
    offsets = np.frombuffer(chunk.buffers()[1], np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
    data = chunk.buffers()[2]
    return b"" if data is None else bytes(memoryview(data)[int(offsets[0]) : int(offsets[-1])])


def _foreign(column: pa.ChunkedArray) -> NDArray[Any]:
    """Read values of another program: lists of one length become rows of one array, others stay apart."""
    if not pa.types.is_list(column.type):
        return np.asarray(column.to_numpy())
    lengths = np.concatenate([c.value_lengths().to_numpy(zero_copy_only=False) for c in column.chunks] or [np.empty(0)])
    inner = column.type.value_type
    is_number = pa.types.is_integer(inner) or pa.types.is_floating(inner) or pa.types.is_boolean(inner)
    if is_number and len(lengths) and (lengths == lengths[0]).all():
        flat = np.concatenate([chunk.flatten().to_numpy(zero_copy_only=False) for chunk in column.chunks])
        return flat.reshape(len(lengths), int(lengths[0]))
    values = np.empty(len(column), object)
    for row, item in enumerate(column.to_pylist()):
        values[row] = np.asarray(item)
    return values
