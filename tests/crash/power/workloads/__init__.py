"""What is done to a disk before its power is cut, and what must hold afterwards; a file a lane.

Each tells what it has been promised, as lines of text: only what is on the medium by what Playhead says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.crash.power.workloads import runs

Tell = Callable[[str], None]


class Workload(NamedTuple):
    """What is done in a folder that is not there yet, and what must hold of what a cut left of it.

    Attributes:
        work: Does it; tells each promise.
        hold: Opens what was left as the next user would, and holds it to what was promised; then goes on with it.
    """

    work: Callable[[Path, Tell], None]
    hold: Callable[[Path, Sequence[str]], None]


WORKLOADS = {"runs": Workload(runs.work, runs.hold)}
