"""The runs of MOSAIC: what its database says of each, and the replay file of each. Reading only."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from playhead import strictjson
from playhead.catalog.mosaic import Stretch, Telemetry
from playhead.errors import BadName, Damaged
from playhead.integrations.findings import Finding
from playhead.lanes.arrays.foreign import ForeignPart
from playhead.lanes.arrays.kind import STEPS
from playhead.layout import check_name, check_run_id

_EPISODE = re.compile(r"(.+)-ep\d+")
_FILE = ".h5"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FOLDERS = ("replay", "../replay")  # from that of the database


@dataclass(slots=True)
class SourceRun:
    """A run to take over.

    Attributes:
        id: Its id.
        stretches: Its episodes, in the order of their first steps.
        rollups: What MOSAIC noted of each at its end.
        status: Its row of `run_status`.
        file: Its replay file, which is adopted as it is; None where it has none.
        file_steps: How many steps are in that.
    """

    id: str
    stretches: list[Stretch] = field(default_factory=list)
    rollups: list[dict[str, Any]] = field(default_factory=list)
    status: dict[str, Any] = field(default_factory=dict)
    file: Path | None = None
    file_steps: int = 0

    @property
    def steps(self) -> int:
        """How many steps the database has of it."""
        return sum(stretch.steps for stretch in self.stretches)

    @property
    def name(self) -> str:
        """What it is called: the game, where there is one and it can be a name."""
        games = {rollup.get("game_id") for rollup in self.rollups} - {None, ""}
        if len(games) == 1:
            with contextlib.suppress(BadName):
                return check_name(str(games.pop()), "run name")
        return self.id

    def fingerprint(self) -> str:
        """Give a text that changes when the run does; dropping the columns of arrays changes nothing."""
        said = [[one.episode_id, one.steps, one.began, one.ended, one.reward] for one in self.stretches]
        size = None if self.file is None else os.stat(self.file).st_size
        return hashlib.sha256(strictjson.encode(strictjson.plain([said, size]))).hexdigest()


def replay_folder(database: Path, given: Path | None) -> Path | None:
    """Find where the replay files are: where the caller says, else where MOSAIC has them."""
    if given is not None:
        return given
    found = ((database.parent / place).resolve() for place in _FOLDERS)
    return next((folder for folder in found if folder.is_dir()), None)


def find(telemetry: Telemetry, folder: Path | None) -> tuple[list[SourceRun], list[Finding]]:
    """List the runs of a database and of a folder of replay files, and what cannot be one."""
    runs: dict[str, SourceRun] = {}
    refused: dict[str, str] = {}

    def run_of(run_id: Any, episode_id: Any = None) -> SourceRun | None:
        name = _name_of(run_id, episode_id, telemetry.path)
        try:
            return runs.setdefault(name, SourceRun(check_run_id(name)))
        except BadName as error:
            refused[name] = str(error)
            return None

    for stretch in telemetry.stretches():
        if run := run_of(stretch.run_id, stretch.episode_id):
            run.stretches.append(stretch)
    for rollup in telemetry.rows_of("episodes"):
        if run := run_of(rollup.get("run_id"), rollup.get("episode_id")):
            run.rollups.append(rollup)
    for path in sorted(folder.iterdir()) if folder is not None else ():
        if path.suffix == _FILE and path.is_file() and not path.is_symlink():
            try:
                steps = _steps_of(path)
            except Damaged as damage:
                refused[path.name] = str(damage)
                continue
            if run := run_of(path.stem):
                run.file, run.file_steps = path, steps
    for row in telemetry.rows_of("run_status"):
        if row.get("run_id") in runs:
            runs[row["run_id"]].status = row
    return list(runs.values()), [Finding(name, reason) for name, reason in refused.items()]


def _name_of(run_id: Any, episode_id: Any, database: Path) -> str:
    """Give the id of a run; older databases have it only in the ids of their episodes."""
    if isinstance(run_id, str) and run_id:
        return run_id
    found = _EPISODE.fullmatch(str(episode_id))
    return found[1] if found else database.stem


def _steps_of(path: Path) -> int:
    part = ForeignPart(path)
    try:
        return part.lengths[STEPS]
    finally:
        part.close()


def stamp_of(text: Any) -> int | None:
    """Give a timestamp of MOSAIC in nanoseconds; one without a zone is of UTC. None where it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000
