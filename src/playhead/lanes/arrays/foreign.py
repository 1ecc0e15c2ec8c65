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
from playhead.lanes.arrays import adopted, codec, inside, rows
from playhead.lanes.arrays.kind import AXES, GROUPS, MOST_GROUPS, STEPS, ArrayKind, is_name
from playhead.lanes.arrays.parts import Part
from playhead.lanes.arrays.pieces import Piece
from playhead.lanes.arrays.rows import ROW
from playhead.lanes.arrays.sealed import OURS

# What the HDF5 library raises over a file that is damaged.
_TROUBLE = (OSError, RuntimeError, ValueError, KeyError, TypeError, OverflowError, MemoryError, AttributeError)

_SCALARS = {"rewards", "dones"}  # what lies with the steps, and is no array


class ForeignPart(Part):
    """A whole HDF5 file of another program, or one of ours that was rewritten: read by the HDF5 library.

    Args:
        path: The file.
        said: Where others say which episodes it has.

    Raises:
        Damaged: It is not an HDF5 file, leads to other files, or has rewards that are not one number a step.
    """

    def __init__(self, path: Path, said: Path | None = None) -> None:
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
            self._look(said)
        except Damaged:
            raise
        except _TROUBLE as error:
            raise Damaged(path, "an HDF5 file", str(error)) from error

    def _look(self, said: Path | None) -> None:
        """See what is in the file."""
        self._found = inside.datasets(self._file)
        for name in _SCALARS & self._found.keys():
            _check_numbers(self.path, self._found[name])
        arrays = self._arrays()
        length = max((len(self._found[name]) for name in (*arrays, *(_SCALARS & self._found.keys()))), default=0)
        self.bases = dict.fromkeys(AXES, 0)
        self.lengths = self.bases | {STEPS: length}
        self.kinds = {}
        for name in arrays:
            dataset = self._found[name]
            kind = ArrayKind.of(name, STEPS, np.empty(dataset.shape[1:], dataset.dtype))
            if dataset.chunks:
                kind = replace(kind, chunk=dataset.chunks[0])
            self.kinds[STEPS, name] = kind
        self.groups = [*GROUPS, *sorted({kind.group for kind in self.kinds.values()} - {*GROUPS})]
        self.agents, self.facts = [], {}
        known = [] if said is None else adopted.load(said, length)
        episodes = list(adopted.completed(known, self._own_starts(), length))
        self.notes = []
        for number, one in enumerate(episodes):
            self.notes.append({"begin": number, "row": one.start, "facts": one.facts})
            self.notes.append({"end": number, "row": one.stop, "how": one.how})
        self._starts = np.array([one.start for one in episodes], np.int64)

    def _arrays(self) -> list[str]:
        """List the datasets that are arrays of steps; what has another name than one can have is not looked at."""
        names = [name for name, dataset in self._found.items() if is_name(name) and _is_array(dataset)]
        groups = list(dict.fromkeys([*GROUPS, *sorted(name.partition(".")[0] for name in names)]))
        return [name for name in names if name.partition(".")[0] in groups[:MOST_GROUPS]]

    def _own_starts(self) -> list[int]:
        """Give where episodes start.

        A file of the program that knows these may have one start too few: that of an episode that was not ended.
        """
        starts, known = ([int(one) for one in self._numbers(name)] for name in ("episodes/starts", "episodes/lengths"))
        if starts and len(known) > len(starts):
            starts.append(starts[-1] + known[len(starts) - 1])
        return sorted({start for start in starts if start >= 0})

    def _numbers(self, path: str) -> Any:
        dataset = inside.find(self._file, path)
        return () if dataset is None else dataset[:]

    def _read(self, name: str, start: int, stop: int) -> NDArray[Any]:
        try:
            found: NDArray[Any] = self._found[name][start:stop]
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
            lengths = [len(self._found[kind.name]) for kind in self.kinds.values() if kind.group == group]
            found["has"][places < min(lengths, default=0)] |= 1 << place
        if "rewards" in self._found:
            rewards = self._read("rewards", start, stop)
            found["reward"][: len(rewards)] = rewards
        if "dones" in self._found:
            dones = self._read("dones", start, stop)
            found["flags"][: len(dones)] = np.where(dones, rows.TERMINATED, 0)
        return found

    def infos(self, start: int, stop: int) -> list[bytes]:
        """Give nothing: such a file has no infos."""
        return [b""] * (stop - start)

    def pieces(self, kind: ArrayKind, start: int, stop: int) -> Iterator[Piece]:
        """Walk over stretches of rows, each read by the library."""
        step = kind.chunk
        length = len(self._found[kind.name])
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


def _check_numbers(path: Path, dataset: Any) -> None:
    if dataset.ndim != 1 or dataset.dtype.kind not in "biuf":
        name = dataset.name.removeprefix("/")
        found = f"{dataset.dtype} of the shape {dataset.shape}"
        hint = f"Rename {name}, or write it with one number a step"
        raise Damaged(path, f"{name} that are one number a step", found, hint)
