"""What a run has besides its metrics: what agents played, episodes, traces, artifacts, and whether it is live."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from playhead.catalog import artifacts as catalog_artifacts
from playhead.catalog import browse
from playhead.catalog import episodes as catalog_episodes
from playhead.catalog import replay as catalog_replay
from playhead.catalog.replay import Played
from playhead.catalog.runs import RunRow
from playhead.errors import PlayheadError
from playhead.home import Home
from playhead.wording import counted, listed

if TYPE_CHECKING:
    from playhead.traces import Glance

_MOST = 4  # traces, datasets or versions that a line names


@dataclass(frozen=True, slots=True)
class Holdings:
    """What one run has, as it was looked at; `run.holdings`.

    Attributes:
        played: What agents played: reels, episodes and steps.
        datasets: Into which datasets it recorded, and how many episodes.
        traces: The files of its traces, by name.
        made: The versions of artifacts that it made, such as `model/policy:v3`.
        used: Those that it used.
        live: What of it is published now, as `playhead.live.LiveReader` takes it.
        problems: What could not be read.
    """

    played: Played
    datasets: Mapping[str, int]
    traces: Mapping[str, Path]
    made: tuple[str, ...]
    used: tuple[str, ...]
    live: tuple[str, ...]
    problems: tuple[str, ...]

    def lines(self) -> dict[str, str]:
        """Say in one line what there is of each kind; what there is none of is left out."""
        found = {
            "played": self._played(),
            "episodes": listed((f"{count:,} in {name}" for name, count in self.datasets.items()), _MOST),
            "traces": self._traces(),
            "made": listed(self.made, _MOST),
            "used": listed(self.used, _MOST),
            "live": listed(self.live, _MOST),
            "damage": "; ".join(self.problems),
        }
        return {kind: line for kind, line in found.items() if line}

    def _played(self) -> str:
        reels, episodes, steps = self.played
        environments = f" of {reels} environments" if reels > 1 else ""
        return f"{counted(episodes, 'episode')}, {counted(steps, 'step')}{environments}" if reels else ""

    def _traces(self) -> str:
        looked = {name: _glance(path) for name, path in list(self.traces.items())[:_MOST]}
        return listed((f"{name} ({_told(looked[name])})" if name in looked else name for name in self.traces), _MOST)

    def described(self) -> dict[str, Any]:
        """Give all of it as plain values, each trace with its steps and keyframes."""
        return {
            "played": self.played._asdict(),
            "datasets": dict(self.datasets),
            "traces": [_described(name, path) for name, path in self.traces.items()],
            "artifacts_made": list(self.made),
            "artifacts_used": list(self.used),
            "live": list(self.live),
            "problems": list(self.problems),
        }


def of_run(home: Home, row: RunRow) -> Holdings:
    """Look at what a run has."""
    from playhead.artifact import index

    with home.database.read() as connection:
        played = catalog_replay.played(connection, row.key)
        datasets = Counter(known.dataset for known in catalog_episodes.of_run(connection, row.id))
    folder = home.layout.run_at(row.run_dir)
    versions: list[tuple[str, ...]] = []
    problems = []
    for read in (index.made_by, index.used_by):
        try:
            entries = read(folder)
        except PlayheadError as problem:  # the rest is told all the same
            entries = []
            problems.append(str(problem))
        versions.append(tuple(f"{entry.get('type')}/{entry['name']}:v{entry.get('version')}" for entry in entries))
    live = published([row]).get(row.id, ())
    files = home.layout.traces(row.id).files()
    return Holdings(played, dict(datasets), files, versions[0], versions[1], tuple(live), tuple(problems))


def _glance(path: Path) -> Glance | str:
    from playhead import traces

    try:
        return traces.glance(path)
    except (PlayheadError, OSError) as problem:
        return str(problem)


def _told(found: Glance | str) -> str:
    if isinstance(found, str):
        return "cannot be read"
    return f"{counted(found.steps, 'step')}{', being recorded' if found.is_recorded else ''}"


def _described(name: str, path: Path) -> dict[str, Any]:
    found = _glance(path)
    return {"name": name, **({"problem": found} if isinstance(found, str) else asdict(found))}


def published(rows: Iterable[RunRow]) -> dict[str, list[str]]:
    """Give what is published of runs, by their ids; only those that are not over are looked for."""
    running = {row.id for row in rows if row.status == "running"}
    if not running:
        return {}
    from playhead import live

    found: dict[str, list[str]] = {}
    for name in (one.run_id for one in live.runs()):
        run_id = name.partition(".")[0]  # a reel is published by its own id
        if run_id in running:
            found.setdefault(run_id, []).append(name)
    return found


# -- of many runs -----------------------------------------------------------------------------------------------------


class Tally(NamedTuple):
    """How much a run has of each kind.

    Attributes:
        episodes: Those that agents played, and those in datasets.
        traces: Traces.
        artifacts: Versions of artifacts that it made.
        live: Something of it is published now.
    """

    episodes: int
    traces: int
    artifacts: int
    live: bool

    def __str__(self) -> str:
        kinds = ((self.episodes, "episode"), (self.traces, "trace"), (self.artifacts, "artifact"))
        return ", ".join([counted(count, noun) for count, noun in kinds if count] + ["live"] * self.live)


def tallies(home: Home, rows: Iterable[RunRow]) -> dict[str, Tally]:
    """Count what runs have, by their ids, with a few questions for all of them."""
    wanted = list(rows)
    with home.database.read() as connection:
        episodes = {state.id: state.episodes for state in browse.states(connection, [row.id for row in wanted])}
        made = catalog_artifacts.made_by_runs(connection)
    traced = set(home.layout.traced_runs())
    live = published(wanted)
    return {
        row.id: Tally(
            episodes.get(row.id, 0),
            len(home.layout.traces(row.id).files()) if row.id in traced else 0,
            made.get(row.id, 0),
            row.id in live,
        )
        for row in wanted
    }
