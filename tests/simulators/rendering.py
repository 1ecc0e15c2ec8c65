"""Records pictures of a world of MuJoCo by its states, and makes each again: `python -m tests.simulators.rendering ID`.

A program of its own, since a process has one way to draw, `MUJOCO_GL`, and what draws may end it. Exits with 77 where
nothing can be drawn.
"""

from __future__ import annotations

import sys

import gymnasium

import playhead
from tests.simulators.playing import assert_seeks, record

CANNOT = 77
STEPS = 60


def world(name: str) -> gymnasium.Env[object, object]:
    return gymnasium.make(name, render_mode="rgb_array", width=64, height=48)


def main(name: str) -> None:
    try:
        env = world(name)
        env.reset(seed=0)
        env.render()
    except Exception as error:  # noqa: BLE001  each library has its own
        print(error)
        sys.exit(CANNOT)
    env.close()
    with playhead.open("store") as store:
        with store.run("p", "n", environment=False) as run:
            seen = record(run, world(name), STEPS, keyframe_every=4)
        episodes = list(store.runs[-1].episodes)
        assert_seeks(episodes, seen, STEPS, frames=True)  # each of them, in any order
        print(f"{sum(episode.length for episode in episodes)} steps in {len(episodes)} episodes")


if __name__ == "__main__":
    main(sys.argv[1])
