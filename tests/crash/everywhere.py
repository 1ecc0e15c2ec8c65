"""A workload that is killed, or meets an error, at each change of the disk; what the tests of all lanes share.

A workload is something to do in a folder, which tells what was acknowledged, and what must hold afterwards.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from playhead.errors import PlayheadError
from playhead.testing import failing_at, killed_at

ROOT = Path(__file__).parents[2]
SHARE = float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))

Acknowledge = Callable[[Any], None]
Workload = tuple[Callable[[Path, Acknowledge], None], Callable[[Path, Sequence[Any]], None]]

MODES = [
    *(("kill", "EIO"), ("torn", "EIO"), ("fail", "EIO"), ("fail", "ENOSPC")),
    *(("fail-on", "EIO"), ("fail-on", "ENOSPC"), ("short", "ENOSPC")),
]
FAILURES = [(False, False), (True, False), (False, True)]  # once, for good, and short


def at_changes_of_the_kernel(preload: Path, campaign: str, mode: tuple[str, ...], stride: int, offset: int) -> None:
    """Run a campaign in a process of its own, with a change of the kernel's files in place of one of ours.

    Args:
        preload: The library that fails.
        campaign: The module that has the workloads.
        mode: Which workload, how it fails, and with which error.
        stride: From one change that is tried to the next.
        offset: The first of these.
    """
    command = [sys.executable, "-m", f"tests.crash.{campaign}", *mode, str(stride), str(offset % stride)]
    environment = {**os.environ, "LD_PRELOAD": str(preload)}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-4000:]
    found = json.loads(result.stdout)
    said = f"{found['tried']} of {found['changes']} changes tried, {len(found['problems'])} problems"
    print(f"{campaign.removesuffix('_campaign')} {' '.join(mode)}: {said}")
    assert found["tried"] > 0
    assert found["problems"] == [], result.stderr[-4000:]


def killed_at_each(
    folder: Path, workload: Workload, places: Iterable[int], *, torn: bool, is_made: bool = False
) -> int:
    """Kill a workload at each of some changes of ours, and see what must hold; tell how often it was killed.

    Args:
        folder: Where.
        workload: What.
        places: The numbers of the changes.
        torn: Half of what was to be written is, before.
        is_made: The workload wants a folder that is there.
    """
    work, holds = workload
    killed = 0
    for n in places:
        path = _new(folder, n, is_made=is_made)
        crash = killed_at(n, lambda acknowledge, path=path: work(path, acknowledge), torn=torn)
        holds(path, crash.acknowledged)
        killed += crash.killed
    return killed


def failing_at_each(
    folder: Path, workload: Workload, places: Iterable[int], *, lasting: bool, short: bool, is_made: bool = False
) -> int:
    """Let each of some changes of ours fail, and see what must hold; tell how often the workload ended with an error."""
    work, holds = workload
    failed = 0
    for n in places:
        path = _new(folder, n, is_made=is_made)
        acknowledged: list[Any] = []
        try:
            with failing_at(n, errno.ENOSPC, lasting=lasting, short=short):
                work(path, acknowledged.append)
        except (PlayheadError, OSError):
            failed += 1
        holds(path, acknowledged)
    return failed


def _new(folder: Path, n: int, *, is_made: bool) -> Path:
    path = folder / str(n) / "s"
    (path if is_made else path.parent).mkdir(parents=True)
    return path
