"""Steps of which every part shows the same number, for tests in which nobody knows the order beforehand."""

from __future__ import annotations

from typing import Any

import numpy as np

from playhead.lanes.arrays.reel import Reel
from tests.lanes.arrays.reels import assert_same


def marked(mark: int) -> dict[str, Any]:
    """Give arrays of which each shows the same number."""
    return {
        "frames": np.full((7, 5), mark % 251, np.uint8),
        "observations": np.full(4, mark, np.float32),
        "actions": np.array(mark, np.int32),
    }


def assert_marked(reel: Reel) -> list[int]:
    """See that all of a step shows one number; give these."""
    length = reel.length
    marks: list[int] = reel.read("actions", 0, length).tolist()
    assert reel.rows(0, length)["reward"].tolist() == marks
    assert reel.infos(0, length) == [b"%d" % mark for mark in marks]
    assert_same(reel.read("frames", 0, length), np.stack([marked(mark)["frames"] for mark in marks]))
    assert_same(reel.read("observations", 0, length), np.stack([marked(mark)["observations"] for mark in marks]))
    return marks
