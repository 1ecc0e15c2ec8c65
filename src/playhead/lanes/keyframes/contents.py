"""What a trace holds, wherever it lies: in memory, in a sealed file, on the tape of a recording, or in both."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.errors import Damaged, NotFound
from playhead.lanes.keyframes import blocks, tree
from playhead.lanes.keyframes.marks import Marks
from playhead.lanes.keyframes.sealed import Sealed
from playhead.lanes.keyframes.taped import Taped

_KEPT_BLOCKS = 64  # of inputs, 128 KiB each, or one large one
_REMEDY = "Put the file back from a copy; its tape lies beside it and goes on from there"


class Contents(ABC):
    """What can be said of a trace without recomputing anything.

    Attributes:
        facts: What does not change, as JSON: `step` (the identity of the function), `parameters`, `retention`,
            `created_ns`.
    """

    facts: dict[str, Any]

    @property
    @abstractmethod
    def length(self) -> int:
        """How many steps there are."""

    @property
    @abstractmethod
    def stamps(self) -> NDArray[np.int64]:
        """The time of each."""

    @property
    @abstractmethod
    def errors(self) -> NDArray[np.float64]:
        """The error of each; NaN where there was none."""

    @property
    @abstractmethod
    def marks(self) -> Marks:
        """The steps that were the best so far."""

    @property
    @abstractmethod
    def keyframes(self) -> NDArray[np.int64]:
        """The steps of which the state is kept, in order."""

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

    def nearest(self, step: int) -> int | None:
        """Give the last keyframe at or before a step; None where there is none."""
        found = self.keyframes
        place = int(np.searchsorted(found, step, "right"))
        return int(found[place - 1]) if place else None

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
        self._stamps = np.asarray(stamps, np.int64)
        self._errors = np.asarray(errors, np.float64)
        self._states = dict(states)
        self._keyframes = np.array(sorted(self._states), np.int64)
        self._inputs = list(inputs) + [None] * (len(self._stamps) - len(inputs))
        self._marks = Marks.of_errors(self._errors) if marks is None else marks

    @property
    def length(self) -> int:
        """How many steps there are."""
        return len(self._stamps)

    @property
    def stamps(self) -> NDArray[np.int64]:
        """The time of each."""
        return self._stamps

    @property
    def errors(self) -> NDArray[np.float64]:
        """The error of each."""
        return self._errors

    @property
    def marks(self) -> Marks:
        """The steps that were the best so far."""
        return self._marks

    @property
    def keyframes(self) -> NDArray[np.int64]:
        """The steps of which the state is kept."""
        return self._keyframes

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
        self._whole, self._length, self._last_input = whole, length, last_input

    @property
    def length(self) -> int:
        """How many steps there are."""
        return self._length

    @property
    def stamps(self) -> NDArray[np.int64]:
        """The time of each."""
        return self._whole.stamps[: self._length]

    @property
    def errors(self) -> NDArray[np.float64]:
        """The error of each."""
        return self._whole.errors[: self._length]

    @property
    def marks(self) -> Marks:
        """The steps that were the best so far."""
        return Marks(self._whole.marks.between(0, self._length))

    @property
    def keyframes(self) -> NDArray[np.int64]:
        """The steps of which the state is kept."""
        found = self._whole.keyframes
        return found[: np.searchsorted(found, self._length)]

    def packed(self, step: int) -> bytes:
        """Give the packed state of a keyframe."""
        return self._whole.packed(step)

    def hash_of(self, step: int) -> bytes:
        """Give the hash of a keyframe's packed state."""
        return self._whole.hash_of(step)

    def packed_inputs(self, start: int, stop: int) -> Sequence[bytes | None]:
        """Give the inputs of some steps."""
        found = list(self._whole.packed_inputs(start, min(stop, self._length)))
        if self._last_input is not None and stop >= self._length > start:
            found[-1] = self._last_input
        return found


