"""The little that is written in C: what costs too much in Python, for each byte that is recorded.

`library` is what `hatch_build.py` compiled when Playhead was installed, or None where there was no compiler. All of it
is optional: whoever calls it has another way, slower or larger, to the same end.
"""

from __future__ import annotations

import ctypes
from pathlib import Path


def _load() -> ctypes.CDLL | None:
    path = Path(__file__).with_name("native.so")
    try:
        return ctypes.CDLL(str(path)) if path.exists() else None
    except OSError:  # compiled for another machine
        return None


library = _load()
