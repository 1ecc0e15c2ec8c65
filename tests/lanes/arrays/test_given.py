"""Steps that are handed over in batches: none is lost, doubled or out of order, whoever records them."""

from __future__ import annotations

import errno
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead import testing
from playhead.errors import Closed, WrongShape
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.writer import ReelWriter
from playhead.layout import ReelFiles, ReplayFolder
from playhead.tape import Crew
from tests.interrupting import STRIDE, At


def files_in(folder: Path) -> ReelFiles:
    return ReplayFolder(folder).reel("run")


def step(row: int) -> dict[str, Any]:
    return {"observations": np.full(3, row, np.float32), "actions": row % 7}


def give(reel: ReelWriter, row: int, ts_ns: int | None = None) -> None:
    reel.give(step(row), float(row), False, False, b"", 1000 + row if ts_ns is None else ts_ns)


def assert_rows(reel: Reel, count: int) -> None:
    assert reel.length == count
    assert reel.rows(0, count)["reward"].tolist() == list(range(count))
    assert reel.read("observations", 0, count)[:, 0].tolist() == list(range(count))
    assert reel.read("actions", 0, count).tolist() == [row % 7 for row in range(count)]


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 40, 1000])
def test_all_that_was_given_is_there_after_a_flush(tmp_path: Path, count: int) -> None:
    reel = ReelWriter(files_in(tmp_path), ReplayConfig())
    reel.begin(ts_ns=1)
    for row in range(count):
        assert reel.row == row
        give(reel, row)
    reel.flush()
    found = Reel(files_in(tmp_path))
    assert_rows(found, count)
    found.close()
    reel.close()
    found = Reel(files_in(tmp_path))
    assert_rows(found, count)
    found.close()


def test_what_was_given_reaches_the_journal_without_another_call(tmp_path: Path) -> None:
    reel = ReelWriter(files_in(tmp_path), ReplayConfig(interval=0.1))
    reel.begin(ts_ns=1)
    for row in range(5):
        give(reel, row)
    found = Reel(files_in(tmp_path))
    until = time.monotonic() + 20
    while found.length < 5 and time.monotonic() < until:
        time.sleep(0.02)
        found.refresh()
    assert_rows(found, 5)
    found.close()
    reel.close()


def test_given_and_recorded_steps_keep_their_order(tmp_path: Path) -> None:
    reel = ReelWriter(files_in(tmp_path), ReplayConfig())
    for row in range(60):
        if row % 20 == 0:
            reel.begin(ts_ns=1000 + row)
        if row % 3:
            give(reel, row)
        else:
            assert reel.step(step(row), float(row), False, False, ts_ns=1000 + row) == row
        if row % 20 == 19:
            reel.end("truncated", {"observations": step(row)["observations"]})
    reel.close()
    found = Reel(files_in(tmp_path))
    assert_rows(found, 60)
    assert [(span.start, span.length) for span in found.spans] == [(0, 20), (20, 20), (40, 20)]
    assert found.rows(0, 60)["step"].tolist() == list(range(20)) * 3
    found.close()


def test_a_clock_that_was_set_back_moves_no_step(tmp_path: Path) -> None:
    reel = ReelWriter(files_in(tmp_path), ReplayConfig())
    reel.begin(ts_ns=10)
    for row in range(20):
        give(reel, row, 5 if row == 9 else 100 + row)
    reel.close()
    found = Reel(files_in(tmp_path))
    assert_rows(found, 20)
    stamps = found.rows(0, 20)["ts_ns"]
    assert (np.diff(stamps) > 0).all()
    found.close()


def test_threads_that_give_and_flush_lose_nothing(tmp_path: Path) -> None:
    reel = ReelWriter(files_in(tmp_path), ReplayConfig(interval=0.01))
    reel.begin(ts_ns=1)
    done = threading.Event()

    def flush() -> None:
        while not done.is_set():
            reel.flush()

    threads = [threading.Thread(target=flush) for _ in range(2)]
    for thread in threads:
        thread.start()
    for row in range(5000):
        give(reel, row)
    done.set()
    for thread in threads:
        thread.join()
    reel.close()
    found = Reel(files_in(tmp_path))
    assert_rows(found, 5000)
    found.close()


def test_nothing_can_be_given_after_the_end(tmp_path: Path) -> None:
    reel = ReelWriter(files_in(tmp_path), ReplayConfig())
    reel.begin(ts_ns=1)
    give(reel, 0)
    reel.close()
    with pytest.raises(Closed):
        give(reel, 1)


