"""The little that is written in C: what costs too much in Python, for each byte that is recorded.

`library` is what `hatch_build.py` compiled when Playhead was installed, or None where there was no compiler. All of it
is optional: whoever calls it has another way, slower or larger, to the same end.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

_FUNCTIONS = ("playhead_gather", "playhead_pack", "playhead_know", "playhead_learn")


def _load(path: Path) -> ctypes.CDLL | None:
    try:
        found = ctypes.CDLL(str(path)) if path.exists() else None
    except OSError:  # compiled for another machine
        return None
    return found if all(hasattr(found, name) for name in _FUNCTIONS) else None  # else compiled of older sources


library = _load(Path(__file__).with_name("native.so"))
