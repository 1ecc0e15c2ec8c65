"""How a command ends that has something to put in order: a terminal to restore, a draft to remove."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

_ASKED = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


@contextmanager
def orderly() -> Iterator[None]:
    """Let a request to end go through as an exception, so that all is put in order on the way out."""
    before = {number: signal.signal(number, _end) for number in _ASKED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def held() -> Iterator[None]:
    """Let Ctrl-C and requests to end wait until this is done."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, *_ASKED})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
