"""What each program loses in one trial: kills, flipped bits, exchanged files, copies while it records, a full disk.

Run: python -m benchmarks.peers.safety [--only playhead,trackio] [--trials kill,flip] [--kills 20] [--flips 200]

Two metrics a step, and three values of configuration a run; where a program records environments, steps in episodes of
50. Each program is tried with its defaults and, where its documentation has a safer way, with that. A full disk is a
small tmpfs, for which mounting must be allowed.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.peers.drive import REPOSITORY, Bench, Figures, WorkerError, bench, kill_once, outlive
from benchmarks.peers.environments import InstallError, python_for
from benchmarks.peers.keepers.contract import key, value
from benchmarks.peers.minari import PEER as MINARI
from benchmarks.peers.processes import descendants
from benchmarks.peers.registry import BASELINE, PEERS, Peer
from benchmarks.peers.report import aligned
from benchmarks.peers.safety_worker import STOP

WORKER = "benchmarks.peers.safety_worker"
DISK_MB = 64
FULL_S = 3
AFTERWARDS_S = 1.5
PATIENCE_S = 40
FULL_WORDS = ("no space left", "disk is full", "disk full", "disk i/o error")
HUNG = "hung"


@dataclass(frozen=True)
class Subject:
    """A program in one of its ways."""

    keeper: str
    title: str
    peer: Peer
    safest: bool = False

    @property
    def name(self) -> str:
        return self.keeper + (":safest" if self.safest else "")


_PEERS = {peer.name: peer for peer in (*PEERS, MINARI)}
_OURS = _PEERS[BASELINE]

SUBJECTS = (
    Subject("playhead", "Playhead", _OURS),
    Subject("playhead", "Playhead, `flush(sync=True)` each step", _OURS, safest=True),
    Subject("plain", "SQLite and JSON", _OURS),
    Subject("plain", "SQLite and JSON, `synchronous=FULL`", _OURS, safest=True),
    Subject("tensorboard", "TensorBoard", _PEERS["tensorboard"]),
    Subject("tensorboard", "TensorBoard, `flush()` each step", _PEERS["tensorboard"], safest=True),
    Subject("wandb", "W&B offline", _PEERS["wandb"]),
    Subject("wandb", "W&B offline, flushed every 0.01 s", _PEERS["wandb"], safest=True),
    Subject("trackio", "Trackio", _PEERS["trackio"]),
    Subject("trackio", "Trackio, `synchronous=FULL`", _PEERS["trackio"], safest=True),
    Subject("runicorn", "Runicorn", _PEERS["runicorn"]),
    Subject("mlflow", "MLflow SQLite", _PEERS["mlflow"]),
    Subject("playhead_steps", "Playhead, steps", _OURS),
    Subject("playhead_steps", "Playhead, steps, `flush()` each step", _OURS, safest=True),
    Subject("minari", "Minari", MINARI),
    Subject("minari", "Minari, each episode added", MINARI, safest=True),
)


@dataclass(frozen=True)
class Sizes:
    """How often each thing is tried."""

    kills: int
    flips: int
    copies: int
    disks: int


Make = Callable[[], Any]  # a context manager that gives a bench


def killed(make: Make, sizes: Sizes) -> Figures:
    """Kill it at random moments; count the acknowledged steps that are gone, and what cannot be opened."""
    chance = random.Random(1)
    figures = _nothing()
    with make() as one:
        one.ask("make")
    for _ in range(sizes.kills):
        with make() as one:
            steps = kill_once(one, chance.uniform(0.3, 1.5))
            _count(figures, one, steps)
    return figures


def flipped(make: Make, sizes: Sizes) -> Figures:
    """Flip single bits of what two runs left."""
    with make() as one:
        one.ask("make")
        return one.ask("flip", sizes.flips)


def swapped(make: Make, _sizes: Sizes) -> Figures:
    """Exchange files of one kind."""
    with make() as one:
        one.ask("make")
        return one.ask("swap")


def copied(make: Make, sizes: Sizes) -> Figures:
    """Copy it with `cp -a` while it records, and open the copy."""
    chance = random.Random(2)
    figures = _nothing()
    for _ in range(sizes.copies):
        with make() as one, one.start("kill") as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            if not first:
                raise WorkerError(one.last_words())
            time.sleep(chance.uniform(0.3, 1.5))
            os.set_blocking(process.stdout.fileno(), False)
            steps = _steps(first + (process.stdout.read() or b""))
            subprocess.run(["cp", "-a", one.store, one.scratch / "copy"], check=False, stderr=subprocess.DEVNULL)
            helpers = descendants(process.pid)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            outlive(helpers)
            _count(figures, replace(one, place="copy"), steps)
    return figures


def filled(make: Make, sizes: Sizes) -> Figures:
    """Fill its disk for some seconds; count what it said was recorded and is not."""
    figures = {**_nothing(), "refused": 0, "said": 0, "died": 0, "hung": 0}
    for _ in range(sizes.disks):
        with make() as whole, _small_disk(whole.scratch / "disk") as disk:
            one = replace(whole, place="disk/store")
            said, ended = _recorded_while_full(one, disk)
            words = one.words().lower()
            print(f"  {one.peer.name}: {ended}: {one.last_words()}", file=sys.stderr)
            figures["refused"] += sum(line.startswith(b"!") for line in said.splitlines())
            figures["said"] += any(text in words for text in FULL_WORDS)
            figures["hung"] += ended == HUNG
            figures["died"] += ended not in (HUNG, 0)
            _count(figures, one, _steps(said))
    return figures


def _recorded_while_full(one: Bench, disk: Path) -> tuple[bytes, int | str]:
    """Let it record before, while and after the disk is full, then end; give what it said, and its exit status."""
    with one.start("until-stopped") as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        if not first:
            raise WorkerError(one.last_words())
        time.sleep(1)
        ballast = _fill(disk)
        time.sleep(FULL_S)
        ballast.unlink()
        time.sleep(AFTERWARDS_S)
        (one.home / STOP).touch()
        helpers = descendants(process.pid)
        try:
            said, _ = process.communicate(timeout=PATIENCE_S)
            ended: int | str = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
            ended = HUNG
        outlive(helpers)
    return first + said, ended


def _nothing() -> Figures:
    return {"acknowledged": 0, "lost": 0, "most": 0, "wrong": 0, "unopened": 0}


def _steps(said: bytes) -> set[int]:
    return {int(line) for line in said.splitlines(keepends=True) if line.endswith(b"\n") and not line.startswith(b"!")}


def _count(figures: Figures, one: Bench, steps: set[int]) -> None:
    try:
        answer = one.ask("read")
    except WorkerError as error:
        print(f"  {one.peer.name}: {error}", file=sys.stderr)
        answer, figures["unopened"] = {}, figures["unopened"] + 1
    lost = sum(key("a", "loss", step) not in answer for step in steps)
    figures["acknowledged"] += len(steps)
    figures["lost"] += lost
    figures["most"] = max(figures["most"], lost)
    losses = {name.rpartition(" ")[2]: found for name, found in answer.items() if name.startswith("a loss ")}
    figures["wrong"] += sum(found != value("a", "loss", int(step)) for step, found in losses.items())


@contextmanager
def _small_disk(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def _fill(disk: Path) -> Path:
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue
    return ballast


TRIALS: dict[str, Callable[[Make, Sizes], Figures]] = {
    "kill": killed,
    "flip": flipped,
    "swap": swapped,
    "copy": copied,
    "disk": filled,
}
TITLES = {
    "kill": "SIGKILL at random moments; acknowledged steps that are gone",
    "flip": "One flipped bit: what reading gives",
    "swap": "Two files of one kind exchanged: what reading gives",
    "copy": "`cp -a` while it records; steps that were acknowledged before and are not in the copy",
    "disk": "A full disk for three seconds; acknowledged steps that are gone",
}


def main() -> None:
    """Print a table a trial."""
    options = _options()
    sizes = Sizes(options.kills, options.flips, options.copies, options.disks)
    options.environments.mkdir(parents=True, exist_ok=True)
    results: dict[str, dict[str, Any]] = {}
    for trial in options.trials:
        results[trial] = {}
        for subject in SUBJECTS:
            if subject.keeper in options.only and not (subject.safest and trial in ("flip", "swap", "copy")):
                results[trial][subject.title] = _tried(trial, subject, options.environments, sizes)
                print(f"{trial} {subject.name} {results[trial][subject.title]}", file=sys.stderr, flush=True)
        print(f"## {TITLES[trial]}\n\n{_table(results[trial])}\n", flush=True)
        if options.json:
            options.json.write_text(json.dumps(results, indent=2) + "\n")


def _tried(trial: str, subject: Subject, environments: Path, sizes: Sizes) -> Figures:
    peer = replace(subject.peer, name=subject.name)

    @contextmanager
    def make() -> Iterator[Bench]:
        with bench(peer, python, environments) as one:
            yield replace(one, module=WORKER)

    try:
        python = python_for(subject.peer, environments)
        return TRIALS[trial](make, sizes)
    except (InstallError, WorkerError, subprocess.CalledProcessError) as error:
        return {"failed": str(error)}


def _table(results: dict[str, Figures]) -> str:
    columns = list(dict.fromkeys(name for figures in results.values() for name in figures))
    rows = [["", *columns]]
    rows += [[title, *(_cell(figures.get(name, "")) for name in columns)] for title, figures in results.items()]
    return aligned(rows)


def _cell(found: Any) -> str:
    if isinstance(found, dict):
        return ", ".join(f"{name} {count}" for name, count in found.items())
    return f"{found:,}" if isinstance(found, int) else str(found)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = list(dict.fromkeys(subject.keeper for subject in SUBJECTS))
    add = parser.add_argument
    add("--only", type=lambda text: text.split(","), default=names, help=f"of {','.join(names)}")
    add("--trials", type=lambda text: text.split(","), default=list(TRIALS), help=f"of {','.join(TRIALS)}")
    add("--kills", type=int, default=20)
    add("--flips", type=int, default=200)
    add("--copies", type=int, default=10)
    add("--disks", type=int, default=3)
    add("--json", type=Path, metavar="FILE", help="also write the figures here")
    add("--environments", type=Path, default=REPOSITORY / ".peers", help="where the peers are installed")
    return parser.parse_args()


if __name__ == "__main__":
    main()
