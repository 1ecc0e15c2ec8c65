"""What a table of MOSAIC says besides arrays, kept value by value in a Parquet file of the run.

SQLite lets each value of a column be of another type. A column of one type is that type here; one of several is text,
each value as JSON, with bytes as `{"base64": …}`.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playhead import disk, strictjson
from playhead.errors import Damaged

if TYPE_CHECKING:
    import pyarrow as pa

FOLDER = "mosaic"
STEPS, EPISODES = "steps.parquet", "episodes.parquet"
REEL, ROW = "playhead_reel", "playhead_row"  # where the arrays of a step are

_BATCH = 4096
_MIXED = b"mixed"
_HOW = b"values"


def types_of(rows: list[dict[str, Any]]) -> dict[str, set[type]]:
    """Give the types of what is in each column."""
    found: dict[str, set[type]] = {}
    for row in rows:
        for name, value in row.items():
            found.setdefault(name, set()).update(() if value is None else (type(value),))
    return found


class RestWriter:
    """Writes one file; `commit` puts it in its place.

    Args:
        path: The file.
        types: The columns, and the types of what is in each.
    """

    def __init__(self, path: Path, types: Mapping[str, set[type]]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._schema = pa.schema([_field(pa, name, found) for name, found in types.items()])
        self._draft = disk.Draft(path)
        self._writer = pq.ParquetWriter(self._draft, self._schema, compression="zstd", write_page_checksum=True)
        self._rows: list[dict[str, Any]] = []

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row."""
        self._rows.append(dict(row))
        if len(self._rows) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        columns = [[_stored(row.get(field.name), field) for row in self._rows] for field in self._schema]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._rows = []

    def commit(self) -> None:
        """Complete the file."""
        self._flush()
        self._writer.close()
        self._draft.commit()

    def discard(self) -> None:
        """Remove what was written; a file that is complete stays."""
        self._writer.is_open = False  # else its end would still write a footer
        self._draft.discard()


@contextlib.contextmanager
def writing(path: Path, types: Mapping[str, set[type]]) -> Iterator[RestWriter]:
    """Write a file, or none where the block ends in an error."""
    writer = RestWriter(path, types)
    try:
        yield writer
        writer.commit()
    finally:
        writer.discard()


def rows_in(path: Path) -> Iterator[dict[str, Any]]:
    """Walk over the rows of a file, as they were given.

    Raises:
        Damaged: It cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with open(path, "rb") as opened, pq.ParquetFile(opened, page_checksum_verification=True) as file:
            schema = file.schema_arrow
            for batch in file.iter_batches(_BATCH):
                columns = [
                    [_given(value, field) for value in column.to_pylist()]
                    for column, field in zip(batch.columns, schema, strict=True)
                ]
                for values in zip(*columns, strict=True):
                    yield dict(zip(schema.names, values, strict=True))
    except (OSError, pa.ArrowException, ValueError, KeyError, TypeError, OverflowError, MemoryError) as error:
        raise Damaged(path, "a Parquet file", str(error), "Restore it from a copy") from error


def _field(pa: Any, name: str, types: set[type]) -> Any:
    plain = {int: pa.int64(), float: pa.float64(), str: pa.string(), bytes: pa.binary()}
    if len(types) > 1:
        return pa.field(name, pa.string(), metadata={_HOW: _MIXED})
    return pa.field(name, plain[next(iter(types))] if types else pa.null())


def _is_mixed(field: pa.Field) -> bool:
    return (field.metadata or {}).get(_HOW) == _MIXED


def _stored(value: Any, field: pa.Field) -> Any:
    if value is None or not _is_mixed(field):
        return value
    if isinstance(value, bytes):
        value = {"base64": base64.b64encode(value).decode()}
    return strictjson.encode([strictjson.special(value) if isinstance(value, float) else value]).decode()


def _given(value: Any, field: pa.Field) -> Any:
    if value is None or not _is_mixed(field):
        return value
    (found,) = strictjson.decode(value)
    return base64.b64decode(found["base64"]) if isinstance(found, dict) else found
