"""Forks, ends of programs and Ctrl-C: steps stay whole, and every program ends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from playhead.errors import Forked
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.writer import ReelWriter
from tests.interrupting import At
from tests.lanes.arrays.marks import assert_marked, marked
from tests.lanes.arrays.reels import FOR_EVER, Recording, reel_in

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
        time.sleep(0.3)  # until the sealing has begun
        raise KeyboardInterrupt
    sys.stdin.read(1)  # the test waits for the sealing to begin
"""


@pytest.mark.parametrize("how", ["at its end", "raising"])
def test_a_program_that_ends_while_a_segment_is_sealed_does_end(tmp_path: Path, how: str) -> None:
    """Was a bug: the thread that seals is ended in the middle of HDF5, whose lock it holds, and the program hangs for ever."""
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


def step_under_ctrl_c(writer: ReelWriter, n: int, mark: int, recorded: dict[int, int]) -> bool:
    """Record a step and flush, with a Ctrl-C at the n-th place; tell whether it came."""
    try:
        with At(n, "lanes/arrays/"):
            recorded[mark] = writer.step(marked(mark), mark, False, False, b"%d" % mark)
            if n % 4 == 0:
                writer.end("terminated", {"observations": np.full(4, mark, np.float32)})
            writer.flush()
    except KeyboardInterrupt:
        return True
    return False


def test_ctrl_c_leaves_whole_steps_wherever_it_comes(tmp_path: Path) -> None:
    """Was a bug: behind the append to `_steps`, and in `_fetch`, it lets rows and arrays slip apart."""
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
