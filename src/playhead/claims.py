"""Who records what: one small file in `.recording/` for each process that is recording a run.

The file is made before the run's folder and removed after the run's last row, so that whatever a crash leaves half done
is named here, and the next open looks at a handful of files instead of every run.

Whether the claiming process still records is judged by four signs. In doubt it does:

- The claim names the place of its store. One that was copied along with a store says nothing of the copy.
- On the same machine the process is looked up; what ran before the machine was started again has ended.
- Elsewhere the modification time of the claim is a heartbeat.
- A recorder holds a lock on its event file, an editor one on the folder of the run. The kernel gives it back with the
  process, so a lock that is held outweighs all other signs of a death.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playhead import clock, disk, filesystem, strictjson
from playhead.errors import Damaged
from playhead.layout import Layout, RunFolder, check_run_id
from playhead.process import Process

HEARTBEAT_SECONDS = 15
EDITING = 0
SILENT_SECONDS = 600  # after this long without a heartbeat a recorder on another machine counts as dead


# Why a run is marked as failed whose recorder is gone.
PROCESS_NOT_FOUND = "process_not_found"
NO_SIGN_OF_LIFE = "no_sign_of_life"  # it was on another machine, and nothing better can be found out

_PARTS = 10**9  # a run has fewer; see `RunFolder.parts`
_LEFT = "left"
_SUFFIX = ".json"

_mine: dict[str, int] = {}  # the tokens of the claims that this process holds, each with the process that made it


@dataclass(frozen=True, slots=True)
class Claim:
    """One process's claim on one part of a run.

    Attributes:
        path: The claim's file.
        run_id: The run.
        run_dir: The run's folder, relative to the store.
        part: 1 for the process that made or resumed the run, more for those attached to it, 0 for one that edits it.
        process: Who claims.
        place: Where its store was, as `place_of` says; empty in a claim of an earlier version.
        token: What tells this claim from all others; empty in a claim of an earlier version.
        is_left: Whoever claimed has ended, and left the rest of the indexing to the next open.
    """

    path: Path
    run_id: str
    run_dir: str
    part: int
    process: Process
    place: tuple[int, ...] = ()
    token: str = ""
    is_left: bool = False

    @classmethod
    def make(cls, layout: Layout, run_id: str, folder: RunFolder, part: int = 1) -> Claim:
        """Claim a part of a run for the calling process.

        Raises:
            FileExistsError: It is claimed already.
        """
        path = layout.recording_entry(run_id, part)
        token = os.urandom(8).hex()
        claim = cls(path, run_id, layout.relative(folder.path), part, Process.current(), place_of(layout.root), token)
        content: dict[str, Any] = {
            "run_id": run_id,
            "run_dir": claim.run_dir,
            "part": part,
            "process": claim.process.to_json(),
            "store": list(claim.place),
            "token": token,
        }
        disk.make_folders(layout.recording)
        _mine[token] = os.getpid()
        try:
            disk.create(path, strictjson.encode(content, indent=True))
        except BaseException:
            del _mine[token]
            raise
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
            place, token = tuple(int(number) for number in data.get("store", ())), str(data.get("token", ""))
            run_id, run_dir, part = check_run_id(data["run_id"]), str(data["run_dir"]), int(data["part"])
            if not 0 <= part < _PARTS:
                return None
            return cls(path, run_id, run_dir, part, process, place, token, data.get(_LEFT) is True)
        except FileNotFoundError:
            return None
        except (strictjson.JSONDecodeError, ValueError, KeyError, TypeError, AttributeError, OverflowError, OSError):
            return None
        except Damaged:  # a folder or a pipe
            return None

    def is_live(self) -> bool:
        """Tell whether the claiming process still records, as far as can be told from here; in doubt it does."""
        if self.is_left:
            return False
        if self.is_copied():
            return self._is_locked() is True
        if self.process.is_here():
            # A process that restarted itself by `exec` is the one that claimed, and knows nothing of its claim.
            runs = self._is_mine() if self.process == Process.current() else self.process.is_alive()
            if runs:
                return True
            if runs is False:
                return self._is_locked() is True
        if self.is_of_earlier_boot():
            return self._is_locked() is True
        return self._is_fresh() or self._is_locked() is not False

    def is_of_earlier_boot(self) -> bool:
        """Tell whether the machine was started again since, and no other machine can be the one that claimed."""
        return self.process.is_of_earlier_boot() and not filesystem.is_network(self.path.parent.parent)

    def is_copied(self) -> bool:
        """Tell whether the claim was copied along with its store: the one who recorded there does not record here."""
        root = self.path.parent.parent
        with contextlib.suppress(OSError):
            # Both differ in a copy. A marker that was restored by hand is another file in the same folder.
            moved = [there != here for there, here in zip(self.place, place_of(root), strict=False)]
            return bool(moved) and all(moved) and filesystem.has_lasting_inodes(root)
        return False

    def is_found_dead(self) -> bool:
        """Tell whether the death of the process was found, and not concluded from its silence."""
        root = self.path.parent.parent
        return self.process.is_here() or self.is_copied() or not filesystem.is_network(root)

    def _is_mine(self) -> bool:
        return _mine.get(self.token) == os.getpid()

    def _is_fresh(self) -> bool:
        with contextlib.suppress(FileNotFoundError):
            return clock.now() - os.stat(self.path).st_mtime < SILENT_SECONDS
        return False

    def _is_locked(self) -> bool | None:
        """Tell whether the recorder or editor holds its lock; None if that cannot be tried."""
        try:
            folder = Layout(self.path.parent.parent).run_at(self.run_dir)
        except Damaged:
            return False
        return disk.is_held(folder.path if self.part == EDITING else folder.events(self.part))

    def beat(self) -> None:
        """Give a sign of life."""
        disk.touch(self.path)

    def release(self) -> None:
        """Give the claim up: nothing is left to recover."""
        disk.remove(self.path)
        _mine.pop(self.token, None)

    def leave(self) -> None:
        """Give the claim up to the next open, which indexes what the catalogue misses."""
        _mine.pop(self.token, None)
        with contextlib.suppress(OSError, ValueError):  # else it is settled when this process is gone
            with open(disk.open_to_read(self.path), "rb") as file:
                content = strictjson.decode(file.read())
            disk.replace(self.path, strictjson.encode(content | {_LEFT: True}, indent=True))


def place_of(root: Path) -> tuple[int, ...]:
    """Return what tells the place of a store from that of any copy: the inodes of its folder and of its marker.

    Another path to the store, a bind mount, a container or a new name leave both as they are.
    """
    return os.stat(root).st_ino, os.stat(Layout(root).marker).st_ino


def paths(layout: Layout) -> list[Path]:
    """List the files of all claims."""
    return _paths(layout, "")


def _paths(layout: Layout, begin: str) -> list[Path]:
    """List the files of claims whose names begin so: a path for every name would cost more than all else."""
    try:
        names = os.listdir(layout.recording)
    except FileNotFoundError:
        return []
    return [layout.recording / name for name in sorted(names) if name.startswith(begin) and name.endswith(_SUFFIX)]


def sweep(layout: Layout) -> None:
    """Remove what a crash in the middle of a claim left, once it is old enough to be nobody's."""
    if layout.recording.is_symlink():
        return  # it may lead anywhere
    for path in layout.recording.glob(f"*{disk.TEMPORARY_SUFFIX}"):
        with contextlib.suppress(FileNotFoundError):
            if clock.now() - path.stat().st_mtime > SILENT_SECONDS:
                disk.remove(path)


def live(layout: Layout) -> list[Claim]:
    """List the claims whose processes still record or edit."""
    return [claim for path in paths(layout) if (claim := Claim.load(path)) and claim.is_live()]


def of_run(layout: Layout, run_id: str) -> list[Claim]:
    """List the claims on one run."""
    found = map(Claim.load, _paths(layout, f"{run_id}."))
    return [claim for claim in found if claim is not None and claim.run_id == run_id]


def is_recorded(layout: Layout, run_id: str) -> bool:
    """Tell whether a process records a run, as far as its claims tell."""
    return any(claim.part != EDITING and claim.is_live() for claim in of_run(layout, run_id))
