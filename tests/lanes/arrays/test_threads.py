"""Threads, forks, slow disks and Ctrl-C: steps stay whole, in order, and nobody waits for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from playhead import disk
from playhead.errors import Closed
from playhead.lanes.arrays import codec
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.writer import ReelWriter
from tests.lanes.arrays.marks import assert_marked, marked
from tests.lanes.arrays.reels import FOR_EVER, Recording, assert_same, noise, reel_in


def in_threads(work: Callable[[int], None], count: int) -> None:
    """Do some work in several threads at once, and raise what one of them raised."""
    raised: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001  raised below, in the thread of the test
            raised.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    if raised:
        raise raised[0]


# -- who writes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [0, 0.004])
def test_a_caller_who_outruns_the_background_writes_himself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    steps: dict[bool, int] = {True: 0, False: 0}
    caller = threading.current_thread()
    lay = ReelWriter._lay

    def counted(self: ReelWriter, stop: int) -> None:
        steps[threading.current_thread() is caller] += stop - self._staged
        lay(self, stop)

    monkeypatch.setattr(ReelWriter, "_lay", counted)
    frames = np.random.default_rng(0).integers(0, 256, (8, 210, 160, 3), np.uint8)
    count = 300 if seconds else 2000
    writer = ReelWriter(files := reel_in(tmp_path), ReplayConfig())
    for row in range(count):
        writer.step({"frames": frames[row % 8]}, row, False, False)
        if seconds:
            time.sleep(seconds)
    writer.close()
    assert steps[seconds == 0] > count / 4  # of a machine that may do other things meanwhile
    reel = Reel(files)
    assert (reel.read("frames", 0, count)[::7] == frames[np.arange(count) % 8][::7]).all()
    reel.close()


# -- threads ----------------------------------------------------------------------------------------------------------


def test_threads_that_record_at_once(tmp_path: Path) -> None:
    config = ReplayConfig(interval=0.02, chunk=8, segment_bytes=200_000, queue=4000)
    writer = ReelWriter(files := reel_in(tmp_path), config)
    rows: dict[int, int] = {}

    def work(number: int) -> None:
        for count in range(400):
            mark = number * 1000 + count
            rows[mark] = writer.step(marked(mark), mark, False, False, b"%d" % mark)
            if count % 100 == number:
                writer.flush()

    in_threads(work, 4)
    writer.close()
    marks = assert_marked(Reel(files))
    assert len(marks) == 1600
    assert {mark: place for place, mark in enumerate(marks)} == rows
    for number in range(4):  # each thread's own steps are in order
        assert [mark % 1000 for mark in marks if mark // 1000 == number] == list(range(400))


def test_flush_close_and_reading_while_threads_record(tmp_path: Path) -> None:
    writer = ReelWriter(files := reel_in(tmp_path), ReplayConfig(interval=0.01, chunk=4, segment_bytes=20_000))
    told: list[int] = []

    def work(number: int) -> None:
        if number == 0:
            time.sleep(0.4)
            writer.close()
            return
        for mark in range(number, 1 << 30, 2):
            try:
                told.append(writer.step(marked(mark), mark, False, False, b"%d" % mark))
                if number == 1 and mark % 50 == 1:
                    writer.flush()
            except Closed:
                return

    in_threads(work, 3)
    reel = Reel(files)
    assert sorted(told) == list(range(reel.length))
    assert_marked(reel)


@pytest.mark.parametrize("name", ["zstd", "gzip", "lzf", "none"])
def test_codecs_in_threads(name: str) -> None:
    """Was a bug: LZF goes through an HDF5 file in memory of one name, which two threads cannot have open at once."""
    rows = noise(1, (4, 300)) // 8

    def work(_: int) -> None:
        for _ in range(60):
            out = np.empty_like(rows)
            codec.decode(name, codec.encode(name, rows, 1), out, rows.nbytes)
            assert_same(out, rows)

    in_threads(work, 4)


# -- a slow disk ------------------------------------------------------------------------------------------------------


@contextmanager
def blocked_disk() -> Iterator[threading.Event]:
    """Let no write to a journal go through until the event is set."""
    event = threading.Event()

    def hook(operation: str, path: str, size: int) -> None:
        if operation == "write" and path.endswith(".seg"):
            event.wait(30)

    with disk.hooked(hook):
        try:
            yield event
        finally:
            event.set()


@pytest.mark.parametrize("seconds", [0.001, 0])
@pytest.mark.parametrize("queue", [1, 5000, 1 << 20])
def test_recording_waits_for_a_slow_disk_and_loses_nothing(tmp_path: Path, queue: int, seconds: float) -> None:
    recording = Recording(reel_in(tmp_path), ReplayConfig(interval=FOR_EVER, chunk=4, queue=queue))
    size, count = 1000, 60

    def play() -> None:
        for number in range(count):
            recording.step({"frames": noise(number, (size,))})
            if seconds:
                time.sleep(seconds)

    with blocked_disk() as free:
        thread = threading.Thread(target=play)
        thread.start()
        thread.join(1)
        waiting = recording.writer.row
        assert waiting == count or waiting * size <= max(queue, 4 * size) + 3 * 4 * size  # one written, one filled
        if seconds:  # else who comes faster than anybody could write may have to wait for what he writes himself
            assert (waiting == count) == (queue > count * size)
        free.set()
        thread.join(30)
        recording.close()
    recording.assert_whole()


def test_what_waits_is_in_the_journal_in_time_however_fast_the_recording(tmp_path: Path) -> None:
    """Frames that compress badly come faster than they can be written: steps must be safe all the same.

    Was a bug: the background goes on with full chunks as long as there are any, and never writes the steps that name them.
    """
    config = ReplayConfig(interval=0.4, queue=4 << 20, level=9)
    writer = ReelWriter(files := reel_in(tmp_path), config)
    frames = [noise(number, (160, 160, 3)) // 4 for number in range(8)]
    times: list[float] = []
    worst = 0.0
    reel = Reel(files)
    began = looked = time.monotonic()
    while (now := time.monotonic()) < began + 2.5:
        writer.step({"frames": frames[len(times) % 8]}, len(times), False, False)
        times.append(now)
        if now > looked + 0.1:
            reel.refresh()
            looked = time.monotonic()
            worst = max(worst, looked - times[reel.length] if reel.length < len(times) else 0.0)
    writer.abandon()
    reel.refresh()
    assert reel.length > 0
    assert worst < 1.6, f"a step was not there after {worst:.2f} s; the interval is 0.4 s"


def test_segments_stay_near_their_size_however_fast_the_recording(tmp_path: Path) -> None:
    config = ReplayConfig(interval=0.2, queue=1 << 20, segment_bytes=4 << 20)
    writer = ReelWriter(files := reel_in(tmp_path), config)
    frames = [noise(number, (160, 160, 3)) for number in range(8)]
    for number in range(700):
        writer.step({"frames": frames[number % 8]}, 0, False, False)
    writer.close()
    sizes = [path.stat().st_size for path in files.parts.iterdir()]
    assert sum(sizes) > 40 << 20
    assert max(sizes) < 16 << 20, f"segments of 4 MiB became parts of {[size >> 20 for size in sizes]} MiB"
