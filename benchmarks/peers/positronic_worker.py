"""One workload with Playhead or with Positronic 0.4.1: ``positronic_worker.py SIDE WORKLOAD FOLDER``.

Runs in the Python of either; the work is the same, the calls are those that each one's users write. The last line
printed is a JSON object of figures.
"""

import json
import random
import statistics
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.scene import camera

RATE, FPS = 200, 30
TICK, SHOT = 1_000_000_000 // RATE, 1_000_000_000 // FPS
SECONDS, EPISODES = 10, 4
FRAMES, VECTORS = 8, 16
BLOCK = 50
SIGNALS: dict[str, Any] = {
    "joints": np.arange(14, dtype=np.float32),
    "action": np.arange(14, dtype=np.float32),
    "force": np.arange(6, dtype=np.float64),
    "gripper": 0.25,
    "contact": True,
}

Figures = dict[str, float]


class Writer(Protocol):
    """An episode that is being recorded."""

    append: Callable[[str, Any, int], None]
    settle: Callable[[], None]
    close: Callable[[], None]


class Library(Protocol):
    """What the workloads need of either side."""

    def record(self, root: Path) -> Writer: ...

    def dataset(self, root: Path) -> Any: ...

    def identity(self, episode: Any) -> tuple[list[str], str]: ...

    def at(self, signal: Any, stamp: int) -> Any: ...

    def between(self, signal: Any, start: int, stop: int) -> Any: ...

    def array(self, signal: Any, stamps: Sequence[int]) -> np.ndarray: ...

    def frames(self, signal: Any, stamps: Sequence[int]) -> np.ndarray: ...


class Playhead:
    """Playhead as its users call it."""

    def __init__(self) -> None:
        from playhead.dataset import LocalDataset, LocalDatasetWriter

        self.dataset, self._writer = LocalDataset, LocalDatasetWriter

    def record(self, root: Path) -> Writer:
        class Episode:
            def __init__(self, writer: Any) -> None:
                self.append, self.settle, self.close = writer.append, writer.flush, writer.close

        return Episode(self._writer(root).new_episode())

    def identity(self, episode: Any) -> tuple[list[str], str]:
        return list(episode.keys), episode.uid

    def at(self, signal: Any, stamp: int) -> Any:
        return signal.time[stamp]

    def between(self, signal: Any, start: int, stop: int) -> Any:
        return signal.time[start:stop]

    def array(self, signal: Any, stamps: Sequence[int]) -> np.ndarray:
        return signal.time[stamps].values

    frames = array


class Positronic:
    """Positronic 0.4.1 as its users call it; every time is a `Time`, which the caller makes."""

    def __init__(self) -> None:
        from positronic.dataset.local_dataset import LocalDataset, LocalDatasetWriter, Time

        self.dataset, self._writer, self._time = LocalDataset, LocalDatasetWriter, Time

    def record(self, root: Path) -> Writer:
        time_of = self._time

        class Episode:
            def __init__(self, writer: Any) -> None:
                self._writer = writer

            def append(self, name: str, value: Any, stamp: int) -> None:
                self._writer.append(name, value, time_of(recorded=stamp))

            def settle(self) -> None:
                """Wait until the encoder has taken all frames: there is no call for it."""
                waiting = [w._frames for w in self._writer._writers.values() if hasattr(w, "_frames")]
                while any(not queue.empty() for queue in waiting):
                    time.sleep(0.001)

            def close(self) -> None:
                self._writer.__exit__(None, None, None)

        return Episode(self._writer(root).new_episode())

    def identity(self, episode: Any) -> tuple[list[str], str]:
        return list(episode.keys()), episode.meta["uid"]

    def at(self, signal: Any, stamp: int) -> Any:
        return signal.time[self._time(recorded=stamp)]

    def between(self, signal: Any, start: int, stop: int) -> Any:
        return signal.time[self._time(recorded=start) : self._time(recorded=stop)]

    def array(self, signal: Any, stamps: Sequence[int]) -> np.ndarray:
        return np.asarray(signal.time[[self._time(recorded=stamp) for stamp in stamps]].values())

    def frames(self, signal: Any, stamps: Sequence[int]) -> np.ndarray:
        return np.stack(list(signal.time[[self._time(recorded=stamp) for stamp in stamps]].values()))


def append(library: Library, folder: Path) -> Figures:
    """What the caller pays for a sample: CPU of its thread."""
    episode = library.record(folder)
    vector, pictures = np.arange(14, dtype=np.float32), camera(8)
    scalar_us = _median_us(lambda n: episode.append("gripper", 0.25, n * TICK), 9_000)
    vector_us = _median_us(lambda n: episode.append("joints", vector, n * TICK), 9_000)
    cpu, wall = [], []
    for number in range(64):
        start, start_cpu = time.perf_counter_ns(), time.thread_time_ns()
        episode.append("camera", pictures[number % 8], number * SHOT)
        cpu.append(time.thread_time_ns() - start_cpu)
        wall.append(time.perf_counter_ns() - start)
        if number % 4 == 3:
            episode.settle()  # the encoder keeps up, as it does with a camera
    episode.close()
    return {
        "scalar_us": scalar_us,
        "vector_us": vector_us,
        "frame_us": statistics.median(cpu) / 1e3,
        "frame_wall_us": statistics.median(wall) / 1e3,
    }


def _median_us(work: Callable[[int], object], calls: int) -> float:
    """Give the median of blocks of calls, since a clock costs more than some calls."""
    times = []
    for first in range(0, calls, BLOCK):
        start = time.thread_time_ns()
        for number in range(first, first + BLOCK):
            work(number)
        times.append(time.thread_time_ns() - start)
    return statistics.median(times) / BLOCK / 1e3


