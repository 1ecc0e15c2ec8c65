"""All the ways in which an episode can begin and end."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import playhead
from playhead.errors import Closed
from playhead.integrations.gymnasium import Recorder
from tests.integrations.test_gymnasium_envs import LINE, TWO, Scripted, Wander, Witness, assert_recorded, line, play

# -- how episodes end ---------------------------------------------------------------------------------------------------


def test_a_reset_in_the_middle_ends_the_episode_with_what_was_seen_last(store: playhead.Store) -> None:
    with store.run("odd", "end", environment=False) as run, Recorder(Scripted(LINE, TWO, line(*range(9))), run) as env:
        env.reset(seed=1)
        env.step(0)
        env.step(1)
        env.reset(options={"at": 3, "nan": np.nan})
        env.step(1)
    first, second = run.episodes
    assert (first.length, first.how, first.final["observation"].tolist()) == (2, "reset", [2, -2])
    assert (second.length, second.how, second.final["observation"].tolist()) == (1, "closed", [4, -4])
    assert second.static["options"]["at"] == 3
    assert np.isnan(second.static["options"]["nan"])
    assert "seed" not in second.static


def test_a_step_that_raises_ends_the_episode_and_is_passed_on(store: playhead.Store) -> None:
    script = [*line(0, 1, 2), ZeroDivisionError("too thin"), *line(3, 4)]
    with store.run("odd", "end", environment=False) as run, Recorder(Scripted(LINE, TWO, script), run) as env:
        env.reset()
        env.step(0)
        env.step(1)
        with pytest.raises(ZeroDivisionError, match="too thin"):
            env.step(0)
        env.reset()
        env.step(0)
    first, second = run.episodes
    assert (first.length, first.how, first.final["observation"].tolist()) == (2, "error", [2, -2])
    assert first.static["error"] == {"type": "ZeroDivisionError", "message": "too thin"}
    assert (second.length, second.how) == (1, "closed")


def test_an_interrupt_is_passed_on_and_loses_nothing(store: playhead.Store) -> None:
    script = [*line(0, 1), KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt), store.run("odd", "end", environment=False) as run:
        env = Recorder(Scripted(LINE, TWO, script), run)
        env.reset()
        env.step(0)
        env.step(1)
    [episode] = run.episodes
    assert (episode.length, episode.how, episode.final["observation"].tolist()) == (1, "error", [1, -1])


def test_closing_twice_is_fine_and_closes_the_environment_once(store: playhead.Store) -> None:
    class Door(Scripted):
        closed = 0

        def close(self) -> None:
            self.closed += 1

    door = Door(LINE, TWO, line(0, 1))
    with store.run("odd", "end", environment=False) as run:
        env = Recorder(door, run)
        env.reset()
        env.step(0)
        env.close()
        env.close()
        assert door.closed == 1
        env.reset()
        with pytest.raises(Closed, match="has ended"):
            env.step(0)
        env.close()
        assert door.closed == 2
    [episode] = run.episodes
    assert (episode.how, episode.final["observation"].tolist()) == ("closed", [1, -1])


def test_a_run_that_ends_first_keeps_every_step(store: playhead.Store) -> None:
    with store.run("odd", "end", environment=False) as run:
        env = Recorder(Scripted(LINE, TWO, line(0, 1, 2)), run)
        env.reset()
        env.step(0)
    with pytest.raises(Closed):
        env.step(0)
    env.close()
    [episode] = run.episodes
    assert (episode.length, episode.how) == (1, "closed")


def test_a_step_before_the_reset_is_gymnasiums_to_refuse(store: playhead.Store) -> None:
    with store.run("odd", "begin", environment=False) as run, Recorder(gymnasium.make("CartPole-v1"), run) as env:
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step(0)
        assert env.reel is None
        env.reset()
        env.step(0)
    assert len(run.episodes) == 1


def test_an_environment_that_needs_no_reset_is_recorded_without_one(store: playhead.Store) -> None:
    with store.run("odd", "begin", environment=False) as run, Recorder(Scripted(LINE, TWO, line(5, 6, 7)), run) as env:
        env.step(1)
        env.step(0)
    [episode] = run.episodes
    assert episode.length == 2
    assert episode["action"][:].values.tolist() == [1, 0]
    assert episode["observation"][:].values.tolist() == [[5, -5]]
    assert episode.final["observation"].tolist() == [6, -6]
    assert episode.static["without_reset"] is True


def test_steps_after_the_end_are_an_episode_that_begins_without_a_reset(store: playhead.Store) -> None:
    with (
        store.run("odd", "end", environment=False) as run,
        Recorder(Scripted(LINE, TWO, line(0, 1, 2, 3), ends=2), run) as env,
    ):
        env.reset()
        env.step(0)
        env.step(1)
    first, second = run.episodes
    assert (first.length, first.how) == (1, "terminated")
    assert second["observation"][0][0].tolist() == [1, -1]
    assert second.static["without_reset"] is True


def test_resets_that_no_step_follows_leave_nothing(store: playhead.Store) -> None:
    with (
        store.run("odd", "begin", environment=False) as run,
        Recorder(Scripted(LINE, TWO, line(*range(9))), run) as env,
    ):
        env.reset(seed=1)
        env.reset(seed=2)
        env.step(0)
        env.reset(seed=3)
    [episode] = run.episodes
    assert (episode.number, episode.static["seed"]) == (0, 2)


def test_a_reset_that_raises_leaves_the_episode_open(store: playhead.Store) -> None:
    script = [*line(0, 1), OSError("no game"), *line(2, 3)]
    with store.run("odd", "end", environment=False) as run, Recorder(Scripted(LINE, TWO, script), run) as env:
        env.reset()
        env.step(0)
        with pytest.raises(OSError, match="no game"):
            env.reset()
        env.step(1)
    [episode] = run.episodes
    assert (episode.length, episode.how) == (2, "closed")


def test_a_wrapper_that_resets_by_itself_is_understood(store: playhead.Store) -> None:
    witness = Witness(Wander(ends=0.3))
    with (
        store.run("auto", "reset", environment=False) as run,
        Recorder(gymnasium.wrappers.Autoreset(witness), run) as env,
    ):
        env.action_space.seed(0)
        env.reset(seed=0)
        for _ in range(40):
            env.step(env.action_space.sample())
    played = [truth for truth in witness.episodes if truth.rewards]
    assert len(played) > 5
    for episode, truth in zip(run.episodes, played, strict=True):
        assert_recorded(episode, truth, episode.how)


def test_a_run_that_goes_on_goes_on_with_its_reel(store: playhead.Store) -> None:
    with store.run("go", "on", environment=False) as run, Recorder(gymnasium.make("CartPole-v1"), run) as env:
        play(env, 30, seed=1)
    number = len(run.episodes)
    with (
        store.run("go", "on", environment=False, run_id=run.id, resume=True) as again,
        Recorder(gymnasium.make("CartPole-v1"), again) as env,
    ):
        play(env, 30, seed=2)
    assert len(again.episodes) > number
    assert {episode.meta["reel"] for episode in again.episodes} == {run.id}


# -- what callers do with what they get -----------------------------------------------------------------------------------


def test_a_caller_may_write_into_what_he_got_and_gave(store: playhead.Store) -> None:
    space = spaces.Box(-9, 9, (3,), np.float32)
    witness = Witness(Scripted(LINE, space, line(*range(6))))
    with store.run("own", "memory", environment=False) as run, Recorder(witness, run) as env:
        observation, _ = env.reset()
        action = np.zeros(3, np.float32)
        for number in range(4):
            observation[:] = 77
            action[:] = number
            observation, *_ = env.step(action)
        action[:] = 99
    episode = run.episodes[0]
    assert episode["observation"][:].values[:, 0].tolist() == [0, 1, 2, 3]
    assert episode["action"][:].values[:, 0].tolist() == [0, 1, 2, 3]


def test_stamps_are_taken_before_the_step(store: playhead.Store) -> None:
    class Slow(Scripted):
        def step(self, action: Any) -> Any:
            before = playhead.clock.now_ns()
            playhead.clock.sleep(0.01)
            times.append(before)
            return super().step(action)

    times: list[int] = []
    with store.run("slow", "steps", environment=False) as run, Recorder(Slow(LINE, TWO, line(*range(9))), run) as env:
        env.reset()
        for _ in range(3):
            env.step(0)
    stamps = run.episodes[0]["reward"][:].timestamps
    assert (np.abs(stamps - np.array(times)) < 8_000_000).all()
    assert run.episodes[0].created_ts_ns <= stamps[0]


def test_a_clock_that_was_set_back_stops_nothing(store: playhead.Store) -> None:
    with (
        store.run("back", "clock", environment=False) as run,
        Recorder(Scripted(LINE, TWO, line(*range(9))), run) as env,
    ):
        env.reset()
        env.step(0)
        later = playhead.clock.now_ns() + 3_600_000_000_000
        env.reel.step({"actions": 1, "observations": line(5)[0]}, 0.0, False, False, ts_ns=later)
        env.step(1)
        env.reset()
        env.step(0)
    first, second = run.episodes
    stamps = [*first["reward"][:].timestamps, *second["reward"][:].timestamps]
    assert len(stamps) == 4
    assert stamps == sorted(set(stamps))
