"""Record a swinging pendulum as a robot would be: a camera, joints and torque, each at its own clock.

Gymnasium's physics at 20 Hz of control; the state is recorded at every step, the camera at every second one, and the
torque only when it changes. Then the recording is read back by time.

    python examples/pendulum.py --store demo-store
"""

from __future__ import annotations

import argparse
import os

import gymnasium
import numpy as np
from rich.progress import track

import playhead

STEP_NS = 50_000_000
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # the renderer needs no screen


def swing_up(observation: np.ndarray) -> float:
    """Pump energy into the pendulum until it is nearly upright, then hold it there."""
    cosine, sine, speed = (float(part) for part in observation)
    if cosine > 0.9:
        return float(np.clip(-8 * np.arctan2(sine, cosine) - 2 * speed, -2, 2))
    energy = 0.5 * speed**2 + 15 * (cosine - 1)  # 0 is just enough to reach the top
    return 2.0 if energy * speed < 0 else -2.0


def record(store: playhead.Store, seed: int) -> None:
    """Record one episode of the pendulum."""
    env = gymnasium.make("Pendulum-v1", render_mode="rgb_array")
    observation, _ = env.reset(seed=seed)
    held: float | None = None
    total = 0.0
    with store.run("pendulum", "swing-up", config={"seed": seed}, tags=["demo"]) as run:
        with run.new_episode("pendulum") as episode:
            episode.set_static("task", "swing up and stay there")
            episode.set_static("seed", seed)
            for step in range(200):
                now = step * STEP_NS
                torque = swing_up(observation)
                episode.append("state", np.asarray(observation, np.float32), now)
                if step % 2 == 0:
                    episode.append("camera", np.ascontiguousarray(env.render()), now + 3_000_000)
                if torque != held:
                    episode.append("torque", torque, now + 1_000_000)
                    held = torque
                observation, reward, _, _, _ = env.step(np.array([torque], np.float32))
                total += float(reward)
        run.log({"return": total})


def main() -> None:
    """Record a few episodes and look at one of them."""
    parser = argparse.ArgumentParser(description="Record a swinging pendulum with a camera.")
    parser.add_argument("--store", default="demo-store")
    parser.add_argument("--episodes", type=int, default=3)
    options = parser.parse_args()
    with playhead.open(options.store) as store:
        for seed in track(range(options.episodes), description="Recording"):
            record(store, seed)
        dataset = store.dataset("pendulum")
        episode = dataset[-1]
        print(dataset)
        for name, signal in episode.signals.items():
            print(f"  {name}: {signal}")
        middle = episode.time[(episode.start_ts + episode.last_ts) // 2]
        print("half way:", {name: np.shape(item[0]) for name, item in middle.items() if isinstance(item, tuple)})


if __name__ == "__main__":
    main()