def record(library: Library, folder: Path) -> Figures:
    """Record episodes of five signals at 200 Hz and a camera of 640×480 at 30 Hz; give the means of one."""
    pictures = camera()
    recording, stall, stall_cpu = 0.0, 0.0, 0.0
    for _ in range(EPISODES):
        start_cpu = time.process_time()
        episode, shown = library.record(folder), 0
        for number in range(SECONDS * RATE):
            for name, value in SIGNALS.items():
                episode.append(name, value + number if isinstance(value, np.ndarray) else value, number * TICK)
            if number * TICK >= shown * SHOT:
                episode.append("camera", pictures[shown % len(pictures)], shown * SHOT)
                shown += 1
        episode.settle()
        before, before_cpu = time.perf_counter(), time.process_time()
        episode.close()
        stall += time.perf_counter() - before
        stall_cpu += time.process_time() - before_cpu
        recording += time.process_time() - start_cpu
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {
        "record_cpu_s": recording / EPISODES,
        "stall_ms": stall / EPISODES * 1e3,
        "stall_cpu_ms": stall_cpu / EPISODES * 1e3,
        "mb": size / EPISODES / 1e6,
    }


def clone(folder: Path, count: int) -> None:
    """Make many episodes of those that are there, by hard links."""
    templates = sorted(path.parent for path in folder.glob("*/*/meta.json"))
    for number in range(len(templates), count):
        template = templates[number % len(templates)]
        target = folder / f"{number // 1000 * 1000:012}" / f"{number:012}"
        target.mkdir(parents=True)
        for path in template.iterdir():
            if path.is_file() and path.name != "meta.json":
                (target / path.name).hardlink_to(path)
        meta = json.loads((template / "meta.json").read_text())
        (target / "meta.json").write_text(json.dumps(meta | {"uid": uuid.uuid4().hex}))


def opening(library: Library, folder: Path) -> Figures:
    """Find 2,000 episodes, open them, read a first sample."""
    clone(folder, 2_000)
    list_ms = min(_wall_ms(lambda: len(library.dataset(folder))) for _ in range(3))
    dataset, chosen = library.dataset(folder), random.Random(0)
    opened = [_wall_ms(lambda: library.identity(dataset[chosen.randrange(2_000)])) for _ in range(200)]
    sampled = [_wall_ms(lambda: library.at(dataset[chosen.randrange(2_000)]["joints"], SHOT * 9)) for _ in range(100)]
    framed = [_wall_ms(lambda: library.at(dataset[chosen.randrange(2_000)]["camera"], SHOT * 9)) for _ in range(30)]
    return {
        "list_ms": list_ms,
        "open_us": statistics.median(opened) * 1e3,
        "first_us": statistics.median(sampled) * 1e3,
        "first_frame_ms": statistics.median(framed),
    }


def _wall_ms(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def access(library: Library, folder: Path) -> Figures:
    """Random access by time to 200,000 samples that are loaded."""
    episode = library.record(folder)
    for number in range(200_000):
        episode.append("force", number / 7, number * TICK)
    episode.close()
    signal, chosen = library.dataset(folder)[0]["force"], random.Random(0)
    times = [chosen.randrange(200_000 * TICK - 2_000 * TICK) for _ in range(1_000)]
    assert library.at(signal, times[0])[0] == times[0] // TICK / 7

    def all_times() -> None:
        for t in times:
            library.at(signal, t)

    def all_windows() -> None:
        for t in times:
            library.between(signal, t, t + 1_000 * TICK)

    many = sorted({chosen.randrange(200_000 * TICK) for _ in range(1_000)})
    assert library.array(signal, many).tolist() == [t // TICK / 7 for t in many]
    return {
        "time_us": _cpu_us(all_times) / len(times),
        "window_us": _cpu_us(all_windows) / len(times),
        "many_us": _cpu_us(lambda: library.array(signal, many)),
    }


def _cpu_us(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(5):
        start = time.process_time_ns()
        work()
        best = min(best, (time.process_time_ns() - start) / 1e3)
    return best


def windows(library: Library, folder: Path) -> Figures:
    """Windows of eight frames and sixteen vectors around random moments of episodes that stay open."""
    dataset = library.dataset(folder)
    signals = [(episode["camera"], episode["joints"]) for episode in (dataset[i] for i in range(EPISODES))]
    chosen, count = random.Random(0), 80

    def window() -> int:
        cam, joints = signals[chosen.randrange(EPISODES)]
        now = chosen.randrange(FRAMES * SHOT, SECONDS * 1_000_000_000 - VECTORS * SHOT)
        frames = library.frames(cam, [now - k * SHOT for k in reversed(range(FRAMES))])
        vectors = library.array(joints, [now + k * SHOT for k in range(VECTORS)])
        assert frames.shape == (FRAMES, 480, 640, 3)
        assert vectors.shape == (VECTORS, 14)
        return len(frames)

    for _ in range(8):
        window()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        window()
    return {
        "windows_s": count / (time.perf_counter() - wall),
        "windows_cpu_s": count / (time.process_time() - cpu),
    }


WORKLOADS: dict[str, Callable[[Library, Path], Figures]] = {
    "append": append,
    "record": record,
    "opening": opening,
    "access": access,
    "windows": windows,
}


def main() -> None:
    side, workload, folder = sys.argv[1:]
    library: Library = Playhead() if side == "playhead" else Positronic()
    Path(folder).mkdir(parents=True, exist_ok=True)
    print(json.dumps(WORKLOADS[workload](library, Path(folder))))


if __name__ == "__main__":
    main()
