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

from playhead.integrations.gymnasium.spaces import ACTIONS, FRAMES
from playhead.integrations.gymnasium.track import Track
from playhead.lanes.arrays import rows

Put = Callable[[int, Any, Any, Any, Any, Any, Any], bool]

_REWARDS = frozenset((int, np.float64, np.float32))
_LARGE = 1e30  # a whole number far above is no float
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
    names = (*track.now, ACTIONS)
    hand = reel.hand(names)
    if hand is None:
        return None
    held, steps, numbers, last, episode, has, most_info = hand
    (name, shape, dtype), stack, look = plain, track.stack, track.look
    second = 0 if stack is None else stack.second
    keep = None if track.pictures is None else track.pictures.keep
    array, dumps, option = np.ndarray, orjson.dumps, orjson.OPT_SERIALIZE_NUMPY
    pack, writer = rows.STEP.pack, reel.writer

    def odd() -> bool:
        track.is_odd = True
        return False

    def put(stamp: int, action: Any, observation: Any, reward: Any, terminated: Any, truncated: Any, info: Any) -> bool:
        nonlocal held, steps
        if terminated or truncated:
            return False
        if (
            (type(reward) is not float and (type(reward) not in _REWARDS or not abs(reward) < _LARGE))
            or type(info) is not dict
            or type(observation) is not array
            or observation.shape != shape
            or observation.dtype != dtype
            or stamp <= last.last
        ):
            return odd()
        try:
            data = dumps(info, option=option) if info else b""
        except TypeError:
            return odd()
        kept = b"" if stack is None else observation.tobytes()
        if len(data) > most_info or _NULL in data or (stack is not None and not kept.startswith(stack.later)):
            return odd()
        seen = {} if keep is None else {FRAMES: keep((look(),))}
        seen[name] = (observation if stack is None else observation[-1]).copy()
        later = None if stack is None else memoryview(kept)[second:]
        now = track.now
        now[ACTIONS] = action
        values = now.values()
        row = pack(stamp, reward, numbers[0], episode, 0, has, 0) + data
        # From here on without a call, so that an exception of a signal comes before all of it or behind it.
        held += values
        last.last = stamp
        numbers[0] += 1
        steps += (row,)
        track.now = seen
        if stack is not None and later is not None:
            stack.kept, stack.later = kept, later
        if len(held) >= reel.room or writer.error is not None:
            more = reel.hand(names)
            assert more is not None, "the episode is under way"
            held = more.held
        return True

    return put
