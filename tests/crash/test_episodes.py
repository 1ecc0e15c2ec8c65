"""Episodes under fire: killed or failing at each change of the disk and at random moments, nothing promised is lost.

Here a tenth; `make campaign` does all of it.
"""

from __future__ import annotations

import errno
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import playhead
from playhead.check import verify_episode
from playhead.dataset import LocalDataset, LocalDatasetWriter
from playhead.errors import PlayheadError
from playhead.testing import count_operations, failing_at, killed_at
from tests.dump import assert_catalogue_agrees_with_folders

SHARE = float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))
STRIDE = max(1, round(1 / SHARE))
KILLS = max(2, round(100 * SHARE))
SAMPLES = 24
UID = "0" * 31 + "1"


def picture(number: int) -> np.ndarray[Any, Any]:
    """Give a frame that shows its own number."""
    frame = np.zeros((32, 48, 3), np.uint8)
    for bit in range(8):
        frame[:, bit * 6 : bit * 6 + 6] = 255 if number >> bit & 1 else 0
    return frame


def number_in(frame: np.ndarray[Any, Any]) -> int:
    return sum(1 << bit for bit in range(8) if frame[:, bit * 6 + 1 : bit * 6 + 5].mean() > 127)


def work(path: Path, acknowledge: Callable[[Any], None]) -> None:
    """Record an episode with numbers, texts, vectors and a camera; abort one; edit."""
    with playhead.open(path) as store, store.run("p", "r", run_id="r", environment=False) as run:
        with run.new_episode("d", uid=UID) as episode:
            episode.set_static("task", "pick")
            for number in range(SAMPLES):
                episode.append("x", float(number), number)
                episode.append("text", f"t{number}", number)
                episode.append("v", np.full((2, 3), number, np.int16), number)
                episode.append("cam", picture(number), number)
                if number % 8 == 7:
                    episode.flush(sync=number == 15)
                    acknowledge(number + 1)
        acknowledge("closed")
        aborted = store.dataset("d").new_episode()
        aborted.append("x", 1.0, 1)
        aborted.abort()
        acknowledge("aborted")
        store.dataset("d").set_static(UID, {"verdict": "good"})
        acknowledge("edited")


def verify(path: Path, acknowledged: list[Any]) -> None:
    """Open the store as the next user would, recover, and hold it to every acknowledgement."""
    least = max((word for word in acknowledged if isinstance(word, int)), default=0)
    with playhead.open(path) as store:
        dataset = store.dataset("d")
        if "closed" in acknowledged:
            assert len(dataset) == 1
        for unfinished in dataset.unfinished:
            unfinished.recover()
        dataset = store.dataset("d")
        assert dataset.unfinished == []
        if least:
            episode = dataset.by_uid(UID)
            assert episode.static == {"task": "pick"}
            for name, expected in {
                "x": float,
                "text": lambda n: f"t{n}",
                "v": lambda n: [[n] * 3] * 2,
                "cam": lambda n: n,
            }.items():
                found = list(episode[name])
                assert [stamp for _, stamp in found] == list(range(len(found))), name
                assert len(found) >= (SAMPLES if "closed" in acknowledged else least), (name, len(found), least)
                for value, stamp in found:
                    shown = number_in(value) if name == "cam" else value.tolist() if name == "v" else value
                    assert shown == expected(stamp), (name, stamp)
            damage = [finding for finding in verify_episode(episode.path, deep=True) if finding.severity == "damage"]
            assert damage == []
            assert [episode.uid for episode in store.runs["r"].episodes] == [UID]
        if "edited" in acknowledged:
            assert dataset[0].static == {"task": "pick", "verdict": "good"}
        if "aborted" in acknowledged:
            assert LocalDatasetWriter(dataset.path)._next == 2
        with dataset.new_episode() as after:
            after.append("x", 1.0, 1)
        assert len(store.dataset("d")) == len(dataset) + 1
    assert_catalogue_agrees_with_folders(path)


