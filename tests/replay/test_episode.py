"""Episodes of a reel: what one step has, and never what another has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

import playhead
from playhead.integrations.gymnasium import Recorder
from playhead.replay import ReplayEpisode
from tests.integrations.test_gymnasium_envs import Scripted


def seen(number: float) -> np.ndarray:
    return np.full(1, number, np.float32)


def recorded(
    store: playhead.Store, steps: list[tuple[dict[str, Any], str | None]], finals: dict[str, Any] | None = None
) -> ReplayEpisode:
    with store.run("p", "n", run_id="r", environment=False) as run:
        reel = run.new_reel(facts={})
        reel.begin()
        for arrays, agent in steps:
            reel.step(arrays, 1.0, False, False, agent=agent)
        if finals is not None:
            reel.end("terminated", finals)
        reel.close()
    return store.runs["r"].episodes[0]


def told(episode: ReplayEpisode) -> list[tuple[Any, Any, Any]]:
    found = [episode.transition(step) for step in range(episode.length)]
    return [tuple(None if x is None else np.asarray(x).item() for x in (t[0], t[1], t[3])) for t in found]


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_step_without_an_observation_has_none(store: playhead.Store, missing: int) -> None:
    """Was a bug: it had that of the step before, and at the first step there was an error."""
    steps = [({"actions": np.int32(n)} | ({} if n == missing else {"observations": seen(n)}), None) for n in range(3)]
    there = [None if n == missing else n for n in range(3)]
    episode = recorded(store, steps, {"observations": seen(9)})
    assert told(episode) == [(there[0], 0, there[1]), (there[1], 1, there[2]), (there[2], 2, 9)]


def test_nothing_was_seen_and_nothing_done(store: playhead.Store) -> None:
    assert told(recorded(store, [({"notes": seen(1)}, None)] * 2)) == [(None, None, None)] * 2


def test_each_agent_has_what_it_saw_itself(store: playhead.Store) -> None:
    """Was a bug: nothing but empty dicts."""
    steps = [({"observations": seen(n), "actions": np.int32(n)}, "ab"[n % 2]) for n in range(5)]
    assert told(recorded(store, steps)) == [(0, 0, 2), (1, 1, 3), (2, 2, 4), (3, 3, None), (4, 4, None)]


def test_agents_whose_spaces_differ_and_what_each_saw_last(store: playhead.Store) -> None:
    steps: list[tuple[dict[str, Any], str | None]] = [
        ({"observations": seen(0), "actions": np.int32(0)}, "a"),
        ({"observations_2": np.int64(1), "actions_2": np.int32(1)}, "b"),
        ({"observations": seen(2), "actions": np.int32(2)}, "a"),
        ({"observations_2": np.int64(3), "actions_2": np.int32(3)}, "b"),
    ]
    episode = recorded(store, steps, {"observations.a": seen(8), "observations.b": np.int64(9)})
    assert told(episode) == [(0, 0, 2), (1, 1, 3), (2, 2, 8), (3, 3, 9)]


def test_what_was_seen_last_of_several_is_not_known_where_nobody_says_whose_it_is(store: playhead.Store) -> None:
    steps = [({"observations": seen(n), "actions": np.int32(n)}, "ab"[n]) for n in range(2)]
    assert told(recorded(store, steps, {"observations": seen(9)})) == [(0, 0, None), (1, 1, None)]


def test_parts_are_together(store: playhead.Store) -> None:
    steps = [({"observations.x": seen(n), "observations.y": seen(-n), "actions": 0}, None) for n in range(2)]
    step = recorded(store, steps).transition(0)
    assert (step.observation["x"][0], step.next_observation["y"][0]) == (0, -1)


def test_a_text_that_was_seen_last_is_a_text(store: playhead.Store) -> None:
    """Was a bug: it was bytes."""
    text = spaces.Text(8, min_length=0)
    env_in = Scripted(text, text, ["née", "deux", ""])
    with store.run("p", "n", run_id="r", environment=False) as run, Recorder(env_in, run) as env:
        env.reset()
        env.step("un")
    step = run.episodes[0].transition(0)
    assert step[:4] == ("née", "un", 1.0, "deux")
    assert (type(step.observation), type(step.next_observation)) == (str, str)


@pytest.mark.parametrize("step", [1.5, True, "0", None])
def test_a_step_is_named_by_a_whole_number(store: playhead.Store, step: Any) -> None:
    """Was a bug: a fraction made an address that nobody can read."""
    episode = recorded(store, [({"observations": seen(n)}, None) for n in range(3)])
    for ask in (episode.transition, lambda step: episode.ref("observation", step)):
        with pytest.raises(playhead.BadKey, match="whole number"):
            ask(step)
    assert episode.ref("observation", np.int64(2)) == "h5://r/observations/2"
