"""How fast a table feeds a GPU: loading, batches on the device and through pinned memory, what a training step pays.

    python -m benchmarks.tables_gpu [--rows 1000000000] [--folder FOLDER] [--device cuda]

Needs NumPy and PyTorch. Where the other things that Playhead depends on are missing, it goes without the database's
checksums, and says so: PYTHONPATH=src:. python -m benchmarks.tables_gpu
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch

ROW = np.dtype(
    [
        ("board", "<u8"),
        ("move", "u1"),
        ("ev_legal", "u1"),
        ("ev_values", "<f4", (4,)),
        ("run_id", "<u4"),
        ("step_index", "<u2"),
    ]
)
BATCH, GAME_ROWS, PIECE = 4096, 1000, 1_000_000
MISSING = [name for name in ("sqlalchemy", "xxhash", "orjson", "rich") if importlib.util.find_spec(name) is None]


class _Stand(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands in for modules that this program does not use, and that are imported nevertheless."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002
        if name.partition(".")[0] in MISSING:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> Any:
        module = mock.MagicMock(name=spec.name)
        module.__path__ = []
        module.__spec__ = spec
        return module

    def exec_module(self, module: Any) -> None:
        """Do nothing."""


if MISSING:
    sys.meta_path.append(_Stand())

from benchmarks.measure import median_of  # noqa: E402
from playhead.catalog.tables.runs import RunRows  # noqa: E402
from playhead.order import Order  # noqa: E402
from playhead.table import Table  # noqa: E402


def _spans(runs: RunRows, where: str | None = None, *, before: int | None = None) -> np.ndarray:  # noqa: ARG001
    """Read where runs lie, with nothing but SQLite."""
    database = sqlite3.connect(runs.file.path)
    found = database.execute("SELECT id, first_step_idx, num_steps FROM runs ORDER BY id").fetchall()
    database.close()
    return np.array(found, np.int64).reshape(-1, 3)


if "sqlalchemy" in MISSING:
    RunRows.spans = _spans  # type: ignore[method-assign]


def report(what: str, found: float, unit: str, bar: float | None = None) -> None:
    verdict = "" if bar is None else f"   at most {bar:g}: {'ok' if found <= bar else 'MISSED'}"
    print(f"  {what:<62}{found:>10.2f} {unit:<8}{verdict}", flush=True)


def pieces(rows: int) -> Iterator[np.ndarray]:
    """Give the rows; each says in `board` which it is."""
    rng = np.random.default_rng(0)
    piece = np.zeros(min(PIECE, rows), ROW)
    piece["move"], piece["ev_legal"] = rng.integers(0, 4, len(piece)), rng.integers(1, 16, len(piece))
    piece["ev_values"] = rng.random((len(piece), 4))
    for first in range(0, rows, PIECE):
        count = min(PIECE, rows - first)
        piece["board"][:count] = np.arange(first, first + count)
        piece["run_id"][:count] = np.arange(first, first + count) // GAME_ROWS
        piece["step_index"][:count] = np.arange(first, first + count) % GAME_ROWS
        yield piece[:count]


def make(path: Path, rows: int) -> None:
    games = [
        (number, number * GAME_ROWS, min(GAME_ROWS, rows - number * GAME_ROWS))
        for number in range(-(-rows // GAME_ROWS))
    ]
    if not MISSING:
        from playhead.catalog.tables import GAME
        from playhead.layout import TableFolder
        from playhead.table.writing import TableWriter

        known = {"max_score": 0, "highest_tile": 2, "engine": "", "start_time": 0, "elapsed_s": 0.0}
        with TableWriter(TableFolder(path), ROW, GAME) as writer:
            for first, piece in enumerate(pieces(rows)):
                mine = games[first * PIECE // GAME_ROWS : (first + 1) * PIECE // GAME_ROWS]
                writer.add(piece, [known | {"num_steps": steps} for _, _, steps in mine])
        return
    with (path / "steps.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": ROW.descr, "fortran_order": False, "shape": (rows,)})
        for piece in pieces(rows):
            file.write(memoryview(piece.view(np.uint8)))
    database = sqlite3.connect(path / "metadata.db")
    database.execute("CREATE TABLE runs (id INTEGER PRIMARY KEY, first_step_idx INTEGER, num_steps INTEGER)")
    database.executemany("INSERT INTO runs VALUES (?, ?, ?)", games)
    database.commit()
    database.close()


def median_us(work: Callable[[], object], repeats: int = 300) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter_ns()
        work()
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times) / 1e3


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def endless(loader: Any) -> Iterator[dict[str, torch.Tensor]]:
    while True:
        yield from loader


def per_batch_us(batches: Iterator[Any], device: torch.device, count: int) -> float:
    """Give the time of a batch, when nothing else is done, until the device has finished the last."""
    for _ in range(50):
        next(batches)
    found = []
    for _ in range(5):
        wait(device)
        start = time.perf_counter_ns()
        for _ in range(count):
            next(batches)
        wait(device)
        found.append((time.perf_counter_ns() - start) / count / 1e3)
    return statistics.median(found)


class Training:
    """A small MLP that learns which move was made from the board."""

    def __init__(self, device: torch.device) -> None:
        sizes = (256, 512, 512, 4)
        layers = [m for a, b in itertools.pairwise(sizes) for m in (torch.nn.Linear(a, b), torch.nn.ReLU())]
        self.model = torch.nn.Sequential(*layers[:-1]).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), fused=device.type == "cuda")
        self.shifts = torch.arange(60, -1, -4, device=device)
        self.tiles = torch.arange(16, device=device)

    def step(self, batch: dict[str, torch.Tensor]) -> None:
        cells = (batch["board"][:, None] >> self.shifts) & 15
        given = (cells[:, :, None] == self.tiles).flatten(1).float()
        loss = torch.nn.functional.cross_entropy(self.model(given), batch["move"].long())
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()


def step_us(training: Training, batches: Iterator[Any], device: torch.device, count: int) -> float:
    wait(device)
    start = time.perf_counter_ns()
    for _ in range(count):
        training.step(next(batches))
    wait(device)
    return (time.perf_counter_ns() - start) / count / 1e3


def held(batch: dict[str, torch.Tensor]) -> Iterator[dict[str, torch.Tensor]]:
    while True:
        yield batch


def measure(path: Path, rows: int, device: torch.device, count: int) -> None:
    for attempt in ("first", "again, from a warm cache"):
        start = time.perf_counter()
        table = Table.open(path)
        took = time.perf_counter() - start
        report(f"load {len(table):,} rows, {attempt}", took, "s", 10 if attempt != "first" and rows == 10**9 else None)
        report("   that is", rows * ROW.itemsize / took / 1e9, "GB/s")
    rng = np.random.default_rng(1)
    out = np.empty(BATCH, ROW)
    drawn = [rng.integers(0, rows, BATCH) for _ in range(300)]
    report("4,096 rows in host memory, get_batch", median_us(lambda: table.get_batch(drawn.pop(), out)), "us")
    order = Order(10**9, 1)
    report(
        "order, an index, blocks of 4,096 of 10^9", median_us(lambda: order[np.arange(BATCH)]) * 1e3 / BATCH, "ns", 30
    )

    ways = {}
    for name, resident in (("on the device", True), ("through pinned memory", False)):
        start = time.perf_counter()
        loader = table.loader(BATCH, seed=1, device=device, resident=resident, drop_last=True)
        wait(device)
        if resident:
            report("bring the table to the device", time.perf_counter() - start, "s")
        expected = Order(rows, 1, 0)[np.arange(BATCH)]
        batch = next(iter(loader))
        assert (batch["board"].cpu().numpy() == expected).all(), "wrong rows"
        assert (batch["step_index"].cpu().numpy() == expected % GAME_ROWS).all(), "wrong column"
        ways[name] = loader = table.loader(BATCH, seed=1, device=device, resident=False) if not resident else loader
        report(f"4,096 rows {name}", per_batch_us(endless(loader), device, count), "us", 15 if resident else None)

    training = Training(device)
    batch = {name: values.clone() for name, values in next(iter(ways["on the device"])).items()}
    sources = {"already there": held(batch), "that are there, again": held(batch)}
    sources |= {name: endless(loader) for name, loader in ways.items()}
    for source in sources.values():
        step_us(training, source, device, max(5, count // 10))
    found: dict[str, list[float]] = {name: [] for name in sources}
    for turn in range(120):  # by turns, forwards and back, so that what slows the machine slows all
        for name in list(sources)[:: -1 if turn % 2 else 1]:
            found[name].append(step_us(training, sources[name], device, max(5, count // 20)))
    report("a training step of a small MLP on a batch that is there", statistics.median(found["already there"]), "us")
    for name in list(sources)[1:]:
        more = [(one / other - 1) * 100 for one, other in zip(found[name], found["already there"], strict=True)]
        added, low, high = median_of(more)
        report(f"   what batches {name} add", added, "%", 5 if name in ways else None)
        print(f"     between {low:.1f} and {high:.1f} %, {len(more)} turns")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000_000)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--batches", type=int, default=2000)
    options = parser.parse_args()
    device = torch.device(options.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    print(f"Tables on {name}, PyTorch {torch.__version__}, NumPy {np.__version__}")
    if MISSING:
        print(f"  without {', '.join(MISSING)}: the table has no checksums, and none are checked")
    if options.folder:
        options.folder.mkdir(parents=True, exist_ok=True)
    path = Path(tempfile.mkdtemp(prefix="tables-gpu-", dir=options.folder))
    try:
        start = time.perf_counter()
        make(path, options.rows)
        report(f"make {options.rows:,} rows", time.perf_counter() - start, "s")
        measure(path, options.rows, device, options.batches)
    finally:
        shutil.rmtree(path)


if __name__ == "__main__":
    main()
