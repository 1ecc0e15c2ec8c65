"""A name in the shared memory that no other test has."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from playhead.lanes.live import segments


@pytest.fixture
def run_id() -> Iterator[str]:
    name = f"test-{os.getpid()}-{os.urandom(4).hex()}"
    yield name
    for found, path in segments.paths().items():
        if found.startswith(name):
            path.unlink(missing_ok=True)
