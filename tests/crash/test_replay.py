"""Replays under fire: killed or failing at each change of the disk and at random moments, nothing promised is lost.

Here a tenth; `make campaign` does all of it.
"""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playhead import disk
from playhead.errors import PlayheadError
from playhead.lanes.arrays.reel import Reel
from playhead.layout import ReplayFolder
from playhead.testing import Operation, failing_at, killed_at, operations_of
from tests.crash.replay_campaign import Told, assert_rows, files_in, names_of, verify, work

ROOT = Path(__file__).parents[2]
SHARE = float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))
STRIDE = max(1, round(1 / SHARE))
STOPS = max(3, round(150 * SHARE))
TOGETHER = 3


@pytest.fixture(scope="module")
def changes(tmp_path_factory: pytest.TempPathFactory) -> list[Operation]:
    return operations_of(lambda: work(tmp_path_factory.mktemp("count"), lambda _: None))


def drafts_in(changes: list[Operation]) -> list[int]:
    """Find the writes to files that nobody sees yet."""
    return [
        n for n, change in enumerate(changes) if change.name == "write" and disk.is_temporary(Path(change.path).name)
    ]


def chosen(changes: list[Operation], offset: int) -> list[int]:
    """Choose changes: all, or a tenth; of the many that HDF5 makes to files nobody sees yet, fewer."""
    drafts = drafts_in(changes)
    others = sorted(set(range(len(changes) + 10)) - set(drafts))
    rarely = STRIDE if STRIDE == 1 else 8 * STRIDE
    return sorted([*others[offset % STRIDE :: STRIDE], *drafts[offset * 7 % rarely :: rarely]])


def told(acknowledged: list[Any]) -> list[Told]:
    return [Told(*one) for one in acknowledged if isinstance(one, list)]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("torn", [False, True], ids=["kill", "torn"])
def test_killed_at_each_change(tmp_path: Path, changes: list[Operation], torn: bool) -> None:
    tried = 0
    for n in chosen(changes, 5 * torn):
        path = tmp_path / str(n)
        crash = killed_at(n, lambda acknowledge, path=path: work(path, acknowledge), torn=torn)
        verify(files_in(path), told(crash.acknowledged))
        tried += crash.killed
    assert tried > 3
    print(f"{'torn' if torn else 'killed'} at {tried} of about {len(changes)} changes, nothing promised lost")


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("code", "lasting", "short", "patient"),
    [
        (errno.EIO, False, False, True),
        (errno.ENOSPC, True, False, False),
        (errno.ENOSPC, False, True, False),
    ],
    ids=["fails once", "full for good", "short"],
)
def test_failing_at_each_change(
    tmp_path: Path, changes: list[Operation], code: int, lasting: bool, short: bool, patient: bool
) -> None:
    raised = 0
    places = chosen(changes, 3 * lasting + 7 * short + 1)
    for n in places:
        path = tmp_path / str(n)

        def failing(acknowledge: Callable[[Any], None], path: Path = path, n: int = n) -> None:
            try:
                with failing_at(n, code, lasting=lasting, short=short):
                    work(path, acknowledge, patient=patient)
            except (PlayheadError, OSError) as error:
                acknowledge(repr(error))

        acknowledged = killed_at(1 << 30, failing).acknowledged  # in a process of its own, which ends by itself
        raised += not isinstance(acknowledged[-1], list)
        if patient:
            assert isinstance(acknowledged[-1], list), acknowledged[-1]
        verify(files_in(path), told(acknowledged))
    print(f"{len(places)} errors at {len(changes)} changes, {raised} ended the recording, nothing promised lost")


