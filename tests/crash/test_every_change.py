"""Each change of the disk in turn is fatal, torn, failing once, failing for good or short; no promise breaks.

Here a few, at an offset that moves with the mode; `make campaign` takes every one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.everywhere import MODES, SHARE, at_changes_of_the_kernel


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("mode", "code"), MODES)
@pytest.mark.parametrize("what", ["runs", "replays"])
def test_no_promise_breaks(preload: Path, what: str, mode: str, code: str) -> None:
    share = SHARE / {"runs": 7, "replays": 12}[what] if SHARE < 1 else SHARE  # of seven modes, and of many changes
    stride = max(1, round(1 / share))
    at_changes_of_the_kernel(preload, "campaign", (what, mode, code), stride, len(mode) * 3 + len(code))
