"""What is done to a disk before its power is cut, and what must hold afterwards; a file a lane.

Each tells what it has been promised, as lines of text: only what is on the medium by what Playhead says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from playhead import disk
from tests.crash import artifact_campaign, table_campaign, trace_campaign
from tests.crash.power.workloads import care, episodes, replays, runs, unsynced, waiting

Tell = Callable[[str], None]


class Workload(NamedTuple):
    """What is done in a folder, and what must hold of what a cut left of it.

    Attributes:
        work: Does it; tells each promise.
        hold: Opens what was left as the next user would, and holds it to what was promised; then goes on with it.
    """

    work: Callable[[Path, Tell], None]
    hold: Callable[[Path, Sequence[str]], None]


def _traced(name: str) -> Workload:
    """Of the promises of a trace, those that are made of a medium: every second flush, and the ends."""
    work, hold = trace_campaign.WORKLOADS[name]

    def is_for_good(line: str) -> bool:
        return line.endswith("closed") or int(line) % 2 == 0

    return Workload(
        lambda path, tell: work(_made(path), lambda line: tell(line) if is_for_good(line) else None),
        lambda path, told: hold(path, [*told]) if path.is_dir() else _nothing(told),
    )


def _made(path: Path) -> Path:
    disk.make_folders(path)
    return path


def _nothing(told: Sequence[str]) -> None:
    assert not told, f"{told} were promised, and nothing is there"


WORKLOADS = {
    "runs": Workload(runs.work, runs.hold),
    "replays": Workload(replays.work, replays.hold),
    "episodes": Workload(episodes.work, episodes.hold),
    "unsynced": Workload(unsynced.work, unsynced.hold),
    "waiting": Workload(waiting.work, waiting.hold),
    **{f"trace {name}": _traced(name) for name in trace_campaign.WORKLOADS},
    **{f"table {name}": Workload(*each) for name, each in table_campaign.WORKLOADS.items()},
    **{f"artifacts {name}": Workload(*each) for name, each in artifact_campaign.WORKLOADS.items()},
    "care": Workload(care.work, care.hold),
}
