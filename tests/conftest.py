"""What tests share: a store in an empty folder."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import playhead

# CI judges a change: the same examples each time. At a desk, new ones each time find more.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

# A forked child must not collect what tests before it left: games, codecs and windows have threads that only live in the
# parent, and taking one apart without them crashes.
os.register_at_fork(before=gc.freeze, after_in_parent=gc.unfreeze)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[playhead.Store]:
    with playhead.open(tmp_path / "store") as opened:
        yield opened
