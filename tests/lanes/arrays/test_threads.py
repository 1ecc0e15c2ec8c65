"""Threads, forks, slow disks and Ctrl-C: steps stay whole, in order, and nobody waits for ever."""

from __future__ import annotations

import dis
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest

from playhead import disk
from playhead.errors import Closed, Forked
from playhead.lanes.arrays import codec
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.writer import ReelWriter
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


def marked(mark: int) -> dict[str, Any]:
    """Give arrays of which each shows the same number."""
    return {
        "frames": np.full((7, 5), mark % 251, np.uint8),
        "observations": np.full(4, mark, np.float32),
        "actions": np.array(mark, np.int32),
    }


def assert_marked(reel: Reel) -> list[int]:
    """See that all of a step shows one number; give these."""
    length = reel.length
    marks: list[int] = reel.read("actions", 0, length).tolist()
    assert reel.rows(0, length)["reward"].tolist() == marks
    assert reel.infos(0, length) == [b"%d" % mark for mark in marks]
    assert_same(reel.read("frames", 0, length), np.stack([marked(mark)["frames"] for mark in marks]))
    assert_same(reel.read("observations", 0, length), np.stack([marked(mark)["observations"] for mark in marks]))
    return marks


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
    """Bug: LZF goes through an HDF5 file in memory of one name, which two threads cannot have open at once."""
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


@pytest.mark.parametrize("queue", [1, 5000, 1 << 20])
def test_recording_waits_for_a_slow_disk_and_loses_nothing(tmp_path: Path, queue: int) -> None:
    recording = Recording(reel_in(tmp_path), ReplayConfig(interval=FOR_EVER, chunk=4, queue=queue))
    size, count = 1000, 60
    with blocked_disk() as free:
        thread = threading.Thread(
            target=lambda: [recording.step({"frames": noise(number, (size,))}) for number in range(count)]
        )
        thread.start()
        thread.join(0.5)
        waiting = recording.writer.row
        assert waiting == count or waiting * size <= max(queue, 4 * size) + 3 * 4 * size  # one written, one filled
        assert (waiting == count) == (queue > count * size)
        free.set()
        thread.join(30)
        recording.close()
    recording.assert_whole()


def test_what_waits_is_in_the_journal_in_time_however_fast_the_recording(tmp_path: Path) -> None:
    """Frames that compress badly come faster than they can be written: steps must be safe all the same.

    Bug: the background goes on with full chunks as long as there are any, and never writes the steps that name them.
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


# -- the end of the program -------------------------------------------------------------------------------------------

ENDING = """
import sys, time
from pathlib import Path
import numpy as np
from playhead import disk
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.writer import ReelWriter
from playhead.layout import ReplayFolder

def slow(operation, path, size):
    if operation == "write" and path.endswith(".tmp"):
        print("sealing", flush=True)
        time.sleep(0.01)

files = ReplayFolder(Path(sys.argv[1])).reel("run")
writer = ReelWriter(files, ReplayConfig(chunk=4, segment_bytes=1000))
with disk.hooked(slow):
    for number in range(40):
        writer.step({"actions": np.array(number)}, number, False, False, b"%d" % number)
        writer.flush()
        writer.writer.run_now()
    if sys.argv[2] == "raising":
        raise KeyboardInterrupt
    sys.stdin.read(1)  # the test waits for the sealing to begin
