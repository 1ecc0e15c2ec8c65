"""Arrow tables from rows of the catalogue."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from playhead.errors import MissingExtra

_METRICS = pa.schema([
    ("name", pa.string()), ("stage", pa.string()), ("part", pa.int64()),
    ("ts_ns", pa.int64()), ("step", pa.int64()), ("value", pa.float64()),
])  # fmt: skip


def metrics_table(rows: Sequence[Any]) -> pa.Table:
    """Make a table of metric points; NULL values of the catalogue become NaN."""
    columns: list[Sequence[Any]] = list(zip(*rows, strict=True)) if rows else [()] * len(_METRICS)
    columns[1] = [stage or None for stage in columns[1]]
    columns[5] = [math.nan if value is None else value for value in columns[5]]
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, _METRICS, strict=True)], schema=_METRICS
    )


def table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> pa.Table:
    """Make a table of any rows; a column of mixed types becomes text."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return pa.table([_column(column) for column in columns], names=list(names))


def _column(values: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else _text(value) for value in values], pa.string())


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def to_pandas(source: pa.Table) -> Any:
    """Give a table as a pandas frame."""
    try:
        import pandas  # noqa: F401  what Arrow says of a missing one helps nobody
    except ImportError as error:
        raise MissingExtra("pandas", "pandas") from error
    return source.to_pandas()
