"""One workload with Playhead or with Minari 0.5.4: ``minari_worker.py SIDE WORKLOAD STEPS FOLDER``.

Runs in the Python of either; SIDE is ``playhead``, or ``minari`` with its format and whether it encodes images as JPEG:
``minari-hdf5-raw``, ``minari-hdf5-jpeg``, ``minari-parquet-raw``. STEPS is a file of steps that were played before, so
that both record the same ones and neither pays for a game. The last line printed is a JSON object of figures.
"""

import json
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import gymnasium
import numpy as np

ROUNDS = 5
ACTIONS = 6

Figures = dict[str, float]
Loaded = tuple[Any, Any, Any]


class Playback(gymnasium.Env):
    """Gives steps that were played before; observations are frames."""

    def __init__(self, steps: Path) -> None:
        with np.load(steps) as file:
            self.frames, self.actions, self.rewards = file["frames"], file["actions"].tolist(), file["rewards"].tolist()
        self.observation_space = gymnasium.spaces.Box(0, 255, self.frames.shape[1:], np.uint8)
        self.action_space = gymnasium.spaces.Discrete(ACTIONS)
        self._at = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed, options=options)
        self._at = 0
        return self.frames[0], {"lives": 0}

    def step(self, _action: Any) -> Any:
        reward = self.rewards[self._at]
        self._at += 1
        return self.frames[self._at], reward, False, self._at == len(self.actions), {"lives": 0}


class Library(Protocol):
    """What the workloads need of either side."""

    def collector(self, env: gymnasium.Env) -> gymnasium.Env: ...

    def finish(self, collector: gymnasium.Env) -> None: ...

    def opened(self) -> Any: ...

    def load(self, dataset: Any) -> Loaded: ...


class Playhead:
    """Playhead as its users call it."""

    def __init__(self, folder: Path) -> None:
        import playhead
        from playhead.integrations.gymnasium import Recorder

        self._open, self._recorder, self._folder = playhead.open, Recorder, folder / "store"

    def collector(self, env: gymnasium.Env) -> gymnasium.Env:
        self._store = self._open(self._folder)
        self._run = self._store.run("bench", "pong", environment=False)
        return self._recorder(env, self._run)

    def finish(self, collector: gymnasium.Env) -> None:
        collector.close()
        self._run.close()
        self._store.close()

    def opened(self) -> Any:
        return self._open(self._folder, mode="r").runs[-1].episodes

    def load(self, dataset: Any) -> Loaded:
        episode = dataset[0]
        return tuple(episode[name].values for name in ("observation", "action", "reward"))


class Minari:
    """Minari 0.5.4 as its users call it."""

    def __init__(self, folder: Path, data_format: str, encoding: str) -> None:
        os.environ["MINARI_DATASETS_PATH"] = str(folder)
        warnings.simplefilter("ignore")  # there is no author, and no address
        import minari

        self._minari = minari
        self._options = {"data_format": data_format, "jpeg_encoding": encoding == "jpeg"}

    def collector(self, env: gymnasium.Env) -> gymnasium.Env:
        return self._minari.DataCollector(env, record_infos=True, **self._options)

    def finish(self, collector: gymnasium.Env) -> None:
        collector.create_dataset(dataset_id="pong/bench-v0", algorithm_name="random")
        collector.close()

    def opened(self) -> Any:
        return self._minari.load_dataset("pong/bench-v0")

    def load(self, dataset: Any) -> Loaded:
        episode = dataset[0]
        return episode.observations, episode.actions, episode.rewards


def played(env: gymnasium.Env, actions: list[int]) -> list[int]:
    """Play all steps; give the CPU nanoseconds of this thread for each."""
    times = []
    env.reset(seed=0)
    for action in actions:
        start = time.thread_time_ns()
        env.step(action)
        times.append(time.thread_time_ns() - start)
    return times


def record(library: Library, steps: Path, folder: Path) -> Figures:
    """Record one episode: what a step costs the caller, and what all of it costs."""
    env = Playback(steps)
    bare = statistics.median(played(env, env.actions))
    start, start_wall = time.process_time(), time.perf_counter()
    collector = library.collector(env)
    times = played(collector, env.actions)
    library.finish(collector)
    cpu, wall = time.process_time() - start, time.perf_counter() - start_wall
    count = len(env.actions)
    return {
        "step_us": (statistics.median(times) - bare) / 1e3,
        "last_ms": times[-1] / 1e6,
        "cpu_us": cpu / count * 1e6,
        "wall_us": wall / count * 1e6,
        "bytes": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / count,
    }


def load(library: Library, steps: Path, _folder: Path) -> Figures:
    """Load the episode that was recorded, and tell how far it is from what was played."""
    env, dataset = Playback(steps), library.opened()
    frames, actions, rewards = library.load(dataset)
    assert np.array_equal(actions, env.actions)
    assert np.allclose(rewards, env.rewards)
    error = np.abs(frames[: len(actions)].astype(np.int16) - env.frames[: len(actions)]).max()
    return {
        "load_ms": _cpu_ms(lambda: library.load(dataset)),
        "open_ms": _cpu_ms(lambda: library.load(library.opened())),
        "error": int(error),
    }


def _cpu_ms(work: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times) * 1e3


WORKLOADS: dict[str, Callable[[Library, Path, Path], Figures]] = {"record": record, "load": load}


def main() -> None:
    side, workload, steps, folder = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    library: Library = Playhead(Path(folder)) if side == "playhead" else Minari(Path(folder), *side.split("-")[1:])
    print(json.dumps(WORKLOADS[workload](library, Path(steps), Path(folder))))


if __name__ == "__main__":
    main()
