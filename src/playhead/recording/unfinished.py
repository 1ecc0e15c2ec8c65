"""The runs that this program records: ended when it ends or lets go of them, and left alone in a forked child."""

from __future__ import annotations

import contextlib
import os
import warnings
import weakref
from functools import partial
from typing import TYPE_CHECKING

from playhead import at_exit
from playhead.errors import PlayheadError
from playhead.recording import leaving
from playhead.recording.ending import Terminated, ending

if TYPE_CHECKING:
    from playhead.recording.run_writer import RunWriter

_open: weakref.WeakSet[RunWriter] = weakref.WeakSet()
_dropped: set[RunWriter] = set()  # of which nobody holds the writer: their own threads end them


def add(run: RunWriter) -> None:
    """Remember a run until it ends."""
    at_exit.watch_child()
    _open.add(run)


def discard(run: RunWriter) -> None:
    """Forget a run that ends."""
    _open.discard(run)


def end_dropped(run: RunWriter) -> None:
    """Let a run that nobody holds end as it would with the program; called where garbage is collected.

    As long as somebody holds what it records into, it goes on.
    """
    _dropped.add(run)
    _open.add(run)
    run._background.end_with(partial(_end_dropped, run))


def _end_dropped(run: RunWriter) -> bool:
    if run._bulk.is_held():
        return False
    _end(run, None)
    _dropped.discard(run)
    return True


def wait() -> None:
    """Wait until the runs have ended that nobody holds, nor what they record into."""
    for run in list(_dropped):
        if not run._bulk.is_held():
            run._background.await_end()


def _at_exit() -> None:
    """End what the program left open."""
    raised = at_exit.raised()
    with contextlib.ExitStack() as each:  # also if one of them fails
        for run in list(_open):
            each.callback(_end, run, raised)
        for run in list(_dropped):  # before that: those that are ending
            if run._ended is not None:
                each.callback(run._background.await_end)


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
    for run in [*_open, *_dropped]:
        run._abandon()
    _open.clear()
    _dropped.clear()


at_exit.register(_at_exit)
os.register_at_fork(after_in_child=_after_fork)
