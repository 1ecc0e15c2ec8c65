"""What publishing costs, and what a worker loses that goes flat out while two readers look.

Run: python -m benchmarks.live [--rounds 60] [--steps 150]

The worker plays Pong without a policy, each second round with a live writer and two processes that read 60 frames a
second. The median over pairs of neighbouring rounds counts, in CPU time of the worker.
"""

from __future__ import annotations

import argparse
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import report
from playhead import live

READING = """
import sys, time
from playhead import live
reader = live.LiveReader(sys.argv[1])
print("reading", flush=True)
while True:
    reader.latest()
    time.sleep(1 / 60)
"""
NAME = "playhead-benchmark"
ROUNDS = 25


def cost_us(work: Callable[[], object], calls: int = 1_000) -> float:
    """Give the median of one call in the best of some rounds, in microseconds, without what taking the time costs."""

    def measured(call: Callable[[], object]) -> float:
        times = []
        for _ in range(calls):
            start = time.perf_counter_ns()
            call()
            times.append(time.perf_counter_ns() - start)
        return statistics.median(times)

    return (min(measured(work) for _ in range(ROUNDS)) - min(measured(lambda: None) for _ in range(ROUNDS))) / 1000


def costs() -> None:
    frame = np.random.default_rng(0).integers(0, 256, (210, 160, 3), np.uint8)
    frames = [frame.copy() for _ in range(200)]
    with live.LiveWriter(NAME, rate=None) as writer:
        report("publish an Atari frame that was just made", cost_us(lambda: writer.step(frame, 1.0)), "µs", 12)
        order = iter(range(10**9))
        report("publish one that is in no cache", cost_us(lambda: writer.step(frames[next(order) % 200])), "µs")
        reader = live.LiveReader(NAME)
        report("read one", cost_us(reader.latest), "µs")
    with live.LiveWriter(NAME, rate=0.01) as writer:
        writer.step(frame)
        report("a step that is not published", cost_us(lambda: writer.step(frame, 1.0)), "µs", 1)


def play(env: Any, steps: int, writer: live.LiveWriter | None) -> float:
    """Give the CPU seconds of so many steps."""
    env.reset(seed=0)
    start = time.process_time()
    for _ in range(steps):
        observation, reward, terminated, truncated, _ = env.step(2)
        if writer is not None:
            writer.step(observation, float(reward), terminated or truncated)
    return time.process_time() - start


def loss(rounds: int, steps: int) -> None:
    import ale_py
    import gymnasium

    gymnasium.register_envs(ale_py)
    env = gymnasium.make("ALE/Pong-v5")
    alone, watched = [], []
    with live.LiveWriter(NAME) as writer:
        writer.publish(np.zeros((210, 160, 3), np.uint8))
        readers = [subprocess.Popen([sys.executable, "-c", READING, NAME], stdout=subprocess.PIPE) for _ in range(2)]
        for reader in readers:
            assert reader.stdout is not None
            reader.stdout.readline()
        for number in range(rounds):
            for kind in (alone, watched) if number % 2 else (watched, alone):
                for reader in readers:
                    reader.send_signal(signal.SIGCONT if kind is watched else signal.SIGSTOP)
                kind.append(play(env, steps, writer if kind is watched else None))
        for reader in readers:
            reader.kill()
            reader.communicate()
    kept = statistics.median(one / other for one, other in zip(alone, watched, strict=True))
    report("steps/s that a worker loses, two readers attached", 100 * (1 - kept), "%", 1)
    report("its steps a second", steps / min(alone), "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--steps", type=int, default=1500)
    options, _ = parser.parse_known_args()
    print("Live")
    costs()
    loss(options.rounds, options.steps)


if __name__ == "__main__":
    main()
