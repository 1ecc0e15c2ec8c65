"""Steps that are handed over in batches: none is lost, doubled or out of order, whoever records them."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.errors import Closed
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.writer import ReelWriter
from playhead.layout import ReelFiles, ReplayFolder


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


def test_an_interrupt_between_two_lines_neither_loses_nor_doubles_a_step(tmp_path: Path) -> None:
    """Walk through `give` line by line, interrupting it at each in turn."""
    stride = 1 if "PLAYHEAD_CAMPAIGN" in os.environ else 11
    for stop in range(1, 1000, stride):
        folder = tmp_path / str(stop)
        folder.mkdir()
        reel = ReelWriter(files_in(folder), ReplayConfig(interval=60))
        reel.begin(ts_ns=1)
        for row in range(16):
            give(reel, row)
        lines = 0

        def trace(frame: Any, event: str, _arg: Any, stop: int = stop) -> Any:
            nonlocal lines
            if not frame.f_code.co_filename.endswith("recorder.py"):
                return None
            if event == "line":
                lines += 1
                if lines == stop:
                    raise KeyboardInterrupt
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            give(reel, 16)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        rows = reel.row
        assert rows in (16, 17)
        for row in range(rows, 40):
            give(reel, row)
        reel.close()
        found = Reel(files_in(folder))
        assert_rows(found, 40)
        found.close()
        if lines < stop:
            break
    else:
        pytest.fail("the walk did not come to its end")
    assert stop > 300
