"""Part 1: what recording costs the loop that steps a real game."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

import playhead
from benchmarks.measure import report
from benchmarks.replay_games import GAMES, environment, policy
from playhead.integrations.gymnasium import Recorder, VectorRecorder

STEPS, ROUNDS, WARM = 600, 8, 100  # a round's wall time differs by a seventh from one to the next, here
GAMES_AT_ONCE, VECTOR_STEPS, VECTOR_WARM = 4, 200, 40

Times = NDArray[np.float64]


class Rendering(gymnasium.Wrapper):
    """Does around a game what every recorder must, and nothing else: a call, and a frame for each step."""

    def reset(self, **options: Any) -> Any:
        found = self.env.reset(**options)
        self.env.render()
        return found

    def step(self, action: Any) -> Any:
        found = self.env.step(action)
        self.env.render()
        return found


class Round(NamedTuple):
    """Seconds of each step."""

    cpu: Times  # of this thread, with that of the game
    wall: Times


def timed(env: gymnasium.Env, seed: int) -> Round:
    """Play with the seeded policy."""
    cpu, wall = np.empty(STEPS), np.empty(STEPS)
    env.reset(seed=seed)
    for i, action in zip(range(STEPS), policy(env, seed), strict=False):
        start, start_cpu = time.perf_counter_ns(), time.thread_time_ns()
        _, _, terminated, truncated, _ = env.step(action)
        cpu[i], wall[i] = time.thread_time_ns() - start_cpu, time.perf_counter_ns() - start
        if terminated or truncated:
            env.reset()
    return Round(*(times[WARM:] / 1e9 for times in (cpu, wall)))


def measure(folder: Path, stacked_by: str) -> None:
    """Play each game blind, rendered and recorded, in turns with the same actions; print what differs."""
    blind: list[Round] = []
    bare: list[Round] = []
    recorded: list[Round] = []
    with playhead.open(folder) as store, store.run("bench", "loop", environment=False) as run:
        for name in GAMES:
            games = [environment(name, stacked_by=stacked_by) for _ in range(3)]
            turns = [
                (blind, games[0]),
                (bare, Rendering(games[1])),
                (recorded, Recorder(games[2], run, frames="render")),
            ]
            for seed in range(ROUNDS):
                for times, env in turns:
                    times.append(timed(env, seed))
                turns.reverse()
            for _, env in turns:
                env.close()
    dearer = np.concatenate([mine.cpu - other.cpu for mine, other in zip(recorded, bare, strict=True)])
    print(f"\n1. In a real loop: six games, frames rendered, stacks of four in {stacked_by}")
    report("a step without recording, CPU, median", _us(np.concatenate([times.cpu for times in bare])), "µs")
    report("recording it, CPU of the same thread, median", _us(dearer), "µs", 20)
    report("wall time added, median of rounds", _added(recorded, bare), "%", 10)
    report("  to a loop that does not render, either", _added(recorded, blind), "%")
    report("the slowest step in a thousand, wall", _slowest(recorded), "ms")
    report("  without recording", _slowest(bare), "ms")


def _us(times: Times) -> float:
    return float(np.median(times)) * 1e6


def _added(side: list[Round], other: list[Round]) -> float:
    walls = [mine.wall.sum() / theirs.wall.sum() - 1 for mine, theirs in zip(side, other, strict=True)]
    return float(np.median(walls)) * 100


def _slowest(side: list[Round]) -> float:
    return float(np.quantile(np.concatenate([times.wall for times in side]), 0.999)) * 1e3


def timed_vector(env: gymnasium.vector.VectorEnv, seed: int) -> float:
    """Play several games at once with random actions; give the wall seconds of a step of them all."""
    rng, count = np.random.default_rng(seed), int(env.single_action_space.n)
    env.reset(seed=seed)
    started = 0
    for i in range(VECTOR_STEPS):
        if i == VECTOR_WARM:
            started = time.perf_counter_ns()
        env.step(rng.integers(count, size=env.num_envs))
    return (time.perf_counter_ns() - started) / 1e9 / (VECTOR_STEPS - VECTOR_WARM)


def measure_vector(folder: Path) -> None:
    """Play several of each game at once, bare and recorded in turns; what is recorded is what an agent sees."""
    bare, recorded = [], []
    with playhead.open(folder) as store, store.run("bench", "vector", environment=False) as run:
        for name in GAMES:
            makers = [partial(environment, name)] * GAMES_AT_ONCE
            plain = gymnasium.vector.SyncVectorEnv(makers)
            recorder = VectorRecorder(gymnasium.vector.SyncVectorEnv(makers), run)
            turns = [(bare, plain), (recorded, recorder)]
            for seed in range(ROUNDS):
                for times, env in turns:
                    times.append(timed_vector(env, seed))
                turns.reverse()
            recorder.close()
            plain.close()
    added = [mine / other - 1 for mine, other in zip(recorded, bare, strict=True)]
    print(f"\n   A vector of {GAMES_AT_ONCE} games, their observations recorded")
    report("a step of all without recording", float(np.median(bare)) * 1e3, "ms")
    report("  wall time added, median of rounds", float(np.median(added)) * 100, "%", 10)


def in_a_loop(folder: Path) -> None:
    """Measure both ways in which observations are stacked, then several games at once."""
    for stacked_by in ("the last axis", "FrameStackObservation"):
        measure(folder / stacked_by.replace(" ", "-"), stacked_by)
    measure_vector(folder / "vector")