@pytest.fixture(scope="module")
def changes(tmp_path_factory: pytest.TempPathFactory) -> int:
    return count_operations(lambda: work(tmp_path_factory.mktemp("count") / "s", lambda _: None))


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("torn", [False, True], ids=["kill", "torn"])
def test_killed_at_each_change(tmp_path: Path, changes: int, torn: bool) -> None:
    tried = 0
    for n in range(int(torn) * 3 % STRIDE, changes + 10, STRIDE):
        path = tmp_path / str(n)
        crash = killed_at(n, lambda acknowledge, path=path: work(path, acknowledge), torn=torn)
        if (path / "playhead.json").exists():
            verify(path, crash.acknowledged)
        tried += crash.killed
    assert tried > 3
    print(f"{'torn' if torn else 'killed'} at {tried} of about {changes} changes, nothing promised lost")


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("code", "lasting", "short"),
    [(errno.EIO, False, False), (errno.ENOSPC, True, False), (errno.ENOSPC, False, True)],
    ids=["fails once", "full for good", "short"],
)
def test_failing_at_each_change(tmp_path: Path, changes: int, code: int, lasting: bool, short: bool) -> None:
    raised = 0
    for n in range(4 % STRIDE, changes, STRIDE):
        path = tmp_path / str(n)

        def failing(acknowledge: Callable[[Any], None], path: Path = path, n: int = n) -> None:
            try:
                with failing_at(n, code, lasting=lasting, short=short):
                    work(path, acknowledge)
            except (PlayheadError, OSError):
                acknowledge("raised")

        acknowledged = killed_at(1 << 30, failing).acknowledged  # in a process of its own, which ends by itself
        raised += "raised" in acknowledged
        if (path / "playhead.json").exists():
            verify(path, acknowledged)
    assert raised > 0 or STRIDE > 5
    print(f"{raised} errors raised at every {STRIDE}th of about {changes} changes, nothing promised lost")


def record_for_ever(root: Path, pipe: int) -> None:
    writer = LocalDatasetWriter(root)
    while True:
        with writer.new_episode() as episode:
            for number in range(400):
                now = time.time_ns()
                episode.append("x", float(number), now)
                episode.append("v", np.full(14, number, np.float32), now)
                if number % 4 == 0:
                    episode.append("cam", picture(number // 4), now)
                os.write(pipe, f"{episode.uid} {number} {now}\n".encode())
                time.sleep(0.004)


@pytest.mark.timeout(3600)
def test_a_kill_at_any_moment_loses_at_most_a_second(tmp_path: Path) -> None:
    moments = random.Random(11)
    worst = 0.0
    for kill in range(KILLS):
        root = tmp_path / str(kill % 10)
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            try:
                record_for_ever(root, writing)
            finally:
                os._exit(1)
        os.close(writing)
        time.sleep(moments.uniform(0.3, 3.0))
        os.kill(pid, signal.SIGKILL)
        assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL, "the recorder failed by itself"
        with open(reading, "rb") as file:
            told = [line.split() for line in file.read().decode().splitlines()]
        recovered = [unfinished.recover() for unfinished in LocalDataset(root).unfinished]
        if not told:
            continue
        uid, _, last = told[-1]
        episode = LocalDataset(root).by_uid(uid)
        first = min(int(stamp) for known, _, stamp in told if known == uid)
        ends = [recorded.last_ts for recorded in episode.signals.values()]
        lost = (int(last) - (min(ends) if len(ends) == 3 else first)) / 1e9  # the slowest of all signals
        worst = max(worst, lost)
        assert lost < 1.0, f"{lost} s lost"
        for found in recovered:
            if "x" not in found.signals:
                continue
            assert found["x"].values.tolist() == list(range(len(found["x"])))
            if "cam" in found.signals:
                assert [number_in(frame) for frame in found["cam"].values] == list(range(len(found["cam"])))
            assert [item for item in verify_episode(found.path, deep=True) if item.severity == "damage"] == []
    print(f"{KILLS} kills while recording, at most {worst:.3f} s lost")
