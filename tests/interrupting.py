"""Ctrl-C at a place that is told by its number."""

from __future__ import annotations

import dis
import functools
import itertools
import os
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import playhead

SHARE = float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))
STRIDE = max(1, round(1 / SHARE))  # places from one that is interrupted to the next

_SOURCE = Path(playhead.__file__).parent
_NONES = ["LOAD_CONST None"] * 3
_ENDS_OF_BLOCKS = (_NONES, ["SWAP", *_NONES])  # `__exit__` is called, without and with a value to return


class At:
    """Raises KeyboardInterrupt at a place of our code where Ctrl-C can, counted from the first this thread comes to.

    The interpreter looks for signals where a function begins, behind calls and where a loop goes back. Behind the last
    call of a `with` it counts as within it, which tracing cannot imitate: those places are left out.

    Args:
        place: The place, from 0.
        files: Where places count, as paths below the package; a folder ends with a slash.
    """

    def __init__(self, place: int, *files: str) -> None:
        self._left = place
        self._files = tuple(f"{_SOURCE}/{name}" for name in files)

    def __enter__(self) -> None:
        self._before = sys.gettrace()
        sys.settrace(self._trace)

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(self._files):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode" and frame.f_lasti in _places(frame.f_code):
            self._left -= 1
            if self._left < 0 and not _is_deleting(frame):
                sys.settrace(self._before)
                raise KeyboardInterrupt
        return self._trace


def _is_deleting(frame: FrameType | None) -> bool:
    """Tell whether a place is in a `__del__`, of which nobody hears an exception."""
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    return frame is not None


@functools.cache
def _places(code: CodeType) -> frozenset[int]:
    found = list(dis.get_instructions(code))
    names = [f"{each.opname} {each.argrepr}" if each.opname == "LOAD_CONST" else each.opname for each in found]
    return frozenset(
        found[behind].offset
        for before, behind in itertools.pairwise(range(len(found)))
        if names[before].startswith(("CALL", "RESUME", "JUMP_BACKWARD"))
        and not any(names[behind : behind + len(end)] == end for end in _ENDS_OF_BLOCKS)
    )
