"""Table: rows of one size in memory, taken at random."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from playhead import markup
from playhead.errors import Closed, Damaged, NotFound, OutOfRange, WrongShape, WrongType
from playhead.lanes.rows import spans as ranges
from playhead.lanes.rows.held import OneArray, Rows
from playhead.lanes.rows.spans import Spans
from playhead.paths import GivenPath, as_path
from playhead.progress import watching
from playhead.table import leaving, opening
from playhead.table.runs import TableRuns
from playhead.wording import counted, listed

if TYPE_CHECKING:
    from playhead.table.statistics import Statistics
    from playhead.table.verifying import Finding
    from playhead.train.tables import TableDataset, TableLoader

Predicate = Callable[[NDArray[Any]], NDArray[np.bool_]]

_SCANNED = 1 << 20  # rows that a predicate sees at a time
_NAMED = 4  # of the signals that were left out


class Choice(NamedTuple):
    """What of a table a view shows, in words."""

    text: str
    spans: Spans


class Table:
    """Training rows, and the runs that they are of.

        table = playhead.Table.open("tables/2048")
        table.get_batch(indices)                        # 4,096 rows in a tenth of a millisecond
        good = table.filter("max_score >= 20000")       # a view: ranges of rows, no copy
        train, test = good.split(train=0.9, test=0.1)
        for batch in train.loader(4096, seed=0): ...

    Made by `open` and `build`. A view of a table, as `filter` and `split` give it, is a `Table` too.
    """

    def __init__(self, opened: opening.Opened, rows: Rows, choices: Sequence[Choice] = ()) -> None:
        self._opened = opened
        self._rows = rows
        self._choices = tuple(choices)
        self._spans = self._choices[-1].spans if self._choices else None
        self._length = len(rows) if self._spans is None else len(self._spans)

    # -- making -----------------------------------------------------------------------------------------------------

    @classmethod
    def open(
        cls,
        path: GivenPath,
        *,
        mmap: bool = False,
        shared: bool = False,
        cached: int | None = None,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Table:
        """Open a table, and load its rows into memory; every block is checked on the way.

        Args:
            path: Its folder: made here, by the programs of the 2048 seed, or by 2048former.
            mmap: Map the rows instead of loading them: for looking around. Random batches then wait for the disk, and
                only the first and the last block are checked.
            shared: Load into memory that worker processes of any start share. It loads, and gives batches, slower than
                the usual memory, which forked workers share as well.
            cached: Of a table in shards, how many may be in memory at a time; by default as many as fit.
            threads: How many threads read; by default one for each processor.
            progress: Whether a bar is drawn; by default where there is a terminal and it takes long.

        Raises:
            NotFound: There is no table.
            Damaged: A file of it is not what was written.
            MemoryError: It does not fit; says what to do.
        """
        folder = as_path(path)
        for is_last in (False, False, True):  # it may be replaced just now
            opened = None
            try:
                opened = opening.look_at(folder)
                total = sum(source.size for source in opened.sources)
                with watching(f"loading {folder.name}", 0 if mmap else total, progress) as watch:
                    rows = opening.hold(opened, mapped=mmap, shared=shared, cached=cached, threads=threads, watch=watch)
                opened.index.file.check_folder()
                return cls(opened, rows)
            except (Closed, Damaged, NotFound) as error:
                is_replaced = isinstance(error, Closed) or (opened is not None and opened.index.file.is_replaced)
                if is_last or not is_replaced:
                    raise
        raise AssertionError("the last try ends either way")

    @classmethod
    def build(cls, source: Any, out: GivenPath, **options: Any) -> Table:
        """Make a table of run files, episodes, arrays or Parquet files; see `playhead.table.building.build`."""
        from playhead.table import building

        return building.build(source, out, **options)

    @classmethod
    def merge(cls, tables: Iterable[Table | GivenPath], out: GivenPath, **options: Any) -> Table:
        """Make one table of several, their runs one behind the other; see `playhead.table.merging.merge`."""
        from playhead.table import merging

        return merging.merge(tables, out, **options)

    def append(self, source: Any, **options: Any) -> Table:
        """Add rows to the table on disk, and give it as it is then; this one keeps what it had.

        See `playhead.table.building.append`.
        """
        from playhead.table import building

        return building.append(self.path, source, **options)

    # -- looking ----------------------------------------------------------------------------------------------------

    @property
    def path(self) -> Path:
        """Its folder."""
        return self._opened.folder.path

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of a row."""
        return self._rows.dtype

    @property
    def columns(self) -> dict[str, np.dtype[Any]]:
        """The columns of a row, with their types."""
        return {name: self.dtype[name] for name in self.dtype.names or ()}

    @property
    def runs(self) -> TableRuns:
        """The runs whose rows are shown, in the order of their rows: games or episodes, and what is known of each."""
        return TableRuns(self._opened.index.runs, self._opened.state.runs, self._spans)

    @property
    def renamed_from(self) -> str | None:
        """The name that it was made under, where its folder in a store was renamed by hand."""
        return opening.renamed(self._opened.folder, self._opened.state) if self._opened.is_ours else None

    @property
    def built(self) -> dict[str, Any]:
        """How the rows were made: the source, the columns, what was left out and what was skipped."""
        return dict(self._opened.state.built)

    @property
    def is_view(self) -> bool:
        """Whether it shows only some rows of its table."""
        return self._spans is not None

    @property
    def spans(self) -> Spans:
        """The rows that it shows, as ranges of rows of the whole table."""
        if self._spans is not None:
            return self._spans
        return Spans(np.zeros(1, np.int64), np.array([len(self._rows)], np.int64))

    def __len__(self) -> int:
        """Count the rows."""
        return self._length

    def _amount(self) -> str:
        size = self._length * self.dtype.itemsize
        rounded = f"{size / 1e9:.2f} GB" if size > 1e8 else f"{size / 1e6:.2f} MB"
        return f"{self._length:,} rows × {self.dtype.itemsize} B = {rounded}"

    def _repr_html_(self) -> str:
        first = self[0] if self._length else None
        columns = [
            [markup.text(name), markup.soft(kind), "" if first is None else markup.text(first[name])]
            for name, kind in self.columns.items()
        ]
        about = [self._amount(), counted(len(self.runs), "run"), *(choice.text for choice in self._choices)]
        about += [self._left_out()] * bool(self._left_out())
        return markup.block(self.path.name, markup.line(*map(markup.soft, about)), markup.table(columns))

    def __repr__(self) -> str:
        amount = self._amount()
        chosen = "".join(f", {text}" for text in [*(choice.text for choice in self._choices), self._left_out()] if text)
        return (
            f"<Table {self.path.name}: {amount}, {counted(len(self.runs), 'run')}, {', '.join(self.columns)}{chosen}>"
        )

    def _left_out(self) -> str:
        names = leaving.told(self.built)
        return f"without {listed(names, _NAMED)}" if names else ""

    # -- taking -----------------------------------------------------------------------------------------------------

    def get_batch(self, indices: ArrayLike, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Copy rows, in the order of the indices, which may repeat.

        Args:
            indices: Numbers of rows, negative ones from the end, or a mask with a truth value for each row.
            out: Where to put them; an array of their shape and type, without gaps.

        Raises:
            OutOfRange: There is no such row.
        """
        places = self._places(indices)
        if out is not None and (out.shape != places.shape or out.dtype != self.dtype or not out.flags.c_contiguous):
            raise WrongShape(
                f"out has to be {self.dtype}{list(places.shape)} without gaps, not {out.dtype}{list(out.shape)}"
            )
        if self._spans is not None:
            places = self._spans.rows(places)
        return self._rows.take(places, out)

    def _places(self, indices: ArrayLike) -> NDArray[np.int64]:
        given = np.asarray(indices)
        if given.dtype == np.bool_:
            if given.shape != (self._length,):
                raise OutOfRange(f"a mask has a truth value for each of the {self._length:,} rows, not {given.shape}")
            return np.flatnonzero(given)
        if given.dtype.kind not in "iu" and given.size:
            raise WrongType(f"rows are numbered by integers, not by {given.dtype}")
        places = given.astype(np.int64, copy=False)
        if given.dtype == np.int64 and places.size and int(places.view(np.uint64).max()) < self._length:
            return places  # one look at each: a negative number would be a very large one
        if places.size:
            least, most = int(given.min()), int(given.max())
            if least < -self._length or most >= self._length:
                wrong = least if least < -self._length else most
                raise OutOfRange(f"row {wrong:,} of a table of {self._length:,}")
            if least < 0:
                places = np.where(places < 0, places + self._length, places)
        return places

    def __getitem__(self, key: Any) -> Any:
        """Give a row, or those of a slice, of numbers, or of a mask; or a column by its name."""
        if isinstance(key, str):
            if key not in self.columns:
                raise NotFound.among("column", key, self.columns)
            return self._column(key)
        if isinstance(key, slice):
            return self.get_batch(slice_of(key, self._length))
        if isinstance(key, bool | tuple):
            raise WrongType(f"a row has one number, and {key!r} is none; a list takes several")
        try:
            number = operator.index(key)
        except TypeError:
            return self.get_batch(key)
        if not -self._length <= number < self._length:
            raise OutOfRange(f"row {number:,} of a table of {self._length:,}")
        return self.get_batch(np.array([number]))[0]

    def _column(self, name: str) -> NDArray[Any]:
        kind = self.dtype[name]
        values = np.empty((self._length, *kind.shape), kind.base)  # NumPy itself forgets a shape without elements
        for first in range(0, self._length, _SCANNED):  # so that no copy of all columns is made
            places = np.arange(first, min(first + _SCANNED, self._length))
            values[places[0] : places[-1] + 1] = self.get_batch(places)[name]
        return values

    # -- choosing ---------------------------------------------------------------------------------------------------

    def filter(
        self, where: str | None = None, *, runs: Iterable[int] | None = None, rows: Predicate | None = None
    ) -> Table:
        """Show only some rows; all conditions that are given hold.

        Args:
            where: Of which runs, in the `where` language: "max_score >= 20000 and engine = 'x'".
            runs: Of which runs, by their ids.
            rows: Which rows: called with many at a time, it gives a truth value for each.

        Returns:
            A view, which holds ranges of rows; the rows themselves are not copied.
        """
        view = self
        if where is not None:
            found = self._opened.index.runs.spans(where, before=self._opened.state.runs)
            view = view._narrowed(repr(where), found)
        if runs is not None:
            found = self._opened.index.runs.spans(before=self._opened.state.runs)
            try:
                wanted = np.unique(np.fromiter(map(operator.index, runs), np.int64))
            except (TypeError, OverflowError) as error:
                raise WrongType(f"runs are chosen by their ids, several whole numbers, not {runs!r}") from error
            unknown = np.setdiff1d(wanted, found[:, 0])
            if len(unknown):
                raise NotFound(f"no run {unknown[0]} in {self.path}; there are {len(found):,}")
            view = view._narrowed(f"{counted(len(wanted), 'run')} by id", found[np.isin(found[:, 0], wanted)])
        if rows is not None:
            name = getattr(rows, "__name__", type(rows).__name__)
            view = view._chosen(f"rows by {name}", view._fitting(rows))
        return view

    def filter_by_score(self, min_score: int, max_score: int | None = None) -> Table:
        """Show only the rows of games with at least, and at most, a score.

        Raises:
            NotFound: If the table does not know the scores of its runs; the message says how it can.
        """
        known = self._opened.index.runs.columns
        if "max_score" not in known:
            raise NotFound(
                f"the runs of {self.path} have no max_score, only {listed(known)}. Build the table of what knows the "
                "scores: the run files, or the folder that holds steps.npy and its metadata.db. "
                "Otherwise, filter(where) chooses runs by what is known, and filter(runs=…) by their ids"
            )
        above = "" if max_score is None else f" and max_score <= {int(max_score)}"
        return self.filter(f"max_score >= {int(min_score)}{above}")

    def _narrowed(self, text: str, found: NDArray[np.int64]) -> Table:
        return self._chosen(text, Spans(found[:, 1], found[:, 1] + found[:, 2]).common(self.spans))

    def _chosen(self, text: str, spans: Spans) -> Table:
        return Table(self._opened, self._rows, [*self._choices, Choice(text, spans)])

    def _fitting(self, fits: Predicate) -> Spans:
        starts, stops = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        mine = self.spans
        for first in range(0, len(self._rows), _SCANNED):
            last = min(first + _SCANNED, len(self._rows))
            part = mine.within(first, last)
            if not len(part):
                continue
            shown = self._rows.between(first, last)
            shown.flags.writeable = False
            mask = np.asarray(fits(shown))
            if mask.dtype != np.bool_ or mask.shape != (last - first,):
                raise WrongType(f"a predicate gives a truth value for each row, not {mask.dtype}{list(mask.shape)}")
            found = ranges.of_mask(mask)
            both = Spans(found.starts + first, found.stops + first).common(part)
            starts.append(both.starts)
            stops.append(both.stops)
        return Spans(np.concatenate(starts), np.concatenate(stops))

    def split(self, *, seed: int = 0, **shares: float) -> tuple[Table, ...]:
        """Part the runs by chance: `train, test = table.split(train=0.9, test=0.1)`.

        No run is in two parts, and each stays in its part when the table grows. One share less than 1 leaves the rest
        to a part of its own: `train, rest = table.split(train=0.9)`.
        """
        from playhead.table import splitting

        return splitting.split(self, shares, seed)

    # -- knowing ----------------------------------------------------------------------------------------------------

    def stats(self) -> Statistics:
        """Tell how rows and runs are distributed; this looks at every row."""
        from playhead.table import statistics

        return statistics.of(self)

    def verify(self, progress: bool | None = None) -> list[Finding]:
        """Check every byte on disk against what was written; give what is wrong, nothing where nothing is."""
        from playhead.table import verifying

        return verifying.verify(self.path, progress)

    # -- training ---------------------------------------------------------------------------------------------------

    def loader(self, batch_size: int, **options: Any) -> TableLoader:
        """Give batches in a random order, epoch after epoch; see `playhead.train.TableLoader`."""
        from playhead.train.tables import TableLoader

        return TableLoader(self, batch_size, **options)

    def dataset(self, columns: Sequence[str] | None = None) -> TableDataset:
        """Give the rows to a PyTorch `DataLoader`; see `playhead.train.TableDataset`."""
        from playhead.train.tables import TableDataset

        return TableDataset(self, columns)

    @property
    def array(self) -> NDArray[Any]:
        """The rows of the whole table as one array, without a copy.

        Raises:
            WrongType: They are in shards.
        """
        if not isinstance(self._rows, OneArray):
            raise WrongType(f"the rows of {self.path} are in shards; take them by get_batch")
        return self._rows.array


def slice_of(key: slice, length: int) -> NDArray[np.int64]:
    """Give the numbers that a slice means."""
    return np.arange(*key.indices(length), dtype=np.int64)


def as_columns(rows: NDArray[Any], columns: Iterable[str]) -> Mapping[str, NDArray[Any]]:
    """Give columns of rows, each as an array of its own."""
    return {name: np.ascontiguousarray(rows[name]) for name in columns}