def test_what_a_crash_left_half_written_is_removed(tmp_path: Path, changes: list[Operation]) -> None:
    """Was a bug: a file that was being sealed stays for ever, hidden, as large as a segment."""
    drafts = drafts_in(changes)
    left_behind = 0
    for n in drafts[20 :: len(drafts) // 6]:
        path = tmp_path / str(n)
        crash = killed_at(n, lambda acknowledge, path=path: work(path, acknowledge))
        left_behind += len(temporaries(path))
        verify(files_in(path), told(crash.acknowledged))
        assert temporaries(path) == []
    assert left_behind, "nothing was being written"


def temporaries(path: Path) -> list[Path]:
    return [left for left in path.rglob("*") if disk.is_temporary(left.name)]


class Program:
    """One that records until it is stopped, and says so in a file."""

    def __init__(self, folder: Path, count: int, ending: str) -> None:
        command = [sys.executable, "-m", "tests.crash.replay_campaign", str(folder), str(count), ending]
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as erred:
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=erred, start_new_session=True)
            self._said, self._erred = os.dup(said.fileno()), os.dup(erred.fileno())

    def wait_until_it_records(self) -> None:
        """Wait for its first word: what it imports before may swallow a signal, and there is nothing to lose yet."""
        until = time.monotonic() + 60
        while not os.fstat(self._said).st_size:
            assert self.process.poll() is None, self._text(self._erred)
            assert time.monotonic() < until
            time.sleep(0.01)

    def hear(self) -> list[list[str]]:
        """Wait for its end; give the lines that it said."""
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGUSR1)  # it says where its threads are
            time.sleep(1)
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"it never ended; its threads:\n{self._text(self._erred)[-8000:]}") from None
        lines = [line.split(" ") for line in self._text(self._said).split("\n")[:-1]]
        assert not any(line[0] == "raised" for line in lines), (lines[-1], self._text(self._erred)[-2000:])
        os.close(self._said)
        os.close(self._erred)
        return lines

    @staticmethod
    def _text(file: int) -> str:
        return os.pread(file, os.fstat(file).st_size, 0).decode()


class Heard:
    """What a program said of a reel before it was stopped."""

    def __init__(self, lines: list[list[str]], name: str) -> None:
        mine = [(int(row), what) for reel, row, what in lines if reel == name]
        self.first = next((row for row, what in mine if what == "opened"), 0)
        self.flushed = max((row + 1 for row, what in mine if what == "flushed"), default=self.first)
        self.times = {row: int(what) for row, what in mine if what.isdecimal()}

    def lost(self, length: int) -> float:
        """Give the seconds by which the oldest step that is gone was older than the newest."""
        missing = [ns for row, ns in self.times.items() if row >= length]
        return (max(missing) - min(missing)) / 1e9 if missing else 0.0


@pytest.mark.timeout(3600)
def test_stopped_at_any_moment_it_loses_less_than_a_second(tmp_path: Path) -> None:
    moments = random.Random(11)
    stops: dict[str, int] = {}
    worst, steps = 0.0, 0
    for number in range(0, STOPS, TOGETHER):
        how = [
            (signal.SIGKILL, "open"),
            (signal.SIGTERM, "open"),
            (signal.SIGINT, ["open", "closing"][number // 3 % 2]),
        ]
        running = []
        for place, (signum, ending) in enumerate(how):
            count = 3 if (number + place) % 2 else 1
            folder = tmp_path / f"{place}-{count}-{number // (10 * TOGETHER)}"  # later ones go on with what is there
            running.append((signum, ending, folder, count, Program(folder, count, ending)))
        for *_, program in running:
            program.wait_until_it_records()
        time.sleep(moments.uniform(0, 2.5))
        for signum, *_, program in running:
            time.sleep(moments.uniform(0, 0.1))
            program.process.send_signal(signum)
        for signum, ending, folder, count, program in running:
            lines = program.hear()
            stops[signum.name] = stops.get(signum.name, 0) + 1
            for name in names_of(count):
                heard = Heard(lines, name)
                length = check(folder, name, heard)
                lost = heard.lost(length)
                worst, steps = max(worst, lost), steps + len(heard.times)
                assert lost < 1.0, f"{lost:.2f} s lost by {signum.name}"
                if signum == signal.SIGINT and heard.times:
                    assert length > max(heard.times), f"Ctrl-C ({ending}) lost {max(heard.times) + 1 - length} steps"
    print(f"{stops}, {steps} steps, at most {worst:.3f} s lost")


def check(folder: Path, name: str, heard: Heard) -> int:
    """See that what was flushed is there, and that all that is there is right; give how many steps that are."""
    files = ReplayFolder(folder).reel(name)
    if not files.exist():
        assert not heard.times
        return 0
    reel = Reel(files)
    assert reel.damage == []
    length = assert_rows(reel, [Told("opened", 0, 0)], heard.flushed)
    for span in reel.spans[:-1]:
        assert span.length <= 6
    reel.close()
    return length
