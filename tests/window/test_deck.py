"""What a window shows, without a window: a line of episodes, a place that moves, and what happens now."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import playhead
from playhead.window.deck import Deck
from playhead.window.timeline import Timeline
from tests.window.made import LENGTHS, Now, frame, record


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Timeline]:
    path = tmp_path_factory.mktemp("window") / "store"
    run_id = record(path)
    with playhead.open(path, "r") as store:
        yield Timeline.of_run(store.runs[run_id])


def test_episodes_lie_one_behind_the_other(line: Timeline) -> None:
    assert len(line) == sum(LENGTHS)
    assert line.boundaries == [LENGTHS[0]]
    places = [(episode, step) for episode, length in enumerate(LENGTHS) for step in range(length)]
    for place, (episode, step) in enumerate(places):
        scene = line.scene(place)
        assert np.array_equal(scene.picture, frame(episode, step))
        assert scene.figures[0].text == f"{step} / {LENGTHS[episode] - 1}"
        assert f"ep000{episode}" in scene.title
    assert line.scene(len(line) - 1).remark == "terminated"


def test_it_plays_at_the_speed_of_the_recording(line: Timeline) -> None:
    deck = Deck(lambda: line)
    deck.seek(0)
    assert not deck.advance(0.05)
    assert deck.advance(0.06)
    assert deck.place == 1
    deck.speed = 2.0
    deck.advance(0.1)
    assert deck.place == 3


def test_it_ends_and_begins_again(line: Timeline) -> None:
    deck = Deck(lambda: line)
    deck.seek(len(line) - 2)
    deck.advance(10)
    assert deck.is_over
    assert deck.is_paused
    deck.toggle()
    assert (deck.place, deck.is_paused) == (0, False)
    deck.loops = True
    deck.seek(len(line) - 1)
    deck.advance(10)
    assert deck.place == 0


def test_seeking_past_the_ends_stays_within(line: Timeline) -> None:
    deck = Deck(lambda: line)
    for given, expected in [(-5, 0), (3, 3), (99, len(line) - 1)]:
        deck.seek(given)
        assert deck.place == expected
    deck.step(-2)
    assert (deck.place, deck.is_paused) == (len(line) - 3, True)


def test_live_back_into_the_recording_and_live_again(line: Timeline) -> None:
    deck = Deck(lambda: line, Now())
    assert deck.is_live
    assert deck.scene() is None
    assert deck.advance(0.02)
    scene = deck.scene()
    assert scene is not None
    assert scene.title == "Made-v0 · live"
    deck.step(-1)
    assert (deck.is_live, deck.place) == (False, len(line) - 2)
    deck.is_paused = False
    deck.advance(10)
    assert deck.is_live  # what was recorded ended, so that what happens now is next


def test_a_program_that_dies_leaves_its_recording(line: Timeline) -> None:
    now = Now()
    deck = Deck(lambda: line, now)
    deck.advance(0.02)
    now.alive = False
    deck.refresh()
    assert (deck.is_live, deck.place, deck.can_be_live) == (False, len(line) - 1, False)
    deck.go_live()
    assert not deck.is_live


def test_nothing_recorded_yet() -> None:
    empty = Timeline.of_nothing()
    deck = Deck(lambda: empty)
    assert deck.scene() is None
    assert not deck.advance(1)
    deck.seek(3)
    deck.step(1)
    assert deck.place == 0


def test_speeds_have_ends(line: Timeline) -> None:
    deck = Deck(lambda: line)
    for _ in range(20):
        deck.change_speed(True)
    assert deck.speed == 16
    for _ in range(20):
        deck.change_speed(False)
    assert deck.speed == 0.1
