"""StatesTrack: what happens in an environment whose frames are not stored, but made again from its states."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import strictjson
from playhead.errors import WrongType
from playhead.integrations.gymnasium.frames import Look, Pictures
from playhead.integrations.gymnasium.plan import Plan
from playhead.integrations.gymnasium.spaces import FRAMES, parts
from playhead.integrations.gymnasium.track import UNKNOWN, OpenReel, Track
from playhead.lanes.arrays.kind import CHECKS, KEYFRAMES
from playhead.lanes.arrays.made import ARRAYS, RESIMULATED, check_of, described, hash_of
from playhead.lanes.arrays.writer import ReelWriter
from playhead.replay.takes import BACK, HASHES, HELD, SAMPLES, SHORT, STARTS, STATES, packed, unpacked
from playhead.simulators import Rig

_SMALL = 1024  # bytes of what is stored rather than made again
_TOGETHER = 16  # states of which only the first is saved whole


Saved = tuple[dict[str, NDArray[Any]], dict[str, Any]]  # the arrays of a keyframe, and its facts


def is_made(value: NDArray[Any]) -> bool:
    """Tell whether a value is an image, or a stack of images, that is rather made again than stored."""
    return value.ndim > 1 and value.nbytes >= _SMALL


class States:
    """Takes the states of an environment, as rows for a reel.

    Args:
        rig: Saves the environment.
    """

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._is_warned = False
        self._base: Any = None  # the last state that was saved whole
        self._since = 0  # keyframes since then

    def rows(self, reel: ReelWriter | None, samples: Mapping[str, NDArray[Any]], is_first: bool) -> Saved:
        """Give the state that the environment is in, as a keyframe.

        Args:
            reel: Where it goes; None where that is not open yet.
            samples: What is seen of it and not stored.
            is_first: An episode begins with it.

        Returns:
            The arrays, none where the state has outgrown its room, and the facts.
        """
        facts = {HASHES: {name: hash_of(value) for name, value in samples.items()}}
        trees: dict[str, Any] = {STATES: self._told(self._rig.save(), is_first)}
        if is_first:
            trees[STARTS] = {SAMPLES: dict(samples), HELD: self._rig.save_all()}
        found: dict[str, NDArray[Any]] = {}
        for name, state in trees.items():
            shape = None if reel is None else reel.shape_of(name, KEYFRAMES)
            row = packed(state, None if shape is None else shape[0])
            if row is None:
                self._base = None  # what it was to be told by later is not there
                if not is_first:
                    self._warn()
                return {}, facts
            found[name] = row
        self._since += 1
        return found, facts

    def _told(self, state: Any, is_first: bool) -> Any:
        """Give a state as it is saved: whole, or by the last one that was."""
        if not is_first and self._base is not None and self._since < _TOGETHER:
            short = self._rig.shortened(state, self._base)
            if short is not None:
                return {BACK: self._since, SHORT: short}
        self._base, self._since = state, 0
        return state

    def _warn(self) -> None:
        if not self._is_warned:
            self._is_warned = True
            text = (
                "a state has outgrown the room that the first one left, and is not saved: frames behind it take longer "
                "to make again"
            )
            warnings.warn(text, RuntimeWarning, stacklevel=2)


def facts_of(rig: Rig, made: list[dict[str, Any]], every: int) -> dict[str, Any]:
    """Say how the arrays of a reel are made again, as JSON."""
    return {RESIMULATED: strictjson.plain({ARRAYS: made, "keyframe_every": every, **rig.facts})}


def _is_same(kept: NDArray[Any], given: NDArray[Any]) -> bool:
    return bool(np.array_equal(kept.astype(given.dtype), given, equal_nan=given.dtype.kind in "fc"))


class StatesTrack(Track):
    """Records one environment: states now and then, all actions, and of every image only a check.

    Args:
        plan: What is recorded.
        open_reel: Opens the reel, with its facts and stacks.
        look: Renders the environment.
        pictures: Sees that what was rendered are images.
        rig: Saves the environment.
        every: Steps from one state that is saved to the next.
    """

    def __init__(self, plan: Plan, open_reel: OpenReel, look: Look, pictures: Pictures, rig: Rig, every: int) -> None:
        super().__init__(plan, open_reel, look, pictures)
        self._states = States(rig)
        self._rig = rig
        self._keyframe_every = every
        self._waits: Saved | None = None  # the state that the next episode begins with
        self._outgrown: list[ReelWriter] = []  # reels that have no room for it
        self._made: list[dict[str, Any]] | None = None  # the arrays that are made again

    @property
    def is_plain(self) -> bool:
        """Never: of every image a check is made, and states are saved."""
        return False

    def act(self, stamp: int, action: Any) -> None:
        """Take the action of the next step; one that is not recorded as it is cannot be taken again."""
        if not self._is_number:
            self._refuse_rounded(action)
        super().act(stamp, action)

    def _refuse_rounded(self, action: Any) -> None:
        kept: dict[str, Any] = {}
        self._done.keep(action, kept)
        for name, part in parts(self._plan.facts["action_space"], action).items():
            given, dtype = np.asarray(part), kept[name].dtype
            if given.dtype.kind in "biufc" and given.dtype != dtype and not _is_same(kept[name], given):
                raise WrongType(
                    f"{name}: the action is of {given.dtype} and is recorded as {dtype}, which its space declares: "
                    f"digits are lost, and another action would be taken when frames are made again. Pass actions of "
                    f"{dtype}"
                )

    def _see(self, observation: Any, *, is_last: bool, can_look: bool, lost: BaseException | None = None) -> None:
        self.now, self._is_seen = {}, False
        if observation is UNKNOWN or not can_look:
            raise WrongType("frames cannot be made again of an environment that resets itself within a step")
        if lost is not None:
            raise lost
        seen: dict[str, Any] = {}
        if self.pictures is not None:
            seen[FRAMES] = self.pictures.keep((self.look(),))
        self.seen.keep(observation, seen)
        if self._made is None:
            self._made = [described(name, value) for name, value in seen.items() if is_made(value)]
            if not self._made:
                raise WrongType(
                    "frames='resimulate' saves states instead of images, and there are none: make the environment with "
                    "render_mode='rgb_array', or record with frames='auto'"
                )
        made = {one["name"] for one in self._made}
        now = {name: value for name, value in seen.items() if name not in made}
        samples = {name: value for name, value in seen.items() if name in made}
        for name, value in samples.items():
            now[f"{CHECKS}.{name}"] = np.array(check_of(value), np.uint32)
        self.now, self._is_seen = now, True
        if not is_last and self._place % self._keyframe_every == 0:
            self._save(samples)

    def _save(self, samples: dict[str, NDArray[Any]]) -> None:
        """Save the state that the next step begins with."""
        is_first = self._place == 0
        found = self._states.rows(self.reel, samples, is_first)
        if is_first and not found[0] and self.reel is not None:
            self._outgrown.append(self.reel)  # no episode can do without its first state: it goes into another reel
            self.reel = None
            found = self._states.rows(None, samples, is_first)
        if is_first:
            self._waits = found
        elif found[0] and self.reel is not None:
            self.reel.keyframe(*found)

    def _open(self) -> ReelWriter:
        """Open a reel that has room for the state that the next episode begins with."""
        facts = self._plan.facts | facts_of(self._rig, self._made or [], self._keyframe_every)
        while True:
            reel = self._open_reel(facts, {})
            if self._fits_into(reel):
                break
            self._outgrown.append(reel)  # open, so that the next one is another
        while self._outgrown:
            self._outgrown.pop().close()
        self.reel = reel
        return reel

    def _fits_into(self, reel: ReelWriter) -> bool:
        """Give the state that waits the room that a reel has, which may be one that is gone on with."""
        if self._waits is None:
            return True
        rows, facts = self._waits
        fitting = dict(rows)
        for name, row in rows.items():
            shape = reel.shape_of(name, KEYFRAMES)
            if shape is not None and shape != row.shape:
                again = packed(unpacked(row), shape[0])
                if again is None:
                    return False
                fitting[name] = again
        self._waits = fitting, facts
        return True

    def close(self) -> None:
        """End the episode that is under way, and seal what was recorded."""
        super().close()
        while self._outgrown:
            self._outgrown.pop().close()

    def _begin(self, stamp: int) -> None:
        if self._waits is None:
            raise WrongType(
                "reset the environment before its first step: the state that an episode begins with is saved then"
            )
        super()._begin(stamp)
        assert self.reel is not None
        self.reel.keyframe(*self._waits)
        self._waits = None
