"""Ctrl-C at any place of a flush: nothing is lost, nothing is there twice, and recording goes on."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.lanes.arrays import gathering
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.kind import FINALS
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.writer import ReelWriter
from playhead.layout import ReelFiles, ReplayFolder
from tests.interrupting import STRIDE, At

FILES = ("lanes/arrays/", "journal/writer.py", "disk/appender.py", "tape.py")
SIDE = 80
LENGTH = 8  # of an episode
# From one place that is interrupted to the next: the tests of a flush begin at three different ones.
PLACES = STRIDE if STRIDE == 1 else 3 * STRIDE


def files_in(folder: Path) -> ReelFiles:
    return ReplayFolder(folder).reel("run")


def arrays_of(row: int) -> dict[str, Any]:
    found = {"observations": np.full((SIDE, SIDE), row, np.uint8), "actions": row, "velocity": np.full(3, row / 2)}
    if row % 5 < 3:
        found["frames"] = np.full((SIDE, SIDE, 3), row, np.uint8)
    return found


def record(reel: ReelWriter, rows: range, *, given: bool, since: int = 1000, length: int = 1000) -> None:
    for row in rows:
        if row % length == 0 and row:
            reel.end("terminated", {"observations": np.full((SIDE, SIDE), row, np.uint8)}, ts_ns=since + row - 1)
            reel.begin(ts_ns=since + row)
        if given:
            reel.give(arrays_of(row), float(row), False, False, b'{"row":%d}' % row, since + row)
        else:
            reel.step(arrays_of(row), float(row), False, False, b'{"row":%d}' % row, ts_ns=since + row)


def assert_rows(reel: Reel, count: int) -> None:
    assert reel.length == count
    assert reel.rows(0, count)["reward"].tolist() == list(range(count))
    assert reel.infos(0, count) == [b'{"row":%d}' % row for row in range(count)]
    assert reel.read("actions", 0, count).tolist() == list(range(count))
    present = reel.present("frames", 0, count)
    assert present is not None
    assert present.tolist() == [row % 5 < 3 for row in range(count)]
    for name in ("observations", "velocity", "frames"):
        for row, value in enumerate(reel.read(name, 0, count)):
            assert (value == arrays_of(row).get(name, 0)).all(), (name, row)
    for row in range(count):
        assert (reel.read("observations", row, row + 1) == row).all(), row


def assert_finals(reel: Reel, count: int) -> None:
    finals = reel.read("observations", 0, reel.beginning().finals, axis=FINALS)
    assert finals[:, 0, 0].tolist() == list(range(LENGTH, count, LENGTH))
    assert (finals == finals[:, :1, :1]).all()


def flush_elsewhere(reel: ReelWriter) -> None:
    """Flush in another thread, which waits for every lock that was not let go of."""
    thread = threading.Thread(target=reel.flush, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive(), "a lock is still held"


def interrupt(folder: Path, place: int, *, given: bool) -> bool:
    """Interrupt a flush at a place, and go on; tell whether the flush came to that place."""
    reel = ReelWriter(files_in(folder), ReplayConfig(chunk=4, interval=1000.0))
    reel.begin(ts_ns=1)
    record(reel, range(13), given=given, length=LENGTH)
    reel.flush()
    record(reel, range(13, 38), given=given, length=LENGTH)
    was_interrupted = False
    try:
        with At(place, *FILES):
            reel.flush()
    except KeyboardInterrupt:
        was_interrupted = True
    record(reel, range(38, 50), given=given, length=LENGTH)
    flush_elsewhere(reel)
    found = Reel(files_in(folder))
    assert_rows(found, 50)
    assert_finals(found, 50)
    found.close()
    record(reel, range(50, 60), given=given, length=LENGTH)
    reel.close()
    found = Reel(files_in(folder))
    assert_rows(found, 60)
    assert_finals(found, 60)
    assert found.rows(0, 60)["step"].tolist() == [row % LENGTH for row in range(60)]
    found.close()
    return was_interrupted


def interrupt_a_roll(folder: Path, place: int) -> bool:
    """Interrupt a step that begins a new segment at a place, and go on; tell whether it came to that place."""
    reel = ReelWriter(files_in(folder), ReplayConfig(chunk=4, interval=1000.0, segment_bytes=500))
    reel.begin(ts_ns=1)
    record(reel, range(13), given=False)
    reel.flush()
    record(reel, range(13, 15), given=False)
    reel.flush()
    was_interrupted = False
    try:
        with At(place, *FILES):
            record(reel, range(15, 16), given=False)
    except KeyboardInterrupt:
        was_interrupted = True
    assert reel.row in (15, 16)
    record(reel, range(reel.row, 30), given=False, since=2000)  # the time of a step that was interrupted may be taken
    flush_elsewhere(reel)
    reel.close()
    found = Reel(files_in(folder))
    assert len(found.parts) > 1
    assert_rows(found, 30)
    assert (np.diff(found.rows(0, 30)["step"]) > 0).all()  # and so may its number
    found.close()
    return was_interrupted


def test_a_step_that_begins_a_segment_may_be_interrupted_anywhere(tmp_path: Path) -> None:
    place = 0
    while interrupt_a_roll(tmp_path / str(place), place):
        place += PLACES
    assert place > 100


@pytest.mark.parametrize("given", [True, False], ids=["given", "copied"])
@pytest.mark.parametrize("least", [1, 1 << 30], ids=["by-the-kernel", "by-python"])
def test_a_flush_interrupted_anywhere_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: bool, least: int
) -> None:
    monkeypatch.setattr(gathering, "_LEAST_BYTES", least)
    place = STRIDE * (given + (least == 1)) % PLACES
    while interrupt(tmp_path / str(place), place, given=given):
        place += PLACES
    assert place > 200
