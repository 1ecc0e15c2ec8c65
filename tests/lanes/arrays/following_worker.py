"""A process that records flat out and says what it has flushed: `python -m … FOLDER SECONDS SEGMENT_BYTES CODEC`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.writer import ReelWriter
from tests.lanes.arrays.reels import Array, noise, reel_in

EPISODE = 23
PICTURE = noise(1, (12, 10, 3))


def arrays_of(row: int) -> dict[str, Any]:
    """Give what step `row` holds; every fifth has no frame."""
    arrays: dict[str, Any] = {"observations": np.full((6, 6), row, "f4"), "actions": np.array(row, "i4")}
    if row % 5:
        arrays["frames"] = PICTURE + np.uint8(row % 251)
    return arrays


def final_of(row: int) -> Array:
    """Give what is seen after the episode that ends before step `row`."""
    return np.full((6, 6), -row, "f4")


def main() -> None:
    folder, seconds, segment_bytes, codec = sys.argv[1:5]
    config = ReplayConfig(segment_bytes=int(segment_bytes), codec=codec, chunk=16, interval=0.1)
    writer = ReelWriter(reel_in(Path(folder)), config)
    end = time.monotonic() + float(seconds)
    row = 0
    while time.monotonic() < end:
        if row % EPISODE == 0:
            writer.end("terminated", {"observations": final_of(row)})
            writer.begin({"first": row})
        row = 1 + writer.step(arrays_of(row), row / 3, False, False, b"%d" % row)
        if row % 37 == 0:
            writer.flush()
            print(row, flush=True)
    writer.close()
    print(row, flush=True)


if __name__ == "__main__":
    main()
