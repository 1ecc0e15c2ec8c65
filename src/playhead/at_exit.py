"""What is done when the program ends, while the libraries that it needs still work.

Python calls exit handlers from the newest to the oldest. A library that is imported after Playhead takes itself apart
first: without h5py's text types no file can be sealed. So the handlers here count as registered last.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections.abc import Callable

_handlers: list[Callable[[], None]] = []


def register(handler: Callable[[], None]) -> None:
    """Call a function when the program ends, before those that were registered earlier."""
    _handlers.append(handler)


def come_first() -> None:
    """Run the handlers before those of every library that is imported so far."""
    atexit.unregister(_call_all)
    atexit.register(_call_all)


def _call_all() -> None:
    with contextlib.ExitStack() as each:  # also if one of them fails
        for handler in _handlers:
            each.callback(handler)


come_first()
# Called when the main thread has ended, before exit handlers run. CPython has had it since 3.9, for its own use. Should
# a later version lack it, the order is still right after each import of h5py by Playhead, which also comes first.
with contextlib.suppress(AttributeError, RuntimeError):
    threading._register_atexit(come_first)  # type: ignore[attr-defined]
