"""Programs that end in every way with every kind of recorder open; run by `test_program_ends`.

`python ending_programs.py folder` starts one program for each pair: it forks after its imports, which cost most. Each child
then falls out of this script as any program does. What it prints goes into `{kind}.{way}.err`, its exit status into `.status`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import playhead
import playhead.store

# After Playhead, as in most programs: their exit handlers then come before those that Playhead has registered.
import gymnasium  # isort: skip
import h5py  # isort: skip  # noqa: F401
import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

import playhead.recording
import playhead.replay
import playhead.trace
from playhead.dataset import LocalDatasetWriter
from playhead.integrations.gymnasium import Recorder, VectorRecorder
from playhead.integrations.pettingzoo import ParallelRecorder

STEPS = 12
WRITTEN_SECONDS = 2.0  # until what was recorded is written down, also where the machine is busy
TOGETHER = 4

kept: list[Any] = []  # as a script keeps what it works with in its globals


class Pair(ParallelEnv):
    """Two agents that see the number of the step."""

    metadata: ClassVar = {"name": "pair_v0"}
    possible_agents: ClassVar = ["ann", "bob"]

    def observation_space(self, _agent: str) -> spaces.Space:
        return spaces.Box(0, 100, (2,), np.float32)

    def action_space(self, _agent: str) -> spaces.Space:
        return spaces.Discrete(2)

    def _each(self, value: Any) -> dict[str, Any]:
        return dict.fromkeys(self.agents, value)

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Any, ...]:
        self.agents, self.now = list(self.possible_agents), 0
        return self._each(np.zeros(2, np.float32)), self._each({})

    def step(self, _actions: dict[str, int]) -> tuple[Any, ...]:
        self.now += 1
        seen = self._each(np.full(2, self.now, np.float32))
        return seen, self._each(1.0), self._each(False), self._each(False), self._each({})


def begin(folder: Path, **options: Any) -> Any:
    return playhead.open(folder).run("p", "n", environment=False, **options)


def no_recorder(_folder: Path) -> tuple[Any, ...]:
    return ()


def metrics(folder: Path) -> tuple[Any, ...]:
    run = begin(folder)
    for number in range(STEPS):
        run.log({"loss": number / 2})
    return (run,)


def environment(folder: Path) -> tuple[Any, ...]:
    run = begin(folder)
    env = Recorder(gymnasium.make("CartPole-v1"), run)
    env.reset(seed=1)
    for number in range(STEPS):
        env.step(number % 2)
    return run, env


def vector(folder: Path) -> tuple[Any, ...]:
    run = begin(folder)
    envs = VectorRecorder(gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync"), run)
    envs.reset(seed=1)
    for number in range(STEPS):
        envs.step(np.array([number % 2, 1 - number % 2]))
    return run, envs


def agents(folder: Path) -> tuple[Any, ...]:
    run = begin(folder)
    env = ParallelRecorder(Pair(), run)
    env.reset(seed=1)
    for _ in range(STEPS):
        env.step({"ann": 0, "bob": 1})
    return run, env


class Screen(gymnasium.Env):
    """Draws the number of the step."""

    metadata: ClassVar = {"render_modes": ["rgb_array"]}
    render_mode = "rgb_array"
    observation_space = spaces.Box(0, 100, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, ...]:
        super().reset(seed=seed, options=options)
        self.now = 0
        return np.zeros(2, np.float32), {}

    def step(self, _action: int) -> tuple[Any, ...]:
        self.now += 1
        return np.full(2, self.now, np.float32), 1.0, False, False, {}

    def render(self) -> Any:
        return np.full((40, 60, 3), self.now, np.uint8)


def shown(folder: Path) -> tuple[Any, ...]:
    run = begin(folder, run_id=f"live-{os.getpid()}")
    env = Recorder(Screen(), run, live=True)
    env.reset(seed=1)
    for _ in range(STEPS):
        env.step(0)
    return run, env


def replay(folder: Path) -> tuple[Any, ...]:
    writer = playhead.replay.ReplayWriter("r", folder / "replay")
    writer.start()
    for number in range(STEPS):
        writer.record_step(None, np.full(4, number, np.float32), number % 2, 1.0, False)
    return (writer,)


def fill(writer: Any) -> None:
    for number in range(STEPS):
        writer.append("joint", np.array([number, -number], np.float64), 1000 + number)
        writer.append("camera", np.full((64, 64, 3), number * 9, np.uint8), 1000 + number)


def episode(folder: Path) -> tuple[Any, ...]:
    run = begin(folder)
    writer = run.new_episode("teleop")
    fill(writer)
    return run, writer


def dataset(folder: Path) -> tuple[Any, ...]:
    writer = LocalDatasetWriter(folder).new_episode()
    fill(writer)
    return (writer,)


def trace(folder: Path) -> tuple[Any, ...]:
    run = begin(folder)
    history = run.trace("fit")
    for number in range(STEPS):
        history.append({"x": np.full(3, float(number))}, error=1.0 / (1 + number))
    return run, history


def history(folder: Path) -> tuple[Any, ...]:
    writer = playhead.trace.TraceWriter(folder / "fit.trace")
    for number in range(STEPS):
        writer.append({"x": np.full(3, float(number))}, error=1.0 / (1 + number))
    return (writer,)


def console(folder: Path) -> tuple[Any, ...]:
    run = begin(folder, capture_console=True)
    for number in range(STEPS):
        print(f"line {number}")
    print("no newline", end="")
    return (run,)


def artifact(folder: Path) -> tuple[Any, ...]:
    run = begin(folder)
    (folder / "weights.bin").write_bytes(b"w" * 5000)
    run.log_artifact("policy", folder / "weights.bin", progress=False)
    run.log({"loss": 0.5})
    return (run,)


KINDS: list[Callable[[Path], tuple[Any, ...]]] = [
    no_recorder, metrics, environment, vector, agents, shown, replay, episode, dataset, trace, history, console, artifact,
]  # fmt: skip


def returns(_made: Any) -> None:
    pass


def raises(_made: Any) -> None:
    raise ValueError("oh")


def exits(_made: Any) -> None:
    sys.exit(3)


def interrupted(_made: Any) -> None:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(30)


def terminated(made: Any) -> None:
    if made and not isinstance(made[0], playhead.recording.RunWriter):  # only runs watch for the signal
        time.sleep(WRITTEN_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(30)


def dies(_made: Any) -> None:
    time.sleep(WRITTEN_SECONDS)
    os._exit(5)


def raises_in_a_thread(_made: Any) -> None:
    def work() -> None:
        raise ValueError("oh")

    thread = threading.Thread(target=work, name="worker")
    thread.start()
    thread.join()


def leaves_a_generator(made: Any) -> None:
    def steps() -> Iterator[int]:
        with contextlib.ExitStack() as each:
            for one in made:
                each.callback(one.close)
            yield from range(9)

    kept.append(steps())
    next(kept[-1])


WAYS: list[Callable[[Any], None]] = [
    returns, raises, exits, interrupted, terminated, dies, raises_in_a_thread, leaves_a_generator,
]  # fmt: skip


def children(folder: Path) -> Iterator[tuple[Callable[[Path], tuple[Any, ...]], Callable[[Any], None]]]:
    """Fork a child for each pair; in it, yield the pair. The parent yields nothing."""
    running: dict[int, str] = {}

    def wait() -> None:
        pid, status = os.wait()
        (folder / f"{running.pop(pid)}.status").write_text(str(os.waitstatus_to_exitcode(status)))

    for kind in KINDS:
        for way in WAYS:
            name = f"{kind.__name__}.{way.__name__}"
            while len(running) >= TOGETHER:
                wait()
            pid = os.fork()
            if pid:
                running[pid] = name
                continue
            errors = os.open(folder / f"{name}.err", os.O_WRONLY | os.O_CREAT)
            os.dup2(errors, 2)
            os.dup2(os.open(folder / f"{name}.out", os.O_WRONLY | os.O_CREAT), 1)
            (folder / name).mkdir()
            yield kind, way
            return
    while running:
        wait()


root = Path(sys.argv[1])
for kind, way in children(root):
    kept += kind(root / f"{kind.__name__}.{way.__name__}")
    way(tuple(kept))
