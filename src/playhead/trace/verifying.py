"""Whether a trace comes out again as it was recorded: recomputed from each keyframe to the next, and compared there."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from playhead import strictjson
from playhead.errors import Damaged, NotFound
from playhead.lanes.keyframes import tree
from playhead.trace.states import Comparison, Tolerance, compare

if TYPE_CHECKING:
    from playhead.trace.trace import Trace

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Divergence:
    """A span between two keyframes that came out otherwise.

    In between nothing was kept to compare with, so that it happened somewhere behind the first keyframe.

    Attributes:
        keyframe: The keyframe it was recomputed from.
        shows_at: The keyframe at which it shows; where the function raised, the step it was to make.
        difference: What differs there, recomputed against recorded; None where the function raised.
        raised: What the function raised.
        unstable_at: The first step at which two runs from the same keyframe differ: the function does not depend on
            state and input alone. None where they agree: function, inputs or machine are not those of the recording.
    """

    keyframe: int
    shows_at: int
    difference: Comparison | None = None
    raised: str | None = None
    unstable_at: int | None = None

    def __str__(self) -> str:
        if self.raised is not None:
            return f"from keyframe {self.keyframe} on, making step {self.shows_at} raised {self.raised}"
        said = f"recomputed from keyframe {self.keyframe}, step {self.shows_at} differs at {self.difference}"
        if self.unstable_at is None:
            return f"{said}. Two runs agree, so function, inputs or machine are others than those of the recording"
        return f"{said}. The function is not deterministic: two runs differ from step {self.unstable_at} on"


@dataclass(frozen=True, slots=True)
class Report:
    """What `verify` found.

    Attributes:
        steps: How many the trace has.
        spans: Spans between two keyframes that were recomputed.
        calls: How often the function was called.
        unchecked: Steps behind the last keyframe: there is nothing to compare them with.
        diverged: How many spans came out otherwise.
        first: The first of them.
        worst: The one with the largest difference.
        tolerance: What was allowed; None for no difference at all.
    """

    steps: int
    spans: int
    calls: int
    unchecked: int
    diverged: int
    first: Divergence | None
    worst: Divergence | None
    tolerance: Tolerance | None

    @property
    def is_good(self) -> bool:
        """Whether every span came out as recorded."""
        return not self.diverged

    def to_json(self) -> dict[str, Any]:
        """Give it as JSON."""
        return {
            "is_good": self.is_good,
            **strictjson.plain(self),
            "tolerance": self.tolerance and self.tolerance._asdict(),
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        rule = "to the last bit" if self.tolerance is None else f"within {self.tolerance.relative:g} relative"
        if self.tolerance is not None:
            rule += f" + {self.tolerance.absolute:g} absolute"
        if not self.spans:
            yield "Nothing to verify: there are no two keyframes."
        elif self.is_good:
            yield f"All {self.spans:,} spans between keyframes come out as recorded {rule} ({self.calls:,} calls)."
        else:
            yield f"{self.diverged:,} of {self.spans:,} spans are not as recorded {rule} ({self.calls:,} calls)."
            yield f"First: {self.first}."
            if self.worst is not None and self.worst != self.first:
                yield f"Largest: {self.worst}."
        if self.unchecked:
            yield f"The last {self.unchecked:,} steps have no keyframe behind them to compare with."


def verify(
    trace: Trace, *, tolerance: float | tuple[float, float] | None = None, progress: Progress | None = None
) -> Report:
    """Recompute every span between two keyframes, and compare what comes out with what was kept.

    Args:
        trace: Opened with its step function.
        tolerance: How far apart numbers may be: one number, relative and absolute, or a pair of both; see `states`.
            Without it, hashes are compared. Machines and versions of libraries differ in the last bits.
        progress: Told of each span how many steps it had.

    Raises:
        NotFound: The trace has no step function.
        Damaged: A keyframe is not what was kept.
    """
    if not trace.can_recompute:
        raise NotFound("verifying needs the function that made the trace: pass step= (--step module:function)")
    allowed = Tolerance.of(tolerance)
    calls, found, spans = trace.calls, [], 0
    keyframes = trace.keyframes.tolist()
    for start, stop in pairwise(keyframes):
        spans += 1
        divergence = _of_span(trace, start, stop, allowed)
        if divergence is not None:
            found.append(divergence)
        if progress is not None:
            progress(stop - start)
    first = found[0] if found else None
    if first is not None and first.raised is None:
        unstable = _first_unstable(trace, first.keyframe, first.shows_at)
        found[0] = first = Divergence(first.keyframe, first.shows_at, first.difference, None, unstable)
    return Report(
        steps=len(trace),
        spans=spans,
        calls=trace.calls - calls,
        unchecked=len(trace) - 1 - keyframes[-1] if keyframes else len(trace),
        diverged=len(found),
        first=first,
        worst=max(found, key=_size, default=None),
        tolerance=allowed,
    )


def _of_span(trace: Trace, start: int, stop: int, tolerance: Tolerance | None) -> Divergence | None:
    made = start
    try:
        for made, state in enumerate(trace.replay(start, stop), start + 1):  # noqa: B007
            pass
        packed = tree.pack(state)
    except Damaged:
        raise
    except Exception as error:  # noqa: BLE001  whatever the caller's function raises is what is reported
        return Divergence(start, min(made + 1, stop), raised=f"{type(error).__name__}: {error}")
    if tree.digest(packed) == trace.contents.hash_of(stop):
        return None
    difference = compare(state, tree.unpack(trace.contents.packed(stop)), tolerance)
    return None if difference.is_equal else Divergence(start, stop, difference)


def _first_unstable(trace: Trace, start: int, stop: int) -> int | None:
    """Give the first step at which two runs of a span differ, each with states of its own."""
    for step, (one, other) in enumerate(
        zip(trace.replay(start, stop), trace.replay(start, stop), strict=True), start + 1
    ):
        if tree.pack(one) != tree.pack(other) and not compare(one, other).is_equal:
            return step
    return None


def _size(divergence: Divergence) -> float:
    worst = divergence.difference and divergence.difference.worst
    return math.inf if worst is None or worst.absolute is None else worst.absolute
