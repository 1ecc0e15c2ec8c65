"""A reel lies in parts, one behind the other; a sealed file is one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import owner
from playhead.errors import Damaged
from playhead.lanes.arrays import rows
from playhead.lanes.arrays.head import COLUMNS, FLAGS, INFO, check
from playhead.lanes.arrays.kind import AXES, STEPS, ArrayKind
from playhead.lanes.arrays.pieces import Piece, fill
from playhead.lanes.arrays.rows import ROW
from playhead.lanes.arrays.sealed import SealedFile


class Part(ABC):
    """Steps of a reel that lie together.

    Attributes:
        path: Where, for messages.
        bases: For each axis, what its first row here is called.
        lengths: For each axis, how many rows lie here.
        kinds: The arrays, by axis and name.
        groups: The bits of `has`.
        agents: The agents.
        facts: What does not change.
        notes: What is noted of episodes.
    """

    path: Path
    bases: dict[str, int]
    lengths: dict[str, int]
    kinds: dict[tuple[str, str], ArrayKind]
    groups: list[str]
    agents: list[str]
    facts: dict[str, Any]
    notes: list[dict[str, Any]]

    def span(self, axis: str = STEPS) -> range:
        """Give the rows of an axis that lie here."""
        return range(self.bases[axis], self.bases[axis] + self.lengths[axis])

    @abstractmethod
    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Give steps as rows of `ROW`.

        Raises:
            Damaged: Some cannot be read.
        """

    @abstractmethod
    def infos(self, start: int, stop: int) -> list[bytes]:
        """Give the infos of steps, JSON each, nothing where there is none."""

    @abstractmethod
    def pieces(self, kind: ArrayKind, start: int, stop: int) -> Iterable[Piece]:
        """Walk over what holds rows of an array, in order."""

    def has(self, start: int, stop: int) -> NDArray[np.uint16]:
        """Tell for steps which groups of arrays have a row."""
        found: NDArray[np.uint16] = self.rows(start, stop)["has"]
        return found

    def refuse_lost(self, kind: ArrayKind, start: int, stop: int, missing: NDArray[np.bool_]) -> None:
        """Tell rows that were lost from steps that have none; what lies at the ends of episodes always has one.

        Raises:
            Damaged: One of the rows that nothing holds was recorded.
        """
        if kind.axis == STEPS:
            bit = 1 << self.groups.index(kind.group) if kind.group in self.groups else 0
            missing = missing & (self.has(start, stop) & bit != 0)
        if missing.any():
            row = start + int(missing.argmax())
            raise Damaged(self.path, f"row {row} of {kind.path}", "a hole in the recording")

    def always(self, bit: int) -> bool:  # noqa: ARG002
        """Tell whether every step here has a row of a group, as far as that is known without looking."""
        return False

    @property
    def lost(self) -> list[tuple[int, int]]:
        """Steps that were lost: the first, and the one behind the last of each stretch."""
        return []

    def close(self) -> None:  # noqa: B027  most have nothing to give back
        """Give files back."""


class SealedPart(Part):
    """A sealed file.

    Args:
        file: It.

    Raises:
        Damaged: What it says of itself cannot be.
    """

    def __init__(self, file: SealedFile) -> None:
        self._file = file
        self.path = file.path
        self.datasets = file.datasets
        self.crc = file.crc
        self.owner = file.head.get(owner.FIELD)
        head = file.head
        kinds = check(file.path, head, file.datasets)
        none = dict.fromkeys(AXES, 0)  # of those that files of earlier versions do not know
        self.bases, self.lengths = none | head["bases"], none | head["lengths"]
        self.kinds = {(kind.axis, kind.name): kind for kind in kinds}
        self.groups, self.agents = head["groups"], head["agents"]
        self.facts, self.notes = head["facts"], head["notes"]
        self._always: int = head["always"]
        self._long = {int(row): text.encode() for row, text in head.get("infos", {}).items()}

    def is_sound_outside(self) -> bool:
        """Tell whether all bytes that the HDF5 library looks at before it reads a chunk are as they were written."""
        return self._file.rest() == self._file.head.get("rest")

    def always(self, bit: int) -> bool:
        """Tell whether every step here has a row of a group."""
        return bool(self._always & bit)

    def _column(self, path: str, start: int, stop: int) -> NDArray[Any]:
        stored = self._file.datasets[path]
        out = np.empty((stop - start, *stored.shape), stored.dtype)
        base = self.bases[STEPS]
        if fill(out, start, self._file.pieces(path, start, stop, base)) is not None:
            raise Damaged(self.path, f"steps {start} to {stop - 1} in {path}", "fewer")
        return out

    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Give steps as rows of `ROW`."""
        found = np.empty(stop - start, ROW)
        for field, path in COLUMNS.items():
            found[field] = self._column(path, start, stop)
        terminated, truncated = (self._column(path, start, stop).astype("u1") for path in FLAGS)
        found["flags"] = terminated * rows.TERMINATED | truncated * rows.TRUNCATED
        if self.agents and len(found) and found["agent"].max() >= len(self.agents):
            raise Damaged(self.path, f"steps of {len(self.agents)} agents", f"one of agent {found['agent'].max()}")
        return found

    def has(self, start: int, stop: int) -> NDArray[np.uint16]:
        """Tell for steps which groups of arrays have a row."""
        return self._column("steps/has", start, stop)

    def infos(self, start: int, stop: int) -> list[bytes]:
        """Give the infos of steps."""
        found: list[bytes] = self._column(INFO, start, stop).tolist()
        for row, text in self._long.items():
            if start <= row < stop:
                found[row - start] = text
        return found

    def pieces(self, kind: ArrayKind, start: int, stop: int) -> Iterator[Piece]:
        """Walk over the chunks of an array."""
        return self._file.pieces(kind.path, start, stop, self.bases[kind.axis])
