"""A step in one piece.

Between two steps, the game drives everything else out of the processor's caches: the code of each function that is
called then, and each object that it looks at, has to be fetched again. So what a step of most environments takes is one
function here, which calls hardly any of ours. Whatever is not as in the steps before is left to `Track`, which does the
same at more length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import orjson

from playhead import clock
from playhead.integrations.gymnasium.spaces import ACTIONS, FRAMES
from playhead.integrations.gymnasium.track import Track
from playhead.lanes.arrays import rows

Result = tuple[Any, Any, bool, bool, dict[str, Any]]
Step = Callable[[Any], Result]
Lost = BaseException | None

_REWARDS = frozenset((int, np.float64, np.float32))
_LARGE = 1e30  # a whole number far above is no float
_SMALL = 1 << 31
_NULL = b"null"  # in JSON, which may have been NaN


def step_of(  # noqa: PLR0915  one function is the point of it
    env: Any, track: Track, stamps: clock.Stamps, before: Step, behind: Callable[[int, Any, Result, Lost], None]
) -> Step | None:
    """Give a function that steps an environment and records it, while an episode is under way.

    Args:
        env: The environment.
        track: What it is recorded by.
        stamps: Gives the times of steps.
        before: Takes a step whose action is not as those before.
        behind: Records a step that was taken, whose result is not as those before: its time, its action, that, and the
            exception, if any, that kept what was seen from being kept, which it raises.

    Returns:
        The function; None where the next step is not plain.
    """
    reel, plain = track.reel, track.seen.plain
    if not track.is_plain or reel is None or plain is None:
        return None
    names = (*track.now, ACTIONS)
    hand = reel.hand(names)
    if hand is None:
        return None
    held, steps, numbers, last, episode, has, most_info = hand
    (name, shape, dtype), stack = plain, track.stack
    second = 0 if stack is None else stack.second
    knows, look, keep = track.knows, track.look, None if track.pictures is None else track.pictures.keep
    anchor, elapsed, writer = stamps.anchor, clock.elapsed_ns, reel.writer
    array, dumps, option, pack = np.ndarray, orjson.dumps, orjson.OPT_SERIALIZE_NUMPY, rows.STEP.pack

    def step(action: Any) -> Result:
        nonlocal held, knows, steps
        if type(action) not in knows or not -_SMALL <= action < _SMALL:
            return before(action)
        stamp = anchor + elapsed()
        if stamp <= stamps.last:
            stamp = stamps.last + 1
        stamps.last = stamp
        try:
            result: Result = env.step(action)
        except BaseException as error:
            knows = frozenset()  # the episode ends here, and nothing is known of the next one
            track.fail(error)
            raise
        observation, reward, terminated, truncated, info = result
        seen: dict[str, Any] = {}
        try:
            if (
                not terminated
                and not truncated
                and (type(reward) is float or (type(reward) in _REWARDS and abs(reward) < _LARGE))
                and type(info) is dict
                and type(observation) is array
                and observation.shape == shape
                and observation.dtype == dtype
                and stamp > last.last
            ):
                try:
                    data = dumps(info, option=option) if info else b""
                except TypeError:
                    data = _NULL
                kept = b"" if stack is None else observation.tobytes()
                if len(data) <= most_info and _NULL not in data and (stack is None or kept.startswith(stack.later)):
                    if keep is not None:
                        seen[FRAMES] = keep((look(),))
                    later = None if stack is None else memoryview(kept)[second:]
                    seen[name] = (observation if stack is None else observation[-1]).copy()
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
        except BaseException as error:  # it cannot be rendered, or a signal's exception came in between
            if track.now is not seen:
                behind(stamp, action, result, error)
            raise
        if track.now is not seen:
            behind(stamp, action, result, None)
            return result
        if len(held) >= reel.room or writer.error is not None:
            known, knows = knows, frozenset()  # which it stays where an exception comes before there is another hand
            more = reel.hand(names)
            if more is not None:
                held, knows = more.held, known
        return result

    return step
