"""Who records what: one small file in `.recording/` for each process that is recording a run.

The file is made before the run's folder and removed after the run's last row, so that whatever a crash leaves half done
is named here, and the next open looks at a handful of files instead of every run. Its modification time is the
heartbeat by which other machines judge.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playhead import clock, disk, strictjson
from playhead.layout import Layout, RunFolder, check_run_id
from playhead.process import Process

HEARTBEAT_SECONDS = 15
EDITING = 0
SILENT_SECONDS = 600  # after this long without a heartbeat a recorder on another machine counts as dead


@dataclass(frozen=True, slots=True)
class Claim:
    """One process's claim on one part of a run.

    Attributes:
        path: The claim's file.
        run_id: The run.
        run_dir: The run's folder, relative to the store.
        part: 1 for the process that made or resumed the run, more for those attached to it, 0 for one that edits it.
        process: Who claims.
    """

    path: Path
    run_id: str
    run_dir: str
    part: int
    process: Process

    @classmethod
    def make(cls, layout: Layout, run_id: str, folder: RunFolder, part: int = 1) -> Claim:
        """Claim a part of a run for the calling process.

        Raises:
            FileExistsError: It is claimed already.
        """
        path = layout.recording_entry(run_id, part)
        claim = cls(path, run_id, layout.relative(folder.path), part, Process.current())
        content: dict[str, Any] = {
            "run_id": run_id,
            "run_dir": claim.run_dir,
            "part": part,
            "process": claim.process.to_json(),
        }
        disk.make_folders(layout.recording)
        disk.create(path, strictjson.encode(content, indent=True))
        return claim

    @classmethod
    def for_editing(cls, layout: Layout, run_id: str, folder: RunFolder) -> Claim:
        """Claim a run whose folder the caller has locked; a claim left by an earlier editor is taken over."""
        disk.remove(layout.recording_entry(run_id, EDITING))
        return cls.make(layout, run_id, folder, EDITING)

    @classmethod
    def load(cls, path: Path) -> Claim | None:
        """Read a claim; None where a crash left it half written, before anything else was made."""
        try:
            with open(disk.open_to_read(path), "rb") as file:
                data = strictjson.decode(file.read())
            process = Process.from_json(data["process"])
            return cls(path, check_run_id(data["run_id"]), str(data["run_dir"]), int(data["part"]), process)
        except FileNotFoundError:
            return None
        except (strictjson.JSONDecodeError, KeyError, TypeError, ValueError, OverflowError):
            return None

    def is_live(self) -> bool:
        """Tell whether the claiming process still records, as far as can be told from here."""
        if self.process.is_here():
            return self.process.is_alive()
        with contextlib.suppress(FileNotFoundError):
            return clock.now() - os.stat(self.path).st_mtime < SILENT_SECONDS
        return False

    def beat(self) -> None:
        """Give a sign of life."""
        disk.touch(self.path)

    def release(self) -> None:
        """Give the claim up: nothing is left to recover."""
        disk.remove(self.path)


def paths(layout: Layout) -> list[Path]:
    """List the files of all claims."""
    try:
        return sorted(path for path in layout.recording.iterdir() if path.suffix == ".json")
    except FileNotFoundError:
        return []


def sweep(layout: Layout) -> None:
    """Remove what a crash in the middle of a claim left, once it is old enough to be nobody's."""
    if layout.recording.is_symlink():
        return  # it may lead anywhere
    for path in layout.recording.glob(f"*{disk.TEMPORARY_SUFFIX}"):
        with contextlib.suppress(FileNotFoundError):
            if clock.now() - path.stat().st_mtime > SILENT_SECONDS:
                disk.remove(path)


def of_run(layout: Layout, run_id: str) -> list[Claim]:
    """List the claims on one run."""
    found = (Claim.load(path) for path in paths(layout) if path.name.startswith(f"{run_id}."))
    return [claim for claim in found if claim is not None and claim.run_id == run_id]