def test_an_interrupt_neither_loses_nor_doubles_a_step(tmp_path: Path) -> None:
    """Walk through `give`, interrupting it at each place in turn."""
    for place in range(0, 2000, STRIDE):
        folder = tmp_path / str(place)
        folder.mkdir()
        reel = ReelWriter(files_in(folder), ReplayConfig(interval=60))
        reel.begin(ts_ns=1)
        for row in range(16):
            give(reel, row)
        was_interrupted = False
        try:
            with At(place, "lanes/arrays/recorder.py"):
                give(reel, 16)
        except KeyboardInterrupt:
            was_interrupted = True
        rows = reel.row
        assert rows in (16, 17)
        for row in range(rows, 40):
            give(reel, row)
        reel.close()
        found = Reel(files_in(folder))
        assert_rows(found, 40)
        found.close()
        if not was_interrupted:
            break
    else:
        pytest.fail("the walk did not come to its end")
    assert place > 100


@pytest.mark.parametrize("background", [True, False])
def test_frames_that_the_kernel_gathers_come_back(tmp_path: Path, background: bool) -> None:
    rng = np.random.default_rng(1)
    frames = rng.integers(0, 256, (700, 100, 100), np.uint8)
    reel = ReelWriter(files_in(tmp_path), ReplayConfig(chunk=16, background=background))
    reel.begin(ts_ns=1)
    for row, frame in enumerate(frames):
        arrays = {"frames": frame.copy(), "observations": frame[:, :50]} if row % 7 else {}  # one is not contiguous
        reel.give(arrays, float(row), False, False, b"", 1000 + row)
        if rng.random() < 0.01:
            reel.flush()
    reel.close()
    found = Reel(files_in(tmp_path))
    for name, expected in (("frames", frames), ("observations", frames[:, :, :50])):
        stored = found.read(name, 0, 700)
        there = np.arange(700) % 7 > 0
        assert (stored[there] == expected[there]).all()
        assert not stored[~there].any()
    found.close()


@pytest.mark.parametrize("given", [True, False])
def test_without_a_background_the_caller_writes_full_chunks_himself(tmp_path: Path, given: bool) -> None:
    reel = ReelWriter(files_in(tmp_path), ReplayConfig(chunk=16, interval=1000, background=False))
    reel.begin(ts_ns=1)
    sizes = set()
    for row in range(600):
        if given:
            give(reel, row)
        else:
            reel.step(step(row), float(row), False, False, ts_ns=1000 + row)
        sizes.add(sum(path.stat().st_size for path in files_in(tmp_path).journal.glob("*.seg")))
    assert len(sizes) > 2
    reel.close()
    found = Reel(files_in(tmp_path))
    assert_rows(found, 600)
    found.close()


def test_without_a_background_a_full_disk_is_told_by_the_next_call(tmp_path: Path) -> None:
    reel = ReelWriter(files_in(tmp_path), ReplayConfig(chunk=16, interval=1000, background=False))
    reel.begin(ts_ns=1)
    row = 0
    with testing.failing_at(0, errno.ENOSPC, lasting=True), pytest.raises(OSError, match="No space"):
        for row in range(1000):
            reel.step(step(row), float(row), False, False, ts_ns=1000 + row)
    assert row > 0
    for later in range(row, 300):
        reel.step(step(later), float(later), False, False, ts_ns=1000 + later)
    reel.close()
    found = Reel(files_in(tmp_path))
    assert_rows(found, 300)
    found.close()


@pytest.mark.parametrize("background", [True, False])
def test_what_a_full_disk_leaves_waiting_is_bounded(tmp_path: Path, background: bool) -> None:
    queue = 4 << 20
    reel = ReelWriter(files_in(tmp_path), ReplayConfig(chunk=4, interval=1000, queue=queue, background=background))
    reel.begin(ts_ns=1)
    frame = np.zeros((100, 100), np.uint8)
    told = 0
    with testing.failing_at(0, errno.ENOSPC, lasting=True):
        for row in range(1500):  # four times the queue
            try:
                reel.step({"frames": frame + reel.row % 256}, float(row), False, False, ts_ns=1000 + row)
            except OSError:  # an error of before, and nothing is recorded, or it is recorded and there is no room
                told += 1
                if reel.row - reel._staged >= reel._most:
                    break
    assert told
    laid = sum(rows.rows.nbytes for stage in reel._declared for rows in stage.pending())
    assert laid <= queue
    assert reel.row * frame.nbytes <= 3 * queue
    count = reel.row
    reel.close()
    found = Reel(files_in(tmp_path))
    assert (found.read("frames", 0, count)[:, 0, 0] == np.arange(count) % 256).all()
    found.close()


# -- what a review found ----------------------------------------------------------------------------------------------


def test_an_old_error_of_the_background_does_not_keep_a_recording_from_its_end(tmp_path: Path) -> None:
    reel = ReelWriter(files_in(tmp_path), ReplayConfig(interval=60))
    reel.begin(ts_ns=1)
    for row in range(45):
        give(reel, row)
    reel.writer.error = OSError(28, "full for a moment")
    reel.close()
    found = Reel(files_in(tmp_path))
    assert_rows(found, 45)
    assert not files_in(tmp_path).journal.exists()
    found.close()


