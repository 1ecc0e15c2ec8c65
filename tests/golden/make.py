"""Make a golden store with the version at hand: `python -m tests.golden.make store-v4`."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

import playhead


def move(state: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Make the next state of the golden trace."""
    return {"w": state["w"] + 0.5 * given["sign"] * given["by"], "n": state["n"] + 1}


def make(path: Path) -> None:
    """Record what `README.md` says."""
    with playhead.open(path) as store:
        with store.run("p", "my/run", run_id="golden", config={"lr": 0.1}, tags=["a", "b"], environment=False) as run:
            run.set_primary_metric("loss", "min")
            for loss in (1.0, math.nan, 0.25):
                run.log({"loss": loss}, stage="train")
            run.log_text("hello")
            run.log_image("image", np.zeros((2, 2), np.uint8))
            with run.new_episode("robot", uid="golden-episode") as episode:
                episode.set_static("task", "pick")
                episode.configure("cam", lossless=True, gop_size=4)
                for number in range(10):
                    episode.append("joint", np.arange(3, dtype=np.float32) + number, 1000 * number)
                    episode.append("label", f"l{number}", 1000 * number + 1)
                    episode.append("cam", np.full((16, 24, 3), 20 * number, np.uint8), 1000 * number + 2)
            reel = run.new_reel(facts={"env_id": "Golden-v0"}, stacks={"observations": 2})
            for seed in range(2):
                first = np.full((1, 4, 4), 100 * seed, np.uint8)
                reel.begin({"seed": seed}, prefixes={"observations": first})
                for number in range(20):
                    arrays = {"observations": np.full((4, 4), 100 * seed + number, np.uint8), "actions": number % 3}
                    if number % 2 == 0:
                        arrays["frames"] = np.full((6, 8, 3), number, np.uint8)
                    is_last = number == 19
                    reel.step(arrays, number / 2, is_last, False, b'{"lives":%d}' % number)
                reel.end("terminated", {"observations": np.full((4, 4), 100 * seed + 20, np.uint8)})
            for name, form in (("fit", "trace"), ("small", "json")):
                with run.trace(name, step=move, bucket=4, parameters={"lr": 0.5}, form=form) as trace:
                    state = {"w": np.arange(3, dtype=np.float64), "n": 0}
                    for number in range(40):
                        given = {"by": np.full(3, number, np.float32), "sign": -1 if number % 3 else 1}
                        error = math.nan if number == 5 else 100.0 - number
                        trace.append(state, error=error, input=given, ts_ns=1000 * number)
                        state = move(state, given)
        with store.run("p", "n", run_id="gone", environment=False) as run:
            run.log({"loss": 5})
        store.runs["gone"].delete("golden")


if __name__ == "__main__":
    make(Path(__file__).parent / sys.argv[1])
