"""A file, or a folder, that lies under the name of another of its kind is never read as that other without a word."""

from __future__ import annotations

import re
import shutil
import subprocess
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import playhead
from playhead.care import verify
from playhead.care.finding import Finding
from playhead.errors import PlayheadError
from tests.care import twins

RUN, MADE, USER, GONE, DIED = (f"project/{name}1/runs/{name}1" for name in ("run", "made", "user", "gone", "died"))
EPISODE, MODEL = "episodes/data1/000000000000/000000000000", "artifacts/model/model1"

# One of each pair; the other is named alike with a 2 for the 1, where it is not said.
KINDS: dict[str, tuple[str, ...]] = {
    "run": (RUN,),
    "meta": (f"{RUN}/meta.json",),
    "status": (f"{RUN}/status.json",),
    "summary": (f"{RUN}/summary.json",),
    "environment": (f"{RUN}/environment.json",),
    "log": (f"{RUN}/logs.txt",),
    "checksums": (f"{RUN}/checksums.json",),
    "events": (f"{RUN}/events.jsonl",),
    "events of two processes": (f"{RUN}/events.jsonl", f"{RUN}/events-2.jsonl"),
    "events of a second process": (f"{RUN}/events-2.jsonl",),
    "image": (f"{RUN}/media/*_first.png",),
    "image of a run": (f"{RUN}/media/*_first.png", f"{RUN}/media/*_second.png"),
    "images": (f"{RUN}/media",),
    "made": (f"{MADE}/artifacts_created.json",),
    "used": (f"{USER}/artifacts_used.json",),
    "deleted run": (GONE,),
    "deleted": (f"{GONE}/.deleted",),
    "claim": (".recording/died1.1.json",),
    "events of who died": (f"{DIED}/events.jsonl",),
    "reel": ("replay/run1.h5",),
    "reel of a run": ("replay/run1.h5", "replay/run1.1.h5"),
    "view": ("replay/run1.1.h5",),
    "parts": ("replay/run1.1",),
    "part": ("replay/run1.1/0000.h5",),
    "part of a reel": ("replay/run1.1/0000.h5", "replay/run1.1/0001.h5"),
    "journal": ("replay/died1.journal",),
    "segment": ("replay/died1.journal/000000.seg",),
    "trace": ("traces/run1/trace.trace",),
    "trace for people": ("traces/run1/json.json",),
    "compressed trace for people": ("traces/run1/json-gz.json.gz",),
    "traces": ("traces/run1",),
    "tape of a trace": ("traces/died1/.taped.trace.recording",),
    "segment of a trace": ("traces/died1/.taped.trace.recording/000000.seg",),
    "dataset": ("episodes/data1",),
    "edits": ("episodes/data1/edits.jsonl",),
    "episode": (EPISODE,),
    "episode of a dataset": (EPISODE, EPISODE[:-1] + "1"),
    "meta of an episode": (f"{EPISODE}/meta.json",),
    "static": (f"{EPISODE}/static.json",),
    "vector": (f"{EPISODE}/joint.parquet",),
    "vector of an episode": (f"{EPISODE}/joint.parquet", f"{EPISODE}/other.parquet"),
    "text": (f"{EPISODE}/said.parquet",),
    "text of an episode": (f"{EPISODE}/said.parquet", f"{EPISODE}/told.parquet"),
    "video": (f"{EPISODE}/camera.mp4",),
    "frames": (f"{EPISODE}/camera.frames.parquet",),
    "frames of an episode": (f"{EPISODE}/camera.frames.parquet", f"{EPISODE}/wrist.frames.parquet"),
    "tape": ("episodes/cut1/000000000000/000000000000/.recording",),
    "segment of a tape": ("episodes/cut1/000000000000/000000000000/.recording/000000.seg",),
    "meta of a cut episode": ("episodes/cut1/000000000000/000000000000/meta.json",),
    "table": ("tables/table1",),
    "rows": ("tables/table1/steps.npy",),
    "database of a table": ("tables/table1/metadata.db",),
    "manifest of a table": ("tables/table1/manifest.json",),
    "shard": ("tables/shards1/shards/steps_00000.npy",),
    "shard of a table": ("tables/shards1/shards/steps_00000.npy", "tables/shards1/shards/steps_00001.npy"),
    "artifact": (MODEL,),
    "versions": (f"{MODEL}/versions.json",),
    "version": (f"{MODEL}/v2",),
    "version of an artifact": (f"{MODEL}/v2", f"{MODEL}/v3"),
    "metadata": (f"{MODEL}/v2/metadata.json",),
    "metadata of an artifact": (f"{MODEL}/v2/metadata.json", f"{MODEL}/v3/metadata.json"),
    "manifest": (f"{MODEL}/v2/manifest.json",),
    "files": (f"{MODEL}/v2/files",),
    "file": (f"{MODEL}/v2/files/weights.bin",),
    "content": ("artifacts/.dedup/[0-7]*/*", "artifacts/.dedup/[8-f]*/*"),
    "deleted version": (f"{MODEL}/v1/.deleted", f"{MODEL[:-1]}2/v1/.deleted"),
}


