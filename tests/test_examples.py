"""The examples run, and record what they say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import playhead

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_the_pendulum_is_recorded_with_its_camera(tmp_path: Path) -> None:
    script = [sys.executable, EXAMPLES / "pendulum.py", "--store", tmp_path / "store", "--episodes", "1"]
    found = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    assert "half way:" in found
    with playhead.open(tmp_path / "store", mode="r") as store:
        (episode,) = store.runs[-1].episodes
        assert len(episode["camera"]) == 100
        assert episode["camera"].loss.psnr_db > 35
        assert episode["state"].values[-1][0] > 0.95  # upright: the cosine of the angle
