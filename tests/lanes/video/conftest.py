"""What the tests of videos share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lanes.video.clips import Paths


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path)