"""


@pytest.mark.parametrize("how", ["at its end", "raising"])
def test_a_program_that_ends_while_a_segment_is_sealed_does_end(tmp_path: Path, how: str) -> None:
    """Bug: the thread that seals is ended in the middle of HDF5, whose lock it holds, and the program hangs for ever."""
    command = [sys.executable, "-c", ENDING, str(tmp_path), how]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"sealing\n"
            process.communicate(b"x", timeout=30)
        finally:
            process.kill()
    assert (process.returncode == 0) == (how == "at its end")
    reel = Reel(reel_in(tmp_path))
    assert reel.read("actions", 0, 40).tolist() == list(range(40))
    assert reel.length == 40


# -- fork -------------------------------------------------------------------------------------------------------------


def in_child(work: Callable[[], str]) -> str:
    """Do some work in a forked process; give what it says."""
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            os.write(writing, work().encode())
        except BaseException as error:  # noqa: BLE001  told to the parent
            os.write(writing, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        told = pipe.read().decode()
    os.waitpid(pid, 0)
    return told


def refusals(recording: Recording) -> str:
    writer, found = recording.writer, []
    calls: dict[str, Callable[[], object]] = {
        "step": lambda: writer.step(marked(9), 0, False, False),
        "begin": writer.begin,
        "end": lambda: writer.end("terminated"),  # bug: taken in silence
        "flush": writer.flush,
        "close": writer.close,
        "abandon": writer.abandon,
    }
    for name, call in calls.items():
        try:
            call()
        except Forked:
            continue
        found.append(name)
    return ", ".join(found) or "all refused"


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_refuses_and_the_parent_goes_on(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path), ReplayConfig(interval=0.02, chunk=4))
    for number in range(10):
        recording.step(marked(number), number, info=b"%d" % number)
    assert in_child(lambda: refusals(recording)) == "all refused"
    for number in range(10, 30):
        recording.step(marked(number), number, info=b"%d" % number)
    recording.close()
    recording.assert_whole()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_may_read_and_may_record_a_reel_of_its_own(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path))
    recording.step(marked(1), 1, info=b"1")
    recording.flush()

    def work() -> str:
        recording.assert_whole()
        own = Recording(reel_in(tmp_path, "run.1"))
        for number in range(9):
            own.step(marked(number), number, info=b"%d" % number)
        own.close()
        own.assert_whole()
        return "done"

    assert in_child(work) == "done"
    recording.step(marked(2), 2, info=b"2")
    recording.close()
    recording.assert_whole()
    assert Reel(reel_in(tmp_path, "run.1")).length == 9


# -- Ctrl-C -----------------------------------------------------------------------------------------------------------

# Behind these the interpreter looks for signals, so that this is where Ctrl-C raises.
_INTERRUPTIBLE = {"CALL", "CALL_FUNCTION_EX", "RESUME", "JUMP_BACKWARD"}


@cache
def instructions_of(code: CodeType) -> dict[int, str]:
    return {instruction.offset: instruction.opname for instruction in dis.get_instructions(code)}


class CtrlC:
    """Raises KeyboardInterrupt in the n-th place of the lane in which a signal may arrive."""

    def __init__(self, n: int) -> None:
        self.left = n
        self._before: dict[FrameType, str] = {}

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:
        if "lanes/arrays" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            before = self._before.get(frame)
            self._before[frame] = instructions_of(frame.f_code)[frame.f_lasti]
            if before in _INTERRUPTIBLE:
                self.left -= 1
                if self.left == -1:
                    raise KeyboardInterrupt
        elif event == "return":
            self._before.pop(frame, None)
        return self


def step_under_ctrl_c(writer: ReelWriter, n: int, mark: int, recorded: dict[int, int]) -> bool:
    """Record a step and flush, with a Ctrl-C at the n-th place; tell whether it came."""
    interrupt, before = CtrlC(n), sys.gettrace()
    sys.settrace(interrupt)
    try:
        recorded[mark] = writer.step(marked(mark), mark, False, False, b"%d" % mark)
        if n % 4 == 0:
            writer.end("terminated", {"observations": np.full(4, mark, np.float32)})
        writer.flush()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return interrupt.left < 0


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="knows the instructions of Python 3.11")
def test_ctrl_c_leaves_whole_steps_wherever_it_comes(tmp_path: Path) -> None:
    """Bug: behind the append to `_steps`, and in `_fetch`, it lets rows and arrays slip apart."""
    writer = ReelWriter(files := reel_in(tmp_path), ReplayConfig(interval=FOR_EVER, chunk=4))
    recorded: dict[int, int] = {}
    for n in range(2000):
        came = step_under_ctrl_c(writer, n, 2 * n, recorded)
        mark = 2 * n + 1
        recorded[mark] = writer.step(marked(mark), mark, False, False, b"%d" % mark)  # and recording goes on
        writer.flush()
        if not came:
            break
    marks = assert_marked(Reel(files))
    for mark, row in recorded.items():
        assert marks[row] == mark
    writer.close()
    assert assert_marked(Reel(files)) == marks
    print(f"Ctrl-C at {n} places of a step and a flush")
    assert n > 50
