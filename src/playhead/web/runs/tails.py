"""What is new in metrics that many readers follow: read once for all of them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.catalog import curves
from playhead.catalog.curves import Point, Series
from playhead.catalog.database import Connection
from playhead.web.runs.sampling import FAR, Curve

KEPT = 200_000  # points of a series, 24 bytes each
_AT_ONCE = 20_000  # that are Python objects at a time
KEPT_IN_ALL = 2_000_000
SERIES = 32


@dataclass(slots=True)
class _Tail:
    """The newest points of one series: all that are later than `floor`, up to `last`.

    Attributes:
        mark: That of the change under which they were read.
    """

    floor: int
    last: int
    mark: int | None = None
    stamps: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    steps: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    values: NDArray[np.float64] = field(default_factory=lambda: np.empty(0, np.float64))
    turn: threading.Lock = field(default_factory=threading.Lock)

    def add(self, points: Sequence[Point]) -> None:
        """Take in later points; the oldest are let go of."""
        stamps, steps, values = zip(*points, strict=True)
        added: tuple[NDArray[Any], ...] = (
            np.fromiter(stamps, np.int64, len(points)),
            np.fromiter(steps, np.int64, len(points)),
            np.array(values, np.float64),  # None becomes NaN
        )
        before = (self.stamps, self.steps, self.values)
        joined = [np.concatenate(pair) for pair in zip(before, added, strict=True)]
        if len(joined[0]) > KEPT:
            self.floor = int(joined[0][-KEPT - 1])
        self.stamps, self.steps, self.values = (array[-KEPT:] for array in joined)
        self.last = int(self.stamps[-1])


class Tails:
    """The newest points of the series that are followed. Safe in threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, int], _Tail] = OrderedDict()

    def after(
        self, connection: Connection, run_id: str, series: Series, stamp: int, mark: int | None = None
    ) -> Curve | None:
        """Give the points of a series that are later than a stamp; None where that is more than is kept.

        All who follow under one mark are given points up to the same one, whenever they ask: they go on together.

        Args:
            connection: To the catalogue.
            run_id: Whose series it is; keys are used again.
            series: The series.
            stamp: The last one that is known.
            mark: That of the change which the asker was told of, if it was.
        """
        key = (run_id, series.key)
        with self._lock:
            tail = self._known.setdefault(key, _Tail(stamp, stamp))
            self._known.move_to_end(key)
            self._let_go()
        with tail.turn:
            if series.last_ns > tail.last and (mark is None or mark != tail.mark):
                if not self._read_on(connection, series, tail):
                    self._forget(key, tail)
                    return None
                tail.mark = mark
            if stamp < tail.floor:
                return None
            first = int(np.searchsorted(tail.stamps, stamp, "right"))
            found = tail.stamps[first:], tail.steps[first:], tail.values[first:]
        return Curve(len(found[0]), *found)

    @staticmethod
    def _read_on(connection: Connection, series: Series, tail: _Tail) -> bool:
        """Take in what was added since the tail was last read; tell whether that was not too much."""
        if curves.has_more_than(connection, series.key, tail.last + 1, FAR, KEPT):
            return False
        while True:
            new = curves.stretch(connection, series.key, tail.last + 1, FAR, _AT_ONCE)
            if new:
                tail.add(new)
            if len(new) < _AT_ONCE:
                return True

    def _let_go(self) -> None:
        """Forget those that were not asked for longest."""
        points = sum(len(tail.stamps) for tail in self._known.values())
        while len(self._known) > SERIES or (points > KEPT_IN_ALL and len(self._known) > 1):
            _, gone = self._known.popitem(last=False)
            points -= len(gone.stamps)

    def _forget(self, key: tuple[str, int], tail: _Tail) -> None:
        with self._lock:
            if self._known.get(key) is tail:
                del self._known[key]
