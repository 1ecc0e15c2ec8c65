"""A store with datasets of episodes, for the tests of `playhead episode`."""

from __future__ import annotations

from pathlib import Path

import playhead
from tests.check.making import START, append, curve, numbers, usual


def make_store(path: Path) -> Path:
    """Make a store with two datasets: `teleop` has two episodes, one dropped one and an unfinished one."""
    with playhead.open(path) as store:
        teleop = store.dataset("teleop")
        for uid, fill in (("aaaa1111", usual), ("bbbb2222", numbers), ("abab3333", numbers)):
            with teleop.new_episode(uid=uid, created_ts_ns=START) as episode:
                fill(episode)
        teleop = store.dataset("teleop")
        teleop.drop("bbbb2222")
        teleop.set_static("abab3333", {"grade": "B"})
        cut = teleop.new_episode(uid="cccc4444", created_ts_ns=START)
        try:
            with cut:
                append(cut, "force", curve(70))
                raise RuntimeError("the robot fell over")
        except RuntimeError:
            pass
        with store.dataset("lab/left arm").new_episode(uid="dddd5555", created_ts_ns=START) as episode:
            numbers(episode)
    return path
