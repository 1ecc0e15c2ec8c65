"""How the rows and the runs of a table are distributed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import strictjson
from playhead.catalog.fitting import numbers_of
from playhead.table.sources.tables import shown_runs
from playhead.table.table import Table
from playhead.wording import counted

_AT_ONCE = 1 << 18  # rows
_QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
_NUMBERS = ("INT", "REAL", "FLOA", "DOUB")


@dataclass(frozen=True)
class Column:
    """One column: of all its numbers but NaN, which are counted.

    Attributes:
        kind: The type.
        min: The smallest; None where there is none.
        max: The largest.
        mean: The mean.
        std: The standard deviation.
        nans: How many are NaN.
        means: The mean of each place, where a value is an array.
        stds: The standard deviation of each place.
    """

    kind: str
    min: float | int | None
    max: float | int | None
    mean: float | None
    std: float | None
    nans: int
    means: NDArray[np.float64] = field(repr=False)
    stds: NDArray[np.float64] = field(repr=False)


@dataclass(frozen=True)
class Fact:
    """What is known of runs, in one number each; runs without it do not count."""

    min: float
    mean: float
    max: float
    count: int


@dataclass(frozen=True)
class Statistics:
    """How rows and runs are distributed.

    Attributes:
        rows: How many there are.
        runs: How many they are of.
        bytes: Their size.
        columns: Each column of the rows.
        facts: What is known of runs, as far as it is numbers.
        lengths: Quantiles of the number of rows of a run.
    """

    rows: int
    runs: int
    bytes: int
    columns: dict[str, Column]
    facts: dict[str, Fact]
    lengths: dict[float, float]

    def to_json(self) -> dict[str, Any]:
        """Give a form that JSON has; NaN and the infinities are strings."""
        columns = {
            name: {"type": one.kind, "min": one.min, "max": one.max, "mean": one.mean, "std": one.std, "nans": one.nans}
            for name, one in self.columns.items()
        }
        plain: dict[str, Any] = strictjson.plain(
            {
                "rows": self.rows,
                "runs": self.runs,
                "bytes": self.bytes,
                "columns": columns,
                "run_columns": {name: vars(fact) for name, fact in self.facts.items()},
                "run_length": {f"{share:g}": value for share, value in self.lengths.items()},
            }
        )
        return plain

    def __repr__(self) -> str:
        head = f"<Statistics: {counted(self.rows, 'row')}, {counted(self.runs, 'run')}, {self.bytes / 1e6:,.2f} MB"
        width = max(map(len, [*self.columns, *self.facts]), default=0)
        lines = [f"\n  {name:{width}}  {_line(one)}" for name, one in self.columns.items()]
        lines += [
            f"\n  {name:{width}}  {one.min:.6g} … {one.max:.6g}, mean {one.mean:.6g}, of a run"
            for name, one in self.facts.items()
        ]
        return head + "".join(lines) + ">"


def _line(one: Column) -> str:
    if one.mean is None:
        return f"{one.kind}, no numbers"
    nans = f", {one.nans:,} NaN" if one.nans else ""
    return f"{one.kind}, {one.min:.6g} … {one.max:.6g}, mean {one.mean:.6g} ± {one.std:.4g}{nans}"


class _Sums:
    """Adds a column up, a part at a time: the mean, and the squares around it, of each place."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        base, shape = dtype.subdtype or (dtype, ())
        self._kind, self._base, self._shape = str(base) + (str(list(shape)) if shape else ""), base, shape
        self._count = np.zeros(shape, np.int64)
        self._mean, self._squares = np.zeros(shape), np.zeros(shape)
        self._least: Any = None
        self._most: Any = None
        self._nans = 0

    def add(self, values: NDArray[Any]) -> None:
        if self._base.kind == "c":
            values = np.abs(values)
        is_nan = np.isnan(values) if self._base.kind in "fc" else None
        nans = 0 if is_nan is None else int(is_nan.sum())
        self._nans += nans
        if nans == values.size:
            return
        least, most = (values.min(), values.max()) if not nans else (np.nanmin(values), np.nanmax(values))
        self._least = least if self._least is None else min(self._least, least)
        self._most = most if self._most is None else max(self._most, most)
        exact = values.astype(np.float64)
        if nans:
            there = ~np.asarray(is_nan)
            count = there.sum(axis=0)
            mean = np.where(there, exact, 0.0).sum(axis=0) / np.maximum(count, 1)
            squares = np.where(there, (exact - mean) ** 2, 0.0).sum(axis=0)
        else:
            count = np.full(self._shape, len(exact))
            mean = exact.mean(axis=0)
            exact -= mean
            squares = np.einsum("i...,i...->...", exact, exact)
        total = self._count + count
        change = mean - self._mean
        share = count / np.maximum(total, 1)
        self._squares += squares + change**2 * self._count * share
        self._mean += change * share
        self._count = total

    def column(self) -> Column:
        count = int(np.sum(self._count))
        means = np.where(self._count > 0, self._mean, np.nan)
        stds = np.where(self._count > 0, np.sqrt(self._squares / np.maximum(self._count, 1)), np.nan)
        if not count:
            return Column(self._kind, None, None, None, None, self._nans, means, stds)
        mean = float(np.sum(self._mean * self._count) / count)
        spread = float(np.sum(self._squares + self._count * (self._mean - mean) ** 2) / count)
        least, most = self._least.item(), self._most.item()
        return Column(self._kind, least, most, mean, float(np.sqrt(spread)), self._nans, means, stds)


def of(table: Table) -> Statistics:
    """Look at every row of a table, or of a view, a part at a time."""
    sums = {name: _Sums(kind) for name, kind in table.columns.items()}
    with np.errstate(over="ignore", invalid="ignore"):  # infinities are told as they are
        for rows in _parts(table):
            for name, one in sums.items():
                one.add(rows[name])
        columns = {name: one.column() for name, one in sums.items()}
    every = table._opened.index.runs.spans(before=table._opened.state.runs)
    shown = shown_runs(table, every)
    lengths = shown[:, 2] - shown[:, 1]
    quantiles = np.quantile(lengths, _QUANTILES).tolist() if len(lengths) else []
    return Statistics(
        len(table),
        len(lengths),
        len(table) * table.dtype.itemsize,
        columns,
        _facts(table, np.searchsorted(np.sort(every[:, 0]), shown[:, 0])),
        dict(zip(_QUANTILES, quantiles, strict=False)),
    )


def _parts(table: Table) -> Iterator[NDArray[Any]]:
    for start in range(0, len(table), _AT_ONCE):
        stop = min(start + _AT_ONCE, len(table))
        yield table.get_batch(np.arange(start, stop)) if table.is_view else table._rows.between(start, stop)


def _facts(table: Table, places: NDArray[np.int64]) -> dict[str, Fact]:
    """Sum up what is known of the runs at some places, counted in the order of their ids."""
    kinds = table._opened.index.runs.columns
    names = [
        name
        for name, kind in kinds.items()
        if name not in ("id", "first_step_idx") and any(number in kind for number in _NUMBERS)
    ]
    numbers = numbers_of(table._opened.index, names, table._opened.state.runs)
    shown = {name: values[places] for name, values in numbers.items()}
    known = {name: values[~np.isnan(values)] for name, values in shown.items()}
    return {
        name: Fact(float(values.min()), float(values.mean()), float(values.max()), len(values))
        for name, values in known.items()
        if len(values)
    }
