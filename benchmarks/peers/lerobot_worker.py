"""One workload with Playhead or with LeRobot 0.4.4: ``lerobot_worker.py SIDE WORKLOAD FOLDER EPISODES``.

SIDE is `playhead`, `lerobot` (images first, encoded when the episode ends) or `lerobot_streaming`. Runs in the Python
of either; the work is the same. The last line printed is a JSON object of figures.
"""

import json
import random
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.scene import camera

FPS, FRAMES = 30, 200
PACE_S = 1 / 90  # three times as fast as the cameras, which both keep up with
HEIGHT, WIDTH, WIDE = 240, 320, 14
CAMERAS = ("front", "wrist")
ITEMS = 300

Figures = dict[str, float]


class Library(Protocol):
    """What the workloads need of either side."""

    def begin(self, folder: Path) -> None: ...

    def add(self, number: int, pictures: dict[str, np.ndarray], state: np.ndarray, action: np.ndarray) -> None: ...

    def settle(self) -> None: ...

    def save(self) -> None: ...

    def end(self) -> None: ...

    def items(self, folder: Path) -> Any: ...


class Playhead:
    """Playhead as its users call it."""

    def __init__(self) -> None:
        from playhead.dataset import LocalDataset, LocalDatasetWriter
        from playhead.train import EpisodeDataset

        self._recorder, self._folder, self._windows = LocalDatasetWriter, LocalDataset, EpisodeDataset

    def begin(self, folder: Path) -> None:
        self._writer = self._recorder(folder)
        self._episode: Any = None

    def add(self, number: int, pictures: dict[str, np.ndarray], state: np.ndarray, action: np.ndarray) -> None:
        if self._episode is None:
            self._episode = self._writer.new_episode()
            self._episode.set_static("task", "pick")
        stamp = number * 1_000_000_000 // FPS
        for name, picture in pictures.items():
            self._episode.append(name, picture, stamp)
        self._episode.append("state", state, stamp)
        self._episode.append("action", action, stamp)

    def settle(self) -> None:
        self._episode.flush()

    def save(self) -> None:
        self._episode.close()
        self._episode = None

    def end(self) -> None:
        pass

    def items(self, folder: Path) -> Any:
        windows: dict[str, list[float]] = {name: [-1 / FPS, 0] for name in CAMERAS}
        windows |= {"state": [0], "action": [k / FPS for k in range(16)]}
        return self._windows(self._folder(folder), windows, anchor="state", transform=as_floats)


def as_floats(item: dict[str, Any]) -> dict[str, Any]:
    """Give pictures as LeRobot does: channels first, from 0 to 1."""
    import torch

    for name in CAMERAS:
        item[name] = item[name].permute(0, 3, 1, 2).to(torch.float32) / 255
    return item


class LeRobot:
    """LeRobot as its own recorder calls it, but for the codec: SVT-AV1 takes real-time priority where root runs it."""

    def __init__(self, *, is_streaming: bool) -> None:
        from lerobot.datasets.lerobot_dataset import LeRobotDataset

        self._library, self._is_streaming = LeRobotDataset, is_streaming

    def begin(self, folder: Path) -> None:
        folder.rmdir()
        pictures = {"dtype": "video", "shape": (HEIGHT, WIDTH, 3), "names": ["height", "width", "channels"]}
        vector = {"dtype": "float32", "shape": (WIDE,), "names": [f"joint_{k}" for k in range(WIDE)]}
        options: dict[str, Any] = (
            {"streaming_encoding": True, "encoder_threads": 2} if self._is_streaming else {"image_writer_threads": 8}
        )
        self._dataset = self._library.create(
            "bench/pick",
            FPS,
            {f"observation.images.{name}": pictures for name in CAMERAS}
            | {"observation.state": vector, "action": vector},
            root=folder,
            vcodec="h264",
            **options,
        )

    def add(self, _number: int, pictures: dict[str, np.ndarray], state: np.ndarray, action: np.ndarray) -> None:
        frame: dict[str, Any] = {f"observation.images.{name}": picture for name, picture in pictures.items()}
        self._dataset.add_frame(frame | {"observation.state": state, "action": action, "task": "pick"})

    def settle(self) -> None:
        """Wait for what works beside the caller: there is no call for it."""
        if self._is_streaming:
            queues = self._dataset._streaming_encoder._frame_queues.values()
            while any(not queue.empty() for queue in queues):
                time.sleep(0.001)
        else:
            self._dataset._wait_image_writer()

    def save(self) -> None:
        self._dataset.save_episode()

    def end(self) -> None:
        self._dataset.finalize()

    def items(self, folder: Path) -> Any:
        offsets = {f"observation.images.{name}": [-1 / FPS, 0] for name in CAMERAS}
        return self._library(
            "bench/pick",
            root=folder,
            delta_timestamps=offsets | {"action": [k / FPS for k in range(16)]},
            video_backend=self.decoder(),
        )

    @staticmethod
    def decoder() -> str:
        """Choose the quicker of LeRobot's decoders, where it can be loaded."""
        try:
            import torchcodec  # noqa: F401
        except (ImportError, OSError, RuntimeError):
            return "pyav"
        return "torchcodec"


