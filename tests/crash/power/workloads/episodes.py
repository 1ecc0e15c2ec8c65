"""Episodes with numbers, texts, vectors and a camera: recorded, sealed, edited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import playhead
from playhead.check import verify_episode
from tests.crash.power.workloads.whole import hold_together, most
from tests.crash.test_episodes import number_in, picture

SAMPLES = 24
UIDS = ["1" * 32, "2" * 32, "3" * 32]


def work(path: Path, tell: Callable[[str], None]) -> None:
    """Record two episodes of a run and one of none, abort one; set items, drop one and take it in again."""
    with playhead.open(path) as store:
        with store.run("p", "r", run_id="r", environment=False) as run:
            for uid in UIDS[:2]:
                with run.new_episode("d", uid=uid) as episode:
                    _record(episode, uid, tell)
                tell(f"{uid} {SAMPLES}")
        dataset = store.dataset("d")
        dataset.set_static(UIDS[0], {"verdict": "good"})
        tell("judged")
        aborted = dataset.new_episode()
        aborted.append("x", 1.0, 1)
        aborted.flush(sync=True)
        aborted.abort()
        with dataset.new_episode(uid=UIDS[2]) as episode:
            _record(episode, UIDS[2], tell)
        tell(f"{UIDS[2]} {SAMPLES}")
        dataset.drop(UIDS[1])
        tell("dropped")


def _record(episode: Any, uid: str, tell: Callable[[str], None]) -> None:
    episode.set_static("task", "pick")
    for number in range(SAMPLES):
        for name, value in values_at(number).items():
            episode.append(name, value, number)
        if number % 6 == 5:
            episode.flush(sync=number == 11)
            if number == 11:
                tell(f"{uid} {number + 1}")


def values_at(number: int) -> dict[str, Any]:
    """Return what each signal has at one time."""
    vector = np.full((2, 3), number, np.int16)
    return {"x": float(number), "text": f"t{number}", "v": vector, "cam": picture(number)}


def hold(path: Path, told: Sequence[str]) -> None:
    """Each episode is recovered, and has all samples that were promised, each as it was recorded."""
    with playhead.open(path) as store:
        finished = {episode.uid for episode in store.dataset("d").source}
        assert finished <= {*UIDS}, f"a part of what was aborted passes for an episode: {finished}"
        for unfinished in store.dataset("d").unfinished:
            try:
                unfinished.recover()
            except playhead.NotFound:
                unfinished.discard()  # nothing was promised of it, or what was is missed below
            except playhead.Damaged:
                unfinished.recover(salvage=True)  # as the message advises: a lost block of what was not synced
        dataset = store.dataset("d")
        assert dataset.unfinished == []
        for uid in UIDS:
            if least := most(told, uid):
                _check(dataset.by_uid(uid), least)
        if "judged" in told:
            assert {episode.uid: episode.static for episode in dataset}[UIDS[0]]["verdict"] == "good"
        if "dropped" in told:
            assert dataset.dropped == {UIDS[1]}
        with dataset.new_episode() as after:
            after.append("x", 1.0, 1)
        assert len(store.dataset("d")) == len(dataset) + 1
    hold_together(path)


def _check(episode: playhead.Episode, least: int) -> None:
    assert episode.static["task"] == "pick"
    for name in values_at(0):
        found = list(episode[name])
        assert [stamp for _, stamp in found] == list(range(len(found))), name
        assert len(found) >= least, f"{least} samples of {name} were promised, {len(found)} are there"
        for value, stamp in found:
            if name == "cam":
                assert number_in(value) == stamp
            else:
                assert np.array_equal(value, values_at(stamp)[name]), (name, stamp)
    damage = [finding for finding in verify_episode(episode.path, deep=True) if finding.severity == "damage"]
    assert damage == [], damage
