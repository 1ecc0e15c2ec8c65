"""`playhead replay`: in a pipe, in a terminal with keys, and as a film."""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

import playhead
from playhead.cli.replay import cells, keys
from playhead.cli.replay.playback import SPEEDS, Playback
from tests.check.making import flip, usual
from tests.cli.episodes import make_store
from tests.cli.invoking import environment, invoke
from tests.cli.test_completion import completed

RUN, WITHOUT, ROBOT = "20260105_120000_abcdef", "20260104_120000_fedcba", "20260103_120000_abc123"
STEPS = 60
SECOND = 1_000_000_000
START = 1_790_000_000 * SECOND
PLAYED = 2_000_000_000 * SECOND  # later than any clock says, as the times of a reel increase


@pytest.fixture(scope="module")
def frames(made: Path) -> NDArray[np.uint8]:
    """What the agent saw in the last episode, and after it."""
    return np.load(made / "seen.npy")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a run of three episodes of Pong, one without episodes, one that recorded a robot, and datasets."""
    path = make_store(tmp_path_factory.mktemp("replays") / "store")
    with playhead.open(path) as store:
        with store.run("robot", "arm", run_id=ROBOT, environment=False) as run:
            for uid in ("eeee6666", "eeee7777"):
                with store.dataset("pick").new_episode(uid=uid, created_ts_ns=START, run_id=run.id) as writer:
                    usual(writer)
        with store.run("pong", "dqn", run_id=WITHOUT, environment=False):
            pass
        with store.run("pong", "dqn", run_id=RUN, environment=False) as run:
            np.save(path / "seen.npy", _play(run))
    return path


def _play(run: Any) -> NDArray[np.uint8]:
    import ale_py

    gymnasium.register_envs(ale_py)
    env = gymnasium.make("ALE/Pong-v5")
    reel = run.new_reel(facts={"env_id": "ALE/Pong-v5"})
    for number in range(3):
        observation, _ = env.reset(seed=number)
        reel.begin(facts={"seed": number})
        seen = [observation]
        for step in range(STEPS):
            arrays = {"frames": observation, "actions": np.int64(step % 6)}
            observation, reward, *_ = env.step(step % 6)
            is_last = step == STEPS - 1
            stamp = PLAYED + (number * 1000 + step) * SECOND // 20
            reel.step(arrays, float(reward) or -1.0 * is_last, is_last, False, ts_ns=stamp)
            seen.append(observation)
        reel.end("terminated", finals={"frames": observation})
    env.close()
    return np.stack(seen)


def replay(made: Path, *arguments: str | Path, expect: int = 0) -> Any:
    return invoke("replay", *arguments, store=made, expect=expect)


def lines_of(made: Path, *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in replay(made, *arguments, "--json").stdout.splitlines()]


# -- which episode --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        ((RUN,), f"ALE/Pong-v5 · {RUN}-ep0002 · seed 2"),
        (("last",), f"ALE/Pong-v5 · {RUN}-ep0002 · seed 2"),
        (("20260105", "0"), f"ALE/Pong-v5 · {RUN}-ep0000 · seed 0"),
        (("last", "-2"), f"ALE/Pong-v5 · {RUN}-ep0001 · seed 1"),
        (("last", "ep0001"), f"ALE/Pong-v5 · {RUN}-ep0001 · seed 1"),
        (("last", f"{RUN}-ep0001"), f"ALE/Pong-v5 · {RUN}-ep0001 · seed 1"),
        ((f"{RUN}-ep0001",), f"ALE/Pong-v5 · {RUN}-ep0001 · seed 1"),
        (("teleop/0",), "pick up the cube · teleop/0"),
        (("pick/-1",), "pick up the cube · pick/1"),
        ((ROBOT, "eeee66"), "pick up the cube · eeee6666"),
        ((ROBOT, "1"), "pick up the cube · eeee7777"),
    ],
)
def test_an_episode_is_named(made: Path, arguments: tuple[str, ...], title: str) -> None:
    assert replay(made, *arguments, "--frames", "1").stdout.splitlines()[0] == title


def test_an_episode_is_named_by_its_path(made: Path) -> None:
    folder = next(path for path in made.rglob("meta.json") if "aaaa1111" in path.read_text()).parent
    assert replay(made, folder, "--frames", "1").stdout.splitlines()[0].startswith("pick up the cube · /")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing",), f"no run 'nothing'; there is: {RUN}, {WITHOUT}"),
        (("2026010",), "more than one id"),
        (("teleop",), "teleop is a dataset, not a run; name an episode of it: teleop/0"),
        (("nothing/0",), "no dataset 'nothing'; there is:"),
        (("teleop/9",), "no episode '9' in teleop; there is: 2, from 0 to 1"),
        (("last", "3"), f"no episode 3 in the run {RUN}; there are 3, from 0 to 2: {RUN}-ep0000 to {RUN}-ep0002"),
        (("last", "-4"), "no episode -4"),
        (("last", "ep0009"), f"no episode 'ep0009' in the run {RUN}; there are 3"),
        (("last", "zzz"), "no episode 'zzz'"),
        ((f"{RUN}-ep0009",), f"no episode '{RUN}-ep0009'"),
        ((ROBOT, f"{RUN}-ep0000"), f"is not of the run {ROBOT}. Run: playhead replay {RUN}-ep0000"),
        ((ROBOT, "eeee"), "more than one uid: eeee6666, eeee7777"),
        ((WITHOUT,), f"the run {WITHOUT} has no episodes"),
        (("teleop/1",), "no pictures in this episode; its signals are: force, joint. --json prints its steps"),
        (("last", "--signal", "reward"), "'reward' has no pictures. Pictures are in: frame"),
        (("last", "--signal", "nothing"), "no signal 'nothing'; there is: frame, action, reward"),
        (("last", "--from", "60"), "no steps from 60 to the end: the episode has steps 0 to 59"),
        (("last", "--out", "film.avi"), "film.avi does not say what to write: let it end with .mp4 or .gif"),
    ],
)
def test_what_is_not_there(made: Path, arguments: tuple[str, ...], message: str) -> None:
    failed = replay(made, *arguments, expect=1)
    assert message in failed.stderr
    assert failed.stderr.count("\n") == 1
    assert failed.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing argument 'RUN'"),
        (("last", "--speeed"), "No such option"),
        (("last", "0", "1"), "unexpected extra argument"),
        (("teleop/0", "1"), "1 is one too many"),
        (("last", "--speed", "17"), "0.1<=x<=16"),
        (("last", "--fps", "0"), "--fps"),
        (("last", "--frames", "0"), "--frames"),
        (("last", "--json", "--frames", "2"), "--json and --frames exclude each other"),
        (("last", "--json", "--out", "a.gif"), "--json and --out exclude each other"),
        (("last", "--scale", "2"), "--scale is for films. Add --out PATH"),
        (("last", "--force"), "--force is for films"),
        (("last", "--loop", "--once"), "Choose one"),
    ],
)
def test_wrong_usage(made: Path, arguments: tuple[str, ...], message: str) -> None:
    failed = replay(made, *arguments, expect=2)
    assert message in " ".join(failed.stderr.split())
    assert "--help" in failed.stderr


def test_completion_offers_runs_and_episodes_of_datasets(made: Path) -> None:
    assert completed("playhead replay 20260105", made) == [RUN]
    assert completed("playhead replay la", made) == ["last"]
    assert completed("playhead replay tel", made) == ["teleop/"]
    assert completed("playhead replay pick/", made) == ["pick/1", "pick/0"]


def test_help_loads_nothing_large(made: Path) -> None:
    script = "import sys; from playhead.cli import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script, "replay", "--help"], capture_output=True, text=True, check=True
    )
    assert "--out" in done.stdout
    assert {"numpy", "av", "PIL", "pyarrow", "sqlalchemy", "h5py"} & set(done.stderr.split()) == set()


# -- without a terminal ---------------------------------------------------------------------------------------------


def test_in_a_pipe_there_is_one_frame_and_a_hint(made: Path) -> None:
    done = replay(made, "last")
    lines = done.stdout.splitlines()
    assert lines[1] == ""
    picture = lines[2:-1]
    assert len(picture) == 32
    assert {len(line) for line in picture} >= {49}
    assert set("".join(picture)) <= set(" .:-=+*#%@")
    assert lines[-1] == "step 59 / 59  time 2.95 s  reward -1  return -1  action 5  terminated"
    assert "\x1b" not in done.stdout
    assert "one frame of 60 steps. --frames N prints more of them" in done.stderr


def test_frames_are_spread_evenly(made: Path) -> None:
    done = replay(made, "last", "--frames", "4", "--to", "31")
    assert done.stderr == ""
    assert re.findall(r"^step (\d+) /", done.stdout, re.MULTILINE) == ["0", "10", "20", "30"]
    blocks = done.stdout.split("\n\n")[1:]
    assert len(set(blocks)) == 4
    assert len(re.findall("^step", replay(made, "last", "--frames", "500").stdout, re.MULTILINE)) == STEPS + 1


def test_steps_as_json_lines(made: Path) -> None:
    found = lines_of(made, "last")
    assert len(found) == STEPS
    assert found[7] == {
        "step": 7,
        "ts_ns": PLAYED + 2007 * SECOND // 20,
        "action": 1,
        "reward": 0.0,
        "terminated": False,
        "truncated": False,
    }
    assert [line["terminated"] for line in found] == [False] * (STEPS - 1) + [True]
    assert [line["step"] for line in lines_of(made, "last", "0", "--from", "-3")] == [57, 58, 59]


def test_steps_of_an_episode_without_rewards(made: Path) -> None:
    found = lines_of(made, "teleop/0")
    assert len(found) == 30
    assert found[1] == {
        "step": 1, "ts_ns": START + 33_333_333, "action": None, "reward": None, "terminated": None, "truncated": None,
    }  # fmt: skip
    assert "neither rewards, actions nor pictures" in replay(made, "teleop/1", "--json", expect=1).stderr


# -- as a film ------------------------------------------------------------------------------------------------------


def test_a_film_is_written(made: Path, frames: NDArray[np.uint8], tmp_path: Path) -> None:
    import av

    film = tmp_path / "new" / "a.mp4"
    done = replay(made, "last", "--out", film)
    assert done.stdout == f"Wrote 61 frames to {film}.\n"
    with av.open(film) as container:
        pictures = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert len(pictures) == STEPS + 1
    for shown, expected in zip(pictures, frames, strict=True):
        wide = expected.repeat(2, axis=0).repeat(2, axis=1).astype(int)
        assert np.abs(shown[: wide.shape[0]] - wide).mean() < 2


def test_a_film_of_a_camera_in_part(made: Path, tmp_path: Path) -> None:
    film = tmp_path / "a.gif"
    options = ("--signal", "cam", "--from", "5", "--to", "25", "--scale", "2", "--speed", "0.5")
    assert replay(made, "teleop/0", "--out", film, *options).stdout == f"Wrote 20 frames to {film}.\n"
    with Image.open(film) as read:
        assert (read.n_frames, read.size[0]) == (20, 320)
        assert read.info["duration"] == pytest.approx(66, abs=5)


def test_a_file_that_is_there_is_replaced_only_by_force(made: Path, tmp_path: Path) -> None:
    film = tmp_path / "a.gif"
    film.write_text("precious")
    failed = replay(made, "last", "--out", film, expect=1)
    assert "exists; choose another name, or replace it with --force" in failed.stderr
    assert film.read_text() == "precious"
    replay(made, "last", "--out", film, "--force", "--to", "3")
    assert film.read_bytes().startswith(b"GIF89a")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_film_that_is_interrupted_leaves_nothing(made: Path, tmp_path: Path, number: int) -> None:
    film = tmp_path / "a.mp4"
    command = [sys.executable, "-m", "playhead", "replay", "last", "--out", str(film), "--scale", "12"]
    with subprocess.Popen(command, env=environment(made), stderr=subprocess.PIPE) as process:
        wait_until(lambda: bool(list(tmp_path.iterdir())))
        process.send_signal(number)
        errors = process.communicate(timeout=30)[1].decode()
    assert (process.returncode, errors) == ((1, "playhead: interrupted\n") if number == signal.SIGINT else (143, ""))
    assert list(tmp_path.iterdir()) == []


# -- in a terminal --------------------------------------------------------------------------------------------------


def wait_until(holds: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


class Window:
    """A terminal with a program in it: what it shows, cell by cell, understood as a terminal does."""

    def __init__(self, made: Path, *arguments: str, rows: int = 40, columns: int = 100, **variables: str) -> None:
        self._ours, theirs = pty.openpty()
        self.modes: dict[str, bool] = {}
        self.received = 0
        self._theirs = theirs
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._rest = ""
        self._look: dict[str, Any] = {}
        self.resize(rows, columns)
        self.before = termios.tcgetattr(theirs)
        known = environment(made) | {"TERM": "xterm-256color", "COLORTERM": "truecolor"} | variables
        known = {name: value for name, value in known.items() if value and name not in ("COLUMNS", "LINES")}
        # The first terminal that the leader of a session opens is its own, from which Ctrl-C comes.
        inside = ["sh", "-c", 'exec "$@" <"$0" >"$0" 2>&1', os.ttyname(theirs)]
        self.process = subprocess.Popen(
            [*inside, sys.executable, "-m", "playhead", "replay", *arguments],
            env=known,
            cwd=variables.get("PWD"),
            start_new_session=True,
        )

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.rows, self.columns = rows, columns
        self._wipe()

    def _wipe(self) -> None:
        self.cells: list[list[tuple[str, dict[str, Any]]]] = [[(" ", {})] * self.columns for _ in range(self.rows)]
        self._row = self._column = 0

    @property
    def text(self) -> list[str]:
        return ["".join(char for char, _ in row).rstrip() for row in self.cells]

    @property
    def figures(self) -> str:
        return self.text[-1]

    def step(self) -> int:
        found = re.match(r" step (\d+) /", self.figures)
        return int(found[1]) if found else -1

    def press(self, pressed: bytes) -> None:
        os.write(self._ours, pressed)

    def until(self, holds: Callable[[], bool], seconds: float = 20) -> None:
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, "\n".join(self.text)
            self._receive(0.05)

    def settle(self, seconds: float = 0.4) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._receive(0.05)

    def end(self) -> int:
        """Wait until the program has ended; give its exit code."""
        self.until(lambda: self.process.poll() is not None)
        self.settle(0.1)
        return self.process.wait()

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        os.close(self._ours)
        os.close(self._theirs)

    @property
    def is_restored(self) -> bool:
        left = {"1049": False, "25": True, "7": True}
        return termios.tcgetattr(self._theirs) == self.before and left.items() <= self.modes.items()

    def _receive(self, seconds: float) -> None:
        ready, _, _ = select.select([self._ours], [], [], seconds)
        if ready:
            data = os.read(self._ours, 1 << 16)
            self.received += len(data)
            self._draw(self._rest + self._decoder.decode(data))

    def _draw(self, text: str) -> None:
        position = 0
        self._rest = ""
        while position < len(text):
            if text[position] == "\x1b":
                sequence = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])").match(text, position)
                if sequence is None:
                    self._rest = text[position:]
                    return
                self._control(sequence[1], sequence[2])
                position = sequence.end()
                continue
            self._put(text[position])
            position += 1

    def _put(self, char: str) -> None:
        if char == "\r":
            self._column = 0
        elif char == "\n":
            self._row = min(self._row + 1, self.rows - 1)
        else:
            if self._column >= self.columns and self.modes.get("7", True):
                self._row, self._column = min(self._row + 1, self.rows - 1), 0
            if self._row < self.rows and self._column < self.columns:  # a window that shrank meanwhile shows less
                self.cells[self._row][self._column] = (char, dict(self._look))
            self._column += 1

    def _control(self, arguments: str, end: str) -> None:
        if arguments.startswith("?"):
            self.modes[arguments[1:]] = end == "h"
            if arguments == "?1049":  # the other screen; what was on this one is of no interest here
                self._wipe()
        elif end == "H":
            row, column = arguments.split(";")
            self._row, self._column = int(row) - 1, int(column) - 1
        elif end == "J":
            self._wipe()
        elif end == "K":
            for column in range(self._column, self.columns if self._row < self.rows else 0):
                self.cells[self._row][column] = (" ", {})
        else:
            assert end == "m", f"unknown: {arguments}{end}"
            self._paint([int(number or 0) for number in arguments.split(";")])

    def _paint(self, numbers: list[int]) -> None:
        while numbers:
            number = numbers.pop(0)
            if number == 0:
                self._look = {}
            elif number in (38, 48):
                count = {2: 3, 5: 1}[numbers.pop(0)]
                self._look["front" if number == 38 else "back"] = tuple(numbers[:count])
                del numbers[:count]
            else:
                self._look[str(number)] = True

    def picture(self) -> NDArray[np.int64]:
        """Give the colours of all half cells of the picture, which lies in the middle of the window."""
        drawn = [[cell for cell in row if "back" in cell[1]] for row in self.cells[:-3]]
        drawn = [row for row in drawn if row]
        tops = [[look["front"] if char == "▀" else look["back"] for char, look in row] for row in drawn]
        bottoms = [[look["back"] for _, look in row] for row in drawn]
        return np.stack([np.array(tops), np.array(bottoms)], axis=1).reshape(2 * len(drawn), len(drawn[0]), -1)


@contextlib.contextmanager
def window(made: Path, *arguments: str, **options: Any) -> Iterator[Window]:
    opened = Window(made, *arguments, **options)
    try:
        yield opened
    finally:
        opened.close()


def expected(frame: NDArray[np.uint8], rows: int, columns: int) -> NDArray[np.int64]:
    small = Image.fromarray(frame).resize((columns, rows), Image.Resampling.BOX)
    return np.asarray(small).astype(np.int64)


def test_keys_resizing_stopping_and_ctrl_c(made: Path, frames: NDArray[np.uint8], tmp_path: Path) -> None:
    with window(made, "last", "--fps", "10", PWD=str(tmp_path)) as seen:
        seen.until(lambda: seen.step() >= 1)
        assert (seen.modes["1049"], seen.modes["25"]) == (True, False)
        assert seen.text[-2].startswith(f" ALE/Pong-v5 · {RUN}-ep0002 · seed 2")
        assert seen.text[-2].endswith("playing  1x  10 fps  ? help")
        seen.press(b" ")
        seen.until(lambda: "paused" in seen.text[-2])
        seen.settle(0.3)
        stood = seen.step()
        seen.settle(0.3)
        assert seen.step() == stood
        # The picture is that of the step: 37 rows of cells have 74 of pixels.
        shown = seen.picture()
        assert shown.shape == (74, 56, 3)
        assert (shown == expected(frames[stood], 74, 56)).all()
        # Steps, forward and back, by each of the keys that mean it; only few cells change.
        before = seen.received
        for number, pressed in enumerate((b"\x1b[C", b"\x1bOC", b".", b"\x1b[D", b",")):
            seen.press(pressed)
            wanted = stood + (1, 2, 3, 2, 1)[number]
            seen.until(lambda wanted=wanted: seen.step() == wanted)
            assert (seen.picture() == expected(frames[wanted], 74, 56)).all()
        assert seen.received - before < 12_000
        # Seeking.
        for pressed, wanted in ((b"5", 30), (b"\x1b[F", 59), (b"\x1b[H", 0), (b"9", 54), (b"\x1b[4~", 59), (b"0", 0)):
            seen.press(pressed)
            seen.until(lambda wanted=wanted: seen.step() == wanted)
        assert "terminated" not in seen.figures
        seen.press(b"\x1b[F")
        seen.until(lambda: seen.figures.endswith("terminated"))
        assert re.search(r"step 59 / 59 +time 2.95 s +reward -1 +return -1 +action 5 ", seen.figures)
        assert (seen.picture() == expected(frames[60], 74, 56)).all()
        # Speed, loop and help.
        for pressed, said in (
            (b"+", "2x"),
            (b"\x1b[A", "4x  40 fps"),
            (b"-", "2x"),
            (b"\x1b[B", " 1x"),
            (b"l", "loop"),
        ):
            seen.press(pressed)
            seen.until(lambda said=said: said in seen.text[-2])
        seen.press(b"?")
        seen.until(lambda: seen.text[-2].startswith(" space pause"))
        seen.press(b"?l")
        seen.until(lambda: seen.text[-2].startswith(" ALE"))
        # Saving, once.
        seen.press(b"1s")
        name = f"{RUN}-ep0002-step000006.png"
        seen.until(lambda: f"saved {name}" in seen.text[-2])
        assert (np.asarray(Image.open(tmp_path / name)) == frames[6]).all()
        seen.press(b"s")
        seen.until(lambda: f"{name} is there already" in seen.text[-2])
        # Another size.
        seen.resize(15, 50)
        seen.until(lambda: seen.step() == 6 and len(seen.text) == 15)
        seen.settle(0.2)
        assert seen.picture().shape == (24, 18, 3)
        assert (seen.picture() == expected(frames[6], 24, 18)).all()
        assert max(map(len, seen.text)) <= 50
        seen.resize(4, 20)
        seen.until(lambda: seen.figures.startswith(" step 6 / 59"))
        seen.resize(24, 80)
        seen.until(lambda: seen.step() == 6)
        # Ctrl-Z puts everything back, going on takes it again.
        seen.press(b"\x1a")
        seen.until(lambda: seen.is_restored)
        assert os.waitpid(seen.process.pid, os.WUNTRACED)[1] == signal.SIGSTOP << 8 | 0x7F
        seen.resize(24, 80)
        os.kill(seen.process.pid, signal.SIGCONT)
        seen.until(lambda: seen.step() == 6 and seen.modes["1049"])
        assert seen.picture().shape == (42, 32, 3)
        # Ctrl-C while it plays.
        seen.press(b" ")
        seen.until(lambda: seen.step() > 6)
        seen.press(b"\x03")
        assert seen.end() == 1
        assert seen.is_restored
        assert f"Wrote {name}." in seen.text[0]
        assert "playhead: interrupted" in seen.text[1]


def test_q_leaves_and_a_plain_terminal_has_letters(made: Path) -> None:
    with window(made, "last", "--loop", "--speed", "16", NO_COLOR="1") as seen:
        seen.until(lambda: seen.step() > 30)
        seen.until(lambda: 0 <= seen.step() < 20)  # it begins again
        assert {key for row in seen.cells for _, look in row for key in look} <= {"1", "2", "7"}
        seen.until(lambda: any("=" * 10 in line for line in seen.text[:-3]))
        seen.press(b"q")
        assert seen.end() == 0
        assert seen.is_restored


def test_256_colours_and_sigterm(made: Path, frames: NDArray[np.uint8]) -> None:
    with window(made, "last", "--fps", "1", COLORTERM="") as seen:
        seen.until(lambda: seen.step() == 0)
        shown = seen.picture()
        assert shown.shape == (74, 56, 1)
        small = expected(frames[0], 74, 56).astype(np.uint8)
        assert (
            shown[..., 0] == cells.encoded(frames[0], 37, 56, cells.INDEXED).transpose(0, 2, 1).reshape(74, 56)
        ).all()
        assert np.abs(small.astype(int) - _rgb(shown[..., 0])).mean() < 25
        seen.process.send_signal(signal.SIGTERM)
        assert seen.end() == 128 + signal.SIGTERM
        assert seen.is_restored


def _rgb(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    levels = np.array([0, 95, 135, 175, 215, 255])
    cube = codes - 16
    colours = np.stack([levels[cube // 36 % 6], levels[cube // 6 % 6], levels[cube % 6]], axis=-1)
    grey = (8 + 10 * (codes - 232))[..., None].repeat(3, axis=-1)
    return np.where((codes >= 232)[..., None], grey, colours)


def test_once_plays_to_the_end_and_leaves(made: Path) -> None:
    with window(made, "last", "0", "--once", "--speed", "8", "--to", "40") as seen:
        steps = []
        while seen.process.poll() is None:
            seen._receive(0.02)
            if seen.step() >= 0:
                steps.append(seen.step())
        assert seen.end() == 0
        assert steps == sorted(steps)
        assert steps[-1] == 39
        assert len(set(steps)) > 5
        assert seen.is_restored


def test_what_cannot_be_read_is_said_after_the_terminal_is_restored(made: Path, tmp_path: Path) -> None:
    store = Path(shutil.copytree(made, tmp_path / "store"))
    sealed = store / "replay" / f"{RUN}.h5"
    with h5py.File(sealed) as file:
        last = file["frames"].id.get_chunk_info(file["frames"].id.get_num_chunks() - 1)
    flip(sealed, last.byte_offset + last.size // 2)
    with window(store, "last", "--speed", "0.1") as seen:
        seen.until(lambda: seen.step() >= 0)
        assert seen.modes["1049"]
        seen.press(b"\x1b[F")  # to the end, whose picture lies elsewhere, and a step back into the damage
        seen.press(b"\x1b[D")
        assert seen.end() == 1
        assert seen.is_restored
        assert re.match(r"playhead: .*damaged", "".join(seen.text))


def test_frames_in_a_terminal_stay_there(made: Path) -> None:
    with window(made, "last", "--frames", "1") as seen:
        assert seen.end() == 0
        assert "1049" not in seen.modes
        assert any(look.get("back") for row in seen.cells for _, look in row)


# -- the parts of it ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "depth"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, cells.TRUE),
        ({"TERM": "xterm", "COLORTERM": "24bit"}, cells.TRUE),
        ({"TERM": "xterm-direct"}, cells.TRUE),
        ({"TERM": "xterm-256color"}, cells.INDEXED),
        ({"TERM": "screen-256color", "COLORTERM": "yes"}, cells.INDEXED),
        ({"TERM": "vt100"}, cells.PLAIN),
        ({"TERM": "dumb", "COLORTERM": "truecolor"}, cells.PLAIN),
        ({}, cells.PLAIN),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": "1"}, cells.PLAIN),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, cells.INDEXED),
    ],
)
def test_how_many_colours_a_terminal_has(variables: dict[str, str], depth: str) -> None:
    assert cells.depth_of(variables) == depth


@given(st.integers(1, 2000), st.integers(1, 2000), st.integers(1, 200), st.integers(1, 300))
def test_a_picture_fills_the_window_and_keeps_its_aspect(height: int, width: int, rows: int, columns: int) -> None:
    tall, wide = cells.fitted((height, width, 3), rows, columns)
    assert 1 <= tall <= rows
    assert 1 <= wide <= columns
    assert tall == rows or wide == columns
    scale = min(columns / width, 2 * rows / height)
    assert abs(2 * tall - height * scale) <= max(1, 2 - height * scale)
    assert abs(wide - width * scale) <= max(0.5, 1 - width * scale)


@given(st.data())
def test_only_what_changes_is_drawn_and_all_of_it(data: st.DataObject) -> None:
    """Applied to what was there, the changes give what is to be there."""
    shape = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 9)))
    codes = st.lists(
        st.sampled_from([0, 0xFF0000, 0x00FF80]), min_size=2 * shape[0] * shape[1], max_size=2 * shape[0] * shape[1]
    )
    before, after = (np.array(data.draw(codes), np.int32).reshape(*shape, 2) for _ in range(2))
    text = cells.changes(after, before, 2, 3, cells.TRUE)
    screen = before.copy()
    row = column = front = back = 0
    drawn = 0
    for place, looks, chars in re.findall(r"(?:\x1b\[(\d+;\d+)H)?\x1b\[([\d;]+)m([ ▀]*)", text):
        if place:
            row, column = (int(number) for number in place.split(";"))
        for ground, *colour in re.findall(r"([34]8);2;(\d+);(\d+);(\d+)", looks):
            code = int(colour[0]) << 16 | int(colour[1]) << 8 | int(colour[2])
            front, back = (code, back) if ground == "38" else (front, code)
        for char in chars:
            screen[row - 3, column - 4] = (front if char == "▀" else back, back)
            column += 1
            drawn += 1
    assert (screen == after).all()
    assert drawn == (before != after).any(axis=-1).sum()


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ([b" q5"], [" ", "q", "5"]),
        ([b"\x1b[A\x1b[B\x1b[C\x1b[D"], ["up", "down", "right", "left"]),
        ([b"\x1bOA\x1bOH\x1bOF"], ["up", "home", "end"]),
        ([b"\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[7~\x1b[8~"], ["home", "end"] * 3),
        ([b"\x1b[1;2C"], ["right"]),
        ([b"\x1b", b"[", b"C"], ["right"]),
        ([b"\x1b[1", b"~q"], ["home", "q"]),
        ([b"\x1b[5~\x1b[200~l"], ["l"]),
        ([b"\x1b", b"q"], ["q"]),
        ([b"\x1b\x1b[D"], ["left"]),
        (["ä?".encode(), b"\xff"], ["ä", "?"]),
    ],
)
def test_what_keys_send(parts: Sequence[bytes], found: list[str]) -> None:
    decoder = keys.Decoder()
    assert [key for part in parts for key in decoder.feed(part)] == found


class TestPlayback:
    times = np.array([0.0, 0.5, 1.0, 3.0, 3.5, 4.0])

    def test_it_follows_the_times(self) -> None:
        playback = Playback(self.times, range(5), now=100.0)
        shown = []
        for now in (100.0, 100.4, 100.5, 101.2, 102.9, 103.1, 103.6, 104.0):
            playback.advance(now)
            shown.append(playback.scene)
        assert shown == [0, 0, 1, 2, 2, 3, 4, 4]
        assert playback.is_over
        playback.toggle(110.0)
        playback.advance(110.6)
        assert (playback.scene, playback.is_over) == (1, False)

    def test_it_waits_until_the_next_scene(self) -> None:
        playback = Playback(self.times, range(5), now=0.0, speed=2.0)
        assert playback.until_next(0.1) == pytest.approx(0.15)
        assert playback.until_next(7.0) == 0
        playback.toggle(0.1)
        assert playback.until_next(0.1) is None

    def test_a_change_of_speed_or_a_pause_does_not_jump(self) -> None:
        playback = Playback(self.times, range(5), now=0.0)
        playback.advance(0.9)
        playback.change_speed(True)
        playback.advance(0.92)
        assert playback.scene == 1
        playback.advance(0.96)
        assert playback.scene == 2
        playback.toggle(0.96)
        playback.advance(50.0)
        playback.toggle(50.0)
        playback.advance(50.01)
        assert playback.scene == 2

    def test_a_part_loops(self) -> None:
        playback = Playback(self.times, range(1, 3), now=0.0, loops=True)
        shown = []
        for now in (0.0, 0.6, 2.4, 2.6, 25.1):
            playback.advance(now)
            shown.append(playback.scene)
        assert shown == [1, 2, 2, 1, 1]
        playback.seek(99, 30.0)
        assert playback.scene == 2
        playback.step(-5, 30.0)
        assert (playback.scene, playback.is_paused) == (1, True)

    def test_speeds_end_at_both_sides(self) -> None:
        playback = Playback(self.times, range(5), now=0.0, speed=3.0)
        playback.change_speed(False)
        assert playback.speed == 2
        for _ in range(20):
            playback.change_speed(True)
        assert playback.speed == SPEEDS[-1] == 16
        for _ in range(20):
            playback.change_speed(False)
        assert playback.speed == SPEEDS[0] == 0.1
