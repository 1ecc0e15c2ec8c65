"""`.quarantine/{when}/`: what is damaged, at the path that it had in the store, and `note.jsonl` with why it is there.

Nothing removes it. A crash while something is moved leaves it in one of the two places.
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
    """One folder of the quarantine, made when the first thing goes into it.

    Args:
        layout: The store.

    Attributes:
        moved: What was put into it, by the paths that it had.
    """

    layout: Layout
    moved: set[Path] = field(default_factory=set)
    _folder: Path | None = None

    def put(self, path: Path, expected: str, found: str, *, copy: bool = False) -> str:
        """Move a file or folder into it, or a copy of it; one that is gone is fine.

        Args:
            path: The file or folder.
            expected: What should be there.
            found: What is.
            copy: Leave it where it is, too.

        Returns:
            What was done, in words.
        """
        folder = self._made()
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

    def _made(self) -> Path:
        if self._folder is None:
            name = f"{clock.local(clock.now_ns()):%Y%m%d_%H%M%S}_{os.urandom(3).hex()}"
            self.layout.check_holds(self.layout.quarantine / name)
            self._folder = self.layout.quarantine / name
            disk.make_folders(self._folder)
        return self._folder
