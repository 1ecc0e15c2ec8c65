"""Cuts the power of a workload at many moments, on paper, and holds each state of the disk to what was promised."""

from __future__ import annotations

import contextlib
import random
import shutil
import tempfile
import traceback
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from playhead import claims, copies, process
from tests.crash.power.recording import Event, place_of
from tests.crash.power.states import left
from tests.crash.power.workloads import WORKLOADS


@dataclass
class Found:
    """What came of it.

    Attributes:
        tried: How many states.
        problems: Of each state that broke a promise its seed and how.
    """

    tried: int = 0
    problems: dict[int, str] = field(default_factory=dict)


def cut(name: str, events: Sequence[Event], seeds: Iterable[int], *, shown: bool = True) -> Found:
    """Hold to its promises what each cut leaves.

    Args:
        name: The workload.
        events: Its record.
        seeds: A number for each state.
        shown: Print how a promise was broken.
    """
    found = Found()
    with _at_home(), tempfile.TemporaryDirectory(prefix="playhead-power-", dir=quick()) as scratch:
        for seed, medium in left(events, seeds):
            path = Path(scratch, str(seed))
            path.mkdir()
            medium.leave(path, random.Random(~seed))
            found.tried += 1
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", RuntimeWarning)
                    WORKLOADS[name].hold(place_of(path, name), medium.told)
            except Exception as error:  # noqa: BLE001  every kind of broken promise is collected
                found.problems[seed] = f"{type(error).__name__}: {error}"
                if shown:
                    print(
                        f"{name}: state {seed}, after {medium.number} of {len(events)} events, told {medium.told[-4:]}"
                    )
                    traceback.print_exc()
            shutil.rmtree(path)
    return found


def quick() -> str | None:
    """Return a folder in memory, where there is one: what is checked there need not reach a disk."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


@contextlib.contextmanager
def _at_home() -> Iterator[None]:
    """Let a state count as the store itself after the machine was started again, and not as a copy of it."""
    with (
        mock.patch.object(process, "_place", return_value="another boot/of this machine"),
        mock.patch.object(copies, "is_elsewhere", lambda home: home.database.place() == 0),
        mock.patch.object(claims.Claim, "is_copied", return_value=False),
    ):
        yield
