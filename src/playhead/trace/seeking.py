"""Seeker: states of a trace at any step, recomputed from the nearest one that is known.

A seek over a long way keeps a few of the states it passes, √d / 2 of d, and one over a short way only the last: packing
a state costs as much as some steps. A seek that begins at one of those, or where the one before began, is a hand that
scrubs, and keeps all that it passes: going back over a range costs each step once more, and not each time from the
keyframe.
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_right, insort
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from playhead.errors import NotFound, OutOfRange, WrongType
from playhead.lanes.keyframes import tree
from playhead.lanes.keyframes.contents import Contents
from playhead.lanes.keyframes.rows import Values
from playhead.trace.identity import Step

CACHE_BYTES = 64 << 20

_AT_ONCE = 1024  # inputs that are asked for together
_NEAR, _SHORT = 4, 64  # steps: what a hand that goes forwards begins with; and a way on which the last state is enough
_TRIES = 5  # to read a keyframe beside a recorder that drops some


class Seeker:
    """Finds states. Safe in threads.

    Args:
        contents: What is kept of the trace.
        step: Makes a state of the one before; None where only keyframes are asked for.
        cache_bytes: How much memory states that were passed may take.
        refresh: Looks at what was recorded since, and has `turn_to` called.

    Attributes:
        calls: How often `step` was called.
    """

    def __init__(
        self,
        contents: Contents,
        step: Step | None,
        cache_bytes: int = CACHE_BYTES,
        refresh: Callable[[], object] | None = None,
    ) -> None:
        self._contents, self._step = contents, step
        self._refresh = refresh or contents.refresh
        self._most = cache_bytes
        self._cache: OrderedDict[int, bytes] = OrderedDict()
        self._known: list[int] = []  # the steps in the cache, in order
        self._size = 0
        self._left = -1  # the keyframe from which the last seek went
        self._history = contents.history  # of the steps that the cache knows
        self._lock = threading.RLock()
        self.calls = 0

    def seek(self, step: int) -> Any:
        """Give the state of a step; it is the caller's to change.

        Raises:
            OutOfRange: There is no such step.
            NotFound: It is no keyframe, and there is no function to recompute it with.
        """
        with self._lock:
            self.check(step)
            start, packed, is_kept = self._nearest(step)
            state = tree.unpack(packed)
            if step > start:
                state = self._replay(state, start, step, self._apart(start, step) if is_kept else 1)
            return state

    def check(self, step: int) -> None:
        """See that there is such a step.

        Raises:
            OutOfRange: There is not.
        """
        if not 0 <= step < self._contents.length:
            raise OutOfRange(f"no step {step}: the trace has {self._contents.length}")

    def _nearest(self, step: int) -> tuple[int, bytes, bool]:
        """Give the last known state at or before a step, and whether it is a keyframe."""
        self.turn_to(self._contents)  # which may have looked at what was recorded since
        keyframe = self._last_kept(step)
        place = bisect_right(self._known, step)
        cached = self._known[place - 1] if place else -1
        if cached > keyframe:
            self._cache.move_to_end(cached)
            return cached, self._cache[cached], False
        for _ in range(_TRIES):
            try:
                return keyframe, self._contents.packed(keyframe), True
            except NotFound:  # whoever records it has dropped it since
                self._refresh()
                keyframe = self._last_kept(step)
        return keyframe, self._contents.packed(keyframe), True

    def _last_kept(self, step: int) -> int:
        keyframe = self._contents.nearest(step)
        if keyframe is None:
            raise NotFound(f"step {step} cannot be had: no state at or before it was kept")
        return keyframe

    def _apart(self, keyframe: int, step: int) -> int:
        """Tell how far apart the states are that a seek from a keyframe keeps."""
        distance, is_again = step - keyframe, keyframe == self._left
        self._left = keyframe
        if distance >= _SHORT:
            return 2 * math.isqrt(distance)
        return 1 if is_again or distance < _NEAR else distance

    def _replay(self, state: Any, start: int, stop: int, every: int) -> Any:
        step = self._function(start, stop)
        for first, inputs in self._batches(start, stop, every):
            state = self._run(step, state, inputs, first)
            at = first + len(inputs)
            if (at - start) % every == 0:
                self._keep(at, tree.pack(state))
        return state

    def _batches(self, start: int, stop: int, size: int) -> Iterator[tuple[int, Values]]:
        """Give inputs, up to so many at a time and up to a multiple of that, with the step of the first."""
        at = start
        while at < stop:
            inputs = self._contents.inputs(at, min(at + _AT_ONCE, stop))
            place = 0
            while place < len(inputs):
                most = size - (at + place - start) % size
                is_whole = not place and most >= len(inputs)
                yield at + place, inputs if is_whole else inputs[place : place + most]
                place += most
            at += len(inputs)

    def _run(self, step: Step, state: Any, inputs: Values, place: int) -> Any:
        """Go a step for each input; a tight loop, since it is what a seek consists of."""
        calls = 0
        try:
            for given in inputs:
                calls += 1
                state = step(state, given)
                if state is None:
                    break
        except Exception as error:
            at = place + calls
            error.add_note(f"step() raised this while the trace went from step {at - 1} to {at}")
            raise
        finally:
            self.calls += calls
        if state is None and calls:
            raise WrongType(
                f"step(state, input) gave None at step {place + calls - 1}: it returns the next state, "
                "also where it changes the one it got"
            )
        return state

    def _function(self, start: int, stop: int) -> Step:
        if self._step is None:
            raise NotFound(
                f"step {stop} is no keyframe, the last one before it is {start}: "
                "pass step=, the function that made the trace, to recompute it (--step module:function)"
            )
        return self._step

    def _keep(self, step: int, packed: bytes) -> None:
        if step in self._cache or len(packed) > self._most:
            return
        self._cache[step] = packed
        insort(self._known, step)
        self._size += len(packed)
        while self._size > self._most:
            old, data = self._cache.popitem(last=False)
            del self._known[bisect_right(self._known, old) - 1]
            self._size -= len(data)

    def between(self, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
        """Give the packed states of a range of steps, each step recomputed once."""
        if start >= stop:
            return
        with self._lock:
            self.check(stop - 1)
            at, packed, _ = self._nearest(start)
            state = tree.unpack(packed)
            if at < start:
                state = self._replay(state, at, start, self._apart(at, start))
                packed = tree.pack(state)
            yield start, packed
            keyframes = set(self._contents.keyframes.tolist()) if stop - start > 1 else set()
            for place, inputs in self._batches(start, stop - 1, 1):
                if place + 1 in keyframes and (kept := self._kept(place + 1)) is not None:
                    packed, state = kept, None  # which is not needed before a step that is no keyframe
                else:
                    step = self._function(place, place + 1)
                    state = self._run(step, tree.unpack(packed) if state is None else state, inputs, place)
                    packed = tree.pack(state)
                yield place + 1, packed

    def _kept(self, step: int) -> bytes | None:
        """Give the packed state of a keyframe; None where it was dropped since."""
        try:
            return self._contents.packed(step)
        except NotFound:
            self._refresh()
            return None

    def replay(self, start: int, stop: int) -> Iterator[Any]:
        """Give the states behind a keyframe, up to and with that of `stop`, all recomputed and none remembered.

        They are one another's: look at each before asking for the next.
        """
        step = self._function(start, stop)
        state = tree.unpack(self._contents.packed(start))
        for place, inputs in self._batches(start, stop, 1):
            with self._lock:
                state = self._run(step, state, inputs, place)
            yield state

    def turn_to(self, contents: Contents) -> None:
        """Go on with what there is now; where steps may have become others, states that were passed are forgotten."""
        with self._lock:
            if contents is not self._contents or contents.history != self._history:
                self._cache.clear()
                self._known.clear()
                self._size = 0
            self._contents, self._history = contents, contents.history
