"""The side that starts workers, waits for them or kills them, and keeps what they said."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.processes import descendants, is_alive
from benchmarks.peers.registry import Peer

Figures = dict[str, Any]

REPOSITORY = Path(__file__).resolve().parents[2]
HELPER_GRACE_S = 10
CONTROL_STEPS = 300


class WorkerError(RuntimeError):
    """A worker failed; the text is the last thing it said."""


@dataclass(frozen=True)
class Sizes:
    """How much of each workload to do."""

    calls: int = 100_000
    call_seconds: float = 20
    kills: int = 3
    kill_seconds: float = 3
    points: int = 1_000_000
    million_seconds: float = 60
    runs: int = 10_000


@dataclass(frozen=True)
class Bench:
    """One peer in a scratch folder of its own; ``module`` is what its workers run, ``place`` the folder they get."""

    peer: Peer
    python: Path
    scratch: Path
    module: str = "benchmarks.peers.worker"
    place: str = "store"

    @property
    def store(self) -> Path:
        return self.scratch / self.place

    @property
    def home(self) -> Path:
        return self.scratch / "home"

    def start(self, workload: str, size: int = 0, seconds: float = 0) -> subprocess.Popen[bytes]:
        """Start a worker in a session of its own, with a home folder that is thrown away with the store."""
        for folder in (self.store, self.home):
            folder.mkdir(exist_ok=True)
        variables = {"HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home), "PYTHONPATH": str(REPOSITORY)}
        command = [self.python, "-m", self.module, self.peer.name, workload, self.store]
        with self._log.open("wb") as log:
            return subprocess.Popen(
                [*map(str, command), str(size), str(seconds)],
                cwd=self.home,
                env={**os.environ, **variables, **self.peer.environment(str(self.store))},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )

    def ask(self, workload: str, size: int = 0, seconds: float = 0) -> Figures:
        """Run a worker to its end and give its figures.

        Raises:
            WorkerError: It ended without figures.
        """
        with self.start(workload, size, seconds) as process:
            answer, _ = process.communicate()
        if process.returncode != 0:
            raise WorkerError(self.last_words())
        figures: Figures = json.loads(answer)
        return figures

    def last_words(self) -> str:
        """Give the last line a worker wrote to its standard error."""
        lines = self.words().strip().splitlines()
        return lines[-1] if lines else "it ended without a word"

    def words(self) -> str:
        """Give all that the last worker wrote to its standard error."""
        return self._log.read_text(errors="replace")

    @property
    def _log(self) -> Path:
        return self.scratch / "worker.log"


@contextlib.contextmanager
def bench(peer: Peer, python: Path, peers_folder: Path) -> Iterator[Bench]:
    """Give a peer a scratch folder beside the environments, on the project's disk: /tmp may be memory."""
    with tempfile.TemporaryDirectory(prefix=f".scratch-{peer.name}-", dir=peers_folder) as scratch:
        yield Bench(peer, python, Path(scratch))


def run_workload(workload: str, peer: Peer, python: Path, peers_folder: Path, sizes: Sizes) -> Figures:
    """Measure one peer under one workload.

    Raises:
        WorkerError: A worker failed.
    """
    print(f"{workload}: {peer.title}", file=sys.stderr)
    if workload == "kill":
        return _kill_repeatedly(peer, python, peers_folder, sizes)
    with bench(peer, python, peers_folder) as one:
        match workload:
            case "call":
                return one.ask("call", sizes.calls, sizes.call_seconds)
            case "million":
                return one.ask("million", sizes.points, sizes.million_seconds)
            case "list":
                one.ask("fill", sizes.runs)
                return one.ask("list", sizes.runs)
    raise ValueError(f"no workload {workload!r}")


def _kill_repeatedly(peer: Peer, python: Path, peers_folder: Path, sizes: Sizes) -> Figures:
    with bench(peer, python, peers_folder) as one:
        _check_reader(one)
    acknowledged, lost = [], []
    for _ in range(sizes.kills):
        with bench(peer, python, peers_folder) as one:
            steps = kill_once(one, sizes.kill_seconds)
            survivors = set(one.ask("survivors")["steps"])
            acknowledged.append(len(steps))
            lost.append(len(steps - survivors))
    return {"kills": sizes.kills, "acknowledged": acknowledged, "lost": lost}


def _check_reader(one: Bench) -> None:
    """Refuse to count losses with a reader that does not find all of a run that ended well."""
    one.ask("finish", CONTROL_STEPS)
    found = one.ask("survivors")["steps"]
    if found != list(range(CONTROL_STEPS)):
        raise WorkerError(f"the reader found {len(found)} of {CONTROL_STEPS} steps of a run that ended well")


def kill_once(one: Bench, seconds: float) -> set[int]:
    """Kill a logging worker and its process group; give the steps whose ``log`` had returned.

    A helper that the peer put in a session of its own is outlived, not killed: it may write what it holds and is waited
    for before the survivors are counted.
    """
    with one.start("kill") as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        if not first:
            raise WorkerError(one.last_words())
        time.sleep(seconds)
        helpers = descendants(process.pid)
        os.killpg(process.pid, signal.SIGKILL)
        lines = [first, *process.stdout.read().splitlines(keepends=True)]
    outlive(helpers)
    return {int(line) for line in lines if line.endswith(b"\n")}


def outlive(helpers: list[int]) -> None:
    deadline = time.monotonic() + HELPER_GRACE_S
    while any(map(is_alive, helpers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for pid in filter(is_alive, helpers):
        os.kill(pid, signal.SIGKILL)
