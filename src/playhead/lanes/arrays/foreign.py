"""An HDF5 file that was not sealed here: one of another program, or one that was rewritten since."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.errors import Damaged
from playhead.lanes.arrays import codec, rows
from playhead.lanes.arrays.kind import AXES, GROUPS, STEPS, ArrayKind
from playhead.lanes.arrays.parts import Part
from playhead.lanes.arrays.pieces import Piece
from playhead.lanes.arrays.rows import ROW
from playhead.lanes.arrays.sealed import OURS

# What the HDF5 library raises over a file that is damaged.
_TROUBLE = (OSError, RuntimeError, ValueError, KeyError, TypeError, OverflowError, MemoryError, AttributeError)


class ForeignPart(Part):
    """A whole HDF5 file of another program, or one of ours that was rewritten: read by the HDF5 library.

    Args:
        path: The file.

    Raises:
        Damaged: It is not an HDF5 file, or has no steps.
    """

    def __init__(self, path: Path) -> None:
        import h5py

        self.path = path
        try:
            self._file = h5py.File(path, "r")
            if OURS in self._file.attrs:
                raise Damaged(
                    path,
                    "a list of chunks at its end",
                    "none: the end of the file was lost or changed, or another program rewrote it",
                    f"Restore it; without its attribute {OURS!r} it is read as a file of another program, unchecked",
                )
            self._look(h5py)
        except Damaged:
            raise
        except _TROUBLE as error:
            raise Damaged(path, "an HDF5 file", str(error)) from error

    def _look(self, h5py: Any) -> None:
        """See what is in the file."""
        names = [name for name, item in self._file.items() if isinstance(item, h5py.Dataset) and _is_array(item)]
        arrays = [name for name in names if name not in ("rewards", "dones")]
        length = max((len(self._file[name]) for name in names), default=0)
        self.bases = dict.fromkeys(AXES, 0)
        self.lengths = self.bases | {STEPS: length}
        self.kinds = {}
        for name in arrays:
            dataset = self._file[name]
            kind = ArrayKind.of(name, STEPS, np.empty(dataset.shape[1:], dataset.dtype))
            if dataset.chunks:
                kind = replace(kind, chunk=dataset.chunks[0])
            self.kinds[STEPS, name] = kind
        self.groups = [*GROUPS, *sorted({kind.group for kind in self.kinds.values()} - {*GROUPS})]
        self.agents, self.facts = [], {}
        starts, lengths = self._spans()
        self.notes = []
        for number, (start, count) in enumerate(zip(starts, lengths, strict=True)):
            self.notes.append({"begin": number, "row": start})
            self.notes.append({"end": number, "row": start + count, "how": "closed"})
        self._starts = np.array(starts, np.int64)

    def _spans(self) -> tuple[list[int], list[int]]:
        """Give where episodes start and how long they are.

        A file of the program that knows these may have one start too few: that of an episode that was not ended.
        """
        length = self.lengths[STEPS]
        starts = [int(start) for start in self._file["episodes/starts"][:]] if "episodes/starts" in self._file else []
        known = [int(count) for count in self._file["episodes/lengths"][:]] if "episodes/lengths" in self._file else []
        if starts and len(known) > len(starts):
            starts.append(starts[-1] + known[len(starts) - 1])
        starts = sorted({start for start in [0, *starts] if 0 <= start < length})
        return starts, [stop - start for start, stop in zip(starts, [*starts[1:], length], strict=False)]

    def _read(self, name: str, start: int, stop: int) -> NDArray[Any]:
        try:
            found: NDArray[Any] = self._file[name][start:stop]
        except _TROUBLE as error:
            raise Damaged(self.path, f"rows {start} to {stop - 1} of {name}", str(error)) from error
        return found

    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Give steps as rows of `ROW`, as far as the file knows them; a step is a nanosecond."""
        found = np.zeros(stop - start, ROW)
        places = np.arange(start, stop)
        found["ts_ns"] = places
        episodes = np.searchsorted(self._starts, places, "right") - 1
        found["episode"] = episodes
        found["step"] = places - self._starts[episodes] if len(self._starts) else places
        for place, group in enumerate(self.groups):  # a dataset may be shorter than others: what is missing is empty
            lengths = [len(self._file[kind.name]) for kind in self.kinds.values() if kind.group == group]
            found["has"][places < min(lengths, default=0)] |= 1 << place
        if "rewards" in self._file:
            rewards = self._read("rewards", start, stop)
            found["reward"][: len(rewards)] = rewards
        if "dones" in self._file:
            dones = self._read("dones", start, stop)
            found["flags"][: len(dones)] = np.where(dones, rows.TERMINATED, 0)
        return found

    def infos(self, start: int, stop: int) -> list[bytes]:
        """Give nothing: such a file has no infos."""
        return [b""] * (stop - start)

    def pieces(self, kind: ArrayKind, start: int, stop: int) -> Iterator[Piece]:
        """Walk over stretches of rows, each read by the library."""
        step = kind.chunk
        length = len(self._file[kind.name])
        for first in range(start // step * step, min(stop, length), step):
            count = min(step, length - first)
            load = partial(self._bytes, kind.name, first, first + count)
            yield Piece(first, count, codec.NONE, count, load, str(self.path))

    def _bytes(self, name: str, start: int, stop: int) -> bytes:
        return self._read(name, start, stop).tobytes()

    def close(self) -> None:
        """Give the file back."""
        self._file.close()


def _is_array(dataset: Any) -> bool:
    """Tell whether a dataset is one of rows that can be read here."""
    return dataset.ndim > 0 and dataset.dtype.kind in "biufcS" and dataset.dtype.itemsize > 0
