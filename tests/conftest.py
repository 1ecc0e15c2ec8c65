"""What tests share: a store in an empty folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import playhead


@pytest.fixture
def store(tmp_path: Path) -> Iterator[playhead.Store]:
    with playhead.open(tmp_path / "store") as opened:
        yield opened
