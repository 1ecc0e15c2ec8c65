"""A signal that is recorded alone, into a file of its own."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from pathlib import Path
from typing import Any, TypeVar, final

from playhead import disk, tape
from playhead.errors import Closed, Exists, NotFound, StoreLocked
from playhead.signal.contract import SignalWriter
from playhead.tape import Declaration, Sealer, Tape

T = TypeVar("T")

APPEND_FINISHED = "Cannot append to a finished writer"
APPEND_ABORTED = "Cannot append to an aborted writer"


def tape_of(target: disk.StrPath) -> Path:
    """Name the tape from which a file will be made: a hidden folder beside it."""
    path = Path(target)
    return path.with_name(f".{path.name}.recording")


class SoloWriter(SignalWriter[T]):
    """The life of a signal that is recorded alone: a tape beside the file, made into the file at the end.

    Args:
        target: The file.

    Raises:
        Exists: A crash left a tape of this file; recover it first.
    """

    def __init__(self, target: disk.StrPath) -> None:
        self._target = Path(target)
        self._folder = tape_of(target)
        if self._folder.exists():
            raise Exists(
                f"{self._target} was being recorded when its process died or is being recorded now; "
                f"call {type(self).__name__}.recover(…) to finish it, or delete {self._folder}"
            )
        self._tape = Tape(self._folder)
        self._ended: str | None = None

    @abstractmethod
    def _seal(self) -> None:
        """Make the files from the tape."""

    @final
    def _check_open(self) -> None:
        if self._ended is not None:
            raise Closed(self._ended)
        self._tape.check()

    @final
    def flush(self, *, sync: bool = False) -> None:
        """Wait until every sample appended so far survives a kill of the process; with `sync`, a power cut."""
        if self._ended is None:
            self._tape.flush(sync=sync)

    @final
    def close(self) -> None:
        """Finish the file. Closing twice is fine, and so is closing after `abort`."""
        if self._ended is not None:
            return
        self._tape.close()
        self._seal()
        disk.remove_tree(self._folder)
        self._ended = APPEND_FINISHED

    @final
    def abort(self) -> None:
        """Stop, and remove all that was recorded. Aborting twice is fine.

        Raises:
            Closed: The file is finished.
        """
        if self._ended == APPEND_FINISHED:
            raise Closed("Cannot abort a finished writer")
        if self._ended is None:
            self._tape.abandon()
            with contextlib.suppress(FileNotFoundError):
                disk.remove_tree(self._folder)
            self._ended = APPEND_ABORTED


def recover(target: disk.StrPath, sealer_of: Any) -> None:
    """Finish a file whose recording died.

    Args:
        target: The file.
        sealer_of: Makes the sealer of the one signal on the tape.

    Raises:
        NotFound: There is no tape of this file.
        StoreLocked: It is still being recorded.
        Damaged: The tape cannot be read.
    """
    folder = tape_of(target)
    if not folder.is_dir():
        raise NotFound(f"no recording of {target} was left behind: there is no {folder}")
    if tape.is_recorded(folder, patience=tape.PATIENCE):
        raise StoreLocked(f"{target} is still being recorded; close its writer first")

    def only(declaration: Declaration) -> Sealer:
        found: Sealer = sealer_of(declaration)
        return found

    tape.seal(folder, only)
    disk.sync_folder(folder.parent)
    disk.remove_tree(folder)
