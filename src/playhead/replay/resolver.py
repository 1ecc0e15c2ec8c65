"""FrameResolver: from a ref to the array that it names."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from playhead.errors import BadName, BadRef, NotFound, WrongType
from playhead.lanes.arrays.reel import Reel
from playhead.layout import ReplayFolder
from playhead.paths import GivenPath, as_folder
from playhead.ref import ROW, FrameRef, not_an_address
from playhead.replay.reader import describe, joined, names_of, read_row, take_rows

_SCALARS = ("rewards", "dones")  # what lies with the steps, and not in an array of its own
_SINGULAR = {"frames": "frame", "observations": "observation", "actions": "action"}


class FrameResolver:
    """Finds the arrays that refs name: `h5://run_id/frames/1523`. Safe in threads.

    Besides `frames`, a ref may name any array of a run (`observations`, `observations.camera`, `actions`), `rewards`
    and `dones`. What is structured resolves to a dict of its parts, and where a row is the newest frame of a stack, to
    the whole stack. Runs that are still being recorded are seen as far as they go. Refs may come from anywhere: none
    leads out of the folder.

    Args:
        replay_dir: Where the files of the runs lie.
        max_open_files: How many runs stay open; the one that was not used for longest is closed first.

    Raises:
        WrongType: `max_open_files` is no such number.
    """

    def __init__(self, replay_dir: GivenPath, max_open_files: int = 10) -> None:
        if not isinstance(max_open_files, int) or max_open_files < 1:
            raise WrongType(f"max_open_files is a number of runs, at least 1, not {max_open_files!r}")
        self._folder = ReplayFolder(as_folder(replay_dir, "what holds replays"))
        self._most = max_open_files
        self._open: OrderedDict[str, Reel] = OrderedDict()
        self._lock = threading.RLock()

    def resolve(self, frame_ref: str | FrameRef) -> Any:
        """Give what a ref names; None where that cannot be had. `resolver[ref]` says why.

        Raises:
            Damaged: It was recorded, and cannot be read any more.
        """
        try:
            return self[frame_ref]
        except (BadRef, NotFound):
            return None

    def __getitem__(self, frame_ref: str | FrameRef) -> Any:
        """Give what a ref names.

        Raises:
            BadRef: It is not a ref.
            NotFound: No such run, no such dataset in it, no such step, or nothing of that kind in the step.
            Damaged: It was recorded, and cannot be read any more.
        """
        ref = frame_ref if isinstance(frame_ref, FrameRef) else FrameRef.parse(frame_ref)
        if ref is None:
            raise not_an_address(frame_ref, ROW, of="row")
        with self._lock:
            reel = self._reel(ref.run_id)
            if not _names(reel, ref.dataset):
                known = [*sorted(reel.kinds), *_SCALARS]
                raise NotFound.among("dataset", ref.dataset, known, hint=f"That is what run {ref.run_id} has")
            if not 0 <= ref.index < reel.length:
                raise NotFound(f"no step {ref.index} in run {ref.run_id}: there are {reel.length}")
            found = _row(reel, ref.dataset, ref.index)
        if found is None:
            what = _SINGULAR.get(ref.dataset, f"row in {ref.dataset}")
            raise NotFound(f"step {ref.index} of run {ref.run_id} has no {what}: it was recorded without one")
        return found

    def resolve_batch(self, frame_refs: Sequence[str | FrameRef]) -> list[Any]:
        """Give what refs name, in their order; None where that cannot be had.

        Refs of one dataset are read together, each stretch that is compressed together once, and share memory.

        Raises:
            Damaged: Something was recorded, and cannot be read any more.
        """
        found: list[Any] = [None] * len(frame_refs)
        wanted: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        for place, given in enumerate(frame_refs):
            ref = given if isinstance(given, FrameRef) else FrameRef.parse(given)
            if ref is not None:
                wanted[ref.run_id, ref.dataset].append((place, ref.index))
        for (run_id, dataset), pairs in sorted(wanted.items()):
            for place, value in self._taken(run_id, dataset, pairs):
                found[place] = value
        return found

    def _taken(self, run_id: str, dataset: str, pairs: list[tuple[int, int]]) -> list[tuple[int, Any]]:
        """Give those of one dataset that are there, each with its place in the list of refs."""
        with self._lock:
            try:
                reel = self._reel(run_id)
            except NotFound:
                return []
            pairs = [(place, index) for place, index in pairs if 0 <= index < reel.length]
            if not pairs or not _names(reel, dataset):
                return []
            indices = np.array([index for _, index in pairs], np.int64)
            is_there = _present(reel, dataset, indices)
            values = _rows(reel, dataset, indices[is_there])
        places = [place for (place, _), there in zip(pairs, is_there, strict=True) if there]
        return list(zip(places, values, strict=True))

    # -- runs -------------------------------------------------------------------------------------------------------

    def has_run(self, run_id: str) -> bool:
        """Tell whether there is anything of a run."""
        try:
            return self._folder.reel(run_id).exist()
        except BadName:
            return False

    def list_runs(self) -> list[str]:
        """List what refs may name as their run, in order."""
        return self._folder.reels()

    def get_run_info(self, run_id: str) -> dict[str, Any] | None:
        """Describe a run; None where there is none.

        Returns:
            `run_id`, `total_steps`, `total_episodes`, `created_at`, `version`, `has_frames`, `has_observations`,
            `datasets` and `path`.
        """
        with self._lock:
            try:
                reel = self._reel(run_id)
            except NotFound:
                return None
            return {
                **describe(reel),
                "run_id": run_id,
                "has_frames": bool(names_of(reel, "frames")),
                "has_observations": bool(names_of(reel, "observations")),
                "datasets": [*sorted(reel.kinds), *_SCALARS],
                "path": str(reel.files.file),
            }

    def _reel(self, run_id: str) -> Reel:
        """Give a run as it is now: one that is open may have grown, or be gone."""
        if not self.has_run(run_id):
            self._forget(run_id)
            raise NotFound.among("run", run_id, self.list_runs(), hint=f"Replays are looked for in {self._folder.path}")
        reel = self._open.get(run_id)
        if reel is None:
            while len(self._open) >= self._most:
                self._forget(next(iter(self._open)))
            reel = self._open[run_id] = Reel(self._folder.reel(run_id))
        else:
            self._open.move_to_end(run_id)
            reel.refresh()
        return reel

    def _forget(self, run_id: str) -> None:
        reel = self._open.pop(run_id, None)
        if reel is not None:
            reel.close()

    def close(self) -> None:
        """Give all files back; a later call opens them again. Closing twice is fine."""
        with self._lock:
            for run_id in list(self._open):
                self._forget(run_id)

    def __reduce__(self) -> tuple[Any, ...]:
        return FrameResolver, (self._folder.path, self._most)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _names(reel: Reel, dataset: str) -> list[str]:
    """List the arrays that a dataset is made of: itself, or its parts."""
    kinds = reel.kinds
    if dataset in kinds or dataset in _SCALARS:
        return [dataset]
    return sorted(name for name in kinds if name.startswith(f"{dataset}."))


def _present(reel: Reel, dataset: str, indices: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which steps have a row; all parts of a dataset have, or none."""
    first = int(indices.min())
    name = _names(reel, dataset)[0]
    known = None if name in _SCALARS else reel.present(name, first, int(indices.max()) + 1)
    return np.ones(len(indices), np.bool_) if known is None else known[indices - first]


def _row(reel: Reel, dataset: str, index: int) -> Any:
    if dataset in _SCALARS:
        return _scalars(reel, dataset, np.array([index]))[0]
    found = {name: read_row(reel, name, index) for name in _names(reel, dataset)}
    return joined(dataset, {name: row for name, row in found.items() if row is not None})


def _rows(reel: Reel, dataset: str, indices: NDArray[np.int64]) -> Iterable[Any]:
    if dataset in _SCALARS:
        return _scalars(reel, dataset, indices)
    columns = {name: take_rows(reel, name, indices) for name in _names(reel, dataset)}
    if dataset in columns:
        return columns[dataset]
    return [joined(dataset, {name: rows[at] for name, rows in columns.items()}) for at in range(len(indices))]


def _scalars(reel: Reel, dataset: str, indices: NDArray[np.int64]) -> NDArray[Any]:
    """Give rewards as exact as they were recorded, or whether episodes ended."""
    first = int(indices.min())
    rows = reel.rows(first, int(indices.max()) + 1)[indices - first]
    found: NDArray[Any] = rows["reward"] if dataset == "rewards" else rows["flags"] != 0
    return found
