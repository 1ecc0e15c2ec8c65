"""The runs of a table: where its rows come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np

from playhead.catalog.tables.runs import RunRows
from playhead.errors import OutOfRange
from playhead.lanes.rows.spans import Spans
from playhead.signal import keys
from playhead.wording import counted

_AT_ONCE = 10_000

Known = dict[str, Any]


class TableRuns(Sequence[Known]):
    """Runs, each a dict: id, first_step_idx, num_steps, and what else is known of it.

    Args:
        known: The runs that the database knows.
        before: Runs with this id or a larger one came after the table was opened.
        spans: The rows that are shown, where that is not all.
    """

    def __init__(self, known: RunRows, before: int, spans: Spans | None) -> None:
        self._known = known
        self._before = before
        self._spans = spans
        self._ids: np.ndarray[Any, np.dtype[np.int64]] | None = None

    @property
    def ids(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Their ids."""
        if self._ids is None:
            found = self._known.spans(before=self._before)
            if self._spans is not None:
                stops = found[:, 1] + found[:, 2]
                first = np.searchsorted(self._spans.stops, found[:, 1], "right")
                is_shown = np.append(self._spans.starts, np.int64(2**62))[first] < stops
                found = found[is_shown & (found[:, 2] > 0)]
            self._ids = found[:, 0]
        return self._ids

    def __len__(self) -> int:
        return self._known.count(before=self._before) if self._spans is None else len(self.ids)

    @overload
    def __getitem__(self, key: int) -> Known: ...

    @overload
    def __getitem__(self, key: slice) -> list[Known]: ...

    def __getitem__(self, key: int | slice) -> Known | list[Known]:
        """Return one run, or those of a slice, by their place.

        Raises:
            OutOfRange: If there are fewer runs.
            BadKey: If the key is neither a position nor a slice.
            BadSlice: If the step of a slice is zero.
        """
        if isinstance(key, slice):
            return self._of(self.ids[list(keys.sliced_any_way(key, len(self)))].tolist())
        place = keys.as_integer(key, keys.INDEX)
        try:
            number = int(self.ids[place])
        except IndexError:
            raise OutOfRange(f"run {place} of {len(self):,}") from None
        return self._of([number])[0]

    def __iter__(self) -> Iterator[Known]:
        for start in range(0, len(self.ids), _AT_ONCE):
            yield from self._of(self.ids[start : start + _AT_ONCE].tolist())

    def original(self, run: int) -> bytes | None:
        """Return what is kept of the file of a game, by its id; `playhead.table.games.restore` reads it.

        Raises:
            BadKey: If the id is not a whole number.
        """
        run = keys.as_integer(run, "the id of a run")  # SQLite finds nothing by an integer of NumPy
        return self._known.originals(run, run).get(run)

    def _of(self, ids: list[int]) -> list[Known]:
        if not ids:
            return []
        known = self._known.known(min(ids), max(ids))
        return [known[number] for number in ids]

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'run')}: {', '.join(self._known.columns)}>"
