"""ReelWriter: one reel from its first step to its sealed file, whatever happened before."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

from playhead import at_exit, disk, facts
from playhead.errors import Damaged, Exists
from playhead.lanes.arrays import sealing
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.foreign import ForeignPart
from playhead.lanes.arrays.recorder import ReelRecorder
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.reeltape import Beginning
from playhead.layout import ReelFiles, ReplayFolder
from playhead.tape import Crew


class ReelWriter(ReelRecorder):
    """Records a reel, or goes on with one; `close` seals it.

    Args:
        files: The reel.
        config: How.
        facts: What does not change, as JSON: the environment, its spaces.
        stacks: For arrays of which a row is the newest of several that one observation is made of, how many.
        crew: The thread that writes, where several reels share one.

    Raises:
        StoreLocked: Another writer records it.
    """

    def __init__(
        self,
        files: ReelFiles,
        config: ReplayConfig,
        *,
        facts: Mapping[str, Any] | None = None,
        stacks: Mapping[str, int] | None = None,
        crew: Crew | None = None,
    ) -> None:
        self.files = files
        self._owner = files.owner()
        self._seal = partial(_seal, files, set())  # holds nothing that holds the reel, so that it can be let go of
        disk.make_folders(files.folder)
        super().__init__(
            files.journal,
            config,
            self._prepare,
            facts=facts,
            stacks=stacks,
            on_roll=self._seal,
            on_end=self._seal,
            crew=crew,
        )

    @property
    def id(self) -> str:
        """The reel's id, as refs spell it."""
        return self.files.id

    def _prepare(self, segment: int) -> Beginning:
        disk.sweep(self.files.file)  # the journal is ours, so that nobody else seals
        for part in self.files.next_parts():
            disk.sweep(part)
        self._seal(segment)
        at_exit.come_before_h5py()  # which the last sealing needs whole
        with at_exit.keeping_h5py():
            sealing.make_empty(self.files)
        note_in_index(ReplayFolder(self.files.folder), self.files)
        with contextlib.closing(Reel(self.files)) as reel:
            if any(isinstance(part, ForeignPart) for part in reel.parts):
                raise Exists(f"{self.files.file} was written by another program; record under another run id")
            return reel.beginning()


def _seal(files: ReelFiles, told: set[str], before: int | None = None) -> None:
    """Seal what there is; a segment that is damaged stays as it is, and is reported once."""
    try:
        with at_exit.keeping_h5py():
            sealing.seal(files, before=before)
    except Damaged as damage:
        if str(damage) not in told:
            told.add(str(damage))
            warnings.warn(f"{damage}. The steps that can be read are kept", RuntimeWarning, stacklevel=2)


def note_in_index(folder: ReplayFolder, files: ReelFiles) -> None:
    """Say in `index.json` which file holds a reel."""
    with disk.locked(folder.path):
        known = facts.load(folder.index)
        if known.get(files.id) != files.file.name:
            facts.write(folder.index, known | {files.id: files.file.name})


def forget_in_index(folder: ReplayFolder, reel_ids: list[str]) -> None:
    """Take reels out of `index.json`."""
    if not folder.index.exists():
        return
    with disk.locked(folder.path):
        known = facts.load(folder.index)
        facts.write(folder.index, {reel_id: name for reel_id, name in known.items() if reel_id not in reel_ids})
