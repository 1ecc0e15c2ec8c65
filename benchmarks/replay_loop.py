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


class Clocked(gymnasium.Wrapper):
    """Counts the CPU that the game itself takes on this thread, so that it can be told from what is around it."""

    spent_ns = 0

    def step(self, action: Any) -> Any:
        start = time.thread_time_ns()
        found = self.env.step(action)
        self.spent_ns += time.thread_time_ns() - start
        return found

    def render(self) -> Any:
        start = time.thread_time_ns()
        found = self.env.render()
        self.spent_ns += time.thread_time_ns() - start
        return found


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

    around: Times  # CPU on this thread, without that of the game
    cpu: Times  # with it
    wall: Times


def timed(env: gymnasium.Env, game: Clocked, seed: int) -> Round:
    """Play with the seeded policy."""
    cpu, inside, wall = np.empty(STEPS), np.empty(STEPS), np.empty(STEPS)
    env.reset(seed=seed)
    for i, action in zip(range(STEPS), policy(env, seed), strict=False):
        game.spent_ns = 0
        start, start_cpu = time.perf_counter_ns(), time.thread_time_ns()
        _, _, terminated, truncated, _ = env.step(action)
        cpu[i], wall[i] = time.thread_time_ns() - start_cpu, time.perf_counter_ns() - start
        inside[i] = game.spent_ns
        if terminated or truncated:
            env.reset()
    return Round(*(times[WARM:] / 1e9 for times in (cpu - inside, cpu, wall)))


def measure(folder: Path, stacked_by: str) -> None:
    """Play each game bare and recorded in turns, with the same actions, and print what differs."""
    bare, recorded = [], []
    with playhead.open(folder) as store, store.run("bench", "loop", environment=False) as run:
        for name in GAMES:
            games = [Clocked(environment(name, stacked_by=stacked_by)) for _ in range(2)]
            plain, recorder = Rendering(games[0]), Recorder(games[1], run, frames="render")
            turns = [(bare, plain, games[0]), (recorded, recorder, games[1])]
            for seed in range(ROUNDS):
                for times, env, game in turns:
                    times.append(timed(env, game, seed))
                turns.reverse()
            recorder.close()
            plain.close()
    around, theirs = (np.concatenate([times.around for times in side]) for side in (recorded, bare))
    longer = np.concatenate([mine.cpu - other.cpu for mine, other in zip(recorded, bare, strict=True)])
    walls = [mine.wall.sum() / other.wall.sum() - 1 for mine, other in zip(recorded, bare, strict=True)]
    stalls = [np.quantile(np.concatenate([times.wall for times in side]), 0.999) * 1e3 for side in (recorded, bare)]
    print(f"\n1. In a real loop: six games, frames rendered, stacks of four in {stacked_by}")
    report("a step without recording, CPU, median", _us(np.concatenate([times.cpu for times in bare])), "µs")
    report("recording it, CPU of the same thread, median", _us(around) - _us(theirs), "µs", 20)
    report("  and all that it slows down on that thread", _us(longer), "µs")
    report("wall time added, median of rounds", float(np.median(walls)) * 100, "%", 10)
    report("the slowest step in a thousand, wall", float(stalls[0]), "ms")
    report("  without recording", float(stalls[1]), "ms")


def _us(times: Times) -> float:
    return float(np.median(times)) * 1e6


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
