"""`playhead live`: what is listed, printed, and shown in a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path

import numpy as np
import pytest

from playhead import clock, live
from playhead.lanes.live import segments
from tests.cli.invoking import answer, environment, invoke
from tests.lanes.live.foreign import ForeignWriter

RED, BLUE = np.zeros((2, 40, 60, 3), np.uint8)
RED[..., 0], BLUE[..., 2] = 255, 255


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in the place of the shared memory, so that nothing else is live."""
    monkeypatch.setattr(segments, "FOLDER", tmp_path)
    return tmp_path


@pytest.fixture
def two(folder: Path) -> Iterator[list[live.LiveWriter]]:
    writers = [live.LiveWriter(name, rate=None, facts={"env_id": f"{name}-v0"}) for name in ("run-a", "run-b")]
    for writer in writers:
        writer.note(-1.5, ended=True)
        writer.note(2.0)
        writer.publish(RED)
    yield writers
    for writer in writers:
        writer.close()


def test_nothing_is_live(folder: Path) -> None:
    assert "no run is live" in invoke("live", expect=1).stderr
    assert "no run is live" in invoke("live", "last", "--once", expect=1).stderr
    assert answer("live") == []


def test_what_is_live_is_listed(two: list[live.LiveWriter]) -> None:
    found = answer("live")
    assert [one["run_id"] for one in found] == ["run-a", "run-b"]
    first = found[0]
    assert first["published_at"] == pytest.approx(clock.now(), abs=60)
    assert first["step_rate"] > 0
    del first["published_at"], first["step_rate"]
    assert first == {
        "run_id": "run-a",
        "state": "live",
        "width": 60,
        "height": 40,
        "reward": 2.0,
        "rolling_return": -1.5,
        "step": 2,
        "episode": 1,
        "episode_return": 2.0,
        "pid": os.getpid(),
        "facts": {"env_id": "run-a-v0"},
    }
    assert [one["run_id"] for one in answer("live", "run-b")] == ["run-b"]
    assert [one["run_id"] for one in answer("live", "last")] == ["run-b"]
    assert answer("live", "nothing") == []


def test_a_run_is_meant_by_its_beginning(two: list[live.LiveWriter]) -> None:
    assert invoke("live", "run-a", "--once").stdout.startswith("run-a-v0 · run-a · live\n")
    assert invoke("live", "--once").stdout.startswith("run-b-v0 · run-b · live\n")
    assert "several: run-a, run-b" in invoke("live", "run", "--once", expect=1).stderr
    assert "there is: run-a, run-b" in invoke("live", "x", "--once", expect=1).stderr
    two[0].publish(RED)
    assert invoke("live", "last", "--once").stdout.startswith("run-a-v0")


def test_a_pipe_gets_one_frame_and_the_figures(two: list[live.LiveWriter]) -> None:
    shown = invoke("live", "run-a").stdout
    assert re.search(r"^:{20,}$", shown, re.MULTILINE)  # red is about so bright
    assert re.search(r"reward \+2  return 2  rolling -1.5  steps/s \S+  episode 1  step 2", shown)


def test_rings_of_another_program_are_shown() -> None:
    name = f"test-{os.getpid()}-foreign"
    theirs = ForeignWriter(name, 40, 60, channels=4)
    try:
        assert "nothing was published yet" in invoke("live", name, "--once").stdout
        theirs.publish(bytes([255, 0, 0, 9]) * 2400, (1.0, 2.0, 3.5))
        shown = invoke("live", name, "--once").stdout
        assert "reward +1  rolling 2  steps/s 3.5" in shown
        assert answer("live", name)[0]["pid"] is None
    finally:
        theirs.remove()


def test_what_a_dead_process_left_is_removed(folder: Path) -> None:
    code = "import os, sys; from pathlib import Path; from playhead.lanes.live import segments; import numpy as np\n"
    code += "segments.FOLDER = Path(sys.argv[1]); from playhead import live; w = live.LiveWriter('gone')\n"
    code += "w.publish(np.zeros((4, 4, 3), np.uint8)); os._exit(0)"
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True)
    assert len(list(folder.iterdir())) == 1
    assert answer("live") == []
    assert list(folder.iterdir()) == []


