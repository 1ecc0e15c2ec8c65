"""Training tables: random batches, loading, the order, and adding rows, on a table of 200 million steps of 2048.

Run: python -m benchmarks.tables [--rows 200000000] [--part batches|loading|order|append|build] [--folder PATH]

It needs the table's 6.4 GB on disk, and 2.5 times that in memory; where there is less, the table is made smaller, and
it says so. Ways that are compared run in one process, in turns, each batch of rows that were not asked for before.
Beside other programs: python -m benchmarks.peers.tables
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.measure import report
from benchmarks.replay_measure import at_least
from benchmarks.tables_data import STEP, Spent, Take, add_rows, in_huge_pages, in_turns, loop_in_c, some_steps, spent
from playhead.catalog.tables import TableIndex
from playhead.lanes.rows import loading, memory, npy
from playhead.lanes.rows.spans import Spans
from playhead.layout import TableFolder
from playhead.order import Order
from playhead.table import Table, games

ROWS, BATCH, ROUNDS, SLOW_ROUNDS = 200_000_000, 4_096, 600, 60
PLAIN = "rows[indices] of np.load"
LOADS, APPENDS = 3, 10
GAMES, GAME_STEPS = 400, 20_000
BILLION = 1_000_000_000


def batches(folder: Path, scratch: Path) -> None:
    """Take random rows, against what NumPy does by itself and what C can do."""
    in_memory(folder, scratch, shared=False)
    gc.collect()
    in_memory(folder, scratch, shared=True)


def in_memory(folder: Path, scratch: Path, *, shared: bool) -> None:
    where = "shared memory" if shared else "memory of the process"
    table = Table.open(folder, shared=shared, progress=False)
    good = table.filter("max_score >= 25000")
    rows, out = table.array, np.empty(BATCH, STEP)
    plain = rows if shared else np.load(TableFolder(folder).steps)
    huge = in_huge_pages(rows)
    print(f"\n{BATCH:,} random rows of {len(table):,} in {where}, {huge:.0%} of it in huge pages; medians", flush=True)
    assert table.get_batch(np.arange(9)[::-1]).tobytes() == rows[:9][::-1].tobytes()
    ways: dict[str, Take] = {
        "get_batch into an array": lambda places: table.get_batch(places, out),
        "get_batch into a new one": table.get_batch,
        "get_batch of half the runs": lambda places: good.get_batch(places % len(good), out),
        "rows.take, and nothing else": lambda places: rows.take(places, out=out, mode="clip"),
        "rows[indices] of the same memory": lambda places: rows[places],
    }
    if not shared:
        ways[PLAIN] = lambda places: plain[places]
    loop = loop_in_c(scratch, rows, out)
    if loop is not None:
        ways["a loop in C with prefetch"] = loop
    rounds = {name: SLOW_ROUNDS if "rows[" in name else ROUNDS for name in ways}
    found = in_turns(ways, len(table), BATCH, rounds)
    bar = 250.0 if shared else 120.0
    for name, cost in found.items():
        report(name, cost.wall, "µs", bar if name == "get_batch into an array" else None)
        report("  CPU", cost.cpu, "µs")
    ours = found["get_batch into an array"].wall
    report("faster than rows[indices] of the same memory", found["rows[indices] of the same memory"].wall / ours, "×")
    if not shared:
        at_least(f"faster than {PLAIN}", found[PLAIN].wall / ours, "×", 10)
        huge, behind = in_huge_pages(plain), plain.ctypes.data % 64
        print(f"  np.load has {huge:.0%} of it in huge pages, and begins {behind} bytes behind a cache line")
    if loop is None:
        print("  a loop in C: left out, there is no compiler")
    else:
        report("against the loop in C", ours / found["a loop in C with prefetch"].wall, "×", 2)


def load(folder: Path) -> None:
    """Load the table, against `np.load`, with the file in the cache."""
    path = TableFolder(folder).steps
    header, sums = npy.read(path), TableIndex(TableFolder(folder).database).blocks(1)[0]
    size = header.rows * header.dtype.itemsize

    def bare(*, checked: bool) -> memoryview:
        into = memoryview(memory.private(size))[:size]
        loading.load(path, header, into, sums if checked else None)
        return into

    ways: dict[str, Callable[[], object]] = {
        "np.load": lambda: np.load(path),
        "only loading, not checked": lambda: bare(checked=False),
        "only loading, checked": lambda: bare(checked=True),
        "Table.open": lambda: Table.open(folder, progress=False),
        "Table.open, shared": lambda: Table.open(folder, shared=True, progress=False),
    }
    print(f"\nLoading {size / 1e9:.2f} GB from the cache of the system, {LOADS} times in turns; medians", flush=True)
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 24):
            pass
    found: dict[str, list[Spent]] = {name: [] for name in ways}
    for turn in range(LOADS):
        for name in list(ways)[turn % len(ways) :] + list(ways)[: turn % len(ways)]:  # none is always the first
            found[name].append(spent(ways[name]))
            gc.collect()
    wall = {name: statistics.median(one.wall for one in of) for name, of in found.items()}
    for name, of in found.items():
        report(name, size / wall[name] / 1e9, "GB/s")
        report("  the best", size / min(one.wall for one in of) / 1e9, "GB/s")
        report("  CPU, s a GB", statistics.median(one.cpu for one in of) / size * 1e9, "s")
        report("  memory, of the table's size", max(one.memory for one in of) / size, "×", 1.05)
    at_least("Table.open, times np.load", wall["np.load"] / wall["Table.open"], "×", 1.5)
    best = {name: min(one.wall for one in of) for name, of in found.items()}
    at_least("  the best of each", best["np.load"] / best["Table.open"], "×", 1.5)


def order() -> None:
    """Shuffle a billion, and half of the runs of a billion rows."""
    print(f"\nA random order of {BILLION:,}, a block at a time; medians")
    starts = np.arange(0, BILLION, 2_000, dtype=np.int64)
    spans = Spans(starts, starts + 1_000)
    whole, half = Order(BILLION, 1, 2), Order(len(spans), 1, 2)
    for block in (BATCH, 1 << 16, 1 << 20):
        plain, through = [], []
        for turn in range(max(9, (1 << 22) // block)):
            first = turn * 7_919 % (BILLION // 4)
            start = time.perf_counter_ns()
            whole[np.arange(first, first + block)]
            middle = time.perf_counter_ns()
            spans.rows(half[np.arange(first, first + block)])
            plain.append(middle - start)
            through.append(time.perf_counter_ns() - middle)
        report(f"an index, {block:,} at a time", statistics.median(plain) / block, "ns", 30)
        report(f"  through a filter of {spans.count:,} ranges", statistics.median(through) / block, "ns", 150)
    peaks = {}
    for n in (2_000_000, BILLION):
        tracemalloc.start()
        Order(n, 3)[np.arange(1 << 16)]
        peaks[n] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    report(f"memory for 65,536 of {BILLION:,}", peaks[BILLION] / 1e6, "MB")
    report("  against 65,536 of 2 million", peaks[BILLION] / peaks[2_000_000], "×", 1.1)


def resume(folder: Path) -> None:
    """Go on in the middle of an epoch."""
    table, times = Table.open(folder, progress=False), []
    before = table.loader(BATCH, seed=1)
    stream = iter(before)
    for _ in range(5):
        next(stream)
    said = before.state_dict()
    expected = next(stream)
    for _ in range(9):
        start = time.perf_counter()
        again = table.loader(BATCH, seed=1)
        again.load_state_dict(said)
        batch = next(iter(again))
        times.append(time.perf_counter() - start)
        assert all(np.array_equal(np.asarray(batch[name]), np.asarray(expected[name])) for name in expected)
    print("\nGoing on with the order")
    report("a loader, its state, and the first batch", statistics.median(times) * 1e3, "ms", 10)


def append(folder: Path, rows: int, built: Spent) -> None:
    """Add one row for each hundred; the mean of many, since making the table was a sum of as many writes."""
    steps = some_steps(seed=1)
    found = [spent(lambda: add_rows(folder, rows // 100, steps)) for _ in range(APPENDS)]
    print(f"\nA table of {rows:,} rows made, and 1 % added {APPENDS} times; means")
    report("made", built.wall, "s")
    report("  CPU", built.cpu, "s")
    report("  CPU, a row", built.cpu / rows * 1e9, "ns")
    wall, cpu, user = (statistics.fmean(getattr(one, what) for one in found) for what in ("wall", "cpu", "user"))
    report("1 % added", wall, "s")
    report("  of the time of making it", wall / built.wall * 100, "%")
    report("  of the CPU of making it", cpu / built.cpu * 100, "%", 1)
    report("  what it costs more than 1 % of that", (cpu - built.cpu / 100) * 1e3, "ms")
    report("  of the CPU without the kernel", user / built.user * 100, "%")
    report("    what it costs more than 1 % of that", (user - built.user / 100) * 1e3, "ms")


def build(scratch: Path) -> None:
    """Make a table of run files, with one process, and add one file for each hundred."""
    source = scratch / "games"
    (source / "more").mkdir(parents=True)
    rows = some_steps(GAME_STEPS)
    rows["move"] %= 4
    rows["ev_legal"] = np.uint8(1) << rows["move"] | rows["ev_legal"] % 16
    first = source / "0000.a2run2"
    games.write_a2run2(first, rows, 0, max_score=20_000, highest_tile=2048, engine="x")
    for number in range(1, GAMES):
        shutil.copy(first, source / f"{number:04}.a2run2")
    files, steps = sorted(source.glob("*.a2run2")), GAMES * GAME_STEPS
    Table.build(files[:1], scratch / "first", workers=1, mmap=True, progress=False)  # what is compiled is compiled now
    decode(files[:1])
    decoded, built, added = [], [], []
    for number in range(3):
        decoded.append(spent(lambda: decode(files)))
        out = scratch / f"built-{number}"
        built.append(spent(lambda out=out: Table.build(files, out, workers=1, mmap=True, progress=False)))
        table = Table.open(out, mmap=True)
        some = files[: GAMES // 100]
        added.append(spent(lambda table=table, some=some: table.append(some, workers=1, mmap=True, progress=False)))
    print(f"\nA table of {GAMES} files .a2run2 of {GAME_STEPS:,} steps each, with one process; medians")
    report(
        "only decoded, million steps a second of CPU", steps / statistics.median(one.cpu for one in decoded) / 1e6, ""
    )
    cpu, wall = (statistics.median(getattr(one, what) for one in built) for what in ("cpu", "wall"))
    at_least("Table.build, million steps a second of CPU", steps / cpu / 1e6, "", 8)
    report("  of time", steps / wall / 1e6, "")
    report("1 % appended, of the CPU of the build", statistics.median(one.cpu for one in added) / cpu * 100, "%")


def decode(files: list[Path]) -> None:
    for path in files:
        for _ in games.read(path, dtype=games.STEP):
            pass


def fitting(rows: int, folder: Path) -> int:
    """Give how many rows this machine can be measured with."""
    disk = os.statvfs(folder)
    most = min(memory.available() / 2.5, disk.f_bavail * disk.f_frsize / 1.5) / STEP.itemsize
    if rows > most:
        print(f"  {rows:,} rows are too many for this machine: fewer are measured, and the bars are those of more")
    return int(min(rows, most)) // 1_000_000 * 1_000_000 or min(rows, 1_000_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--part", choices=("batches", "loading", "order", "append", "build"), default=None)
    parser.add_argument("--folder", type=Path, default=None, help="where to write; else the system's temporary folder")
    options = parser.parse_args()
    part = options.part
    load_average = os.getloadavg()[0]
    print(f"Training tables; {memory.available() / 1e9:.1f} GB of memory free, load {load_average:.1f}")
    if part in (None, "order"):
        order()
    with tempfile.TemporaryDirectory(prefix="bench-tables-", dir=options.folder) as name:
        folder, scratch = Path(name) / "table", Path(name)
        if part != "build":
            rows = fitting(options.rows, scratch)
            steps = some_steps()
            built = spent(lambda: add_rows(folder, rows, steps))
            if part in (None, "append"):
                append(folder, rows, built)
            if part in (None, "order"):
                resume(folder)
            if part in (None, "batches"):
                batches(folder, scratch)
            if part in (None, "loading"):
                load(folder)
        if part in (None, "build"):
            build(scratch)


if __name__ == "__main__":
    main()
