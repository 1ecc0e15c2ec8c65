"""The arrays of a reel as signals of an episode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.lanes.arrays.reel import Reel
from playhead.layout import ReplayFolder
from playhead.replay.stacks import read_stacked, take_stacked
from playhead.signal import Positions, Signal
from playhead.signal.arrays import frozen


class ReelSignal(Signal[Any]):
    """Rows of an array, read when they are asked for.

    Args:
        reel: The reel.
        name: The array.
        rows: The positions of its steps in the reel, in order.
        stamps: Their times.
    """

    def __init__(self, reel: Reel, name: str, rows: range | NDArray[np.int64], stamps: NDArray[np.int64]) -> None:
        self._reel = reel
        self._name = name
        self._rows = rows
        self._stamps = frozen(stamps)
        kind = reel.kind(name)
        self._is_stacked = kind.stack > 1
        self._is_text = np.dtype(kind.dtype).kind == "S"

    @property
    def timestamps(self) -> NDArray[np.int64]:
        """The stamps in nanoseconds."""
        return self._stamps

    def __reduce__(self) -> tuple[Any, ...]:
        files = self._reel.files
        return open_signal, (files.folder, files.id, self._name, self._rows, self._stamps)

    def _values_at(self, positions: Positions) -> NDArray[Any]:
        values = self._read(positions)
        return texts(values) if self._is_text else values

    def _read(self, positions: Positions) -> NDArray[Any]:
        rows = self._rows
        if isinstance(positions, range) and isinstance(rows, range):
            wanted = rows[positions.start : positions.stop : positions.step]
            if not len(wanted):
                return self._taken(np.empty(0, np.int64))
            if wanted.step <= 4:  # reading what lies between costs less than picking
                read = read_stacked if self._is_stacked else Reel.read
                return read(self._reel, self._name, wanted.start, wanted[-1] + 1)[:: wanted.step]
            return self._taken(np.fromiter(wanted, np.int64, len(wanted)))
        if isinstance(positions, range):
            positions = np.fromiter(positions, np.int64, len(positions))
        if isinstance(rows, range):
            return self._taken(np.asarray(positions, np.int64) + rows.start)
        return self._taken(rows[positions])

    def _taken(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        return take_stacked(self._reel, self._name, rows) if self._is_stacked else self._reel.take(self._name, rows)

    def _value_at(self, position: int) -> Any:
        row = int(self._rows[position])
        if self._is_stacked:
            return read_stacked(self._reel, self._name, row, row + 1)[0]
        value = self._reel.row(self._name, row)
        assert value is not None  # only steps that have a row are here
        return texts(np.asarray(value))[()] if self._is_text else value[()]


def open_signal(
    folder: Path, reel_id: str, name: str, rows: range | NDArray[np.int64], stamps: NDArray[np.int64]
) -> ReelSignal:
    """Open a signal that was sent here from another process."""
    return ReelSignal(Reel(ReplayFolder(folder).reel(reel_id)), name, rows, stamps)


def texts(values: NDArray[Any]) -> NDArray[Any]:
    """Give what lies as bytes as the texts that were recorded; what is no UTF-8 is escaped, as Python writes it."""
    out = np.empty(values.shape, object)
    out[...] = np.char.decode(values, "utf-8", "backslashreplace") if values.size else ""
    return out
