"""What differs between two traces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from playhead import strictjson
from playhead.lanes.keyframes import tree
from playhead.trace import identity
from playhead.trace.states import Comparison, Tolerance, compare

if TYPE_CHECKING:
    from playhead.trace.trace import Trace

__all__ = ["Comparison", "Difference", "Tolerance", "compare", "diff"]


@dataclass(frozen=True, slots=True)
class Errors:
    """How the errors of two traces differ, as far as both go.

    Attributes:
        count: How many steps have another error.
        first: The first of them.
        largest: The step with the largest difference.
        amount: That difference; infinite where one of the two is none.
    """

    count: int
    first: int
    largest: int
    amount: float


@dataclass(frozen=True, slots=True)
class States:
    """How the states of two traces differ.

    Attributes:
        compared: How many steps could be compared.
        first: The first of those whose states differ; None where all are equal.
        difference: What differs there.
    """

    compared: int
    first: int | None
    difference: Comparison | None


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs between two traces.

    Attributes:
        lengths: How many steps each has.
        parameters: Those that differ, with both values; None where one has no such parameter.
        function: In what the functions differ that they were recorded with, for people.
        errors: How the errors differ; None where they are the same.
        states: How the states differ.
        marks: The best steps that only the one has, and those that only the other has.
        is_recomputed: Whether every step was compared; else those that are keyframes.
    """

    lengths: tuple[int, int]
    parameters: dict[str, tuple[Any, Any]]
    function: list[str]
    errors: Errors | None
    states: States
    marks: tuple[list[int], list[int]]
    is_recomputed: bool

    @property
    def is_equal(self) -> bool:
        """Whether histories and parameters are the same; what was noted of the functions does not count."""
        same_marks = not self.marks[0] and not self.marks[1]
        same_states = self.errors is None and self.states.first is None and same_marks
        return self.lengths[0] == self.lengths[1] and not self.parameters and same_states

    def to_json(self) -> dict[str, Any]:
        """Give it as JSON."""
        return {"is_equal": self.is_equal, **strictjson.plain(self)}

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        if self.is_equal:
            yield f"Equal: {self.lengths[0]:,} steps."
        if self.lengths[0] != self.lengths[1]:
            yield f"Lengths: {self.lengths[0]:,} and {self.lengths[1]:,} steps."
        for name, (one, other) in self.parameters.items():
            yield f"Parameter {name}: {one} and {other}."
        if self.function:
            yield f"Functions: {'; '.join(self.function)}."
        if self.errors is not None:
            yield (
                f"Errors: {self.errors.count:,} steps differ, from step {self.errors.first} on; "
                f"most at step {self.errors.largest}, {self.errors.amount:.6g} apart."
            )
        if self.states.first is not None:
            yield f"States: step {self.states.first} is the first that differs, at {self.states.difference}."
        which = "steps" if self.is_recomputed else "keyframes"
        yield f"Compared {self.states.compared:,} {which}."
        if self.marks[0] or self.marks[1]:
            yield f"Best steps: {len(self.marks[0]):,} only in the first, {len(self.marks[1]):,} only in the second."


def diff(a: Trace, b: Trace, tolerance: float | tuple[float, float] | None = None) -> Difference:
    """Find what differs between two traces, as far as both go.

    States are compared at every step where both traces have their function; else at the keyframes of that without.

    Args:
        a: One.
        b: The other, to which relative differences refer.
        tolerance: How far apart numbers may be; see `states`.
    """
    allowed = Tolerance.of(tolerance)
    return Difference(
        lengths=(len(a), len(b)),
        parameters=_of_parameters(dict(a.parameters), dict(b.parameters)),
        function=identity.differences(a.facts.get("step"), b.facts.get("step")),
        errors=_of_errors(a.errors, b.errors, allowed),
        states=_of_states(a, b, allowed),
        marks=(sorted({*a.marks} - {*b.marks}), sorted({*b.marks} - {*a.marks})),
        is_recomputed=a.can_recompute and b.can_recompute,
    )


def _of_parameters(one: dict[str, Any], other: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    names = dict.fromkeys((*one, *other))
    return {name: (one.get(name), other.get(name)) for name in names if one.get(name) != other.get(name)}


def _of_errors(one: NDArray[np.float64], other: NDArray[np.float64], tolerance: Tolerance | None) -> Errors | None:
    shared = min(len(one), len(other))
    a, b = one[:shared], other[:shared]
    near = np.isclose(a, b, *(tolerance or (0.0, 0.0)), equal_nan=True)
    wrong = np.flatnonzero(~near)
    if not len(wrong):
        return None
    with np.errstate(all="ignore"):
        apart = np.abs(a[wrong] - b[wrong])
    apart[np.isnan(apart)] = np.inf
    worst = int(np.argmax(apart))
    return Errors(len(wrong), int(wrong[0]), int(wrong[worst]), float(apart[worst]))


def _of_states(a: Trace, b: Trace, tolerance: Tolerance | None) -> States:
    compared = 0
    for step, one, other in _both(a, b):
        compared += 1
        if one != other:
            difference = compare(tree.unpack(one), tree.unpack(other), tolerance)
            if not difference.is_equal:
                return States(compared, step, difference)
    return States(compared, None, None)


def _both(a: Trace, b: Trace) -> Iterator[tuple[int, bytes, bytes]]:
    """Give the packed states of both, step by step."""
    shared = min(len(a), len(b))
    if a.can_recompute and b.can_recompute:
        for (step, one), (_, other) in zip(a.packed_states(shared), b.packed_states(shared), strict=True):
            yield step, one, other
        return
    known = [set(trace.keyframes.tolist()) for trace in (a, b) if not trace.can_recompute]
    for step in sorted(set.intersection(*known)):
        if step < shared:
            yield step, tree.pack(a.seek(step)), tree.pack(b.seek(step))