def pair_of(path: Path, kind: str) -> tuple[Path, Path]:
    """Find the two files of a kind."""
    one, other, *_ = [*KINDS[kind], re.sub(r"(?<=[a-uw-z])1", "2", KINDS[kind][0])]
    return next(path.glob(one)), next(path.glob(other))


def swap(one: Path, other: Path, _aside: Path) -> None:
    beside = one.with_name(one.name + ".beside")
    one.rename(beside)
    other.rename(one)
    beside.rename(other)


def copy_over(one: Path, other: Path, aside: Path) -> None:
    other.rename(aside)
    subprocess.run(["cp", "-a", one, other], check=True)


def put_back(one: Path, other: Path, aside: Path) -> None:
    if not aside.exists():
        swap(one, other, aside)
        return
    shutil.rmtree(other) if other.is_dir() else other.unlink()
    aside.rename(other)


Deed = Callable[[Path, Path, Path], None]
Pair = tuple[Path, Path]


class Trial:
    """Files of a store under the names of others, and what becomes of that.

    Args:
        store: The store as it should be.
        work: A folder for copies.
    """

    def __init__(self, store: Path, work: Path) -> None:
        self._store, self._work = store, work
        self._before = twins.values_of(store)
        self._known = {_spelled(store, finding) for finding in verify(store, full=True)}

    def problems(self, kinds: Sequence[str], deed: Deed) -> list[str]:
        """Try several kinds that have nothing to do with each other at once; name what is silently wrong, by kind."""
        found = [*self._kept(kinds, deed), *self._rebuilt(kinds, deed)]
        if not found or len(kinds) == 1:
            return found
        return [problem for kind in kinds for problem in self.problems([kind], deed)]

    def _kept(self, kinds: Sequence[str], deed: Deed) -> list[str]:
        """Try it in the store itself, with its catalogue; nothing that is done there writes."""
        done: list[tuple[Path, Path, Path]] = []
        try:
            for number, kind in enumerate(kinds):
                done.append((*pair_of(self._store, kind), self._work / f"aside{number}"))
                deed(*done[-1])
            return [f"{problem} (the catalogue was kept)" for problem in self._silent(self._store, kinds, done)]
        finally:
            for one, other, aside in reversed(done):
                put_back(one, other, aside)

    def _rebuilt(self, kinds: Sequence[str], deed: Deed) -> list[str]:
        """Try it in a copy, and rebuild that."""
        copy, aside = self._work / "copy", self._work / "gone"
        for leftover in (copy, aside):
            shutil.rmtree(leftover, ignore_errors=True)
        subprocess.run(["cp", "-a", self._store, copy], check=True)
        aside.mkdir()
        done = [(*pair_of(copy, kind), aside / str(number)) for number, kind in enumerate(kinds)]
        for each in done:
            deed(*each)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            playhead.rebuild(copy)
        return [f"{problem} (the catalogue was rebuilt)" for problem in self._silent(copy, kinds, done)]

    def _silent(self, path: Path, kinds: Sequence[str], done: Sequence[tuple[Path, Path, Path]]) -> list[str]:
        """Name what is read wrong, or refused without the name of a file, and what no check reports."""
        found = twins.values_of(path)
        wrong = {what: found.get(what) for what in self._before | found if found.get(what) != self._before.get(what)}
        named = {what for what, value in wrong.items() if isinstance(value, PlayheadError) and str(path) in str(value)}
        if not wrong.keys() - named:
            return []
        told = [finding for finding in verify(path, full=True) if _spelled(path, finding) not in self._known]
        return [
            f"{kind}: {sorted(wrong.keys() - named)}, told: {[*map(str, told)]}"
            for kind, (one, other, _) in zip(kinds, done, strict=True)
            if not any(_is_about(finding, (one, other)) for finding in told)
        ]


def _spelled(path: Path, finding: Finding) -> str:
    return str(finding).replace(str(path), "")


def _is_about(finding: Finding, pair: Pair) -> bool:
    """Return whether a finding names one of two files, or what they are in or beside."""
    if finding.is_harmless and not all((one / "meta.json").exists() or one.parent.name == "episodes" for one in pair):
        return False  # a note is enough only of a whole folder: its uid says what is in it
    places = [one.parent if (one.parent / "meta.json").exists() else one for one in pair]
    return any(finding.path in (one, *one.parents) or finding.path.is_relative_to(one) for one in places)


def batches() -> list[list[str]]:
    """Part the kinds so that no two of a batch are of the same run, reel, episode, table or artifact."""
    rooms: dict[str, list[str]] = {}
    for kind, paths in KINDS.items():
        top, name, *_ = paths[0].split("/")
        rooms.setdefault(top if top in ("replay", "artifacts") else f"{top}/{name}", []).append(kind)
    rounds = max(map(len, rooms.values()))
    return [[kinds[number] for kinds in rooms.values() if number < len(kinds)] for number in range(rounds)]


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    work = tmp_path_factory.mktemp("swaps")
    twins.make(work / "store")
    return Trial(work / "store", work)


@pytest.mark.parametrize("deed", [swap, copy_over])
@pytest.mark.parametrize("kinds", batches(), ids=lambda kinds: kinds[0])
def test_what_lies_under_anothers_name_is_right_or_refused_or_reported(
    trial: Trial, kinds: list[str], deed: Deed
) -> None:
    assert trial.problems(kinds, deed) == []
