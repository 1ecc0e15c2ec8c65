"""ReplayReader: the steps and episodes of one replay file, also while it is recorded."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from playhead import clock
from playhead.errors import Closed, NotFound, OutOfRange, WrongType
from playhead.lanes.arrays.foreign import ForeignPart
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.sealing import CONTRACT
from playhead.layout import ReelFiles, store_around
from playhead.paths import GivenPath, as_path
from playhead.signal.keys import INDEX, as_integer

_BLOCK = 1024  # steps whose rewards and flags are kept for the next call
_SWEEP = 1 << 16  # steps that are read together where all are


class ReplayReader:
    """Reads a replay file, of this library or of MOSAIC's. Safe in threads.

    A run that is still being recorded is read as far as it goes; what comes later is seen by later calls.

    Args:
        path: The file, `{run_id}.h5`.
    """

    def __init__(self, path: GivenPath) -> None:
        self._path = as_path(path)
        self._reel: Reel | None = None
        self._lock = threading.RLock()
        self._block: tuple[int, NDArray[Any]] = (0, np.empty(0))

    def open(self) -> Self:
        """Open the file. Opening twice is fine.

        Raises:
            NotFound: There is none.
            Damaged: It cannot be read.
        """
        with self._lock:
            if self._reel is None:
                files = ReelFiles(self._path.parent, self._path.stem)
                if files.file != self._path or not files.exist():
                    raise NotFound(f"no replay {self._path}: give the path of a file {files.file.name} that is there")
                # A file outside of a store may have been renamed.
                self._reel = Reel(files, is_named=store_around(files.folder) is not None)
        return self

    def close(self) -> None:
        """Give the file back. Closing twice is fine."""
        with self._lock:
            if self._reel is not None:
                self._reel.close()
            self._reel, self._block = None, (0, np.empty(0))

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _sent, (self._path, self._reel is not None)

    def _opened(self) -> Reel:
        if self._reel is None:
            raise Closed(f"the reader of {self._path} is not open: call open(), or use it in a with statement")
        return self._reel

    def _refreshed(self) -> Reel:
        reel = self._opened()
        reel.refresh()
        self._block = (0, np.empty(0))
        return reel

    # -- what there is ----------------------------------------------------------------------------------------------

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def num_steps(self) -> int:
        """How many steps there are now."""
        with self._lock:
            return self._refreshed().length

    @property
    def num_episodes(self) -> int:
        """How many episodes there are now; the last may be open."""
        with self._lock:
            return len(self._refreshed().spans)

    @property
    def metadata(self) -> dict[str, Any]:
        """What is known of the run: `run_id`, `total_steps`, `total_episodes`, `created_at`, `version`."""
        with self._lock:
            return describe(self._refreshed())

    @property
    def has_frames(self) -> bool:
        """Whether any step has a frame."""
        with self._lock:
            return bool(names_of(self._refreshed(), "frames"))

    @property
    def has_observations(self) -> bool:
        """Whether any step has an observation."""
        with self._lock:
            return bool(names_of(self._refreshed(), "observations"))

    # -- one step ---------------------------------------------------------------------------------------------------

    def get_step(self, index: int) -> dict[str, Any]:
        """Give one step.

        Args:
            index: Its position; a negative one counts from the end.

        Returns:
            `action`, `reward`, `done`, `frame` and `observation`; None where it has none. A structured one is a dict
            of its parts.

        Raises:
            OutOfRange: There are fewer.
        """
        with self._lock:
            place = self._place(index)
            if place is None:
                raise OutOfRange(f"no step {index} in {self._path}: there are {self._opened().length}")
            row = self._row(place)
            return {
                "action": self._value("actions", place, plain=True),
                "reward": float(row["reward"]),
                "done": bool(row["flags"]),
                "frame": self._value("frames", place),
                "observation": self._value("observations", place),
            }

    def get_frame(self, step_index: int) -> Any:
        """Give the frame of a step; None where it has none, and past the end."""
        return self._value_or_none("frames", step_index)

    def get_observation(self, step_index: int) -> Any:
        """Give the observation of a step; None where it has none, and past the end."""
        return self._value_or_none("observations", step_index)

    def _value_or_none(self, group: str, index: int) -> Any:
        with self._lock:
            place = self._place(index)
            return None if place is None else self._value(group, place)

    def _place(self, index: int) -> int | None:
        """Give the position that an index means; None where there is none, also after a look at what is new."""
        index = as_integer(index, INDEX)
        reel = self._opened()
        if not 0 <= index < reel.length:
            reel = self._refreshed()
        place = index + reel.length if index < 0 else index
        return place if 0 <= place < reel.length else None

    def _row(self, place: int) -> Any:
        first, rows = self._block
        if not first <= place < first + len(rows):
            reel = self._opened()
            first = place // _BLOCK * _BLOCK
            rows = reel.rows(first, min(first + _BLOCK, reel.length))
            self._block = (first, rows)
        return rows[place - first]

    def _value(self, group: str, place: int, *, plain: bool = False) -> Any:
        reel = self._opened()
        values = {name: read_row(reel, name, place) for name in names_of(reel, group)}
        if plain:
            values = {name: _plain(value) for name, value in values.items()}
        return joined(group, {name: value for name, value in values.items() if value is not None})

    # -- many -------------------------------------------------------------------------------------------------------

    def get_episode(self, episode_idx: int) -> dict[str, Any]:
        """Give all steps of an episode; of one that is being recorded, those that are there now.

        Args:
            episode_idx: Its place; a negative one counts from the end.

        Returns:
            `frames`, `observations` and `actions`, None where there are none, and dicts of their parts where they are
            structured; `rewards` in float32 as the file has them (`get_step` gives the exact number); `dones`;
            `episode_index`, `start_step`, `length`; and `holes`: for arrays that some steps have no row of, which
            these are. Their rows are zero.

        Raises:
            OutOfRange: There are fewer.
        """
        episode_idx = as_integer(episode_idx, INDEX)
        with self._lock:
            reel = self._refreshed()
            spans = reel.spans
            place = episode_idx + len(spans) if episode_idx < 0 else episode_idx
            if not 0 <= place < len(spans):
                raise OutOfRange(f"no episode {episode_idx} in {self._path}: there are {len(spans)}")
            start, stop = spans[place].start, spans[place].start + spans[place].length
            rows = reel.rows(start, stop)
            arrays, holes = _stretch(reel, start, stop)
            return {
                **arrays,
                "rewards": rows["reward"].astype(np.float32),
                "dones": rows["flags"] != 0,
                "episode_index": place,
                "start_step": start,
                "length": stop - start,
                "holes": holes,
            }

    def iter_batches(
        self, batch_size: int = 32, shuffle: bool = False, include_frames: bool = False, *, seed: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """Walk over all steps that there are now, some at a time.

        Args:
            batch_size: How many; the last may have fewer.
            shuffle: In any order, also within a batch, each step once.
            include_frames: Also `frames`, which are large.
            seed: Makes the order always the same.

        Yields:
            `indices`, `actions`, `observations`, `rewards`, `dones`, and where wanted `frames`, as `get_episode` has
            them; `holes` too.
        """
        if not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
            raise WrongType(f"batch_size is a number of steps, at least 1, not {batch_size!r}")
        with self._lock:
            length = self._refreshed().length
        order = np.random.default_rng(seed).permutation(length) if shuffle else np.arange(length)
        groups = ("actions", "observations", "frames") if include_frames else ("actions", "observations")
        return self._batches(batch_size, order, groups)

    def _batches(self, size: int, order: NDArray[np.int64], groups: tuple[str, ...]) -> Iterator[dict[str, Any]]:
        length = len(order)
        with self._lock:
            reel = self._opened()
            rewards, dones = _scalars(reel, length)
            names = {group: names_of(reel, group) for group in groups}
            present = {name: reel.present(name, 0, length) for found in names.values() for name in found}
        for first in range(0, length, size):
            chosen = order[first : first + size]
            batch: dict[str, Any] = {"indices": chosen, "rewards": rewards[chosen], "dones": dones[chosen]}
            with self._lock:
                reel = self._opened()
                for group, found in names.items():
                    batch[group] = joined(group, {name: take_rows(reel, name, chosen) for name in found})
            missing = {name: ~there[chosen] for name, there in present.items() if there is not None}
            batch["holes"] = {name: where for name, where in missing.items() if where.any()}
            yield batch


def _sent(path: Path, is_open: bool) -> ReplayReader:
    """Make the reader that another process has."""
    return ReplayReader(path).open() if is_open else ReplayReader(path)


# -- how arrays of a reel are read, whole stacks where a row is the newest of one -------------------------------------


def names_of(reel: Reel, group: str) -> list[str]:
    """List the arrays that frames, observations or actions are made of."""
    return sorted(name for name in reel.kinds if name.partition(".")[0] == group)


def joined(group: str, values: dict[str, Any]) -> Any:
    """Give the values of arrays as what was recorded: one, a dict by part, or None where there is none."""
    if group in values or not values:
        return values.get(group)
    return {name.removeprefix(f"{group}."): value for name, value in values.items()}


def read_row(reel: Reel, name: str, place: int) -> Any:
    """Give the row of a step; None where it has none."""
    if reel.kind(name).stack == 1:
        return reel.row(name, place)
    from playhead.replay.stacks import read_stacked

    is_there = reel.present(name, place, place + 1) is None
    return read_stacked(reel, name, place, place + 1)[0].copy() if is_there else None


def take_rows(reel: Reel, name: str, places: NDArray[np.int64]) -> NDArray[Any]:
    """Give the rows of steps, in their order; those that are not there are zero."""
    if reel.kind(name).stack == 1:
        return reel.take(name, places)
    from playhead.replay.stacks import take_stacked

    return take_stacked(reel, name, places)


def _stretch(reel: Reel, start: int, stop: int) -> tuple[dict[str, Any], dict[str, NDArray[np.bool_]]]:
    """Read what steps of one episode have, and tell which have what not."""
    from playhead.replay.stacks import read_stacked

    arrays, holes = {}, {}
    for group in ("frames", "observations", "actions"):
        values = {}
        for name in names_of(reel, group):
            present = reel.present(name, start, stop)
            if present is not None and not present.any():
                continue
            if present is not None:
                holes[name] = ~present
            read = Reel.read if reel.kind(name).stack == 1 else read_stacked
            values[name] = read(reel, name, start, stop)
        arrays[group] = joined(group, values)
    return arrays, holes


def _scalars(reel: Reel, length: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    rewards, dones = np.empty(length, np.float32), np.empty(length, np.bool_)
    for start in range(0, length, _SWEEP):
        rows = reel.rows(start, min(start + _SWEEP, length))
        rewards[start : start + len(rows)] = rows["reward"]
        dones[start : start + len(rows)] = rows["flags"] != 0
    return rewards, dones


def _plain(value: Any) -> Any:
    """Give a single number as Python has it."""
    return value.item() if value is not None and np.ndim(value) == 0 else value


def describe(reel: Reel) -> dict[str, Any]:
    """Say what a reel is, as the attributes of its file do; the figures are those of what can be read now."""
    if any(isinstance(part, ForeignPart) for part in reel.parts):
        said = _attributes(reel.files.file)
    else:
        began = [span.began_ns for span in reel.spans[:1] if span.began_ns is not None]
        created = clock.local(began[0]).replace(tzinfo=None).isoformat() if began else ""
        said = {"created_at": created, "version": CONTRACT}
    figures = {"total_steps": reel.length, "total_episodes": len(reel.spans)}
    return {"run_id": reel.files.id, **said, **figures}


def _attributes(path: Path) -> dict[str, Any]:
    import h5py

    with h5py.File(path, "r") as file:
        return {
            name: value.item() if np.ndim(value) == 0 and hasattr(value, "item") else value
            for name, value in file.attrs.items()
        }