def test_an_error_is_told_once_and_the_step_is_kept(tmp_path: Path) -> None:
    reel = ReelWriter(files_in(tmp_path), ReplayConfig(interval=60))
    reel.begin(ts_ns=1)
    for row in range(5):
        give(reel, row)
    reel.writer.error = OSError(28, "full for a moment")
    with pytest.raises(OSError, match="full for a moment"):
        give(reel, 5)
    for row in range(6, 20):
        give(reel, row)
    reel.close()
    found = Reel(files_in(tmp_path))
    assert_rows(found, 20)
    found.close()


def test_a_step_that_is_not_sound_is_refused_once(tmp_path: Path) -> None:
    reel = ReelWriter(files_in(tmp_path), ReplayConfig(interval=60))
    reel.begin(ts_ns=1)
    for row in range(5):
        give(reel, row)
    reel.give({"observations": np.zeros(4, np.float32), "actions": 1}, 0.0, False, False, b"", 2000)
    with pytest.raises(WrongShape):
        reel.flush()
    for row in range(5, 9):
        give(reel, row, 3000 + row)
    reel.close()
    found = Reel(files_in(tmp_path))
    assert_rows(found, 9)
    found.close()


def test_a_step_can_be_given_before_an_episode_was_begun(tmp_path: Path) -> None:
    reel = ReelWriter(files_in(tmp_path), ReplayConfig(interval=60))
    for row in range(3):
        give(reel, row)
    reel.end("truncated")
    for row in range(3, 30):
        give(reel, row)
    reel.close()
    found = Reel(files_in(tmp_path))
    assert_rows(found, 30)
    assert [(span.start, span.length) for span in found.spans] == [(0, 3), (3, 27)]
    found.close()


@pytest.mark.parametrize("size", [4, 1 << 20])
def test_what_waits_is_bounded_whatever_its_size(tmp_path: Path, size: int) -> None:
    reel = ReelWriter(files_in(tmp_path), ReplayConfig(interval=60, queue=8 << 20))
    reel.begin(ts_ns=1)
    value = np.zeros(size, np.uint8)
    reel.give({"observations": value}, 0.0, False, False, b"", 10)
    assert reel._most_given * size <= 8 << 20
    assert reel._most * (size + 600) <= (8 << 20) + 4 * size
    reel.give({"observations": value}, 0.0, False, False, b'"' + b"x" * 60_000 + b'"', 11)
    assert reel._most * (size + 60_000) <= (8 << 20) + 4 * (size + 60_000)
    reel.close()


def test_an_array_that_its_object_still_holds_is_copied(tmp_path: Path) -> None:
    class Held:
        def __init__(self) -> None:
            self.array = np.zeros(3, np.float32)

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return self.array

    held = Held()
    reel = ReelWriter(files_in(tmp_path), ReplayConfig(interval=60))
    for row in range(3):
        held.array[:] = row
        reel.step({"observations": held}, 0.0, False, False)
    reel.close()
    found = Reel(files_in(tmp_path))
    assert found.read("observations", 0, 3)[:, 0].tolist() == [0, 1, 2]
    found.close()


def test_one_reel_that_fails_does_not_starve_those_beside_it(tmp_path: Path) -> None:
    crew = Crew(0.05)
    folder = ReplayFolder(tmp_path)
    reels = [ReelWriter(folder.reel(f"run.{k}"), ReplayConfig(interval=0.1), crew=crew) for k in (1, 2, 3)]

    def fail() -> None:
        raise OSError(5, "only this one")

    reels[1]._round = fail  # type: ignore[method-assign]
    for reel in reels:
        reel.begin(ts_ns=1)
        give(reel, 0)
    found = [Reel(reel.files) for reel in (reels[0], reels[2])]
    until = time.monotonic() + 20
    while min(one.length for one in found) < 1 and time.monotonic() < until:
        time.sleep(0.02)
        for one in found:
            one.refresh()
    assert [one.length for one in found] == [1, 1]
    for one in found:
        one.close()
    for reel in reels:
        reel.close()
    crew.abandon()


def test_at_exit_one_error_costs_the_others_nothing(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
import numpy as np
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.writer import ReelWriter
from playhead.layout import ReplayFolder
reels = [ReelWriter(ReplayFolder(Path(sys.argv[1])).reel(f"run{k}"), ReplayConfig(interval=60)) for k in range(3)]
for reel in reels:
    for row in range(10):
        reel.step({"observations": np.full(3, row, np.float32)}, float(row), False, False)
reels[1].writer.error = OSError(28, "full for a moment")
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, timeout=60)
    for k in range(3):
        found = Reel(ReplayFolder(tmp_path).reel(f"run{k}"))
        assert found.length == 10
        found.close()
