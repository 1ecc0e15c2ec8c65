"""What it costs that every sealed file says whose it is: opening and reading with and without comparing it, in turns.

Run: python -m benchmarks.identity [--rounds 61]

Both are done in this process, one after the other, and which is first changes from round to round. Without means that
no owner is looked up, read or compared. CPU time of the whole process counts, of the best round, since what disturbs
one only adds to it. The episode has the five signals and the camera of `benchmarks.episodes`. Syncs are those of a
whole episode with one signal, from its beginning to the return of `close`.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import playhead
from benchmarks import episodes
from benchmarks.measure import report
from benchmarks.scene import camera
from playhead import owner
from playhead.episode import DiskEpisode, DiskEpisodeWriter
from playhead.lanes.keyframes import whose
from playhead.table import Table
from playhead.table import opening as table_opening
from playhead.testing import operations_of
from playhead.trace import Trace

SECONDS, STEPS, STATES, ROWS = 10, 500, 2_000, 50_000
BAR, SYNCS = 2.0, 3
Work = Callable[[], object]


@contextlib.contextmanager
def unchecked() -> Iterator[None]:
    """Let nobody ask a sealed file whose it is."""
    with contextlib.ExitStack() as changed:
        for place, name in (
            (owner.Owner, "check"),
            (owner, "check"),
            (whose, "check"),
            (table_opening, "renamed"),
            (DiskEpisode, "_owner_of"),
        ):
            changed.enter_context(mock.patch.object(place, name, _nothing))
        yield


def _nothing(*_args: object, **_more: object) -> None:
    pass


def record(path: Path) -> playhead.Store:
    """Make a store with a sealed file of each kind."""
    store = playhead.open(path)
    with store.run("bench", "identity", run_id="r", environment=False) as run:
        with run.new_episode("bench", uid="e") as episode:
            episodes.record(episode, SECONDS, camera(30, 240, 320))
        with run.trace("fit", bucket=20) as trace:
            for number in range(STATES):
                trace.append({"w": np.arange(64.0) + number}, error=1 / (number + 1), input=np.float64(number))
        reel = run.new_reel(facts={"env_id": "bench"})
        reel.begin({})
        pictures = np.random.default_rng(0)
        for number in range(STEPS):
            frame = pictures.integers(0, 40, (84, 84, 3), dtype=np.uint8)
            reel.step({"frames": frame, "actions": number % 4}, 1.0, number == STEPS - 1, False)
        reel.end("terminated")
    rows = np.zeros(ROWS, [("value", "<f4", (8,)), ("run_id", "<u4"), ("step_index", "<u2")])
    rows["step_index"] = np.arange(ROWS) % 60_000
    store.tables.build("rows", rows)
    return store


def works(store: playhead.Store) -> dict[str, tuple[Work, Work]]:
    """Name what is opened, each through a new object, to read a little of it, and all."""
    episode = store.dataset("bench").by_uid("e").path
    trace = store.path / "traces" / "r" / "fit.trace"
    reels = store.path / "replay"
    table = store.tables.path("rows")

    def values(*signals: str) -> Any:
        found = DiskEpisode(episode)
        return [found[signal].values for signal in signals]

    def frame() -> Any:
        with playhead.FrameResolver(reels) as resolver:
            return resolver.resolve("h5://r/frames/7")

    def frames() -> Any:
        with playhead.FrameResolver(reels) as resolver:
            return resolver.resolve_batch([f"h5://r/frames/{row}" for row in range(STEPS)])

    def states(count: int | None) -> Any:
        with contextlib.closing(Trace.open(trace)) as found:
            return [found.seek(step) for step in found.keyframes[:count].tolist()]

    return {
        "episode, its vectors": (lambda: DiskEpisode(episode)["joints"][0], lambda: values(*episodes.SIGNALS)),
        "episode, its video": (lambda: DiskEpisode(episode)["camera"][0], lambda: values("camera")),
        "trace": (lambda: states(1), lambda: states(None)),
        "reel": (frame, frames),
        "table": (lambda: Table.open(table)[:10], lambda: Table.open(table)[:]),
    }


def turns(work: Work, rounds: int) -> tuple[float, float]:
    """Return the CPU times, in milliseconds, with and without; the best round counts, since what disturbs one adds."""
    with_it: list[float] = []
    without: list[float] = []
    work()
    repeats = max(1, int(10 / max(_cpu_ms(work, 3), 0.01)))
    for number in range(rounds):
        for is_checked in (True, False) if number % 2 else (False, True):
            if is_checked:
                with_it.append(_cpu_ms(work, repeats))
            else:
                with unchecked():
                    without.append(_cpu_ms(work, repeats))
    return min(with_it), min(without)


def _cpu_ms(work: Work, repeats: int) -> float:
    start = time.process_time_ns()
    for _ in range(repeats):
        work()
    return (time.process_time_ns() - start) / 1e6 / repeats


def syncs(folder: Path) -> int:
    """Count the calls that wait for the disk in the life of an episode with one signal."""

    def one() -> None:
        with DiskEpisodeWriter(folder / "synced") as episode:
            for number in range(50):
                episode.append("joints", float(number), number)

    return sum(operation == "fsync" for operation, *_ in operations_of(one))


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=61, help="how often each is done in turns")
    options = parser.parse_args()
    print("Identity of sealed files: what comparing it adds to opening and reading")
    with tempfile.TemporaryDirectory(dir=".") as scratch:
        with record(Path(scratch) / "store") as store:
            for what, (little, whole) in works(store).items():
                with_it, without = turns(whole, options.rounds)
                report(f"{what}: opened and read, {without:.2f} ms", (with_it / without - 1) * 100, "% more", BAR)
                with_it, without = turns(little, options.rounds)
                report(f"  opened for one sample, {without:.2f} ms", (with_it - without) * 1e3, "us more")
        report("syncs of an episode with one signal", syncs(Path(scratch)), "calls", SYNCS)


if __name__ == "__main__":
    main()
