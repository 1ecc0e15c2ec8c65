"""Real power cuts: file systems that are shut down in mid-workload keep what was promised.

Here a few; `make campaign` does 2,000.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.crash.everywhere import SHARE
from tests.crash.power import campaign, cuts

CUTS = 1000 if SHARE >= 1 else round(90 * SHARE)  # on each file system


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_real_cuts_break_no_promise(kind: str) -> None:
    with tempfile.TemporaryDirectory(prefix="playhead-cuts-", dir=campaign.quick()) as folder:
        try:
            found = cuts.campaign_of(kind, Path(folder), CUTS)
        except OSError as error:
            pytest.skip(f"this machine lets nobody make and mount a file system: {error}")
    print(f"real power cuts, {kind}: {found.tried} cuts, {len(found.problems)} broke a promise")
    assert found.problems == {}
