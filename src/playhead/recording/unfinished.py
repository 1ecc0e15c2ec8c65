"""The runs that this program records: ended when it ends, and left alone in a forked child."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
import weakref
from typing import TYPE_CHECKING

from playhead import at_exit
from playhead.errors import PlayheadError
from playhead.recording import leaving
from playhead.recording.ending import Terminated, ending

if TYPE_CHECKING:
    from playhead.recording.run_writer import RunWriter

_open: weakref.WeakSet[RunWriter] = weakref.WeakSet()


def add(run: RunWriter) -> None:
    """Remember a run until it ends."""
    _open.add(run)


def discard(run: RunWriter) -> None:
    """Forget a run that ends."""
    _open.discard(run)


def _at_exit() -> None:
    """End what the program left open."""
    raised = None if hasattr(sys, "ps1") else getattr(sys, "last_value", None)  # of a session, any earlier input
    with contextlib.ExitStack() as each:  # also if one of them fails
        for run in list(_open):
            each.callback(_end, run, raised)


def _end(run: RunWriter, raised: BaseException | None) -> None:
    try:
        run.finish(*ending(run._watch.noted if raised is None else raised))
    except Terminated:  # while the run was being completed, which it is now
        pass
    except (OSError, PlayheadError) as error:
        said = f"the run {run.id} could not be completed, which the next open of its store does: {error}"
        warnings.warn(said, RuntimeWarning, stacklevel=1)


def _after_fork() -> None:
    leaving.forget_in_child()
    for run in list(_open):
        run._abandon()
    _open.clear()


at_exit.register(_at_exit)
os.register_at_fork(after_in_child=_after_fork)
