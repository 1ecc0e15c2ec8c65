"""Track: what happens in one environment, put down in one reel.

A step is known when its action has been taken: what was seen before is kept until then. So a reel begins an episode at
its first step, and a reset that no step follows leaves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from playhead import clock, strictjson
from playhead.errors import OutOfOrder, WrongType
from playhead.integrations.gymnasium import stacks
from playhead.integrations.gymnasium.cells import Cells, is_small_number, whole
from playhead.integrations.gymnasium.frames import OBSERVATION, RENDER, Look, Pictures
from playhead.integrations.gymnasium.infos import Packer
from playhead.integrations.gymnasium.plan import Plan
from playhead.integrations.gymnasium.screens import Screens
from playhead.integrations.gymnasium.spaces import ACTIONS, FRAMES, OBSERVATIONS, describe
from playhead.lanes.arrays.writer import ReelWriter

OpenReel = Callable[[Mapping[str, Any], Mapping[str, int]], ReelWriter]

_NUMBERS = frozenset((int, np.int64))

NO_NUMBER = (OverflowError, TypeError, ValueError)  # what `float` raises for a reward that cannot be one

UNKNOWN = object()  # what was seen, where nobody can tell

_MOST_RESET_INFO = 4096
_MOST_MESSAGE = 2000


class Track:
    """Records one environment.

    Args:
        plan: What is recorded.
        open_reel: Opens the reel, with its facts and stacks.
        look: Renders the environment.
        pictures: Keeps what was rendered.
        screens: Gives the same in numbers of colours.

    Attributes:
        look: Renders the environment.
        pictures: Keeps what was rendered; None where frames are no renderings.
        screens: Gives the same in numbers of colours, where the environment can.
        seen: Takes observations apart.
        stack: The same, where observations are stacks.
        now: What the next step holds, by the names of its arrays.
        is_odd: A step of this episode was not plain, so that the others are likely not to be, either.
        knows: The types of actions that need not be told before they are taken: they cannot change meanwhile.
        reel: What is recorded into, once that is decided.
    """

    def __init__(
        self, plan: Plan, open_reel: OpenReel, look: Look, pictures: Pictures, screens: Screens | None = None
    ) -> None:
        self._plan = plan
        self._open_reel = open_reel
        self.look = look
        self.pictures = pictures if plan.source == RENDER else None
        self.screens = screens if plan.source == RENDER else None
        self._every = plan.every
        self._pack = Packer().pack
        name = FRAMES if plan.is_frame_observation else OBSERVATIONS
        self.seen: Cells | stacks.Stack = Cells(plan.observation_space, describe(plan.observation_space, name))
        self.stack: stacks.Stack | None = None
        self._is_number = is_small_number(plan.action_space)  # an action is, and the reel takes it as it is
        self._done = Cells(plan.action_space, describe(plan.action_space, ACTIONS))
        self._is_frame_too = plan.source == OBSERVATION and not plan.is_frame_observation
        self.now: dict[str, Any] = {}
        self._is_seen = False  # what the next action is chosen from is among it
        self._depth: int | None = None  # of what may be a stack, and is not decided yet
        self._is_sure = False  # that it is one, since the caller says so
        self._facts: Mapping[str, Any] | None = None  # of the episode that begins with the next step
        self._reset_at = 0
        self._place = 0  # of the next step in its episode
        self._is_begun = False
        self.is_odd = False
        self.knows: frozenset[type] = frozenset()
        self.reel: ReelWriter | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the next step may be one that `quick` records: a number is done, one array is seen, with a frame."""
        return (
            bool(self.knows)
            and not self.is_odd
            and self._is_seen
            and self._every == 1
            and not self._is_frame_too
            and self.seen.plain is not None
        )

    # -- what the environment does ----------------------------------------------------------------------------------

    def expect_stack(self, depth: int, *, is_sure: bool = False) -> None:
        """Hear that observations may be stacks; the first step shows whether they are.

        Args:
            depth: Of how many frames.
            is_sure: The caller says so, and is told where they are not.
        """
        if (
            self.reel is None
            and self._plan.source != OBSERVATION
            and stacks.can_be(self._plan.observation_space, depth)
        ):
            self._depth, self._is_sure = depth, is_sure
        elif is_sure and self.reel is None:
            raise WrongType(
                f"stack={depth} needs observations of which the first axis counts {depth} frames; "
                f"the environment gives {self._plan.observation_space}"
            )

    def reset(self, stamp: int, observation: Any, facts: Mapping[str, Any]) -> None:
        """Take the first observation of an episode; one that is under way ends without a result.

        Args:
            stamp: When the environment was reset.
            observation: What was seen.
            facts: What is known of the reset, as JSON.
        """
        self.end("reset")
        self._facts, self._reset_at = facts, stamp
        self._place = 0
        self.seen.restart()
        self._see(observation, is_last=False, can_look=True)
        if self.reel is None and self._depth is None:
            self._open()

    def act(self, stamp: int, action: Any) -> None:
        """Take the action of the next step, before the environment does.

        Args:
            stamp: When the action is taken.
            action: What is done.
        """
        if self._is_number:
            self.now[ACTIONS] = whole(action)
        else:
            self._done.keep(action, self.now)
        if not self._is_begun and self._depth is None and self._is_seen:
            self._begin(stamp)

    def step(
        self,
        stamp: int,
        observation: Any,
        reward: Any,
        terminated: Any,
        truncated: Any,
        info: Any,
        *,
        action: int | None = None,
        can_look: bool = True,
        lost: BaseException | None = None,
    ) -> None:
        """Record the step that came of the last action.

        Args:
            stamp: When the action was taken.
            observation: What was seen after it; `UNKNOWN` where nobody can tell.
            reward: What came of it.
            terminated: The episode came to its end.
            truncated: The episode was cut off.
            info: What else is known.
            action: What was done, where `act` was not called, as `knows` allows.
            can_look: The environment is still in the state that the observation shows.
            lost: What came of rendering it, where that was tried and failed; it is raised here.
        """
        self._spell_out()
        if not self._is_begun:
            if self._depth is not None:
                self._decide(observation)
            self._begin(stamp)
        try:
            reward = float(reward)
        except NO_NUMBER as error:  # the step was taken all the same, and is recorded without one
            self.step(
                stamp, observation, math.nan, terminated, truncated, info, action=action, can_look=can_look, lost=lost
            )
            raise no_reward(reward) from error
        assert self.reel is not None
        packed = self._pack(info)
        given, was_seen, self.now, self._is_seen = self.now, self._is_seen, {}, False
        if action is not None:
            given[ACTIONS] = action
        try:
            self.reel.give(given, reward, terminated, truncated, packed, stamp)
        finally:  # also where recording failed: the environment has moved on
            self._place += 1
            is_over = bool(terminated or truncated)
            if not was_seen and self.stack is not None:  # no stack can be put together over this step
                self.end(_ending(terminated, truncated))
            try:
                self._see(observation, is_last=is_over, can_look=can_look, lost=lost)
            except BaseException as error:
                if not self._is_seen:
                    self.seen.restart()
                self.fail(error)
                raise
            if is_over:
                self.end(_ending(terminated, truncated))

    def picture(self) -> Any:
        """Give what the environment shows now: the frame that is kept for the next step, or else it is rendered."""
        self._spell_out()
        kept = self.now.get(FRAMES)
        return self.look() if kept is None else kept

    def _spell_out(self) -> None:
        """Turn the picture that is kept for the next step into pixels, where `quick` left numbers of colours."""
        kept = self.now.get(FRAMES)
        if self.screens is not None and kept is not None:
            self.now[FRAMES] = self.screens.colours.spelled(kept)

    def fail(self, error: BaseException) -> None:
        """Take note that the environment, or rendering it, raised an error: its episode ends."""
        message = str(error)[:_MOST_MESSAGE]
        self.end("error", {"error": {"type": type(error).__qualname__, "message": strictjson.plain(message)}})

    def end(self, how: str, facts: Mapping[str, Any] | None = None) -> None:
        """End the episode that is under way, with what was seen last."""
        self._spell_out()
        if self._is_begun and self.reel is not None:
            self._is_begun = False
            self.knows = frozenset()
            finals = {name: value for name, value in self.now.items() if name not in self._done.names}
            self.reel.end(how, finals, facts, ts_ns=clock.now_ns())

    def close(self) -> None:
        """End the episode that is under way, and seal the reel."""
        self.end("closed")
        if self.reel is not None:
            self.reel.close()

    # -- what is made of it -----------------------------------------------------------------------------------------

    def _see(self, observation: Any, *, is_last: bool, can_look: bool, lost: BaseException | None = None) -> None:
        self.now, self._is_seen = {}, False  # until all that was seen is kept
        if observation is UNKNOWN:
            self.seen.restart()
            return
        now: dict[str, Any] = {}
        try:
            if lost is not None:
                raise lost
            if self.pictures is not None and can_look and (is_last or self._place % self._every == 0):
                now[FRAMES] = self.pictures.keep((self.look(),))
        finally:  # also where rendering failed: the next stack goes on from this one
            self.seen.keep(observation, now)
            if self._is_frame_too and can_look and (is_last or self._place % self._every == 0):
                now[FRAMES] = now[OBSERVATIONS]
            self.now, self._is_seen = now, True

    def _open(self) -> ReelWriter:
        depths = {} if self.stack is None else {OBSERVATIONS: self.stack.depth}
        more = {} if self.stack is None else {"stack": self.stack.depth}
        self.reel = self._open_reel(self._plan.facts | more, depths)
        return self.reel

    def _begin(self, stamp: int) -> None:
        reel = self.reel or self._open()
        facts = {"without_reset": True} if self._facts is None else dict(self._facts)
        began = stamp if self._facts is None else self._reset_at
        prefixes = None if self.stack is None or not self._is_seen else self.stack.prefixes
        try:
            reel.begin(facts, prefixes, ts_ns=began)
        except OutOfOrder:  # the clock was set back since the reel was begun
            reel.begin(facts, prefixes)
        self._facts = None
        self._place = 0
        self._is_begun, self.is_odd = True, False
        self.knows = _NUMBERS if self._is_number else frozenset()

    def _decide(self, observation: Any) -> None:
        """See at the first step whether what may be stacks are stacks."""
        depth, self._depth = self._depth, None
        if not self._is_seen or observation is UNKNOWN:
            return
        stack = stacks.Stack(self._plan.observation_space)  # type: ignore[arg-type]  # `can_be` saw that it is a Box
        seen: dict[str, Any] = {}
        stack.keep(self.now[OBSERVATIONS], seen)
        if stack.goes_on(observation):
            self.seen = self.stack = stack
            self.now |= seen
        elif self._is_sure:
            raise WrongType(
                f"stack={depth}: the second observation does not go on from the first, so they are no stacks of "
                "frames, the oldest first. Pass stack=False to store them whole"
            )


def no_reward(reward: Any) -> WrongType:
    """Make the error of a step whose reward is no number; the step was taken all the same."""
    shown = "one that is too large" if isinstance(reward, int) else repr(reward)
    return WrongType(f"the reward of a step is a number, not {shown}; it was recorded as NaN")


def _ending(terminated: Any, truncated: Any) -> str:
    return "terminated" if terminated else "truncated" if truncated else "error"


def facts_of_reset(packer: Packer, seed: Any, options: Any, info: Any) -> dict[str, Any]:
    """Say how an episode began, as JSON."""
    facts = {}
    if seed is not None:
        facts["seed"] = strictjson.plain(seed)
    if options:
        facts["options"] = strictjson.decode(packer.pack(options))
    packed = packer.pack(info)
    if packed and len(packed) <= _MOST_RESET_INFO:
        facts["info"] = strictjson.decode(packed)
    return facts
