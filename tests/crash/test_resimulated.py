"""Recording states under fire: whatever step was acknowledged can be made again, at whichever change the process was killed.

Here a tenth; `make campaign` does all of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.integrations.gymnasium import Recorder
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.writer import ReelWriter
from playhead.layout import ReplayFolder
from playhead.replay import Resimulation
from playhead.testing import Operation, killed_at, operations_of
from tests.simulators.playing import Maze

KILLS = max(5, round(60 * float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))))  # of each kind
STEPS, FLUSHED = 24, 3
CONFIG = ReplayConfig(chunk=4, segment_bytes=4000)


class OneReel:
    """What a Recorder takes for a run."""

    def __init__(self, path: Path) -> None:
        self.files = ReplayFolder(path).reel("run")

    def new_reel(self, *, facts: Any = None, stacks: Any = None, config: Any = None, crew: Any = None) -> ReelWriter:
        return ReelWriter(self.files, CONFIG, facts=facts, stacks=stacks)


def work(path: Path, acknowledge: Callable[[Any], None]) -> None:
    """Record two episodes, with flushes and several segments."""
    env = Recorder(Maze(), OneReel(path), frames="resimulate", keyframe_every=4)
    for number in range(2):
        env.reset(seed=number)
        for step in range(STEPS):
            env.step(step % 4)
            if step % FLUSHED == FLUSHED - 1:
                env.reel.flush(sync=True)
                acknowledge(number * STEPS + step + 1)
                env.reel.writer.run_now()
    env.close()


def truth() -> list[Any]:
    frames = []
    env = Maze()
    for number in range(2):
        env.reset(seed=number)
        for step in range(STEPS):
            frames.append(env.render())
            env.step(step % 4)
    return frames


@pytest.fixture(scope="module")
def changes(tmp_path_factory: pytest.TempPathFactory) -> list[Operation]:
    return operations_of(lambda: work(tmp_path_factory.mktemp("count"), lambda _: None))


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("torn", [False, True], ids=["kill", "torn"])
def test_killed_at_each_change(tmp_path: Path, changes: list[Operation], torn: bool) -> None:
    expected, killed, promised = truth(), 0, 0
    assert len(changes) > KILLS
    for n in np.linspace(1 + torn, 0.95 * len(changes), KILLS).astype(int).tolist():
        path = tmp_path / str(n)
        crash = killed_at(n, lambda acknowledge, path=path: work(path, acknowledge), torn=torn)
        acknowledged = max(crash.acknowledged, default=0)
        files = OneReel(path).files
        killed += crash.killed
        promised += acknowledged
        if not files.exist():
            assert not acknowledged
            continue
        reel = Reel(files)
        assert reel.length >= acknowledged
        if reel.length:
            found = Resimulation(reel, Maze).rows("frames", np.arange(reel.length))
            for row in range(reel.length):
                assert found[row].tobytes() == expected[row].tobytes(), row
        reel.close()
    # Not all of them: the threads of a recording write in more or fewer pieces, as fast as the machine is just then.
    assert killed >= KILLS / 2
    assert promised > 0
    print(f"killed at {killed} of {len(changes)} changes, {promised} acknowledged steps, every one made again")
