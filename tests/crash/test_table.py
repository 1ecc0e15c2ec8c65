"""Tables under fire: killed or failing at each change of the disk, SQLite's own included; old or new, never a mixture.

Here a few hundred moments; `make campaign` does all of it.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from playhead.errors import PlayheadError
from playhead.table import writing
from playhead.testing import Operation, failing_at, killed_at, operations_of
from tests.crash.table_campaign import WORKLOADS

ROOT = Path(__file__).parents[2]
SHARE = float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))
STRIDE = 1 if SHARE >= 1 else round(4 / SHARE)  # its changes are many
OUR_STRIDE = max(1, round(1 / SHARE))


@pytest.fixture(scope="module")
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
@pytest.mark.parametrize("what", list(WORKLOADS))
def test_old_or_new_at_any_change(preload: Path, what: str, mode: str, code: str) -> None:
    offset = (len(what) + len(mode) * 3 + len(code)) % STRIDE
    command = [sys.executable, "-m", "tests.crash.table_campaign", what, mode, code, str(STRIDE), str(offset)]
    environment = {**os.environ, "LD_PRELOAD": str(preload)}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-4000:]
    found = json.loads(result.stdout)
    print(
        f"table {what} {mode} {code}: {found['tried']} of {found['changes']} changes tried, "
        f"{len(found['problems'])} problems"
    )
    assert found["tried"] > 0
    assert found["problems"] == [], result.stderr[-4000:]


@pytest.fixture(params=list(WORKLOADS))
def what(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(writing, "BLOCK_BYTES", writing.BLOCK_BYTES)  # put back what the workload sets
    return str(request.param)


def changes_of(what: str, folder: Path) -> list[Operation]:
    work, _ = WORKLOADS[what]
    return operations_of(lambda: work(folder, lambda _: None))


@pytest.mark.parametrize("torn", [False, True])
def test_killed_at_each_change_of_ours(tmp_path: Path, what: str, torn: bool) -> None:
    work, hold_to = WORKLOADS[what]
    count = len(changes_of(what, tmp_path / "count"))
    places = range(5 * torn, count, OUR_STRIDE)
    killed = 0
    for n in places:
        path = tmp_path / str(n)
        crash = killed_at(n, lambda acknowledge, path=path: work(path, acknowledge), torn=torn)
        hold_to(path, crash.acknowledged)
        killed += crash.killed
    assert killed > 0
    print(f"table {what}: killed{' and torn' * torn} at {len(places)} of {count} changes, old or new each time")


@pytest.mark.parametrize(("lasting", "short"), [(False, False), (True, False), (False, True)])
def test_failing_at_each_change_of_ours(tmp_path: Path, what: str, lasting: bool, short: bool) -> None:
    work, hold_to = WORKLOADS[what]
    count = len(changes_of(what, tmp_path / "count"))
    places = range(3 * lasting + 6 * short, count, OUR_STRIDE)
    failed = 0
    for n in places:
        path = tmp_path / str(n)
        acknowledged: list[Any] = []
        try:
            with failing_at(n, errno.ENOSPC, lasting=lasting, short=short):
                work(path, acknowledged.append)
        except (PlayheadError, OSError):
            failed += 1
        hold_to(path, acknowledged)
    assert failed > 0
    print(f"table {what}: failed at {len(places)} of {count} changes, old or new each time")