def record(library: Library, folder: Path, episodes: int) -> Figures:
    """Record episodes of 200 ticks; give what the caller waits for and what it costs."""
    pictures = {name: camera(50, HEIGHT, WIDTH)[k:] for k, name in enumerate(CAMERAS)}
    library.begin(folder)
    adding: list[int] = []
    stalls: list[float] = []
    before = _cpu_s()
    for episode in range(episodes):
        due = time.perf_counter()
        for number in range(FRAMES):
            state = np.arange(WIDE, dtype=np.float32) + number + episode
            shown = {name: choice[number % len(choice)] for name, choice in pictures.items()}
            start = time.thread_time_ns()
            library.add(number, shown, state, state + 1)
            adding.append(time.thread_time_ns() - start)
            due += PACE_S
            time.sleep(max(0.0, due - time.perf_counter()))
        library.settle()
        started = time.perf_counter()
        library.save()
        stalls.append(time.perf_counter() - started)
    library.end()
    return {
        "add_us": statistics.median(adding) / 1e3,
        "stall_ms": statistics.median(stalls) * 1e3,
        "worst_stall_ms": max(stalls) * 1e3,
        "cpu_s": (_cpu_s() - before) / episodes,
        "mb": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / episodes / 1e6,
    }


def _cpu_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def windows(library: Library, folder: Path, episodes: int) -> Figures:
    """Read items in random order: two frames of both cameras and sixteen actions."""
    start = time.perf_counter()
    items = library.items(folder)
    opened = time.perf_counter() - start
    assert len(items) == episodes * FRAMES, len(items)
    chosen = random.Random(0)
    for _ in range(30):
        item = items[chosen.randrange(len(items))]
    shapes = sorted(tuple(value.shape) for value in item.values() if hasattr(value, "shape"))
    assert shapes.count((2, 3, HEIGHT, WIDTH)) == 2, shapes
    assert (16, WIDE) in shapes
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(ITEMS):
        items[chosen.randrange(len(items))]
    return {
        "open_ms": opened * 1e3,
        "is_torchcodec": float(getattr(items, "video_backend", "") == "torchcodec"),
        "windows_s": ITEMS / (time.perf_counter() - wall),
        "windows_cpu_s": ITEMS / (time.process_time() - cpu),
    }


WORKLOADS: dict[str, Callable[[Library, Path, int], Figures]] = {"record": record, "windows": windows}


def main() -> None:
    side, workload, folder, episodes = sys.argv[1:]
    library: Library = Playhead() if side == "playhead" else LeRobot(is_streaming=side == "lerobot_streaming")
    Path(folder).mkdir(parents=True, exist_ok=True)
    print(json.dumps(WORKLOADS[workload](library, Path(folder), int(episodes))))


if __name__ == "__main__":
    main()
