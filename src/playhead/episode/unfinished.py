"""Episodes that were cut short, and what becomes of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playhead import disk, tape
from playhead.episode import sealing
from playhead.episode.reader import DiskEpisode
from playhead.errors import Damaged, NotFound, StoreLocked
from playhead.layout import EpisodeFolder
from playhead.paths import GivenPath, as_folder


class Unfinished:
    """An episode whose recording has not come to its end: it is still going on, was left by an exception, or died.

    Args:
        path: Its folder.
    """

    def __init__(self, path: GivenPath) -> None:
        self._folder = EpisodeFolder(os.fspath(as_folder(path, "an episode")))

    @property
    def path(self) -> Path:
        """The folder."""
        return self._folder.path

    @property
    def meta(self) -> dict[str, Any]:
        """Identity and provenance, as far as they were written."""
        try:
            return sealing.identity(self._folder)
        except Damaged:  # a power cut came before anything was promised
            return {}

    @property
    def uid(self) -> str | None:
        """The identity of the recording."""
        uid = self.meta.get("uid")
        return None if uid is None else str(uid)

    @property
    def is_recorded(self) -> bool:
        """Whether a process is recording it now."""
        return tape.is_recorded(self._folder.tape)

    @property
    def signals(self) -> list[str]:
        """The signals of which something was recorded."""
        self._check_there()
        on_tape: list[str] = []
        with contextlib.suppress(NotFound):
            on_tape = [declaration.name for declaration in tape.declarations(self._folder.tape)]
        return sorted({*on_tape, *(name for name, _ in self._folder.files().values())})

    def recover(self, *, salvage: bool = False) -> DiskEpisode:
        """Make a normal episode of what was recorded.

        Args:
            salvage: Keep what can be read where the medium has damaged the recording, and lose the rest of it.

        Returns:
            The episode.

        Raises:
            StoreLocked: It is still being recorded.
            NotFound: Nothing was recorded, or a power cut left nothing of it.
            Damaged: What was recorded cannot be read; it is left as it is.
        """
        with self._held("close its writer first"):  # until it is sealed: nobody else recovers it too
            self._check_there()
            if not self.meta and not tape.records(self._folder.tape) and self._has_nothing():
                raise NotFound(
                    f"nothing of the episode {self.path} was on the medium when it was cut short; discard() it"
                )
            sealing.recover(self._folder, salvage=salvage)
        return DiskEpisode(self.path)

    def _has_nothing(self) -> bool:
        """Return whether there are no files, or nobody knows any more of which episode: a power cut took that."""
        return not self._folder.files() or sealing.has_torn_meta(self._folder)

    def discard(self) -> None:
        """Remove what was recorded, for good. Its number in a dataset is not used again.

        Raises:
            StoreLocked: It is still being recorded.
            NotFound: It was removed before.
        """
        with self._held("abort its writer"):
            self._check_there()
            if self._folder.is_numbered():
                disk.make_folders(self._folder.tombstone)
            disk.take_away(self.path)

    @contextlib.contextmanager
    def _held(self, remedy: str) -> Iterator[None]:
        """Hold the tape, where there is one, so that nobody else does anything with it."""
        try:
            held = tape.hold(self._folder.tape, self.path)
        except StoreLocked:
            raise StoreLocked(f"the episode {self.path} is still being recorded; {remedy}") from None
        with contextlib.nullcontext() if held is None else contextlib.closing(held):
            yield

    def _check_there(self) -> None:
        if not self.path.is_dir():
            raise NotFound(f"no episode at {self.path}: it was removed")

    def __repr__(self) -> str:
        state = "being recorded" if self.is_recorded else "call recover()"
        return f"<Unfinished {os.fspath(self.path)}, {', '.join(self.signals) or 'no signals'}; {state}>"
