"""How fast windows of frames are read at random, against PyAV and decord; what recording costs.

Run: python -m benchmarks.video [--frames 1200] [--windows 60] [--long 5000] [--folder PATH]

All read the same MP4, made by the video lane, in the same process, in alternating rounds. The best of the rounds
counts for a window, since what disturbs one only adds to it. Before anything is timed, all are checked to give
the same pixels. The clip is made up: a textured background, moving boxes and noise.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np

from benchmarks.measure import report
from playhead.lanes.video import VideoSignal, VideoSignalWriter

HEIGHT, WIDTH, WINDOW, ROUNDS = 480, 640, 8, 7
SLOW = "PyAV opened for each frame"

Reader = Callable[[int], Any]


def clip(count: int, noise: float = 1.7) -> Iterator[np.ndarray]:
    """Make frames such as a camera gives that stands still."""
    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH]
    base = np.stack(
        [
            128 + 60 * np.sin(columns / 37) + 30 * np.cos(rows / 23),
            128 + 50 * np.cos(columns / 53 + rows / 71),
            120 + 40 * np.sin((rows + columns) / 19),
        ],
        axis=-1,
    )
    base += rng.normal(0, 12, (HEIGHT // 4, WIDTH // 4, 3)).repeat(4, 0).repeat(4, 1)
    noises = [rng.normal(0, noise, base.shape) for _ in range(4)]
    for i in range(count):
        frame = base + np.roll(noises[i % 4], i * 7, axis=1)
        for k in range(3):
            x = int(WIDTH / 2 + WIDTH / 3 * np.sin(i / 17 + k * 2))
            y = int(HEIGHT / 2 + HEIGHT / 3 * np.cos(i / 23 + k))
            frame[max(y - 30, 0) : y + 30, max(x - 40, 0) : x + 40] = ((k * 90) % 256, (i * 3 + k * 50) % 256, 200)
        yield np.clip(frame, 0, 255).astype(np.uint8)


def record(folder: Path, count: int, **options: Any) -> tuple[Path, Path]:
    """Record the clip and print what that cost."""
    video, frames = folder / "camera.mp4", folder / "camera.frames.parquet"
    clips = list(clip(min(count, 300)))
    waits, cpu, wall = [], time.process_time(), time.perf_counter()
    with VideoSignalWriter(video, frames, **options) as writer:
        for i in range(count):
            start = time.perf_counter()
            writer.append(clips[i % len(clips)], i * 10_000_000)
            waits.append(time.perf_counter() - start)
            if i % 16 == 15:
                writer.flush()  # so that `append` never waits for room
        recorded = time.perf_counter()
    cpu = time.process_time() - cpu
    what = " ".join(f"{name}={value}" for name, value in options.items()) or "the defaults"
    copies = []
    targets = [np.empty_like(clips[0]) for _ in range(16)]
    for i in range(200):
        start = time.perf_counter()
        np.copyto(targets[i % 16], clips[i % len(clips)])
        copies.append(time.perf_counter() - start)
    print(f"\nrecording {count} frames of {WIDTH}×{HEIGHT}, {what}")
    report("append, median", statistics.median(waits) * 1e6, "µs")
    report("a bare copy of a frame, median", statistics.median(copies) * 1e6, "µs")
    report("encoded", count / (recorded - wall), "frames/s")
    report("encoded and sealed", count / cpu, "frames/CPU s")
    report("sealing", (time.perf_counter() - recorded) * 1e3, "ms")
    report("size of a frame", video.stat().st_size / count / 1e3, "kB")
    signal = VideoSignal(video, frames)
    if signal.loss is not None and signal.loss.psnr_db is not None:
        report(f"PSNR over {signal.loss.frames} frames", signal.loss.psnr_db, "dB")
    return video, frames


def ours(video: Path, frames: Path) -> Reader:
    signal = VideoSignal(video, frames)
    return lambda start: signal[start : start + WINDOW].values


def sought(video: Path, threads: str) -> Reader:
    """An open container of PyAV, sought to the keyframe before each window."""
    container = av.open(str(video))
    track = container.streams.video[0]
    track.thread_type = threads
    ticks = int(1 / (track.average_rate * track.time_base))

    def read(start: int) -> np.ndarray:
        container.seek(start * ticks, stream=track)
        found = []
        for frame in container.decode(track):
            if frame.pts >= start * ticks:
                found.append(frame.to_ndarray(format="rgb24"))
                if len(found) == WINDOW:
                    break
        return np.stack(found)

    return read


def opened_for_each_frame(video: Path) -> Reader:
    """What is written first: open, seek and decode for every frame."""

    def read_one(position: int) -> np.ndarray:
        with av.open(str(video)) as container:
            track = container.streams.video[0]
            ticks = int(1 / (track.average_rate * track.time_base))
            container.seek(position * ticks, stream=track)
            return next(f for f in container.decode(track) if f.pts >= position * ticks).to_ndarray(format="rgb24")

    return lambda start: np.stack([read_one(start + k) for k in range(WINDOW)])


def decord_reader(video: Path, threads: int) -> Reader:
    import decord

    reader = decord.VideoReader(str(video), ctx=decord.cpu(0), num_threads=threads)
    return lambda start: reader.get_batch(range(start, start + WINDOW)).asnumpy()


def torchcodec_reader(video: Path) -> Reader:
    from torchcodec.decoders import VideoDecoder

    decoder = VideoDecoder(str(video), dimension_order="NHWC")
    return lambda start: decoder[start : start + WINDOW].numpy()


def readers(video: Path, frames: Path) -> dict[str, Reader]:
    """Open everything that is installed."""
    found = {
        "playhead": ours(video, frames),
        "PyAV sought, slice threads": sought(video, "SLICE"),
        "PyAV sought, auto threads": sought(video, "AUTO"),
        SLOW: opened_for_each_frame(video),
    }
    for name, make in {
        "decord, auto threads": lambda: decord_reader(video, 0),
        "decord, one thread": lambda: decord_reader(video, 1),
        "torchcodec": lambda: torchcodec_reader(video),
    }.items():
        try:
            found[name] = make()
        except (ImportError, RuntimeError, OSError) as error:
            print(f"  {name}: left out, {type(error).__name__}: {str(error).splitlines()[0][:80]}")
    return found


def wait_for_quiet() -> None:
    """Wait until no thread of this process works: some readers go on decoding after they have answered."""
    for _ in range(100):
        before = time.process_time()
        time.sleep(0.02)
        if time.process_time() - before < 0.001:
            return


def compare(found: dict[str, Reader], count: int, windows: int) -> None:
    """Time all readers on the same windows."""
    rng = random.Random(0)
    starts = [rng.randrange(count - WINDOW) for _ in range(windows)]
    expected = found["playhead"](starts[0])
    for name, read in found.items():
        difference = np.abs(np.asarray(read(starts[0])).astype(int) - expected).max()
        if difference > 0:
            print(f"  {name} gives other pixels: they differ by up to {difference}")
    wall = {name: np.full(windows, np.inf) for name in found}
    cpu = {name: np.full(windows, np.inf) for name in found}
    for _ in range(ROUNDS):
        for name, read in found.items():
            wait_for_quiet()
            for k, start in enumerate(starts):
                if name == SLOW and k % 8:
                    continue
                before_cpu, before = time.process_time(), time.perf_counter()
                read(start)
                wall[name][k] = min(wall[name][k], time.perf_counter() - before)
                cpu[name][k] = min(cpu[name][k], time.process_time() - before_cpu)
    print(f"\nwindows of {WINDOW} at random\n  {'':<30}{'ms':>8}{'CPU ms':>8}{'ours is × faster':>18}{'in CPU':>8}")
    ratios = {}
    for name in found:
        some = np.isfinite(wall[name])
        ratios[name] = wall[name][some].sum() / wall["playhead"][some].sum()
        in_cpu = cpu[name][some].sum() / cpu["playhead"][some].sum()
        times = f"{wall[name][some].mean() * 1e3:8.2f}{cpu[name][some].mean() * 1e3:8.2f}"
        print(f"  {name:<30}{times}{ratios[name]:18.2f}{in_cpu:8.2f}")
    others = [ratio for name, ratio in ratios.items() if name not in {"playhead", SLOW}]
    report("of the time of the best other", 1 / min(others), "×", 1.0)
    report("of the time of opening for each frame", 1 / ratios[SLOW], "×", 0.2)


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def long_read(video: Path, frames: Path, count: int, windows: int) -> None:
    """Read many windows and watch the memory."""
    read, rng = ours(video, frames), random.Random(1)
    for _ in range(200):
        read(rng.randrange(count - WINDOW))
    first = most = resident_mb()
    start = time.perf_counter()
    for i in range(windows):
        read(rng.randrange(count - WINDOW))
        if i % 50 == 0:
            most = max(most, resident_mb())
    print(f"\n{windows} windows in {time.perf_counter() - start:.0f} s")
    report("resident memory grows by at most", most - first, "MB", 50)


def opening(video: Path, frames: Path) -> None:
    """Time the first frame of a signal that was never read."""
    wait_for_quiet()
    times = []
    for _ in range(30):
        start = time.perf_counter()
        VideoSignal(video, frames)[0]
        times.append(time.perf_counter() - start)
    print()
    report("opening and reading the first frame, median", statistics.median(times) * 1e3, "ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=1200, help="of the clip")
    parser.add_argument("--windows", type=int, default=60, help="in a round")
    parser.add_argument("--long", type=int, default=5000, help="windows over which memory is watched; 0 for none")
    parser.add_argument("--encodings", action="store_true", help="also record in other ways")
    parser.add_argument("--folder", type=Path, default=None, help="where to write; else the system's temporary folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        if options.encodings:
            for settings in (
                {"preset": "superfast"},
                {"quality": 23},
                {"codec": "h265"},
                {"lossless": True},
                {"threads": 2},
            ):
                record(folder, 300, **settings)
        video, frames = record(folder, options.frames)
        compare(readers(video, frames), options.frames, options.windows)
        opening(video, frames)
        if options.long:
            long_read(video, frames, options.frames, options.long)


if __name__ == "__main__":
    main()
