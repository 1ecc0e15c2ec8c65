"""What the processes of the soak record: everything follows from the name of the run, so that anybody can check it."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

VALUES, STEPS, SAMPLES, FRAMES, STATES, ROWS = 120, 24, 30, 8, 40, 200
STEP_NS = 10_000_000
DATASET, TRACE = "teleop", "fit"
ROW = np.dtype([("value", "<f4"), ("run_id", "<u4"), ("step_index", "<u2")])


class Ledger:
    """What was acknowledged, a line each, outside of the store; each process appends to a file of its own."""

    def __init__(self, folder: Path, name: str) -> None:
        self._file = os.open(folder / f"{name}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)

    def add(self, kind: str, *facts: Any) -> None:
        """Note something that a call has acknowledged by returning."""
        os.write(self._file, json.dumps([kind, *facts]).encode() + b"\n")


def lines_of(folder: Path) -> Iterator[list[Any]]:
    """Yield what is noted in all ledgers; a line that is being written is not there yet."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_bytes().split(b"\n")[:-1]:
            yield json.loads(line)


def seed_of(name: str) -> int:
    return zlib.crc32(name.encode()) % 100_000


def values(name: str, count: int) -> list[float]:
    return [float(seed_of(name) + place) for place in range(count)]


def text(name: str, number: int) -> str:
    return f"{name} says {seed_of(name) * 7 + number}"


def picture(name: str) -> np.ndarray:
    return np.random.default_rng(seed_of(name)).integers(0, 256, (8, 8, 3), dtype=np.uint8)


def frame(name: str, number: int) -> np.ndarray:
    """One of a camera: grey, so that it survives the loss of an encoder."""
    return np.full((32, 32, 3), (seed_of(name) * 13 + number * 29) % 256, np.uint8)


def observation(name: str, row: int) -> np.ndarray:
    return np.full(3, seed_of(name) + row, np.float32)


def screen(name: str, row: int) -> np.ndarray:
    return np.random.default_rng(seed_of(name) + row).integers(0, 32, (6, 6, 3), dtype=np.uint8)


def state(name: str, step: int) -> np.ndarray:
    return np.arange(4.0) + seed_of(name) + step


def weights(name: str) -> bytes:
    return bytes([seed_of(name) % 256]) * 2_000 + name.encode()


def rows(name: str) -> np.ndarray:
    found = np.zeros(ROWS, ROW)
    found["value"], found["step_index"] = np.arange(ROWS) + seed_of(name), np.arange(ROWS)
    return found
