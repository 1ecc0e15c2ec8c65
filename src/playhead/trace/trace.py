"""Trace: the states of a history, at any step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import disk
from playhead.errors import Exists, NotFound
from playhead.lanes.keyframes import tree
from playhead.lanes.keyframes.contents import Contents, FirstSteps
from playhead.lanes.keyframes.marks import Marks
from playhead.lanes.keyframes.retention import Retention
from playhead.paths import GivenPath, as_path
from playhead.signal import Signal
from playhead.signal.arrays import Positions, frozen
from playhead.signal.keys import INDEX, as_integer
from playhead.signal.solo import tape_of
from playhead.trace import identity
from playhead.trace.comparing import Difference, diff
from playhead.trace.forms import Which, load, refreshed, write
from playhead.trace.identity import Step
from playhead.trace.seeking import CACHE_BYTES, Seeker
from playhead.trace.verifying import Progress, Report, verify
from playhead.trace.writing import TraceWriter


class Trace(Signal[Any]):
    """A history of states, of which some are kept and the others are recomputed.

    A signal: `trace[n]` is the state of a step and its time, `trace.time[t]` the state at a time, `trace[a:b]` a view
    that recomputes each step once. `trace.seek(n)` gives the state alone. Errors, keyframes and marks need no
    recomputation.

    Args:
        contents: What is kept.
        step: Makes a state of the one before, `step(state, input)`, as it did when the trace was recorded; without it,
            only keyframes can be had.
        cache_bytes: How much memory recomputed states may take, so that scrubbing is quick.
    """

    def __init__(self, contents: Contents, step: Step | None = None, *, cache_bytes: int = CACHE_BYTES) -> None:
        self._contents = contents
        self._step = step
        self._cache_bytes = cache_bytes
        self._seeker = Seeker(contents, step, cache_bytes, self.refresh)
        self._source: Path | None = None
        self._which = Which()

    @classmethod
    def open(
        cls,
        path: GivenPath,
        step: Step | None = None,
        *,
        trace: int | None = None,
        variant: int | None = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> Trace:
        """Open a trace: a file `.trace` or `.json`, with `.gz` or without, of this or another program.

        Args:
            path: The file; one that is still being recorded is read as far as it goes.
            step: As for the class; where it is not the function that the trace was recorded with, a warning says so.
            trace: Which one, where the file holds several, as a train output does: its place in the list, from 0;
                without it, the best.
            variant: Or the number that the program gave it.
            cache_bytes: As for the class.

        Raises:
            NotFound: There is none; of a file with several, the message lists them.
            Damaged: It cannot be read.
        """
        which = Which(trace, variant)
        file = as_path(path)
        found = cls(load(file, which), step, cache_bytes=cache_bytes)
        found._source, found._which = file, which
        identity.warn_of_differences(found._contents.facts.get("step"), step, stacklevel=2)
        return found

    # -- what is known without recomputing --------------------------------------------------------------------------

    @property
    def contents(self) -> Contents:
        """What is kept of it."""
        return self._contents

    @property
    def facts(self) -> Mapping[str, Any]:
        """What was noted when it was recorded: the function, parameters, and which states are kept."""
        return dict(self._contents.facts)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What the function was told: a learning rate, and the like."""
        return dict(self._contents.facts.get("parameters") or {})

    @property
    def timestamps(self) -> NDArray[np.int64]:
        """The time of each step."""
        return frozen(self._contents.stamps)

    @property
    def errors(self) -> NDArray[np.float64]:
        """The error of each step; NaN where there was none."""
        return frozen(self._contents.errors)

    @property
    def keyframes(self) -> NDArray[np.int64]:
        """The steps of which the state is kept."""
        return frozen(self._contents.keyframes)

    @property
    def marks(self) -> Marks:
        """The steps at which the error was smaller than ever before."""
        return self._contents.marks

    @property
    def best(self) -> int | None:
        """The step with the smallest error, the first of equal ones; None where no step has one."""
        return self.marks.last

    def best_before(self, step: int) -> int | None:
        """Give the best of the steps before one; None where none of them has an error."""
        return self.marks.before(as_integer(step, INDEX))

    @property
    def calls(self) -> int:
        """How often the step function was called so far."""
        return self._seeker.calls

    @property
    def can_recompute(self) -> bool:
        """Whether there is a function, so that every step can be had and not keyframes alone."""
        return self._step is not None

    # -- states -----------------------------------------------------------------------------------------------------

    def seek(self, step: int) -> Any:
        """Give the state of a step: that of the nearest keyframe at or before it, stepped forward.

        It is the caller's own: changing it changes nothing else.

        Raises:
            OutOfRange: There is no such step.
            NotFound: It is no keyframe, and the trace was opened without a step function.
        """
        return self._seeker.seek(as_integer(step, INDEX))

    def input(self, step: int) -> Any:
        """Give what led from a step to the next; None where it was not recorded.

        Raises:
            OutOfRange: There is no such step.
        """
        place = as_integer(step, INDEX)
        self._seeker.check(place)
        (found,) = self._contents.inputs(place, place + 1)
        return found

    def replay(self, start: int, stop: int) -> Iterator[Any]:
        """Recompute the states behind a keyframe, up to and with that of `stop`; nothing is taken from memory.

        Look at each before asking for the next: the function may change it.
        """
        return self._seeker.replay(as_integer(start, INDEX), as_integer(stop, INDEX))

    def verify(
        self, *, tolerance: float | tuple[float, float] | None = None, progress: Progress | None = None
    ) -> Report:
        """Recompute every span between two keyframes and compare; see `playhead.trace.verifying.verify`."""
        return verify(self, tolerance=tolerance, progress=progress)

    def compare(self, other: Trace, tolerance: float | tuple[float, float] | None = None) -> Difference:
        """Find what differs between this trace and another; see `playhead.trace.comparing.diff`."""
        return diff(self, other, tolerance)

    def resume(
        self,
        target: GivenPath,
        *,
        at: int,
        input: Any = None,
        step: Step | None = None,
        bucket: int | None = None,
        retention: Retention | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> TraceWriter:
        """Record on from one of the steps: a new trace with all steps up to it, which takes the next one.

        The next state is that which `step` makes of `trace.seek(at)` and `trace.input(at)`.

        Args:
            target: The file of the new trace.
            at: The step.
            input: What takes it to the next, where another way is gone than before.
            step: As for `TraceWriter`; without it, this trace's.
            bucket: As for `TraceWriter`; without it and `retention`, keyframes are chosen as before.
            retention: As for `TraceWriter`.
            parameters: As for `TraceWriter`; without them, this trace's.

        Raises:
            OutOfRange: There is no such step.
            Exists: There is a trace already.
        """
        path, last = as_path(target), as_integer(at, INDEX)
        self._seeker.check(last)
        if path.exists() or tape_of(path).exists():
            raise Exists(f"there is a trace {path} already; resuming makes a new one, so pass another name")
        disk.make_folders(path.parent)
        write(path, FirstSteps(self._contents, last + 1, None if input is None else tree.pack(input)))
        try:
            return TraceWriter(
                path, step=step or self._step, bucket=bucket, retention=retention, parameters=parameters, resume=True
            )
        except BaseException:
            disk.remove(path)
            raise

    def packed_states(self, stop: int) -> Iterator[tuple[int, bytes]]:
        """Give the steps before one, each with its packed state and recomputed once."""
        return self._seeker.between(0, stop)

    def _value_at(self, position: int) -> Any:
        return self._seeker.seek(position)

    def _values_at(self, positions: Positions) -> NDArray[Any]:
        if isinstance(positions, range) and positions.step == 1:
            states = [tree.unpack(packed) for _, packed in self._seeker.between(positions.start, positions.stop)]
        else:
            order = np.argsort(np.asarray(positions, np.int64), kind="stable").tolist()
            states = [None] * len(positions)
            for place in order:  # forwards, so that what is recomputed for one serves the next
                states[place] = self._seeker.seek(int(positions[place]))
        return _as_array(states)

    def _count(self) -> int:
        return self._contents.length

    def refresh(self) -> None:
        """Look at what was recorded since.

        Raises:
            NotFound: It is not there any more.
        """
        if self._source is None:
            self._contents.refresh()
        else:
            self._contents = refreshed(self._source, self._contents, self._which)
        self._seeker.turn_to(self._contents)

    def close(self) -> None:
        """Give files back."""
        self._contents.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._source is None:
            raise NotFound("a trace in memory cannot be sent to another process: write it to a file first")
        return _reopened, (self._source, self._step, *self._which, self._cache_bytes)

    def _description(self) -> str:
        best = "" if self.best is None else f", best {self.errors[self.best]:.4g} at step {self.best}"
        return f"{len(self)} steps, {len(self.keyframes)} keyframes{best}"


def _reopened(path: Path, step: Step | None, trace: int | None, variant: int | None, cache_bytes: int) -> Trace:
    return Trace.open(path, step, trace=trace, variant=variant, cache_bytes=cache_bytes)


def _as_array(states: list[Any]) -> NDArray[Any]:
    """Give states as one array: of their own numbers where all are arrays or numbers of one kind, else of objects."""
    first = states[0] if states else None
    if isinstance(first, np.ndarray) and all(
        isinstance(one, np.ndarray) and one.dtype == first.dtype and one.shape == first.shape for one in states
    ):
        return np.stack(states)
    if isinstance(first, (float, np.number)) and all(type(one) is type(first) for one in states):
        return np.array(states)
    found = np.empty(len(states), object)
    for place, one in enumerate(states):
        found[place] = one
    return found
