"""A child may be forked at any moment: it never waits for what another thread of its parent held, nor does the parent."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parent / "forking_programs.py"
SHORT = ["locks"]


def run(folder: Path | str, *names: str) -> tuple[dict[str, Any], str]:
    command = [sys.executable, PROGRAM, folder, *names]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=90)
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


@pytest.fixture(scope="module")
def found() -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        yield run(folder, *SHORT)[0]


def test_locks_of_the_disk_are_those_of_the_parent(found: dict[str, Any]) -> None:
    assert found["locks"] == [True, False]
