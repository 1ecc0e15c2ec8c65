"""What a player marks: rewards, ends, lives, missing frames, gaps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import playhead
from playhead.web.episodes import marks
from playhead.web.episodes.addresses import Address
from playhead.web.episodes.marks import Mark
from playhead.web.episodes.opened import Opened
from tests.check.making import START, append, frame
from tests.web.long_episode import make_long_episode, make_robot_episode
from tests.web.material import HOLES, RUN, STEP_NS, STEPS, picture, play_kinds


def marks_of(store: playhead.Store, address: Address) -> list[Mark]:
    opened = Opened(store._home)
    try:
        return marks.of(opened.episode(address))
    finally:
        opened.close()


def of_kind(found: list[Mark], kind: str) -> list[tuple[int, str]]:
    return [(mark.place, mark.text) for mark in found if mark.kind == kind]


def test_the_marks_of_an_agent(store: playhead.Store) -> None:
    play_kinds(store)
    found = marks_of(store, Address(f"{RUN}-ep0000"))
    assert of_kind(found, "reward") == [(10, "+5"), (30, "-1")]
    assert of_kind(found, "end") == [(STEPS - 1, "terminated")]
    assert of_kind(found, "life") == [(25, "life lost, 2 left"), (50, "life lost, 1 left")]
    assert of_kind(found, "missing") == [(min(HOLES), "frame: 3 missing"), (20, "frame: missing")]
    assert [mark.stamp for mark in found] == sorted(mark.stamp for mark in found)
    assert next(mark.stamp for mark in found if mark.kind == "life") == START + 25 * STEP_NS


@pytest.mark.parametrize(
    ("how", "kind", "text"), [("reset", "reset", "reset"), ("error", "end", "error"), (None, "end", None)]
)
def test_how_an_episode_ended(store: playhead.Store, how: str | None, kind: str, text: str | None) -> None:
    with store.run("a", "b", run_id="ends", environment=False) as run:
        reel = run.new_reel()
        reel.begin()
        for _ in range(3):
            reel.step({"actions": np.array(1)}, 0.0, False, False)
        if how is None:
            reel.flush()
            run.flush()
            assert marks_of(store, Address("ends-ep0000")) == []
        else:
            reel.end(how)
    if how is not None:
        assert of_kind(marks_of(store, Address("ends-ep0000")), kind) == [(2, text)]


def test_of_too_many_rewards_the_largest_stay(store: playhead.Store) -> None:
    with store.run("a", "b", run_id="rich", environment=False) as run:
        reel = run.new_reel()
        reel.begin()
        for step in range(5000):
            reel.step({"actions": np.array(1)}, -float(step) if step % 2 else 0.001, False, False)
        reel.step({"actions": np.array(1)}, float("nan"), True, False)
        reel.end("terminated")
    found = marks_of(store, Address("rich-ep0000"))
    assert len(found) == marks.MOST
    assert of_kind(found, "end") == [(5000, "terminated")]
    rewards = [place for place, _ in of_kind(found, "reward")]
    assert rewards == [step for step in range(1000, 5000) if step % 2][-(marks.MOST - 1) :]


def test_frames_of_each_fourth_step_are_not_missing(store: playhead.Store) -> None:
    with store.run("a", "b", run_id="fourth", environment=False) as run:
        reel = run.new_reel()
        reel.begin()
        for step in range(200):
            arrays = {"actions": np.array(1)}
            if step % 4 == 0 and not 80 <= step < 100:
                arrays["frames"] = picture(step)
            reel.step(arrays, 0.0, False, False)
        reel.end("closed")
    assert of_kind(marks_of(store, Address("fourth-ep0000")), "missing") == [(77, "frame: 23 missing")]


def test_gaps_of_signals_that_have_a_rhythm(store: playhead.Store) -> None:
    with store.dataset("arm").new_episode(uid="gaps1", created_ts_ns=START) as episode:
        for number in range(300):
            if not 100 <= number < 150:
                episode.append("force", 1.0, START + number * 10_000_000)
        for number in range(30):
            if number not in (10, 11, 12, 13, 14, 15):
                episode.append("cam", frame(number), START + number * 33_000_000)
        at = START
        for wait in (1, 50, 2, 700, 3, 90, 1, 1, 400, 5, 1, 60, 900, 2):  # speaks when it has something to say
            at += wait * 10_000_000
            episode.append("button", True, at)
        append(episode, "few", [1.0, 2.0])
    found = marks_of(store, Address("gaps1", "arm"))
    assert {mark.kind for mark in found} == {"gap"}
    assert of_kind(found, "gap") == [(9, "cam: no sample for 0.23 s"), (99, "force: no sample for 0.51 s")]


def test_a_real_game_and_a_robot(tmp_path: Path) -> None:
    path = tmp_path / "store"
    make_long_episode(path, 1500)
    make_robot_episode(path, seconds=2.0)
    with playhead.open(path, mode="r") as store:
        episode = store.episode("long_breakout-ep0000")
        rewards = episode.steps["reward"]
        found = marks_of(store, Address("long_breakout-ep0000"))
        assert [place for place, _ in of_kind(found, "reward")] == np.flatnonzero(rewards).tolist()
        lives = [info["lives"] for info in episode.infos]
        fallen = [step for step in range(1, len(lives)) if lives[step] < lives[step - 1]]
        assert [place for place, _ in of_kind(found, "life")] == fallen
        robot = marks_of(store, Address("reach0001", "arm"))
        assert [mark.kind for mark in robot] == ["gap"]
