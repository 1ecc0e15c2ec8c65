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

_REWARDS = frozenset((float, int, np.float64, np.float32))
_SMALL = 1 << 31
_NULL = b"null"  # in JSON, which may have been NaN


def step_of(
    env: Any, track: Track, stamps: clock.Stamps, before: Step, behind: Callable[[int, Any, Result], None]
) -> Step | None:
    """Give a function that steps an environment and records it, while an episode is under way.

    Args:
        env: The environment.
        track: What it is recorded by.
        stamps: Gives the times of steps.
        before: Takes a step whose action is not as those before.
        behind: Records a step that was taken, whose result is not as those before: its time, its action and that.

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
    plane, second, newest = ((), 0, 0) if stack is None else (shape[1:], stack.second, stack.newest)
    knows, look, keep = track.knows, track.look, None if track.pictures is None else track.pictures.keep
    anchor, elapsed, writer, no_bytes = stamps.anchor, clock.elapsed_ns, reel.writer, memoryview(b"")
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
            track.fail(error)
            raise
        seen: dict[str, Any] = {}
        try:
            observation, reward, terminated, truncated, info = result
            if (
                not terminated
                and not truncated
                and type(reward) in _REWARDS
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
                if keep is not None:
                    seen[FRAMES] = keep((look(),))
                if stack is None:
                    kept, later = b"", no_bytes
                    seen[name] = observation.copy()
                else:
                    kept = observation.tobytes()
                    later = memoryview(kept)[second:]
                    seen[name] = array(plane, dtype, kept[newest:])
                if len(data) <= most_info and _NULL not in data and (stack is None or kept.startswith(stack.later)):
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
                    if stack is not None:
                        stack.kept, stack.later = kept, later
        finally:
            if track.now is not seen:  # something is not as before, or an exception came in between
                behind(stamp, action, result)
        if len(held) >= reel.room or writer.error is not None:
            more = reel.hand(names)
            knows, held = (frozenset(), held) if more is None else (knows, more.held)
        return result

    return step
