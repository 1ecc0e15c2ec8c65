"""A trace in its file, on the tape of a recording, or in both."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.errors import Damaged, NotFound
from playhead.lanes.keyframes import blocks, whose
from playhead.lanes.keyframes.contents import Contents
from playhead.lanes.keyframes.inputs import PackedInputs, unpacked
from playhead.lanes.keyframes.rows import Values
from playhead.lanes.keyframes.sealed import Sealed
from playhead.lanes.keyframes.taped import Taped

_MOST_KEPT = 8 << 20  # bytes of blocks of inputs
_REMEDY = "Put the file back from a copy; its tape lies beside it and goes on from there"


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
        self._compared: Sealed | None = None  # what was seen to be of this trace
        self._compared_facts: dict[str, Any] | None = None
        self._kept: dict[int, PackedInputs] = {}  # of blocks of the file, the last ones that were read
        self._kept_weight = 0
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
                raise NotFound(f"no trace {self.path}: {_nothing(taped)}")
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
            self._kept.clear()
            self._kept_weight = 0
            if old is not None:
                old.close()

    def _combine(self) -> None:
        sealed, taped = self._sealed, self._taped
        if sealed is not None and sealed is not self._compared:
            whose.check(self.path, sealed.facts)
            self._compared = sealed
        if taped is not None and taped.facts and taped.facts is not self._compared_facts:
            whose.check(self.path, taped.facts, tape=True)
            self._compared_facts = taped.facts
        self._new_inputs: list[bytes | None] = []
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
            self._new_inputs = list(new.inputs)
        self.stamps = np.concatenate([stamps for stamps, _ in parts] or [np.empty(0, np.int64)])
        self.errors = np.concatenate([errors for _, errors in parts] or [np.empty(0, np.float64)])
        self.keyframes = np.array(sorted(step for step in kept if step < self.length), np.int64)
        self._marks = sealed.marks if sealed is not None and self.length == self._base else None
        self.history = sealed, None if taped is None else taped.recording

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
            while start + len(found) < min(stop, self._base):
                inputs, place = self._sealed_inputs(start + len(found))
                found += inputs[place : place + stop - start - len(found)]
            return found + self._new_inputs[max(0, start - self._base) : max(0, stop - self._base)]

    def inputs(self, start: int, stop: int) -> Values:
        """Give the inputs of some steps, unpacked."""
        with self._lock:
            if start >= self._base:
                return unpacked(self._new_inputs[start - self._base : stop - self._base])
            inputs, place = self._sealed_inputs(start)
            return inputs.values(place, min(place + stop - start, len(inputs)))

    def _sealed_inputs(self, step: int) -> tuple[PackedInputs, int]:
        """Give the inputs of the block of the file in which a step lies, and its place among them."""
        assert self._sealed is not None
        number = bisect_right(self._sealed.block_starts, step) - 1
        found = self._kept.get(number)
        if found is None:
            found = self._kept[number] = self._sealed.inputs(number)
            self._kept_weight += found.weight
            while self._kept_weight > _MOST_KEPT and len(self._kept) > 1:
                self._kept_weight -= self._kept.pop(next(iter(self._kept))).weight
        return found, step - self._sealed.block_starts[number]

    def close(self) -> None:
        """Give files back."""
        with self._lock:
            if self._sealed is not None:
                self._sealed.close()
            if self._taped is not None:
                self._taped.close()


def _nothing(taped: Taped | None) -> str:
    """Say why there is nothing to read."""
    if taped is None:
        return "there is neither the file nor a recording of it"
    return (
        f"there is no file, and its recording, {taped.folder}, holds no whole beginning: it has just begun, or its "
        "first bytes were lost. If nobody records it, restore the folder from a copy, or remove it"
    )
