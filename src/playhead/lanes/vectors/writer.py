"""SimpleSignalWriter: one signal into one Parquet file."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from playhead import disk
from playhead.lanes.vectors.parquet import CHUNK_ROWS, VectorSealer
from playhead.lanes.vectors.recorder import VectorRecorder
from playhead.paths import GivenPath, as_path
from playhead.signal.solo import SoloWriter, recover, seal

T = TypeVar("T")


class SimpleSignalWriter(SoloWriter[T]):
    """Records numbers, texts or arrays of one shape; the file appears when the writer closes.

    Until then the samples lie in a hidden folder beside it, where a crash leaves them for `recover`.

    Args:
        filepath: The Parquet file; one that is there is replaced at the end.
        chunk_size: Rows in a row group of the file.

    Raises:
        StoreLocked: Somebody records it now.
        Exists: A crash left a recording of it behind.
    """

    def __init__(self, filepath: GivenPath, chunk_size: int = CHUNK_ROWS) -> None:
        super().__init__(as_path(filepath))
        self._chunk_rows = chunk_size
        self._recorder = VectorRecorder(self._tape, self._target.stem)

    def append(self, data: T, ts_ns: int) -> None:
        """Add a sample; see `SignalWriter.append`."""
        if self._ended is not None:
            self._check_open()
        self._recorder.append(data, ts_ns)

    def _seal(self) -> None:
        if self._recorder.kind is None:
            VectorSealer(None, self._target).finish()
            disk.sync_folder(self._target.parent)
        else:
            _seal(self._folder, self._target, self._chunk_rows)

    @staticmethod
    def recover(filepath: GivenPath) -> bool:
        """Finish the file of a recording that died; tell whether there was one.

        Raises:
            StoreLocked: It is still being recorded.
            Damaged: What was recorded cannot be read.
        """
        target = as_path(filepath)
        return recover(target, lambda folder: _seal(folder, target, CHUNK_ROWS))


def _seal(folder: Path, target: Path, chunk_rows: int) -> None:
    seal(folder, lambda declaration: VectorSealer(declaration, target, chunk_rows), target)
