"""Each change of the disk in turn is fatal, torn, failing once, failing for good or short; no promise breaks.

Here a few, at an offset that moves with the mode; `make campaign` takes every one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SHARE = float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))


@pytest.fixture(scope="session")
def preload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("faults") / "faults.so"
    source = Path(__file__).with_name("faults.c")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl", "-lpthread"], check=True)
    return library


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("mode", "code"),
    [
        ("kill", "EIO"), ("torn", "EIO"), ("fail", "EIO"), ("fail", "ENOSPC"), ("fail-on", "EIO"), ("fail-on", "ENOSPC"),
        ("short", "ENOSPC"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("what", ["runs", "replays"])
def test_no_promise_breaks(preload: Path, what: str, mode: str, code: str) -> None:
    share = SHARE / {"runs": 4, "replays": 12}[what] if SHARE < 1 else SHARE  # of seven modes, and of many changes
    stride = max(1, round(1 / share))
    offset = hash((mode, code)) % stride if SHARE >= 1 else (len(mode) * 3 + len(code)) % stride
    command = [sys.executable, "-m", "tests.crash.campaign", what, mode, code, str(stride), str(offset)]
    environment = {**os.environ, "LD_PRELOAD": str(preload)}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-4000:]
    found = json.loads(result.stdout)
    print(
        f"{what} {mode} {code}: {found['tried']} of {found['changes']} changes tried, {len(found['problems'])} problems"
    )
    assert found["tried"] > 0
    assert found["problems"] == [], result.stderr[-4000:]
