"""Why the program ends: SIGTERM, and the code that `sys.exit` or `exit` was given, while runs are recorded.

By the time exit handlers run, Python has forgotten the exit code. So these calls and SIGTERM leave a note.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from _sitebuiltins import Quitter
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

from playhead.recording.ending import Terminated

Progress = tuple[int, ...]

_recording: set[Watch] = set()
_came_late = False  # SIGTERM came while a run was being completed
_exit = sys.exit
_quit = Quitter.__call__  # of `exit` and `quit`


class Watch:
    """What a run wants to know of the end of its program, from its begin to its own end.

    SIGTERM becomes `Terminated` in the main thread, unless the program handles it itself. Only the main thread can set
    a handler, so a run that another thread made is without one until the main thread enters its `with` block.

    Args:
        progress: Counts what the run has recorded.
    """

    def __init__(self, progress: Callable[[], Progress]) -> None:
        self._progress = progress
        self._noted: tuple[BaseException, Progress] | None = None
        self.is_ending = False

    def begin(self) -> None:
        """Watch. Beginning twice is fine."""
        global _exit
        _recording.add(self)
        if sys.exit is not _noting_exit:
            _exit, sys.exit = sys.exit, _noting_exit
            Quitter.__call__ = _noting_quit  # type: ignore[method-assign, assignment]
        if _in_main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _on_sigterm)

    def hold_back(self) -> None:
        """Let the run be completed: SIGTERM ends the program after that, or at once if it comes twice."""
        self.is_ending = _in_main_thread()

    def stop(self) -> None:
        """Watch no more. After the last run, SIGTERM and `sys.exit` are as they were."""
        _recording.discard(self)
        if _recording:
            return
        if sys.exit is _noting_exit:
            sys.exit = _exit
            Quitter.__call__ = _quit  # type: ignore[method-assign]
        if _in_main_thread() and signal.getsignal(signal.SIGTERM) is _on_sigterm:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def note(self, error: BaseException) -> None:
        """Remember what is about to end the program."""
        self._noted = error, self._progress()

    @property
    def noted(self) -> BaseException | None:
        """What was about to end the program; None if the run has recorded more since: it was caught."""
        return self._noted[0] if self._noted is not None and self._noted[1] == self._progress() else None


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _noting_exit(status: object = None, /) -> NoReturn:
    _note_exit(status)
    _exit(status)  # type: ignore[arg-type]


def _noting_quit(quitter: Quitter, code: Any = None) -> NoReturn:
    _note_exit(code)
    _quit(quitter, code)


def _note_exit(status: object) -> None:
    if _in_main_thread():
        for watch in tuple(_recording):
            watch.note(SystemExit(status))


def _on_sigterm(signum: int, _frame: FrameType | None) -> None:
    global _came_late
    watches = tuple(_recording)
    if not watches or _came_late:  # nothing is recorded any more, or it came twice
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
    elif any(watch.is_ending for watch in watches):
        _came_late = True
    else:
        error = Terminated(128 + signum)
        for watch in watches:
            watch.note(error)
        raise error


def raise_late() -> None:
    """Raise what SIGTERM did not raise while a run was being completed."""
    global _came_late
    if _came_late and _in_main_thread():
        _came_late = False
        raise Terminated(128 + signal.SIGTERM)


def forget_in_child() -> None:
    """Let a forked child end as any program does: what is recorded is the parent's."""
    for watch in tuple(_recording):
        watch.stop()
