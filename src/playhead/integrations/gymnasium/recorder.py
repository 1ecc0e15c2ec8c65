"""Recorder: everything that happens in one environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import gymnasium
from gymnasium.wrappers import Autoreset

from playhead import clock
from playhead.errors import WrongType
from playhead.integrations.gymnasium import plan, quick, stacks
from playhead.integrations.gymnasium.frames import OBSERVATION, RENDER, RESIMULATE, Pictures, look_at, wrappers_of
from playhead.integrations.gymnasium.infos import Packer
from playhead.integrations.gymnasium.live import Live
from playhead.integrations.gymnasium.screens import screens_of
from playhead.integrations.gymnasium.states import StatesTrack
from playhead.integrations.gymnasium.track import Track, facts_of_reset
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.writer import ReelWriter
from playhead.simulators import find
from playhead.tape import Crew

_SMALL = 1 << 31


class Run(Protocol):
    """What environments are recorded into: a `RunWriter`."""

    def new_reel(
        self,
        *,
        facts: Mapping[str, Any] | None = None,
        stacks: Mapping[str, int] | None = None,
        config: ReplayConfig | None = None,
        crew: Crew | None = None,
    ) -> ReelWriter:
        """Begin a reel."""


class Recorder(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Records every step of an environment, and changes nothing of what it does.

    Each step is the observation that the action was chosen from, the action, its reward and flags, and the info; each
    episode keeps what was seen after its last step. Closing the environment, or ending the run, seals the recording.

        env = Recorder(gymnasium.make("ALE/Pong-v5"), run)

    Args:
        env: The environment.
        run: What it is recorded into, as `store.run(...)` gives it.
        frames: Where frames come from: `observation`, `render`, None for no frames, or `auto`: the observation if it is
            an image, else what the environment renders if it can. An observation that is the frame is stored once.
            With `resimulate` they are as with `auto`, but none is stored, nor is any image among the observations: all
            are made again, bit for bit, from the state of the simulator, which is saved now and then.
        every: Only each so-manieth step of an episode has a frame; all else is recorded of every step.
        stack: Whether observations are stacks of frames, of which each is stored once: `auto` looks for the wrapper
            that makes them, False stores each observation whole, a number says that the first axis counts so many.
        config: How the recording is compressed and flushed.
        keyframe_every: With `resimulate`, the steps from one state that is saved to the next: fewer are larger files,
            and less to compute for one frame.
        live: Also show it to anybody on this machine who looks (`playhead live`): what it renders, or observations
            that are images, with reward, return and step rate, at most 60 times a second.

    Raises:
        WrongType: One of these is something else, or the state of the environment cannot be saved. Spaces that cannot
            be recorded are refused by the first `reset`.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        run: Run,
        *,
        frames: str | None = "auto",
        every: int = 1,
        stack: stacks.Option = "auto",
        config: ReplayConfig | None = None,
        keyframe_every: int = plan.KEYFRAME_EVERY,
        live: bool = False,
    ) -> None:
        if not isinstance(env, gymnasium.Env):
            said = ": VectorRecorder records several at once" if hasattr(env, "num_envs") else ""
            raise WrongType(f"Recorder records one environment of Gymnasium, not a {type(env).__name__}{said}")
        super().__init__(env)
        self._options = plan.Options(frames, every, stack, config, keyframe_every)
        self._rig = find(env) if frames == RESIMULATE else None
        self._run = run
        self._stamps = clock.Stamps()
        self._packer = Packer()
        self._made: Track | None = None
        self._put: quick.Put | None = None  # while an episode is under way in which every step is plain
        self._resetter = next((one for one in wrappers_of(env) if isinstance(one, Autoreset)), None)
        self._is_closed = False
        self._live = Live(env, env.observation_space, is_stack=self._options.is_stack) if live else None

    @property
    def reel(self) -> ReelWriter | None:
        """What is recorded into; None before the first reset, and where that does not tell enough, the first step."""
        return None if self._made is None else self._made.reel

    @property
    def _track(self) -> Track:
        if self._made is None:
            made = plan.make(self.env, self.env.observation_space, self.env.action_space, self._options)
            look, pictures = look_at(self.env), Pictures(self.env)
            if self._rig is None:
                self._made = Track(made, self._open_reel, look, pictures, screens_of(self.env, look, pictures))
            else:
                every = self._options.keyframe_every
                self._made = StatesTrack(made, self._open_reel, look, pictures, self._rig, every)
        return self._made

    def _open_reel(self, facts: Mapping[str, Any], depths: Mapping[str, int]) -> ReelWriter:
        return self._run.new_reel(facts=facts, stacks=depths, config=self._options.config)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset the environment; an episode that is under way ends without a result."""
        track = self._track
        self._put = None
        given = dict(options) if options else None  # environments take things out of it
        observation, info = self.env.reset(seed=seed, options=options)
        stamp = self._stamps.next()
        self._is_closed = False
        if track.reel is None:
            self._expect_stack(track, observation)
        track.reset(stamp, observation, facts_of_reset(self._packer, seed, given, info))
        return observation, info

    def _expect_stack(self, track: Track, observation: Any) -> None:
        stack = self._options.stack
        if stack is False or self._rig is not None:
            return
        depth = stacks.depth_of(self.env, observation) if stack == "auto" else int(stack)
        if depth is not None:
            track.expect_stack(depth, is_sure=stack != "auto")

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step the environment, and record it; an error of its own ends the episode and is passed on."""
        track, put = self._made, self._put
        if track is None or put is None or type(action) not in track.knows or not -_SMALL <= action < _SMALL:
            return self._step_at_length(action)
        stamp, now = self._stamps.next(), track.now
        try:
            result = self.env.step(action)
        except BaseException as error:
            self._put = None
            track.fail(error)
            raise
        observation, reward, terminated, truncated, info = result
        try:
            if put(stamp, action, observation, reward, terminated, truncated, info):
                return result
        except BaseException as error:  # it cannot be rendered, or a signal's exception came in between
            self._put = None
            if track.now is now:
                track.step(stamp, observation, reward, terminated, truncated, info, action=action, lost=error)
            raise
        self._put = None
        track.step(stamp, observation, reward, terminated, truncated, info, action=action)
        self._put = quick.put_of(track)
        return result

    def _step_at_length(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take a step that begins an episode, or whatever else is not plain."""
        self._put = None
        if self._resetter is not None and self._resetter.autoreset:
            return self._step_that_resets(action)
        track = self._track
        stamp = self._stamps.next()
        number = action if type(action) in track.knows and -_SMALL <= action < _SMALL else None
        if number is None:
            track.act(stamp, action)
        try:
            result = self.env.step(action)
        except BaseException as error:
            track.fail(error)
            raise
        observation, reward, terminated, truncated, info = result
        track.step(stamp, observation, reward, terminated, truncated, info, action=number)
        live = self._live
        if live is None:
            self._put = quick.put_of(track)
        elif track.reel is not None:
            note = live.note or live.begin(track.reel.id)
            if note(float(reward), terminated or truncated, 0):
                source = live.source
                live.show(observation if source == OBSERVATION else track.picture() if source == RENDER else None)
        return result

    def _step_that_resets(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take the step after the end of an episode, in which a wrapper resets the environment."""
        result = self.env.step(action)
        self._track.reset(self._stamps.next(), result[0], facts_of_reset(self._packer, None, None, result[4]))
        return result

    def close(self) -> None:
        """Complete the recording and close the environment. Closing twice is fine."""
        if self._is_closed:
            return
        self._is_closed, self._put = True, None
        try:
            if self._live is not None:
                self._live.close()
            if self._made is not None:
                self._made.close()
        finally:
            super().close()
