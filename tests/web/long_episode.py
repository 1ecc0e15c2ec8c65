"""Stores to look at: an Atari episode of many steps, and a robot-like episode with two cameras and many rates."""

from __future__ import annotations

from pathlib import Path

import ale_py
import gymnasium
import numpy as np
from numpy.typing import NDArray

import playhead
from playhead.integrations.gymnasium import Recorder

STEPS = 18_000
LONG_RUN = "long_breakout"
LONG_EPISODE = f"{LONG_RUN}-ep0000"
ROBOT_DATASET = "arm"
ROBOT_UID = "reach0001"

_NOOP, _FIRE, _RIGHT, _LEFT = range(4)
_PADDLE, _BALL_X, _BALL_Y = 72, 99, 101  # where Breakout keeps them in its memory
_HALF = 4  # pixels from where the paddle begins to where the ball is best met
_START = 1_760_000_000_000_000_000
_MS = 1_000_000


def make_long_episode(path: Path, steps: int = STEPS, *, run_id: str = LONG_RUN, seed: int = 0) -> str:
    """Play one episode of Breakout of so many steps into a store; give its id.

    The player follows the ball well enough to last for them.
    """
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    gymnasium.register_envs(ale_py)
    config = {"game": "Breakout", "seed": seed, "steps": steps}
    with playhead.open(path) as store, store.run("atari", "breakout", config=config, run_id=run_id) as run:
        game = gymnasium.make(
            "ALE/Breakout-v5", frameskip=1, repeat_action_probability=0.0, max_episode_steps=steps, render_mode=None
        )
        env = Recorder(game, run)
        env.reset(seed=seed)
        memory = game.unwrapped.ale  # type: ignore[attr-defined]
        total, lives = 0.0, 5
        for step in range(steps):
            _, reward, terminated, truncated, info = env.step(_follow(memory.getRAM()))
            total, lives = total + float(reward), int(info["lives"])
            if step % 100 == 0:
                run.log({"return": total, "lives": lives}, step=step)
            if terminated or truncated:
                break
        env.close()
    return f"{run_id}-ep0000"


def _follow(memory: NDArray[np.uint8]) -> int:
    paddle, ball, height = int(memory[_PADDLE]) + _HALF, int(memory[_BALL_X]), int(memory[_BALL_Y])
    if height == 0:
        return _FIRE
    if abs(ball - paddle) <= 2:
        return _NOOP
    return _RIGHT if ball > paddle else _LEFT


def make_robot_episode(path: Path, *, seconds: float = 6.0, uid: str = ROBOT_UID, dataset: str = ROBOT_DATASET) -> str:
    """Record an episode of an arm into a dataset: two cameras at 30 and 12 pictures a second of different sizes, joints
    at 200 Hz, force at 50 Hz with a gap, a gripper that speaks only when it changes, and texts. Give its uid.
    """
    duration = int(seconds * 1e9)
    with playhead.open(path) as store, store.run("robot", "reach", config={"arm": 7}) as run:
        with store.dataset(dataset).new_episode(uid=uid, created_ts_ns=_START, run_id=run.id) as episode:
            episode.set_static("task", "reach for the cup")
            episode.set_static("operator", "one")
            samples = [
                *((t, "joints", _joints(t)) for t in range(0, duration, 5 * _MS)),
                *((t, "force", _force(t)) for t in range(40 * _MS, duration, 20 * _MS) if not _is_gap(t, duration)),
                *((t, "wrist", _view(t, 240, 320, 7.0)) for t in range(10 * _MS, duration, 33_333_333)),
                *((t, "overview", _view(t, 180, 240, 3.0)) for t in range(150 * _MS, duration, 83_333_333)),
                *((t, "gripper", (t // (1000 * _MS)) % 2 == 1) for t in range(500 * _MS, duration, 1000 * _MS)),
                *((t, "phase", f"phase {t // (2000 * _MS)}") for t in range(0, duration, 2000 * _MS)),
            ]
            for stamp, name, value in sorted(samples, key=lambda sample: sample[:2]):
                episode.append(name, value, _START + stamp)
    return uid


def _joints(t: int) -> NDArray[np.float32]:
    return np.sin(t / 1e9 * np.linspace(0.5, 3.5, 7)).astype(np.float32)


def _force(t: int) -> float:
    return float(np.cos(t / 2e8) * 4 + (40 if 3_000_000_000 <= t < 3_020_000_000 else 0))


def _is_gap(t: int, duration: int) -> bool:
    return 0.6 * duration <= t < 0.7 * duration


def _view(t: int, height: int, width: int, speed: float) -> NDArray[np.uint8]:
    """Give what a camera sees: a shaded table, some grain, and a cup that moves."""
    rows, columns = np.mgrid[0:height, 0:width].astype(np.float32)
    picture = np.stack([90 + rows / height * 90, 80 + columns / width * 70, 120 - rows / height * 60], axis=-1)
    x = width * (0.5 + 0.35 * np.sin(t / 1e9 * speed / 3))
    y = height * (0.55 + 0.2 * np.cos(t / 1e9 * speed / 4))
    cup = (columns - x) ** 2 + (rows - y) ** 2 < (height / 9) ** 2
    picture[cup] = (220, 96, 40)
    grain = np.random.default_rng(t).normal(0, 3, (height, width, 1)).astype(np.float32)
    return np.clip(picture + grain, 0, 255).astype(np.uint8)


def make_both(path: Path, steps: int = STEPS) -> None:
    """Make a store with both."""
    make_long_episode(path, steps)
    make_robot_episode(path)
