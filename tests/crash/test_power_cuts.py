"""Real power cuts: file systems that are shut down in mid-workload keep what was promised.

Here a few; `make campaign` does 2,000.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from playhead.lanes.keyframes import tape
from playhead.table import writing
from tests.crash.everywhere import SHARE
from tests.crash.power import campaign, cuts
from tests.crash.power.cuts import Disk

NAMES = ["runs", "replays", "episodes", "artifacts few", "table one-file", "trace trace-tiered"]
CUTS = 1000 if SHARE >= 1 else round(100 * SHARE)  # on each file system


@pytest.fixture(params=["ext4", "xfs"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    folder = Path(campaign.quick() or tmp_path, f"playhead-cuts-{os.getpid()}")
    folder.mkdir()
    try:
        with cuts.disk(request.param, folder) as made:
            yield made
    except OSError as error:
        pytest.skip(f"this machine lets nobody make and mount a file system: {error}")
    finally:
        for left in folder.iterdir():
            left.rmdir() if left.is_dir() else left.unlink()
        folder.rmdir()


@pytest.mark.timeout(7200)
def test_real_cuts_break_no_promise(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((tape, "INTERVAL"), (writing, "BLOCK_BYTES")):
        monkeypatch.setattr(module, name, getattr(module, name))  # put back what a workload sets
    found, chance, lasts = campaign.Found(), random.Random(11), {}
    for number in range(CUTS):
        name = NAMES[number % len(NAMES)]
        if name not in lasts:
            lasts[name] = cuts.cut(disk, name, None, chance, found)
        cuts.cut(disk, name, lasts[name], chance, found)
    print(f"real power cuts, {disk.path.name}: {found.tried} cuts, {len(found.problems)} broke a promise")
    assert found.problems == {}
