"""Where what cannot be used goes: `.quarantine/{when}/`, to the path that it had in the store. Nothing removes it.

`note.jsonl` there says of each from where it came and why. A crash in between leaves it in one of the two places.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from playhead import clock, disk, strictjson
from playhead.layout import Layout

_NOTE = "note.jsonl"


@dataclass(slots=True)
class Quarantine:
    """The things that are moved away on one occasion, in one folder, which the first of them makes.

    Args:
        layout: The store.

    Attributes:
        moved: From where things were moved or copied.
    """

    layout: Layout
    moved: set[Path] = field(default_factory=set)
    _folder: Path | None = None

    def take(self, path: Path, expected: str, found: str, *, copy: bool = False) -> str:
        """Move a file or folder aside, or a copy of it; one that is gone is fine.

        Args:
            path: Where it is.
            expected: What should be there.
            found: What is there.
            copy: Leave it where it is, and keep a copy.

        Returns:
            What was done, in words.
        """
        folder = self._make_folder()
        target = folder / self.layout.relative(path)
        if not os.path.lexists(path) or os.path.lexists(target):
            return "was moved aside already"
        disk.make_folders(target.parent)
        said = {"from": self.layout.relative(path), "expected": expected, "found": found, "at": clock.now()}
        with contextlib.closing(disk.Appender(folder / _NOTE)) as note:
            note.append(strictjson.encode(strictjson.plain(said)) + b"\n")
            note.sync()
        if copy:
            disk.copy(path, target)
        else:
            disk.rename(path, target)
            disk.sync_folder(target.parent)
            disk.sync_folder(path.parent)
        self.moved.add(path)
        return f"moved to {target}" if not copy else f"kept a copy at {target}"

    def _make_folder(self) -> Path:
        if self._folder is None:
            name = f"{clock.local(clock.now_ns()):%Y%m%d_%H%M%S}_{os.urandom(3).hex()}"
            self.layout.check_holds(self.layout.quarantine / name)
            self._folder = self.layout.quarantine / name
            disk.make_folders(self._folder)
        return self._folder
