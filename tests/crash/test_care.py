"""The care of a store under fire: killed at each change of the disk, nothing that is needed goes, and a rerun finishes.

Here a tenth; `make campaign` does all of it.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead import clock, disk
from playhead.artifact import changing
from playhead.care import collecting, optimizing, verify
from playhead.care.repairing import Repair
from playhead.errors import NotFound
from playhead.layout import Layout
from playhead.testing import killed_at, operations_of
from tests.care.everything import make, values_of
from tests.care.test_verifying import change, wrong

SHARE = float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))
STRIDE = max(1, round(1 / SHARE))
SECONDS = 60 * SHARE
STOPS = max(6, round(100 * SHARE))


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ground") / "store"
    make(path)
    return path


def copied(ground: Path, target: Path) -> Path:
    """Copy a store with its links."""
    shutil.rmtree(target, ignore_errors=True)
    first: dict[int, Path] = {}
    for source in sorted(ground.rglob("*")):
        copy = target / source.relative_to(ground)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            copy.mkdir(exist_ok=True)
        elif source.stat().st_ino in first:
            os.link(first[source.stat().st_ino], copy)
        else:
            shutil.copy2(source, copy)
            first[source.stat().st_ino] = copy
    with playhead.open(target) as store:
        assert list(store.artifacts)  # files that were copied are others to the catalogue, until they are listed
    return target


def places(work: Callable[[], object]) -> list[int]:
    """Choose changes to be killed at: all, or a tenth; of the writes to files that nobody sees yet, fewer."""
    changes = operations_of(work)
    drafts = [n for n, (name, path, _) in enumerate(changes) if name == "write" and disk.is_temporary(Path(path).name)]
    others = sorted({*range(len(changes))} - {*drafts})
    stride = min(STRIDE, len(others) // 5)
    rarely = 1 if STRIDE == 1 else 6 * STRIDE
    return sorted([*others[stride // 2 :: stride], *drafts[::rarely]])


# -- gc -----------------------------------------------------------------------------------------------------------------


def litter(path: Path) -> None:
    for number in range(6):
        blob = path / "artifacts/.dedup" / f"{number:02}" / f"{number:02}{'0' * 62}"
        blob.parent.mkdir(exist_ok=True)
        blob.write_bytes(b"left")
        (path / f".x{number}.999999999-0badf00d.tmp").write_bytes(b"left")
    shutil.copytree(path / "artifacts/model/policy/v1", path / "artifacts/model/policy/v7")
    shutil.copytree(path / "replay/run_b.journal", path / "replay/gone.journal")
    shutil.copytree(path / "pong", path / ".trash/old")


def collect(path: Path) -> None:
    with playhead.open(path) as store:
        collecting.collect(store._home, older_than=0)


@pytest.mark.timeout(1800)
def test_gc_killed_at_each_change(ground: Path, tmp_path: Path) -> None:
    path = copied(ground, tmp_path / "store")
    before = values_of(path)
    litter(path)
    chosen = places(lambda: collect(path))
    assert len(chosen) >= 3
    for n in chosen:
        copied(ground, path)
        litter(path)
        assert killed_at(n, lambda _: collect(path)).killed
        assert needed(values_of(path)) == before
        collect(path)
        assert values_of(path) == before
        assert not list(path.rglob("*0badf00d*"))
        assert not list((path / "artifacts/.dedup").rglob(f"*{'0' * 62}"))
        assert all(any(shard.iterdir()) for shard in (path / "artifacts/.dedup").glob("??"))


# -- repair -------------------------------------------------------------------------------------------------------------

BROKEN = (
    "replay/index.json",
    "pong/dqn/runs/run_b/meta.json",
    "tables/numbers/manifest.json",
    "episodes/teleop/000000000000/000000000001/camera.mp4",
    "artifacts/model/policy/versions.json",
)


def damage(path: Path) -> set[bytes]:
    """Damage some files; give what must never be lost: their bytes as they are now."""
    for where in BROKEN:
        file = path / where
        if file.suffix == ".json":
            file.write_bytes(b"{" + file.read_bytes())
        else:
            change(file, 500)
    blob = max((file for file in (path / "artifacts/.dedup").rglob("*") if len(file.name) == 64), key=os.path.getsize)
    change(blob)
    return {*((path / where).read_bytes() for where in BROKEN), blob.read_bytes()}


def repair(path: Path) -> None:
    list(Repair(Layout(path)).mend(verify(path, full=True)))


@pytest.mark.timeout(1800)
def test_repair_killed_at_each_change(ground: Path, tmp_path: Path) -> None:
    path = copied(ground, tmp_path / "store")
    damage(path)
    chosen = places(lambda: repair(path))
    assert len(chosen) >= 3
    for n in chosen:
        copied(ground, path)
        kept = damage(path)
        assert killed_at(n, lambda _: repair(path)).killed
        repair(path)
        assert {finding.lane for finding in wrong(path)} <= {"artifacts"}  # a content that nothing else holds
        there = {file.read_bytes() for file in path.rglob("*") if file.is_file()}
        assert kept <= there, f"killed at change {n}: what was damaged is gone"


# -- compact ------------------------------------------------------------------------------------------------------------


def compact(path: Path) -> None:
    with playhead.open(path) as store:
        optimizing.compact(store._home, level=9)


def settled(values: dict[str, str]) -> dict[str, str]:
    """Leave out what says when a file was made, and the digests of such files."""
    return {name: value for name, value in needed(values).items() if not name.endswith((".h5", "checksums.json"))}


def needed(values: dict[str, str]) -> dict[str, str]:
    """Leave out what litter holds."""
    return {name: value for name, value in values.items() if "gone" not in name}


@pytest.mark.timeout(1800)
def test_compact_killed_at_each_change(ground: Path, tmp_path: Path) -> None:
    path = copied(ground, tmp_path / "store")
    before = settled(values_of(path))
    chosen = places(lambda: compact(path))
    assert len(chosen) >= 5
    for n in chosen:
        copied(ground, path)
        assert killed_at(n, lambda _: compact(path)).killed
        assert settled(values_of(path)) == before, f"killed at change {n}"
        compact(path)
        assert settled(values_of(path)) == before
        assert wrong(path) == []
        assert not list((path / "replay").glob("*.journal"))
        collect(path)
        assert not list((path / "replay").rglob("*.tmp"))


# -- save -------------------------------------------------------------------------------------------------------------


def save(path: Path) -> None:
    """Save a version of which some files are new each time and some are not."""
    sources = path.with_name("more")
    sources.mkdir(exist_ok=True)
    for number in range(12):
        (sources / f"{number}.bin").write_bytes(os.urandom(20_000) if number % 2 else bytes([number]) * 90_000)
    with playhead.open(path) as store, store.run("pong", "more", environment=False) as run:
        version = run.log_artifact("policy", sources)
        assert version.verify() == []


def without_rows(values: dict[str, str]) -> dict[str, str]:
    """Leave out rows of the catalogue, which gains some when something is saved."""
    return {name: value for name, value in values.items() if not name.startswith("catalogue")}


# -- at any moment --------------------------------------------------------------------------------------------------------


def prepared(work: Callable[[Path], None], ground: Path, path: Path) -> set[bytes]:
    """Make a store on which there is work to do; give what must not be lost."""
    copied(ground, path)
    if work is collect:
        litter(path)
    return damage(path) if work is repair else set()


@pytest.mark.timeout(1800)
def test_killed_at_random_moments(ground: Path, tmp_path: Path) -> None:
    """Also between two changes, and in the middle of what SQLite writes."""
    path, chance, killed = tmp_path / "store", random.Random(7), 0
    copied(ground, path)
    before = settled(values_of(path))
    lasts: dict[Callable[[Path], None], float] = {}
    for work in cycle((collect, compact, repair, save)):
        kept = prepared(work, ground, path)
        if work not in lasts:
            began = clock.elapsed_ns()
            work(path)
            lasts[work] = (clock.elapsed_ns() - began) / clock.SECOND
            kept = prepared(work, ground, path)
        child, ended = os.fork(), 1
        if child == 0:
            try:
                work(path)
                ended = 0
            finally:
                os._exit(ended)
        time.sleep(chance.uniform(0, lasts[work]))
        os.kill(child, signal.SIGKILL)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert ended in (0, -signal.SIGKILL)
        killed += ended != 0
        if work is not repair:
            found = settled(values_of(path))
            assert found == before or (work is save and without_rows(before).items() <= found.items())
        work(path)
        lanes = {finding.lane for finding in wrong(path)}
        assert lanes <= ({"artifacts"} if work is repair else set())
        assert kept <= {file.read_bytes() for file in path.rglob("*") if file.is_file()}
        if killed == STOPS:
            break
    print(f"killed {killed} times, in the middle of gc, compact, repair and save in turn")


# -- together -----------------------------------------------------------------------------------------------------------


def loop(path: Path, log: Path, seed: int, work: Callable[[playhead.Store, random.Random, Any], None]) -> int:
    """Do some work in a process of its own until the time is over; what it says goes to a file, a line each."""
    child = os.fork()
    if child:
        return child
    status, until = 1, clock.elapsed_ns() + int(SECONDS * clock.SECOND)
    try:
        with playhead.open(path) as store, log.open("a", buffering=1) as file:
            chance = random.Random(seed)
            while clock.elapsed_ns() < until:
                work(store, chance, lambda *said: file.write(json.dumps(said) + "\n"))
        status = 0
    finally:
        os._exit(status)


@pytest.mark.timeout(1800)
def test_saving_deleting_and_collecting_together_lose_nothing(tmp_path: Path) -> None:
    path, sources = tmp_path / "store", tmp_path / "sources"
    sources.mkdir()
    for number in range(6):
        (sources / f"{number}.bin").write_bytes(bytes([number]) * 3000)
    with playhead.open(path) as store, store.run("p", "n", environment=False) as run:
        run.log_artifact("shared", sources / "0.bin")

    def save(store: playhead.Store, chance: random.Random, say: Any) -> None:
        with store.run("p", "n", environment=False) as run:
            own = sources / f"{os.getpid()}-{chance.random()}.bin"  # which only this version has, so that gc finds it
            own.write_bytes(own.name.encode() * 100)
            chosen = [own.name, *(f"{number}.bin" for number in chance.sample(range(6), 3))]
            version = run.log_artifact(chance.choice("ab"), [sources / name for name in chosen])
            say("saved", version.name, version.version, chosen)

    def purge(store: playhead.Store, chance: random.Random, say: Any) -> None:
        name = chance.choice("ab")
        try:
            version = store.artifacts[f"{name}:latest"]
        except NotFound:
            return
        if version.version % 2:
            return  # so that some are kept
        changing._collect = lambda _home, _digests: 0  # as where somebody saves for long: gc does the rest
        say("purging", name, version.version)
        version.delete()
        version.purge()

    def gc(store: playhead.Store, chance: random.Random, say: Any) -> None:
        say("collected", len(collecting.collect(store._home, older_than=chance.choice((0, 0.2))).garbage))

    logs = [tmp_path / f"{number}.log" for number in range(4)]
    children = [
        loop(path, log, seed, work) for seed, (log, work) in enumerate(zip(logs, (save, save, purge, gc), strict=True))
    ]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    said = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
    purged = {(name, version) for what, name, version, *_ in (one for one in said if one[0] == "purging")}
    saved = {(one[1], one[2]): one[3] for one in said if one[0] == "saved"}
    assert len(saved) == sum(one[0] == "saved" for one in said), "two saves got one number"
    kept = saved.keys() - purged
    print(f"{len(saved)} saved, {len(purged)} purged, {sum(one[1] for one in said if one[0] == 'collected')} collected")
    assert kept
    assert purged
    assert any(one[1] for one in said if one[0] == "collected")
    with playhead.open(path) as store:
        for name, version in sorted(kept):
            found = store.artifacts[f"{name}:v{version}"].download(tmp_path / "out" / name / str(version))
            due = {file: (sources / file).read_bytes() for file in saved[name, version]}
            assert {file.name: file.read_bytes() for file in found.iterdir()} == due
    assert wrong(path) == []
    collect(path)
    assert wrong(path) == []