class Watched:
    """A terminal in which somebody watches."""

    def __init__(self, process: subprocess.Popen[bytes], end: int) -> None:
        self.process, self._end, self.shown = process, end, ""

    def until(self, *texts: str) -> str:
        """Read until all texts came; give what came."""
        self.shown = ""
        deadline = clock.elapsed_ns() + 20 * clock.SECOND
        while not all(text in self.shown for text in texts):
            assert clock.elapsed_ns() < deadline, (texts, self.shown[-2000:])
            self._read(0.1)
        return self.shown

    def all_of(self, seconds: float) -> str:
        """Give what comes in so many seconds."""
        self.shown = ""
        deadline = clock.elapsed_ns() + round(seconds * clock.SECOND)
        while clock.elapsed_ns() < deadline:
            self._read(0.05)
        return self.shown

    def press(self, keys: bytes) -> None:
        os.write(self._end, keys)

    def leave(self) -> tuple[int, str]:
        """Press q; give the exit code and what came last."""
        self.press(b"q")
        self.shown = ""
        while self._read(10):
            pass
        return self.process.wait(10), self.shown

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._end], [], [], seconds)
        if not ready:
            return False
        try:
            block = os.read(self._end, 1 << 16)
        except OSError:  # the other end is closed
            return False
        self.shown += block.decode("utf-8", "replace")
        return bool(block)


@contextmanager
def watching(*arguments: str) -> Iterator[Watched]:
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    variables = environment() | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    command = [sys.executable, "-m", "playhead", "live", *arguments]
    with subprocess.Popen(command, env=variables, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        try:
            yield Watched(process, ours)
        finally:
            process.kill()
            os.close(ours)


@pytest.fixture
def prefix() -> str:
    return f"test-{os.getpid()}-{os.urandom(3).hex()}"


def test_frames_are_shown_as_they_come_and_q_leaves(prefix: str) -> None:
    with live.LiveWriter(prefix, rate=None, facts={"env_id": "Pong"}) as writer:
        writer.publish(RED)
        with watching(prefix) as watched:
            watched.until("48;2;255;0;0", f"Pong · {prefix}", "reward")
            writer.note(7.0)
            writer.publish(BLUE)
            assert "48;2;255;0;0" not in watched.until("48;2;0;0;255", "+7")
            writer.publish(np.full((80, 20, 3), 99, np.uint8))  # another size
            watched.until("48;2;99;99;99")
            code, last = watched.leave()
            assert code == 0
            assert last.endswith("\x1b[?1049l")  # the screen is as it was


def test_a_held_picture_stays(prefix: str) -> None:
    with live.LiveWriter(prefix, rate=None) as writer:
        writer.publish(RED)
        with watching(prefix) as watched:
            watched.until("48;2;255;0;0")
            watched.press(b" ")
            watched.until("held")
            writer.publish(BLUE)
            assert "48;2;0;0;255" not in watched.all_of(0.5)
            watched.press(b" ")
            watched.until("48;2;0;0;255")
            assert watched.leave()[0] == 0


def test_an_arrow_shows_another_run(prefix: str) -> None:
    with live.LiveWriter(f"{prefix}-1", rate=None) as first, live.LiveWriter(f"{prefix}-2", rate=None) as second:
        first.publish(RED)
        second.publish(BLUE)
        with watching(f"{prefix}-1") as watched:
            watched.until("48;2;255;0;0", f"{prefix}-2"[:20])
            watched.press(b"\x1b[C")
            watched.until("48;2;0;0;255")
            watched.press(b"\x1b[D")
            watched.until("48;2;255;0;0")
            assert watched.leave()[0] == 0


def test_a_run_that_ends_is_said_to_have_ended_within_a_second(prefix: str) -> None:
    writer = live.LiveWriter(prefix, rate=None)
    writer.publish(RED)
    with watching(prefix) as watched:
        watched.until("48;2;255;0;0")
        writer.close()
        began = clock.elapsed_ns()
        watched.until(" ended ")
        assert clock.elapsed_ns() - began < 2 * clock.SECOND  # half of it for a machine that is busy
        assert watched.leave()[0] == 0
