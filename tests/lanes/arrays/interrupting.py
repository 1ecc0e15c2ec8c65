"""Exceptions at a line that is told by its number, as handlers of signals raise them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import playhead

SHARE = float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))
STRIDE = max(1, round(1 / SHARE))  # lines from one that is interrupted to the next

_SOURCE = Path(playhead.__file__).parent


class Interrupted(BaseException):
    """What a handler of a signal raises."""


class At:
    """Raises at a line of our code, counted from the first one that this thread comes to.

    Args:
        line: The line, from 0.
        files: Where lines count, as paths below the package; a folder ends with a slash.
    """

    def __init__(self, line: int, *files: str) -> None:
        self._left = line
        self._files = tuple(f"{_SOURCE}/{name}" for name in files)

    def __enter__(self) -> None:
        self._before = sys.gettrace()
        sys.settrace(self._enter)

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._line if frame.f_code.co_filename.startswith(self._files) else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self._left -= 1
            if self._left < 0:
                sys.settrace(self._before)
                raise Interrupted
        return self._line
