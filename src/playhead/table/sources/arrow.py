"""Columns of Arrow and Parquet files: numbers, and lists of one size."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from playhead.errors import Damaged, NotFound, PlayheadError, WrongType
from playhead.table.sources.contract import BLOCK_BYTES

if TYPE_CHECKING:
    import pyarrow as pa

PARQUET = (".parquet",)
SUFFIXES = (*PARQUET, ".arrow", ".feather", ".ipc")
_AT_ONCE = 65_536  # rows, at most


def parts(path: Path) -> Iterator[dict[str, NDArray[Any]]]:
    """Give the columns of a file, some rows at a time.

    Raises:
        NotFound: There is no such file.
        Damaged: It is something else, or cut.
        WrongType: A column has gaps.
    """
    import pyarrow as pa

    try:
        for batch in _batches(path):
            if batch.num_rows:
                yield _arrays(path, batch)
    except FileNotFoundError:
        raise NotFound(f"{path} is missing") from None
    except PlayheadError:
        raise
    except (pa.ArrowException, ValueError, KeyError, TypeError, OverflowError, MemoryError) as error:
        raise Damaged(path, "an Arrow or Parquet file", str(error), "Write the file again") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise Damaged(path, "an Arrow or Parquet file", str(error), "Write the file again") from error


def _mapped(path: Path) -> pa.MemoryMappedFile:
    import pyarrow as pa

    return pa.memory_map(os.fsencode(path))  # a text would have to be UTF-8


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    if path.suffix in PARQUET:
        import pyarrow.parquet as pq

        with _mapped(path) as mapped, pq.ParquetFile(mapped, page_checksum_verification=True) as file:
            total = sum(file.metadata.row_group(n).total_byte_size for n in range(file.metadata.num_row_groups))
            most = BLOCK_BYTES * max(1, file.metadata.num_rows) // max(1, total)
            yield from file.iter_batches(batch_size=max(1, min(_AT_ONCE, most)))
        return
    import pyarrow as pa

    with _mapped(path) as file, pa.ipc.open_file(file) as reader:
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number)
            batch.validate(full=True)  # nothing in the file is checked yet, and a place outside would end the process
            yield from _cut(batch)


def _cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    for start in range(0, batch.num_rows, _AT_ONCE):
        yield batch.slice(start, _AT_ONCE)


def columns(table: Any) -> dict[str, NDArray[Any]]:
    """Take an Arrow table, or a batch, that is in memory.

    Raises:
        WrongType: It is something else.
    """
    import pyarrow as pa

    if not isinstance(table, (pa.Table, pa.RecordBatch)):
        raise WrongType(f"rows cannot be made of {type(table).__name__}")
    found = table.combine_chunks() if isinstance(table, pa.Table) else table
    batches = found.to_batches() if isinstance(found, pa.Table) else [found]
    if not batches:
        return {name: np.empty(0) for name in table.schema.names}
    parts_ = [_arrays("the table", batch) for batch in batches]
    return {name: np.concatenate([part[name] for part in parts_]) for name in parts_[0]}


def _arrays(path: object, batch: pa.RecordBatch) -> dict[str, NDArray[Any]]:
    return {name: _array(f"{path}: {name}", batch.column(name)) for name in batch.schema.names}


def _array(what: str, column: pa.Array) -> NDArray[Any]:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count:
        raise WrongType(
            f"{what} has {column.null_count:,} gaps, and a row has a value in every column; fill them first"
        )
    if pa.types.is_fixed_size_list(column.type):
        size = column.type.list_size
        inner = _array(what, column.flatten())
        return inner.reshape(len(column), size, *inner.shape[1:])
    if isinstance(column, pa.ExtensionArray):
        return _array(what, column.storage)
    found: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return found
