"""Frames of Atari that are taken as numbers of colours are those that the games render, to the last bit."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import (
    AddRenderObservation,
    AtariPreprocessing,
    FrameStackObservation,
    HumanRendering,
    RecordVideo,
    RenderCollection,
    TimeLimit,
)

import playhead
from playhead import native
from playhead.errors import PlayheadError
from playhead.integrations.gymnasium import Recorder, screens
from playhead.integrations.gymnasium import recorder as recorders
from tests.interrupting import STRIDE, At
from tests.simulators.playing import game as atari

pytestmark = pytest.mark.skipif(native.library is None, reason="Playhead was installed without a compiler")


def make(game: str, **options: Any) -> gymnasium.Env[Any, Any]:
    return atari(game, **({"obs_type": "ram", "render_mode": "rgb_array"} | options))


def play(env: Any, steps: int) -> tuple[list[list[Any]], int]:
    """Step an environment that is recorded; give what it rendered in each episode, and how many were numbers."""
    rng, episodes, numbers = np.random.default_rng(0), [], 0
    is_over = True
    for _ in range(steps):
        if is_over:
            env.reset(seed=len(episodes))
            episodes.append([env.unwrapped.render()])
        _, _, terminated, truncated, _ = env.step(int(rng.integers(env.action_space.n)))
        kept = env._made.now.get("frames")
        numbers += kept is not None and kept.ndim == 2
        episodes[-1].append(env.unwrapped.render())
        is_over = terminated or truncated
    return episodes, numbers


def compare(run: Any, rendered: list[list[Any]]) -> None:
    episodes = list(run.episodes)
    assert len(episodes) == len(rendered)
    for episode, frames in zip(episodes, rendered, strict=True):
        assert np.array_equal(episode["frame"].values, frames[:-1])
        assert np.array_equal(episode.final["frame"], frames[-1])


# Klax, Pacman and Sir Lancelot have the colours of PAL.
@pytest.mark.parametrize("game", ["Pong", "Qbert", "Seaquest", "Klax", "Pacman", "SirLancelot"])
@pytest.mark.parametrize("background", [True, False])
def test_frames_are_what_the_game_renders(store: playhead.Store, game: str, background: bool) -> None:
    config = playhead.ReplayConfig(background=background)
    with store.run("screens", game, environment=False) as run:
        env = Recorder(TimeLimit(make(game), 150), run, frames="render", config=config)
        rendered, numbers = play(env, 400)
        env.close()
    assert numbers > 200
    compare(run, rendered)


def test_of_stacks_too(store: playhead.Store) -> None:
    with store.run("screens", "stacks", environment=False) as run:
        game = AtariPreprocessing(make("Breakout", obs_type="rgb", frameskip=1), grayscale_obs=True)
        env = Recorder(FrameStackObservation(game, 4), run, frames="render")
        rendered, numbers = play(env, 300)
        env.close()
    assert numbers > 200
    compare(run, rendered)


def test_wrappers_that_render_something_else_are_asked() -> None:
    def found(env: Any) -> Any:
        return screens.screens_of(env, env.render, None)  # type: ignore[arg-type]  # which it only keeps

    class Own(gymnasium.Wrapper[Any, Any, Any, Any]):
        def render(self) -> Any:
            return 255 - self.env.render()  # type: ignore[operator]

    game = make("Pong")
    assert found(game) is not None
    assert found(TimeLimit(game, 5)) is not None
    assert found(Own(game)) is None
    assert found(TimeLimit(Own(game), 5)) is None
    assert found(RenderCollection(game)) is None
    assert found(make("Pong", render_mode=None)) is None
    assert found(gymnasium.make("CartPole-v1", render_mode="rgb_array")) is None
    assert not {HumanRendering.render, RecordVideo.render} & screens._PASSING
    assert AddRenderObservation.render in screens._PASSING  # it has none of its own
    changed = make("Pong")
    changed.unwrapped.render = lambda: np.zeros((2, 2, 3), np.uint8)  # type: ignore[method-assign]
    assert found(changed) is None


@pytest.mark.parametrize("since", [0, 30])
def test_a_game_that_renders_something_else_than_its_colours_is_rendered(
    store: playhead.Store, monkeypatch: pytest.MonkeyPatch, since: int
) -> None:
    """No such game is known; this one does so from the start, or from some step on, seen at the next new colour."""
    game = make("Seaquest", repeat_action_probability=0.0)  # which shows a new colour at its 60th step
    kind, taken, plain = type(game.unwrapped), 0, type(game.unwrapped).render

    def render(self: Any) -> Any:
        frame = plain(self).copy()
        if taken >= since:
            frame[taken % 7, 0] += 1  # pixels of one number differ
        return frame

    monkeypatch.setattr(kind, "render", render)
    kept: list[Any] = []
    with store.run("screens", "odd", environment=False) as run:
        env = Recorder(game, run, frames="render")
        env.reset(seed=0)
        for taken in range(1, 120):
            env.step(taken // 4 % 6)
            assert env._made is not None
            kept.append(env._made.now["frames"])
        env.close()
    changed = next(place for place, frame in enumerate(kept) if place >= since and frame.ndim == 3)
    assert all(frame.ndim == 3 for frame in kept[changed:])
    assert any(frame.ndim == 2 for frame in kept[:changed]) == (since > 0)
    frames = run.episodes[0]["frame"].values[1:]
    assert len(frames) == len(kept) - 1
    assert all(np.array_equal(mine, seen) for mine, seen in zip(frames, kept, strict=False) if seen.ndim == 3)


def test_without_the_part_in_c_all_is_rendered(store: playhead.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screens, "library", None)
    with store.run("screens", "plain", environment=False) as run:
        env = Recorder(make("Pong"), run, frames="render")
        rendered, numbers = play(env, 50)
        env.close()
    assert numbers == 0
    compare(run, rendered)


def test_what_is_not_plain_is_recorded_at_length(store: playhead.Store) -> None:
    """Odd actions, rewards and infos between steps that are plain, an error in rendering, a reset in mid-episode."""

    class Odd(gymnasium.Wrapper[Any, Any, Any, Any]):
        count = 0

        def step(self, action: Any) -> Any:
            self.count += 1
            observation, reward, terminated, truncated, info = self.env.step(action)
            if self.count % 37 == 0:
                raise RuntimeError("the joystick is stuck")
            if self.count % 11 == 0:
                info = {"text": "y" * 300}
            return observation, "7" if self.count % 23 == 0 else reward, terminated, truncated, info

    with store.run("screens", "odd steps", environment=False) as run:
        env = Recorder(Odd(make("Breakout")), run, frames="render")
        shown: list[Any] = []
        recorded, is_over = 0, True
        for number in range(300):
            try:
                if is_over:
                    env.reset()
                shown.append(env.unwrapped.render())
                _, _, terminated, truncated, _ = env.step(np.int64(1) if number % 5 else 1)
                recorded += 1
                is_over = terminated or truncated or number % 61 == 0
            except RuntimeError:
                shown.pop()
                is_over = True
            except PlayheadError:  # the reward that is none; the step counts
                recorded += 1
        env.close()
    frames = np.concatenate([episode["frame"].values for episode in run.episodes])
    assert len(frames) == recorded
    assert np.array_equal(frames, shown)


def test_a_step_interrupted_anywhere_moves_no_frame(store: playhead.Store) -> None:
    for place in range(0, 10_000, max(1, STRIDE // 2)):
        with store.run("screens", "interrupted", environment=False) as run:
            env = Recorder(make("Pong", repeat_action_probability=0.0), run, frames="render")
            env.reset(seed=0)
            shown = [env.unwrapped.render()]
            for _ in range(126):  # the hand is nearly full
                env.step(0)
                shown.append(env.unwrapped.render())
            is_interrupted = False
            try:
                with At(place, "integrations/gymnasium/", "native/", "lanes/arrays/recorder.py"):
                    for _ in range(4):
                        env.step(0)
                        shown.append(env.unwrapped.render())
            except KeyboardInterrupt:
                is_interrupted = True
                shown.append(env.unwrapped.render())
            for _ in range(20):
                env.step(0)
                shown.append(env.unwrapped.render())
            env.close()
        frames = np.concatenate([episode["frame"].values for episode in run.episodes])
        known = {shot.tobytes() for shot in shown}
        assert len(shown) - len(frames) in (1, 2)
        assert np.array_equal(frames[:120], shown[:120])
        assert all(frame.tobytes() in known for frame in frames[120:])
        if not is_interrupted:
            assert place > 60
            return
    pytest.fail("there are more places than were tried")


def test_recorders_look_for_it(store: playhead.Store) -> None:
    assert recorders.screens_of is screens.screens_of
    with store.run("screens", "observed", environment=False) as run:
        env = Recorder(atari("Pong"), run)  # its observations are its frames
        env.reset()
        for _ in range(5):
            env.step(0)
        assert env._made is not None
        assert env._made.screens is None
        env.close()
