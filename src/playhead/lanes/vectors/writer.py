"""SimpleSignalWriter: one signal into one Parquet file."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from playhead import disk, tape
from playhead.lanes.vectors.parquet import CHUNK_ROWS, VectorSealer
from playhead.lanes.vectors.recorder import VectorRecorder
from playhead.signal.solo import SoloWriter, recover
from playhead.tape import Declaration

T = TypeVar("T")


class SimpleSignalWriter(SoloWriter[T]):
    """Records numbers, texts or arrays of one shape; the file appears when the writer closes.

    Until then the samples lie in a hidden folder beside it, where a crash leaves them for `recover`.

    Args:
        filepath: The Parquet file; one that is there is replaced at the end.
        chunk_size: Rows in a row group of the file.
    """

    def __init__(self, filepath: disk.StrPath, chunk_size: int = CHUNK_ROWS) -> None:
        super().__init__(filepath)
        self._chunk_rows = chunk_size
        self._recorder = VectorRecorder(self._tape, Path(filepath).stem)

    def append(self, data: T, ts_ns: int) -> None:
        """Add a sample; see `SignalWriter.append`."""
        if self._ended is not None:
            self._check_open()
        self._recorder.append(data, ts_ns)

    def _seal(self) -> None:
        made: list[VectorSealer] = []

        def sealer_of(declaration: Declaration) -> VectorSealer:
            made.append(VectorSealer(declaration, self._target, self._chunk_rows))
            return made[0]

        tape.seal(self._folder, sealer_of)
        if not made:
            VectorSealer(None, self._target).finish()
        disk.sync_folder(self._target.parent)

    @staticmethod
    def recover(filepath: disk.StrPath) -> None:
        """Finish the file of a recording that died.

        Raises:
            NotFound: None was left behind.
            StoreLocked: It is still being recorded.
        """
        recover(filepath, lambda declaration: VectorSealer(declaration, filepath))
