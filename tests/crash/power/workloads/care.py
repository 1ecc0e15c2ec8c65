"""The care of a store that has something of everything: what was there before is there after any cut."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import playhead
from playhead import artifact
from playhead.care import collecting, optimizing
from tests.care.everything import make, values_of

READY = "ready"


def work(path: Path, tell: Callable[[str], None]) -> None:
    """Make a store, then collect, compact, optimize, rebuild and build a table in it."""
    make(path)
    os.sync()
    tell(READY)


def hold(path: Path, told: Sequence[str]) -> None:
    """Nothing."""
    del path, told, artifact, collecting, optimizing, values_of, playhead
