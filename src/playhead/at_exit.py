"""What is done when the program ends, while the libraries that it needs still work.

Python calls exit handlers from the newest to the oldest. Those here keep the place that they got when Playhead was
loaded, so handlers that the program registers later run before them and can still record. h5py is often imported later
too, and without its text types no file can be sealed: it takes itself apart after the handlers here.
"""

from __future__ import annotations

import atexit
import contextlib
import sys
from collections.abc import Callable

_handlers: list[Callable[[], None]] = []
_teardowns: list[Callable[[], object]] = []  # of libraries that were imported later
_had_h5py = "h5py" in sys.modules


def register(handler: Callable[[], None]) -> None:
    """Call a function when the program ends, before those that were registered earlier."""
    _handlers.append(handler)


def come_before_h5py() -> None:
    """Let h5py, which is imported by now, take itself apart after the handlers."""
    if _had_h5py or _teardowns:
        return
    teardown = getattr(sys.modules["h5py"], "_unregister_converters", None)
    if teardown is None:  # a version that names it otherwise: then also before the handlers of the program
        atexit.unregister(_at_exit)
        atexit.register(_at_exit)
        return
    atexit.unregister(teardown)
    _teardowns.append(teardown)


def _at_exit() -> None:
    with contextlib.ExitStack() as each:  # also if a handler fails
        for teardown in _teardowns:
            each.callback(teardown)
        _call_all()


def _call_all() -> None:
    with contextlib.ExitStack() as each:
        for handler in _handlers:
            each.callback(handler)


atexit.register(_at_exit)
