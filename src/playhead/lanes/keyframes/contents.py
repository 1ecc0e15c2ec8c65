"""What a trace holds, wherever it lies; here in memory, and the beginning of another. `stored` has those in files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.lanes.keyframes import tree
from playhead.lanes.keyframes.inputs import unpacked
from playhead.lanes.keyframes.marks import Marks
from playhead.lanes.keyframes.rows import Values


def check_facts(facts: Any) -> dict[str, Any]:
    """See that what a file says of a trace has the kinds that others rely on.

    Raises:
        TypeError: It has not.
    """
    if not isinstance(facts, dict):
        raise TypeError(f"facts that are a {type(facts).__name__}")
    parts = {name: facts.get(name) for name in ("step", "parameters", "retention", "origin")}
    if isinstance(step := parts["step"], dict):
        parts |= {f"{name} of the step": step.get(name) for name in ("versions", "bound")}
    for name, part in parts.items():
        if part is not None and not isinstance(part, dict):
            raise TypeError(f"{name}: a {type(part).__name__}")
    return facts


class Contents(ABC):
    """What can be said of a trace without recomputing anything.

    Attributes:
        facts: What does not change, as JSON: `step` (the identity of the function), `parameters`, `retention`,
            `created_ns`.
        stamps: The time of each step.
        errors: The error of each; NaN where there was none.
        keyframes: The steps of which the state is kept, in order.
        history: As long as it is equal, steps were only added; else those that were there may have become others.
    """

    facts: dict[str, Any]
    stamps: NDArray[np.int64]
    errors: NDArray[np.float64]
    keyframes: NDArray[np.int64]
    history: object = None
    _marks: Marks | None = None  # made of the errors, where nobody knows them

    @property
    def length(self) -> int:
        """How many steps there are."""
        return len(self.stamps)

    @property
    def marks(self) -> Marks:
        """The steps that were the best so far."""
        if self._marks is None:
            self._marks = Marks.of_errors(self.errors)
        return self._marks

    @abstractmethod
    def packed(self, step: int) -> bytes:
        """Give the packed state of a keyframe.

        Raises:
            Damaged: It is not what was kept.
        """

    @abstractmethod
    def hash_of(self, step: int) -> bytes:
        """Give the hash of a keyframe's packed state."""

    @abstractmethod
    def packed_inputs(self, start: int, stop: int) -> Sequence[bytes | None]:
        """Give what leads from each of these steps to the next, packed; None where that was not given."""

    def inputs(self, start: int, stop: int) -> Values:
        """Give what leads from each of these steps to the next: of as many as lie together, at least of one.

        They are the caller's own, and can be counted, cut and gone through.
        """
        return unpacked(self.packed_inputs(start, stop))

    def nearest(self, step: int) -> int | None:
        """Give the last keyframe at or before a step; None where there is none."""
        place = int(self.keyframes.searchsorted(step, "right"))
        return int(self.keyframes[place - 1]) if place else None

    def refresh(self) -> None:  # noqa: B027  most do not change
        """Look at what was recorded since."""

    def close(self) -> None:  # noqa: B027  most hold no files
        """Give files back."""


class MemoryContents(Contents):
    """A trace in memory.

    Args:
        facts: What does not change.
        stamps: The time of each step.
        errors: The error of each; NaN where there was none.
        states: Packed states, by step.
        inputs: What leads from each step to the next, packed; none for steps behind the last of these.
        marks: The steps that were the best so far; without them, as the errors say.
    """

    def __init__(
        self,
        facts: Mapping[str, Any],
        stamps: Sequence[int] | NDArray[np.int64],
        errors: Sequence[float] | NDArray[np.float64],
        states: Mapping[int, bytes],
        inputs: Sequence[bytes | None] = (),
        marks: Marks | None = None,
    ) -> None:
        self.facts = dict(facts)
        self.stamps = np.asarray(stamps, np.int64)
        self.errors = np.asarray(errors, np.float64)
        self._states = dict(states)
        self.keyframes = np.array(sorted(self._states), np.int64)
        self._inputs = list(inputs) + [None] * (len(self.stamps) - len(inputs))
        self._marks = marks

    def packed(self, step: int) -> bytes:
        """Give the packed state of a keyframe."""
        return self._states[step]

    def hash_of(self, step: int) -> bytes:
        """Give the hash of a keyframe's packed state."""
        return tree.digest(self._states[step])

    def packed_inputs(self, start: int, stop: int) -> Sequence[bytes | None]:
        """Give the inputs of some steps."""
        return self._inputs[start:stop]


class FirstSteps(Contents):
    """The beginning of another trace.

    Args:
        whole: It.
        length: How many of its steps.
        last_input: Packed, what leads on from the last of them, instead of what did.
    """

    def __init__(self, whole: Contents, length: int, last_input: bytes | None = None) -> None:
        self.facts = whole.facts
        self.stamps, self.errors = whole.stamps[:length], whole.errors[:length]
        self.keyframes = whole.keyframes[: np.searchsorted(whole.keyframes, length)]
        self._marks = Marks(whole.marks.between(0, length))
        self._whole, self._last_input = whole, last_input

    def packed(self, step: int) -> bytes:
        """Give the packed state of a keyframe."""
        return self._whole.packed(step)

    def hash_of(self, step: int) -> bytes:
        """Give the hash of a keyframe's packed state."""
        return self._whole.hash_of(step)

    def packed_inputs(self, start: int, stop: int) -> Sequence[bytes | None]:
        """Give the inputs of some steps."""
        found = list(self._whole.packed_inputs(start, min(stop, self.length)))
        if self._last_input is not None and stop >= self.length > start:
            found[-1] = self._last_input
        return found
