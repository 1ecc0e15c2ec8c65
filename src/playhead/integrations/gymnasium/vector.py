"""VectorRecorder: everything that happens in the sub-environments of a vector environment."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper

from playhead import clock
from playhead.errors import PlayheadError, WrongType
from playhead.integrations.gymnasium import batches, infos, meanings, plan, quick, stacks
from playhead.integrations.gymnasium.frames import OBSERVATION, RENDER, RESIMULATE, Pictures
from playhead.integrations.gymnasium.infos import Packer
from playhead.integrations.gymnasium.live import Live
from playhead.integrations.gymnasium.recorder import Run
from playhead.integrations.gymnasium.spaces import ACTIONS
from playhead.integrations.gymnasium.track import UNKNOWN, Track, facts_of_reset
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.writer import ReelWriter
from playhead.tape import Crew

_NEXT_STEP, _SAME_STEP, _DISABLED = "NextStep", "SameStep", "Disabled"
_FINAL_OBSERVATION, _FINAL_INFO = "final_obs", "final_info"
_MASK = "reset_mask"


class VectorRecorder(VectorWrapper[Any, Any, Any, Any, Any]):
    """Records every step of each sub-environment, as `Recorder` does for one, and changes nothing of what they do.

    Each has a reel of its own, and one thread writes all of them. All ways in which vector environments reset their
    sub-environments are understood: the step that only resets one is a step of no episode.

        envs = VectorRecorder(gymnasium.make_vec("CartPole-v1", 8), run)

    Args:
        envs: The vector environment.
        run: What it is recorded into, as `store.run(...)` gives it.
        frames: As `Recorder` has it. Where sub-environments reset within the step that ends an episode, what the end
            looked like is not rendered.
        every: As `Recorder` has it.
        stack: As `Recorder` has it.
        config: How the recordings are compressed and flushed.
        live: As `Recorder` has it; all sub-environments are shown in one grid.

    Raises:
        WrongType: One of these is something else, or the environment does not say how it resets.
    """

    def __init__(
        self,
        envs: VectorEnv[Any, Any, Any],
        run: Run,
        *,
        frames: str | None = "auto",
        every: int = 1,
        stack: stacks.Option = "auto",
        config: ReplayConfig | None = None,
        live: bool = False,
    ) -> None:
        if not isinstance(envs, VectorEnv):
            said = ": Recorder records one" if isinstance(envs, gymnasium.Env) else ""
            raise WrongType(f"VectorRecorder records a vector environment, not a {type(envs).__name__}{said}")
        super().__init__(envs)
        self._options = plan.Options(frames, every, stack, config)
        if frames == RESIMULATE:
            raise WrongType(
                "frames='resimulate' records one environment at a time: put a Recorder around each sub-environment, "
                "in the functions that make them, or record with frames='auto'"
            )
        self._mode = _mode_of(envs)
        self._run = run
        self._stamps = clock.Stamps()
        self._packer = Packer()
        self._crew: Crew | None = None
        self._made: list[Track] = []
        self._puts: list[quick.Put | None] = [None] * envs.num_envs  # where the next step of an episode is plain
        self._is_over = [False] * envs.num_envs
        self._rendered: Any = None
        self._live = Live(envs, envs.single_observation_space, is_stack=self._options.is_stack) if live else None

    @property
    def reels(self) -> list[ReelWriter | None]:
        """What each sub-environment is recorded into; None before its first reset or step."""
        return [track.reel for track in self._made]

    # -- making -----------------------------------------------------------------------------------------------------

    @property
    def _tracks(self) -> list[Track]:
        if not self._made:
            single = self.env.single_observation_space
            self._observation_at = batches.splitter(single)
            self._action_at = batches.splitter(self.env.single_action_space)
            made = plan.make(self.env, single, self.env.single_action_space, self._options)
            self._made = [self._make(made, number) for number in range(self.env.num_envs)]
        return self._made

    def _make(self, made: plan.Plan, number: int) -> Track:
        facts = made.facts | batches.facts_of(self.env, number) | {"autoreset_mode": self._mode}
        facts |= meanings.facts_in(self.env, number, self.env.single_action_space)

        def open_reel(more: Mapping[str, Any], depths: Mapping[str, int]) -> ReelWriter:
            if self._crew is None:
                self._crew = Crew((self._options.config or ReplayConfig()).interval / 2)
            return self._run.new_reel(
                facts=dict(more) | facts, stacks=depths, config=self._options.config, crew=self._crew
            )

        return Track(made, open_reel, lambda: self._look(number), Pictures(self.env))

    def _look(self, number: int) -> Any:
        if self._rendered is None:
            self._rendered = self.env.render()
        return batches.frame_at(self._rendered, number)

    def _expect_stacks(self, tracks: list[Track], observations: Any) -> None:
        stack = self._options.stack
        if stack is False:
            return
        each = [self._observation_at(observations, number) for number in range(len(tracks))]
        depths = batches.depths_of(self.env, each) if stack == "auto" else [int(stack)] * len(tracks)
        for track, depth in zip(tracks, depths, strict=True):
            if depth is not None:
                track.expect_stack(depth, is_sure=stack != "auto")

    # -- what happens -----------------------------------------------------------------------------------------------

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset all sub-environments, or those of `options["reset_mask"]`; their episodes end without a result."""
        tracks = self._tracks
        given = dict(options) if options else {}
        mask = given.pop(_MASK, None)
        chosen = list(range(len(tracks))) if mask is None else np.flatnonzero(mask).tolist()
        observations, found = self.env.reset(seed=seed, options=options)
        stamp = self._stamps.next()
        self._rendered = None
        if all(track.reel is None for track in tracks):
            self._expect_stacks(tracks, observations)
        parts = infos.split(found, len(tracks))
        for number in chosen:
            own = batches.seed_of(self.env, seed, number, chosen)
            facts = facts_of_reset(self._packer, own, given, parts[number])
            self._puts[number] = None
            tracks[number].reset(stamp, self._observation_at(observations, number), facts)
            self._is_over[number] = False
        return observations, found

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step all sub-environments, and record it; an error ends all their episodes and is passed on."""
        tracks = self._tracks
        is_reset = self._is_over if self._mode == _NEXT_STEP else [False] * len(tracks)
        stamp = self._stamps.next()
        for number, track in enumerate(tracks):
            if not is_reset[number]:
                track.act(stamp, self._action_at(actions, number))
        try:
            result = self.env.step(actions)
        except BaseException as error:
            self._puts = [None] * len(tracks)
            for track in tracks:
                track.fail(error)
            raise
        self._rendered = None
        was_reset = [] if self._live is None else list(is_reset)  # which recording changes
        self._record(tracks, is_reset, stamp, *result)
        if self._live is not None:
            self._show(self._live, was_reset, *result)
        return result

    def _show(
        self, live: Live, is_reset: list[bool], observations: Any, rewards: Any, terminated: Any, truncated: Any, _: Any
    ) -> None:
        reel = self._made[0].reel
        if reel is None:
            return
        note = live.note or live.begin(reel.id)
        endings = np.logical_or(terminated, truncated).tolist()
        is_due = False
        for number, (reward, is_over) in enumerate(zip(np.asarray(rewards).tolist(), endings, strict=True)):
            if not is_reset[number]:
                is_due = note(reward, is_over, number)
        if not is_due:
            return
        count = range(len(self._made))
        if live.source == OBSERVATION:
            live.show([self._observation_at(observations, number) for number in count])
        elif live.source == RENDER:
            pictures = [self._look(number) for number in count]
            live.show(None if any(one is None for one in pictures) else pictures)
        else:
            live.show(None)

    def _record(
        self,
        tracks: list[Track],
        is_reset: list[bool],
        stamp: int,
        observations: Any,
        rewards: Any,
        terminations: Any,
        truncations: Any,
        found: Any,
    ) -> None:
        parts = infos.split(found, len(tracks))
        rewards, terminated, truncated = (np.asarray(x).tolist() for x in (rewards, terminations, truncations))
        if len(terminated) != len(tracks):
            raise WrongType(f"{len(tracks)} sub-environments were expected to step, and {len(terminated)} did")
        wrong: PlayheadError | None = None
        for number, track in enumerate(tracks):
            outcome = rewards[number], terminated[number], truncated[number]
            observation = self._observation_at(observations, number)
            try:
                self._record_one(number, track, is_reset[number], stamp, observation, outcome, parts[number])
            except PlayheadError as error:  # what the others did is recorded none the less
                wrong = wrong or error
            self._is_over[number] = terminated[number] or truncated[number]
        if wrong is not None:
            raise wrong

    def _record_one(
        self,
        number: int,
        track: Track,
        is_reset: bool,
        stamp: int,
        observation: Any,
        outcome: tuple[float, bool, bool],
        info: dict[str, Any],
    ) -> None:
        final, last = UNKNOWN, None
        now = self._stamps.next()
        if self._mode == _SAME_STEP:
            final, last = info.pop(_FINAL_OBSERVATION, UNKNOWN), info.pop(_FINAL_INFO, None)
        put, self._puts[number] = self._puts[number], None
        if is_reset:
            track.reset(now, observation, facts_of_reset(self._packer, None, None, info))
        elif self._mode == _SAME_STEP and (outcome[1] or outcome[2]):
            try:
                track.step(stamp, final, *outcome, last, can_look=False)
            finally:  # also where that step cannot be recorded: the next one begins an episode
                track.reset(now, observation, facts_of_reset(self._packer, None, None, info))
        elif put is not None and self._was_put(track, put, stamp, observation, outcome, info):
            self._puts[number] = put
        else:
            track.step(stamp, observation, *outcome, info)
            self._puts[number] = quick.put_of(track)

    @staticmethod
    def _was_put(
        track: Track, put: quick.Put, stamp: int, observation: Any, outcome: tuple[float, bool, bool], info: Any
    ) -> bool:
        """Try to record a step in one piece."""
        now = track.now
        try:
            return put(stamp, now[ACTIONS], observation, *outcome, info)
        except BaseException as error:  # it cannot be rendered, or a signal's exception came in between
            if track.now is now:
                track.step(stamp, observation, *outcome, info, lost=error)
            raise

    def close(self, **kwargs: Any) -> None:
        """Complete the recordings and close the environment. Closing twice is fine."""
        with contextlib.ExitStack() as closing:  # each, whatever happens to the others
            closing.callback(super().close, **kwargs)
            if self._crew is not None:
                closing.callback(self._crew.stop)
            if self._live is not None:
                closing.callback(self._live.close)
            for track in self._made:
                closing.callback(track.close)
        self._crew = None

    def __del__(self) -> None:
        crew: Crew | None = getattr(self, "_crew", None)
        if crew is not None:
            crew.abandon()  # the run completes the reels
        if (closed := getattr(super(), "__del__", None)) is not None:
            closed()


def _mode_of(envs: VectorEnv[Any, Any, Any]) -> str:
    mode = envs.metadata.get("autoreset_mode")
    if mode is None and not hasattr(gymnasium.vector, "AutoresetMode"):
        return _NEXT_STEP  # all that there was before environments said it
    value = getattr(mode, "value", mode)
    if value not in (_NEXT_STEP, _SAME_STEP, _DISABLED):
        raise WrongType(
            f"{envs} does not say when it resets its sub-environments: its metadata has autoreset_mode={mode!r}. "
            "Set envs.metadata['autoreset_mode'] to one of gymnasium.vector.AutoresetMode"
        )
    return str(value)
