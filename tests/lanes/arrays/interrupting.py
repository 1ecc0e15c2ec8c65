"""Exceptions at a line that is told by its number, as handlers of signals raise them."""

from __future__ import annotations

import dis
import functools
import os
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import playhead

SHARE = float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))
STRIDE = max(1, round(1 / SHARE))  # lines from one that is interrupted to the next

_SOURCE = Path(playhead.__file__).parent


class Interrupted(BaseException):
    """What a handler of a signal raises."""


class At:
    """Raises at a line of our code, counted from the first one that this thread comes to.

    The end of a `with` is no such line: the interpreter looks for signals behind calls, so none comes between the
    last one of a block and the lock that is let go of.

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
        if event == "line" and frame.f_lasti not in _ends_of_blocks(frame.f_code):
            self._left -= 1
            if self._left < 0:
                sys.settrace(self._before)
                raise Interrupted
        return self._line


@functools.cache
def _ends_of_blocks(code: CodeType) -> frozenset[int]:
    """Find where the blocks of `with` end: `__exit__` is called with None three times, or with the exception."""
    found = list(dis.get_instructions(code))
    names = [f"{each.opname} {each.argrepr}" if each.opname == "LOAD_CONST" else each.opname for each in found]
    call = ["LOAD_CONST None"] * 3
    ends = (call, ["SWAP", *call], ["PUSH_EXC_INFO", "WITH_EXCEPT_START"])  # the second returns a value
    return frozenset(found[i].offset for i in range(len(names)) if any(names[i : i + len(end)] == end for end in ends))
