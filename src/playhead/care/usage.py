"""What takes the space of a store: by lane, project and run; and what keeping each content once has saved."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playhead.artifact import walking
from playhead.errors import Damaged
from playhead.layout import LANES, Layout, name_of_folder, run_of_reel


@dataclass(slots=True)
class Usage:
    """Bytes on disk; a file with several names counts once, where it is met first.

    Attributes:
        total: Of everything.
        lanes: Of `runs`, `replay`, `episodes`, `tables`, `artifacts`, `traces`, `catalogue`, `quarantine` and `other`.
        projects: Of the runs of each project, with their replays and traces.
        runs: Of each run, with its replays and traces.
        things: Of each dataset, table and artifact, by `lane/name`.
        saved: What artifacts would take more if each version had files of its own.
    """

    total: int = 0
    lanes: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    projects: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    runs: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    things: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    saved: int = 0

    def described(self) -> dict[str, Any]:
        """Give it with stable keys, for JSON; the largest first."""
        sizes = {name: getattr(self, name) for name in ("lanes", "projects", "runs", "things")}
        largest = {name: dict(sorted(known.items(), key=lambda item: -item[1])) for name, known in sizes.items()}
        return {"total": self.total, **largest, "saved": self.saved}


def measure(layout: Layout) -> Usage:
    """Add up the bytes of a store."""
    usage, seen = Usage(), set[tuple[int, int]]()
    project_of = {folder.path.name: _project(layout, folder.path) for folder in layout.run_folders()}
    for root, _folders, names in os.walk(layout.root):
        parts = Path(root).relative_to(layout.root).parts
        for name in names:
            try:
                found = os.lstat(os.path.join(root, name))
            except FileNotFoundError:
                continue  # removed since
            if (found.st_dev, found.st_ino) not in seen:
                seen.add((found.st_dev, found.st_ino))
                _count(usage, layout, (*parts, name), found.st_size, project_of)
    usage.saved = _logical(layout) - sum(_pool_sizes(layout))
    return usage


def _project(layout: Layout, path: Path) -> str:
    return name_of_folder(path.relative_to(layout.root).parts[0])


def _count(usage: Usage, layout: Layout, parts: tuple[str, ...], size: int, project_of: dict[str, str]) -> None:
    lane, run_id = _lane_and_run(layout, parts)
    usage.total += size
    usage.lanes[lane] += size
    if run_id is not None:
        usage.runs[run_id] += size
        usage.projects[project_of.get(run_id, "(no run)")] += size
    elif lane in ("episodes", "tables") and len(parts) > 2:
        usage.things[f"{lane}/{name_of_folder(parts[1])}"] += size
    elif lane == "artifacts" and len(parts) > 2:
        usage.things["artifacts/pool" if parts[1].startswith(".") else f"artifacts/{parts[1]}/{parts[2]}"] += size


def _lane_and_run(layout: Layout, parts: tuple[str, ...]) -> tuple[str, str | None]:
    top = parts[0]
    if top in ("replay", "traces") and len(parts) > 1:
        name = parts[1].removesuffix(".h5").removesuffix(".journal")
        return top, None if name == layout.replay.index.name else run_of_reel(name) if top == "replay" else name
    if top in LANES:
        return top, None
    if len(parts) > 4 and parts[2] == "runs" and not top.startswith("."):
        return "runs", parts[3]
    if top.startswith(layout.database.name):
        return "catalogue", None
    return ("quarantine" if top == layout.quarantine.name else "other"), None


def _pool_sizes(layout: Layout) -> list[int]:
    from playhead.lanes.files.pool import Pool

    return [blob.size for blob in Pool(layout.artifacts.pool).blobs()]


def _logical(layout: Layout) -> int:
    """Add up what all versions hold, each for itself; one that cannot be read is left out."""
    total = 0
    for found in walking.versions(layout):
        if not isinstance(found, Damaged):
            try:
                total += sum(entry.size for entry in found.load()[1].files)
            except Damaged:
                continue
    return total
