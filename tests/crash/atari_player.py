"""Plays a real game for ever, the same each time, and says how many of its steps were flushed: `STORE`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import playhead
from playhead.integrations.gymnasium import Recorder
from tests.simulators.playing import game

EPISODE, FLUSHED = 150, 40


def make() -> Any:
    return game("Breakout", obs_type="ram", render_mode="rgb_array")


def actions(count: int) -> Iterator[int]:
    return (step // 4 * 7 % count for step in range(EPISODE))


def main(path: str) -> None:
    with playhead.open(path) as store, store.run("crash", "atari", environment=False) as run:
        env = Recorder(make(), run, frames="render")
        steps = episode = 0
        while True:
            env.reset(seed=episode)
            for action in actions(int(env.action_space.n)):
                env.step(action)
                steps += 1
                if steps % FLUSHED == 0:
                    run.flush()
                    print(run.id, steps, flush=True)
            episode += 1


if __name__ == "__main__":
    main(sys.argv[1])
