"""What a worker module must offer: the few verbs in which trackers differ."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

PROJECT = "bench"
PARAMETERS: Mapping[str, float] = {f"param_{k}": 0.1 * (k + 1) for k in range(10)}


@dataclass(frozen=True)
class Session:
    """A run that is being recorded.

    ``log`` is called as ``log(values, step=step)``; where the peer's own function takes that form it is passed on bare,
    so that no wrapper is measured with it. ``finish`` returns when everything logged is on disk and all helpers ended.
    """

    log: Callable[..., object]
    finish: Callable[[], object]


@dataclass(frozen=True)
class Listing:
    """Ways to list the runs of a folder, each giving how many it listed; None where the peer cannot."""

    first: Callable[[int], int]
    everything: Callable[[], int]
    with_parameters: Callable[[], int] | None


class Adapter(Protocol):
    """The functions of a module in ``workers/``; ``fill`` and ``listing`` are absent where there is nothing to list."""

    def start(self, folder: Path) -> Session: ...

    def surviving_steps(self, folder: Path) -> list[int]: ...

    def fill(self, folder: Path, runs: int) -> None: ...

    def listing(self, folder: Path) -> Listing: ...


def load(name: str) -> Adapter:
    """Import the adapter of a peer, and with it the peer."""
    return cast(Adapter, importlib.import_module(f"benchmarks.peers.workers.{name}"))
