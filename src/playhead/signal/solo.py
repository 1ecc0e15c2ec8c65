"""A signal that is recorded alone, into files of its own."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, final

from playhead import disk, layout, tape
from playhead.errors import Closed, Exists
from playhead.signal.contract import SignalWriter
from playhead.tape import Declaration, Sealer, Tape

T = TypeVar("T")

_FINISHED, _ABORTED = "finished", "aborted"


def tape_of(target: disk.StrPath) -> Path:
    """Name the tape from which a file will be made: a hidden folder beside it."""
    return layout.tape_beside(Path(target))


class SoloWriter(SignalWriter[T]):
    """The life of a signal that is recorded alone: a tape beside the file, made into the file at the end.

    Args:
        target: The file; one that is there is replaced at the end.

    Raises:
        StoreLocked: Somebody records it now.
        Exists: A crash left a recording of it behind.
    """

    def __init__(self, target: disk.StrPath) -> None:
        self._target = Path(target)
        self._folder = tape_of(target)
        disk.make_folders(self._target.parent)
        held = tape.hold(self._folder, self._target) if self._folder.exists() else None
        if held is not None:
            held.close()
            raise Exists(
                f"a crash left a recording of {self._target} behind; finish it with {type(self).__name__}.recover(…), "
                f"or remove {self._folder}"
            )
        self._tape = Tape(self._folder)
        self._ended: str | None = None

    @abstractmethod
    def _seal(self) -> None:
        """Make the files from the tape."""

    @final
    def _check_open(self) -> None:
        if self._ended is not None:
            raise Closed(f"Cannot append to {'a' if self._ended == _FINISHED else 'an'} {self._ended} writer")
        self._tape.check()

    @final
    def flush(self, *, sync: bool = False) -> None:
        """Wait until every sample appended so far survives a kill of the process; with `sync`, a power cut."""
        if self._ended is not None:
            raise Closed(f"the writer of {self._target} is {self._ended}")
        self._tape.flush(sync=sync)

    @final
    def close(self) -> None:
        """Finish the files. Closing twice is fine, and so is closing after `abort`.

        Raises:
            OSError: They could not be made. Nothing is lost; closing may be tried again.
        """
        if self._ended is not None:
            return
        self._tape.finish()
        self._seal()
        self._tape.take_away()
        self._ended = _FINISHED

    @final
    def abort(self) -> None:
        """Stop, and remove all that was recorded. Aborting twice is fine.

        Raises:
            Closed: The files are finished.
        """
        if self._ended == _FINISHED:
            raise Closed(f"Cannot abort a finished writer; remove {self._target} instead")
        if self._ended is None:
            self._tape.discard()
            self._ended = _ABORTED


def recover(target: disk.StrPath, seal: Callable[[Path], None]) -> bool:
    """Finish the files of a recording that died.

    Args:
        target: The file.
        seal: Makes it from a tape.

    Returns:
        Whether there was a recording.

    Raises:
        StoreLocked: It is still being recorded.
        Damaged: The tape cannot be read.
    """
    folder = tape_of(target)
    tape.sweep(folder)
    held = tape.hold(folder, target) if folder.is_dir() else None
    if held is None:
        return False
    with contextlib.closing(held):  # until the tape is gone: nobody begins to record, nor recovers it too
        found = bool(tape.declarations(folder))
        if found:
            seal(folder)
        tape.take_away(folder)
        return found


def seal(folder: Path, sealer_of: Callable[[Declaration], Sealer], *targets: Path) -> None:
    """Make files from a tape, and wait until their names are on the medium."""
    tape.seal(folder, sealer_of)
    for parent in {target.parent for target in targets}:
        disk.sync_folder(parent)
