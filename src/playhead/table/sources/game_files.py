"""Rows of the files of the 2048 programs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from playhead.table import games
from playhead.table.sources.contract import Block


@dataclass(frozen=True)
class GameFile:
    """One file of games."""

    path: Path
    branches: str

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return os.fspath(self.path)

    @property
    def size(self) -> int:
        """Its bytes."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:  # said by whoever reads it
            return 0

    @property
    def travels(self) -> bool:
        """Whether another process can read it."""
        return True

    def blocks(self, dtype: np.dtype[Any]) -> Iterator[Block]:
        """Read it, as rows of this type."""
        for rows, runs in games.read(self.path, dtype=dtype, branches=self.branches):
            yield Block(rows, runs)
