"""Many short episodes that do not wait for the medium, and `dataset.sync()`, which waits for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import playhead
from playhead.check import verify_episode
from tests.crash.power.workloads.whole import hold_together

SAMPLES = 20
SYNCED, BATCHES, BATCH = "a" * 32, 3, 5
UIDS = [f"{number:032}" for number in range(BATCHES * BATCH)]


def work(path: Path, tell: Callable[[str], None]) -> None:
    """Record one episode that waits, then batches that do not; wait after each batch but the last."""
    with playhead.open(path) as store:
        with store.dataset("d").new_episode(uid=SYNCED) as episode:
            _record(episode)
        tell(SYNCED)
        for number, uid in enumerate(UIDS, 1):
            with store.dataset("d").new_episode(uid=uid, sync=False) as episode:
                _record(episode)
            if number % BATCH == 0 and number < len(UIDS):
                store.dataset("d").sync()
                for one in UIDS[number - BATCH : number]:
                    tell(one)


def _record(episode: Any) -> None:
    episode.set_static("task", "pick")
    for number in range(SAMPLES):
        episode.append("x", float(number), number + 1)
        episode.append("text", f"t{number}", number + 1)


def hold(path: Path, told: Sequence[str]) -> None:
    """Those that were waited for are there; of the others each is whole, unfinished, or not there."""
    with playhead.open(path) as store:
        finished = {episode.uid for episode in store.dataset("d")}  # which all can be read
        assert finished <= {SYNCED, *UIDS}, finished
        for unfinished in store.dataset("d").unfinished:
            assert unfinished.uid not in told
            try:
                unfinished.recover()
            except playhead.NotFound:
                unfinished.discard()
            except playhead.Damaged:
                unfinished.recover(salvage=True)
        dataset = store.dataset("d")
        assert dataset.unfinished == []
        assert {*told} <= finished, f"{sorted({*told} - finished)} are gone"
        for episode in dataset:
            check(episode, SAMPLES if episode.uid in finished else 0)
        with dataset.new_episode(sync=False) as after:
            _record(after)
        dataset.sync()
        assert len(store.dataset("d")) == len(dataset) + 1
    hold_together(path)


def check(episode: playhead.Episode, least: int) -> None:
    """See that an episode has at least so many samples of each signal, each as it was recorded."""
    assert episode.uid in {SYNCED, *UIDS}
    found = {name: [*signal] for name, signal in episode.signals.items()}
    if least:
        assert {*found} == {"x", "text"}
        assert episode.static == {"task": "pick"}
    for name, samples in found.items():
        assert len(samples) >= least
        for value, stamp in samples:
            assert value == (stamp - 1 if name == "x" else f"t{stamp - 1}")
    damage = [finding for finding in verify_episode(episode.path, deep=True) if finding.severity == "damage"]
    assert damage == [], damage
