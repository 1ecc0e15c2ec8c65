"""SimpleSignal: what a Parquet file of one signal holds."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from playhead.errors import NoSuchFile
from playhead.lanes.vectors.kind import Kind
from playhead.lanes.vectors.parquet import ParquetSamples
from playhead.owner import Fields, Owner
from playhead.paths import GivenPath, as_path
from playhead.signal.contract import Positions, Signal
from playhead.signal.memory import frozen
from playhead.signal.view import take

T = TypeVar("T")


class SimpleSignal(Signal[T]):
    """Numbers, texts or arrays over time, out of one Parquet file. Read when first used, then kept as NumPy arrays.

    Args:
        filepath: The file, of Playhead or of any generation of Positronic.
        timeline: The clock to read, where the file has several.
        owner: Whose the file must be; None for a file that stands alone.
    """

    def __init__(self, filepath: GivenPath, timeline: str | None = None, *, owner: Owner | None = None) -> None:
        self.filepath = as_path(filepath)
        self._timeline = timeline
        self._owner = owner
        self._turn = threading.Lock()
        self._file: ParquetSamples | None = None
        self._stamps: NDArray[np.int64] | None = None
        self._values: NDArray[Any] | None = None

    def _opened(self) -> ParquetSamples:
        file = self._file
        if file is None:
            try:
                file = ParquetSamples(self.filepath, self._timeline)
            except FileNotFoundError:
                raise NoSuchFile(f"no signal at {self.filepath}: there is no such file") from None
            if self._owner is not None:
                self._owner.check(self.filepath, file.owner)
            self._file = file
        return file

    @property
    def timestamps(self) -> NDArray[np.int64]:
        """The stamps in nanoseconds."""
        stamps = self._stamps
        if stamps is None:
            with self._turn:
                if self._stamps is None:
                    self._stamps = frozen(self._opened().stamps())
                stamps = self._stamps
        return stamps

    def _loaded(self) -> NDArray[Any]:
        with self._turn:
            if self._values is None:
                self._values = frozen(self._opened().values())
            return self._values

    def _values_at(self, positions: Positions) -> NDArray[Any]:
        values = self._values
        return take(self._loaded() if values is None else values, positions)

    def _value_at(self, position: int) -> T:
        values = self._values
        value: T = (self._loaded() if values is None else values)[position]
        return value

    def _count(self) -> int:
        if self._stamps is not None:
            return len(self._stamps)
        with self._turn:
            return self._opened().count

    @property
    def clocks(self) -> tuple[str, ...]:
        """The fields of the file that hold stamps."""
        with self._turn:
            return self._opened().clocks

    @property
    def owner(self) -> Fields | None:
        """Whose the file says it is; None if it stands alone, or was written before files said so."""
        with self._turn:
            return self._opened().owner

    @property
    def kind(self) -> Kind | None:
        """What its values are, known without reading them; None where the file, of another program, does not say."""
        with self._turn:
            return self._opened().kind

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.filepath, self._timeline, self._owner)

    def _description(self) -> str:
        return f"{self.filepath.name!r}, {super()._description()}"


def _again(
    kind: type[SimpleSignal[Any]], filepath: Path, timeline: str | None, owner: Owner | None
) -> SimpleSignal[Any]:
    """Open a signal in another process."""
    return kind(filepath, timeline, owner=owner)