class StoredContents(Contents):
    """A trace in its file, and on the tape of a recording that goes on or that a crash ended. Safe in threads.

    Args:
        path: The file, `{name}.trace`; the tape lies beside it.
        has_file: False where the tape alone is read, since the file has another form.

    Raises:
        NotFound: There is neither.
        Damaged: What there is cannot be read.
    """

    def __init__(self, path: Path, *, has_file: bool = True) -> None:
        self.path = path
        self._has_file = has_file
        self._lock = threading.RLock()
        self._sealed: Sealed | None = None
        self._taped: Taped | None = None
        self._blocks: dict[int, blocks.Block] = {}  # of the file, the last ones that were read
        self._columns: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []  # times and errors of the file
        self.facts: dict[str, Any] = {}
        self.refresh()

    def refresh(self) -> None:
        """Look at what was recorded since.

        The tape is asked first: when it is gone, what was on it is in the file.

        Raises:
            NotFound: There is neither.
        """
        with self._lock:
            for _ in range(3):
                taped = self._look_at_tape()
                self._look_at_file()
                base = 0 if self._sealed is None else self._sealed.length
                if taped is None or not taped.facts or taped.base <= base:
                    break
            else:
                due = f"the {taped.base if taped else 0} steps before those that were recorded last"
                raise Damaged(self.path, due, f"{base}", _REMEDY)
            if self._sealed is None and (taped is None or not taped.facts):
                raise NotFound(f"no trace {self.path}: there is neither the file nor a recording of it")
            self._taped = taped
            self._combine()

    def _look_at_tape(self) -> Taped | None:
        taped = self._taped or Taped(self.path)
        return taped if taped.poll() else None

    def _look_at_file(self) -> None:
        if not self._has_file:
            return
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return
        if self._sealed is None or self._sealed.identity != (found.st_dev, found.st_ino):
            old, self._sealed = self._sealed, Sealed(self.path)
            self._columns = [(block.stamps, block.errors) for block in self._sealed.all_blocks()]
            self._blocks.clear()
            if old is not None:
                old.close()

    def _combine(self) -> None:
        sealed, taped = self._sealed, self._taped
        self._base = 0 if sealed is None else sealed.length
        parts = list(self._columns)
        kept = set() if sealed is None else set(sealed.keyframes.tolist())
        if sealed is not None:
            self.facts = sealed.facts
        if taped is not None and taped.facts:
            self.facts = taped.facts
            new = taped.since(self._base)
            parts += [(new.stamps, new.errors)]
            kept = (kept | {step for step in taped.states if step >= self._base}) - taped.dropped
            self._new_inputs = new.inputs
        else:
            self._new_inputs = []
        self._stamps = np.concatenate([stamps for stamps, _ in parts] or [np.empty(0, np.int64)])
        self._errors = np.concatenate([errors for _, errors in parts] or [np.empty(0, np.float64)])
        self._keyframes = np.array(sorted(step for step in kept if step < len(self._stamps)), np.int64)
        self._marks: Marks | None = sealed.marks if sealed is not None and len(self._stamps) == self._base else None

    @property
    def length(self) -> int:
        """How many steps there are."""
        return len(self._stamps)

    @property
    def stamps(self) -> NDArray[np.int64]:
        """The time of each."""
        return self._stamps

    @property
    def errors(self) -> NDArray[np.float64]:
        """The error of each."""
        return self._errors

    @property
    def marks(self) -> Marks:
        """The steps that were the best so far."""
        if self._marks is None:
            self._marks = Marks.of_errors(self._errors)
        return self._marks

    @property
    def keyframes(self) -> NDArray[np.int64]:
        """The steps of which the state is kept."""
        return self._keyframes

    def compressed(self, step: int) -> tuple[bytes, bytes]:
        """Give the compressed state of a keyframe, unchecked, and its hash.

        Raises:
            NotFound: It is none, or stopped being one since.
        """
        with self._lock:
            try:
                return self._compressed(step)
            except KeyError:  # its segment was removed: what is still kept of it is in the file
                self.refresh()
            try:
                return self._compressed(step)
            except KeyError as error:
                raise NotFound(f"the state of step {step} of {self.path} is not kept any more") from error

    def _compressed(self, step: int) -> tuple[bytes, bytes]:
        if self._taped is not None and step >= self._base:
            return self._taped.state(step)
        if self._sealed is None:
            raise KeyError(step)
        return self._sealed.state(step)

    def packed(self, step: int) -> bytes:
        """Give the packed state of a keyframe."""
        data, hashed = self.compressed(step)
        return blocks.expand_state(data, hashed, self.path, step)

    def hash_of(self, step: int) -> bytes:
        """Give the hash of a keyframe's packed state."""
        return self.compressed(step)[1]

    def packed_inputs(self, start: int, stop: int) -> Sequence[bytes | None]:
        """Give the inputs of some steps."""
        with self._lock:
            found: list[bytes | None] = []
            at = start
            while at < min(stop, self._base):
                block = self._block_of(at)
                found += block.inputs[at - block.first : stop - block.first]
                at = block.stop
            return [*found, *self._new_inputs[max(0, start - self._base) : max(0, stop - self._base)]]

    def _block_of(self, step: int) -> blocks.Block:
        assert self._sealed is not None
        number = bisect_right(self._sealed.block_starts, step) - 1
        if number not in self._blocks:
            if len(self._blocks) >= _KEPT_BLOCKS:
                del self._blocks[next(iter(self._blocks))]
            self._blocks[number] = self._sealed.block(number)
        return self._blocks[number]

    def close(self) -> None:
        """Give files back."""
        with self._lock:
            if self._sealed is not None:
                self._sealed.close()
            if self._taped is not None:
                self._taped.close()
