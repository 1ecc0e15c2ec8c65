"""Runs inside an environment that has Positronic, of any generation; Playhead is not there.

    python positronic_driver.py read ROOT ANSWER    say in ANSWER (JSON and arrays beside it) all that a reader sees
    python positronic_driver.py write ROOT          record what `recording` describes

`recording` needs nothing but NumPy, so that the test imports it too.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

START = 1_700_000_000_000_000_000
TICK = 33_000_000
TICKS = 70  # more than two GOPs
STATIC = {"task": "pick", "id": 7, "gains": [1.5, 2.5], "nested": {"deep": [True, "x"]}, "ratio": 0.1}


def picture(tick: int, height: int, width: int) -> np.ndarray:
    """Draw a frame that tells its number by where a block is, and which channel is which."""
    rows, columns = np.mgrid[0:height, 0:width]
    frame = np.stack([rows + 60, columns // 2 + 100, np.full_like(rows, 90)], axis=-1).astype(np.uint8)
    frame[tick // 8 * 5 :, tick % 8 * 8 :][:5, :8] = (200, 180, 160)
    return frame


def recording(offset: int = 0) -> Iterator[tuple[str, Any, int]]:
    """Give the samples of an episode that every generation can record, in the order of their times."""
    for tick in range(TICKS):
        at = START + tick * TICK
        yield "joint", np.arange(7, dtype=np.float32) * 0.25 + tick + offset, at
        yield "wide", np.array([tick / 3, -tick / 7]), at + 1
        yield "counts", np.array([tick, -tick, 1 << 40]), at + 2
        yield "grip", tick / 40 + offset, at + 3
        yield "cam", picture(tick, 48, 64), at + 4
        if tick % 4 == 0:
            yield "label", f"é{tick}" if tick else "", at + 5
            yield "closed", tick % 8 == 0, at + 6
            yield "count", tick + (1 << 53) + 1, at + 7


def is_named(dataset_module: Any) -> bool:
    """Tell the generations that stamp with named times, which read ours on the timeline `recorded`."""
    return hasattr(dataset_module, "Time")


class Reader:
    """What the generations call by different names."""

    def __init__(self) -> None:
        from positronic.dataset import local_dataset

        self.library = local_dataset
        self.is_named = is_named(local_dataset)

    def at(self, stamp: int) -> Any:
        return self.library.Time(recorded=stamp) if self.is_named else stamp

    def stamp(self, at: Any) -> int:
        return int(at["recorded"] if self.is_named else at)

    def describe(self, root: Path, arrays: Path) -> dict[str, Any]:
        dataset = self.library.LocalDataset(root)
        answer: dict[str, Any] = {
            "episodes": [self.episode(dataset[i], arrays, f"{i}") for i in range(len(dataset))],
            "edited": None,
        }
        if hasattr(self.library, "load_dataset"):
            edited = self.library.load_dataset(root)
            answer["edited"] = {
                "episodes": [{"uid": episode.meta["uid"], "static": episode.static} for episode in edited],
                "dropped": sorted(edited.dropped),
            }
        return answer

    def episode(self, episode: Any, arrays: Path, prefix: str) -> dict[str, Any]:
        keys = episode.keys() if callable(episode.keys) else episode.keys
        meta = episode.meta
        return {
            "keys": sorted(keys),
            "static": episode.static,
            "uid": meta.get("uid"),
            "created_ts_ns": meta.get("created_ts_ns"),
            "writer": meta.get("writer", {}).get("name"),
            "duration_ns": None if self.is_named else getattr(episode, "duration_ns", None),
            "bounds": self.bounds(episode),
            "signals": {
                name: self.signal(signal, arrays / f"{prefix}.{name}") for name, signal in episode.signals.items()
            },
        }

    def bounds(self, episode: Any) -> list[int] | None:
        if not episode.signals:
            return None
        if self.is_named:
            return list(episode.bounds("recorded"))
        return [int(episode.start_ts), int(episode.last_ts)]

    def signal(self, signal: Any, target: Path) -> dict[str, Any]:
        """Read a signal in every way."""
        items = [signal[i] for i in range(len(signal))]
        stamps = [self.stamp(at) for _, at in items]
        array = np.array([as_numbers(value) for value, _ in items])
        np.save(target.with_name(target.name + ".npy"), array)
        if len(stamps) < 5:
            return {"length": len(signal), "stamps": stamps}
        middle, between = stamps[len(stamps) // 2], stamps[len(stamps) // 2] + 17
        window = signal.time[self.at(stamps[1]) : self.at(stamps[4])]
        stepped = signal.time[self.at(stamps[0]) : self.at(stamps[-1]) : self.at(3 * TICK)]
        chosen = signal.time[[self.at(stamps[2]), self.at(between)]]
        np.savez(
            target.with_name(target.name + ".time.npz"),
            between=as_numbers(signal.time[self.at(between)][0]),
            window=np.array([as_numbers(value) for value, _ in window]),
            stepped=np.array([as_numbers(value) for value, _ in stepped]),
            chosen=np.array([as_numbers(value) for value, _ in chosen]),
            slice=np.array([as_numbers(value) for value, _ in signal[1:9:3]]),
        )
        return {
            "length": len(signal),
            "stamps": stamps,
            "first_and_last": [self.stamp(signal[0][1]), self.stamp(signal[-1][1])],
            "at": [self.stamp(signal.time[self.at(t)][1]) for t in (middle, between)],
            "window": [self.stamp(at) for _, at in window],
            "stepped": [self.stamp(at) for _, at in stepped],
            "chosen": [self.stamp(at) for _, at in chosen],
            "before": self.asked_too_early(signal, stamps[0] - 1),
            "type": type(items[0][0]).__name__,
        }

    def asked_too_early(self, signal: Any, stamp: int) -> str:
        try:
            signal.time[self.at(stamp)]
        except KeyError:
            return "KeyError"
        return "no error"


def as_numbers(value: Any) -> Any:
    """Undo the boxes in which older readers give nested arrays."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        return np.array([as_numbers(item) for item in value])
    return value


def write(root: Path) -> None:
    """Record two episodes with their own writer, and edit the second where there are edits."""
    reader = Reader()
    writer = reader.library.LocalDatasetWriter(root)
    for offset in range(2):
        with writer.new_episode() as episode:
            for name, value in STATIC.items():
                episode.set_static(name, value)
            if reader.is_named:
                episode.set_static("nothing", None)
                episode.set_static("raw", b"\x00\xff")
            for name, data, stamp in recording(offset):
                episode.append(name, data, reader.at(stamp))
    if hasattr(reader.library, "load_dataset"):
        edited = reader.library.load_dataset(root)
        edited = edited.set_static(edited[1].meta["uid"], {"task": "place", "verdict": "good"})
        edited.drop(edited[0].meta["uid"])


def main() -> None:
    what, root, *rest = sys.argv[1:]
    if what == "write":
        write(Path(root))
        return
    answer = Path(rest[0])
    answer.parent.mkdir(parents=True, exist_ok=True)
    answer.write_text(json.dumps(Reader().describe(Path(root), answer.parent), default=repr))


if __name__ == "__main__":
    main()
