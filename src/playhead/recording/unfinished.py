"""The runs that this program records: ended when it ends, and left alone in a forked child."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import weakref
from typing import TYPE_CHECKING

from playhead.recording.ending import ending

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
    """End what the program left open; an error that ended the program is in `sys.last_value`."""
    with contextlib.ExitStack() as each:  # also where one of them fails
        for run in list(_open):
            each.callback(run.finish, *ending(getattr(sys, "last_value", None)))


def _after_fork() -> None:
    for run in list(_open):
        run._abandon()
    _open.clear()


atexit.register(_at_exit)
os.register_at_fork(after_in_child=_after_fork)
