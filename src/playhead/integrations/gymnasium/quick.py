"""A step put down in one piece.

Between two steps, the game drives everything else out of the processor's caches: the code of each function that is
called then, and each object that it looks at, has to be fetched again. So what a step of most environments takes is one
function here, which calls hardly any of ours. Whatever is not as in the steps before is left to `Track.step`, which
does the same at more length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import orjson

from playhead.integrations.gymnasium.frames import Look
from playhead.integrations.gymnasium.spaces import ACTIONS, FRAMES
from playhead.integrations.gymnasium.track import Track
from playhead.lanes.arrays.writer import ReelWriter

Put = Callable[[int, Any, Any, Any, Any, Any, Any], bool]

_REWARDS = frozenset((int, np.float64, np.float32))
_LARGE = 1e30  # a whole number far above is no float
_NUMBERS = frozenset((float, bool, np.float64, np.float32, np.int64, np.int32, np.bool_))  # that nobody changes
_MOST = 1 << 62  # of numbers in JSON; NaN is not below it
_NUMBER_BYTES = 25  # at most, in JSON
_NULL = b"null"  # in JSON, which may have been NaN


def put_of(track: Track) -> Put | None:
    """Give a function that records steps while an episode is under way; None where the next one is not plain.

    It takes the time of a step, the action, a number of 32 bits, and the five things that came of it, and tells whether
    it recorded the step. Where it did not, or an exception came out of it, it must not be called again; and nothing is
    recorded then as long as `track.now` is what it was.
    """
    reel, plain = track.reel, track.seen.plain
    if not track.is_plain or reel is None or plain is None:
        return None
    (name, shape, dtype), stack = plain, track.stack
    names = (name, ACTIONS) if track.pictures is None else (FRAMES, name, ACTIONS)
    hand = reel.hand(names) if names == (*track.now, ACTIONS) else None
    if hand is None:
        return None
    held, steps, numbers, last, episode, has, most_info = hand
    shown = _shown_in(track, reel)
    second = 0 if stack is None else stack.second
    array = np.ndarray
    writer = reel.writer

    def odd() -> bool:
        track.is_odd = True
        return False

    least, most = -_MOST, _MOST
    known: frozenset[str] = frozenset()  # names in infos that were JSON

    def put(stamp: int, action: Any, observation: Any, reward: Any, terminated: Any, truncated: Any, info: Any) -> bool:
        nonlocal held, steps, known
        if terminated or truncated:
            return False
        if (
            (type(reward) is not float and (type(reward) not in _REWARDS or not abs(reward) < _LARGE))
            or type(info) is not dict
            or type(observation) is not array
            or observation.shape != shape
            or (observation.dtype is not dtype and observation.dtype != dtype)
            or stamp <= last.last
        ):
            return odd()
        told: Any
        for key, value in info.items():
            if (
                key in known
                and type(key) is str
                and (type(value) is int or type(value) in _NUMBERS)
                and least < value < most
            ):
                continue
            told = _json_of(info, most_info)
            if told is None:
                return odd()
            if len(told) + len(info) * _NUMBER_BYTES <= most_info:
                known = frozenset(info)
            break
        else:
            told = info.copy()
        kept = b"" if stack is None else observation.tobytes()
        if stack is not None and not kept.startswith(stack.later):
            return odd()
        seen = {} if shown is None else {FRAMES: shown()}
        seen[name] = (observation if stack is None else observation[-1]).copy()
        later = None if stack is None else memoryview(kept)[second:]
        now = track.now
        values = (now[name], action) if shown is None else (now[FRAMES], now[name], action)
        # From here on without a call, so that an exception of a signal comes before all of it or behind it.
        held += values
        last.last = stamp
        steps += ((stamp, reward, numbers[0], episode, 0, has, 0, told),)
        numbers[0] += 1
        track.now = seen
        if stack is not None and later is not None:
            stack.kept, stack.later = kept, later
        if len(held) >= reel.room or writer.error is not None:
            more = reel.hand(names)
            assert more is not None, "the episode is under way"
            held = more.held
        return True

    return put


def _shown_in(track: Track, reel: ReelWriter) -> Look | None:
    """Give what takes the next frame, so that nobody else has it; None where frames are no renderings."""
    if track.pictures is None:
        return None
    screens, look, keep = track.screens, track.look, track.pictures.keep
    if screens is None or not screens.begin(track.now[FRAMES]):
        return lambda: keep((look(),))
    reel.take_numbers(FRAMES, screens.colours)
    return screens.look


def _json_of(info: dict[Any, Any], most: int) -> bytes | None:
    """Give an info as JSON; None where it is not plain."""
    try:
        data = orjson.dumps(info, option=orjson.OPT_SERIALIZE_NUMPY)
    except TypeError:
        return None
    return None if len(data) > most or _NULL in data else data
