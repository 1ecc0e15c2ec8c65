"""A file, or a folder, that lies under the name of another of its kind is never read as that other without a word.

Here with the catalogue kept, and with it rebuilt; `make campaign` also repairs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path

import pytest

import playhead
from playhead import layout
from playhead.care import verify
from playhead.care.finding import Finding
from playhead.care.repairing import Repair
from playhead.errors import PlayheadError
from playhead.layout import Layout
from tests.care import twins

Pair = tuple[Path, Path]

RUN, MADE, USER, GONE, DIED = (f"project/{name}1/runs/{name}1" for name in ("run", "made", "user", "gone", "died"))
EPISODE, MODEL = "episodes/data1/000000000000/000000000000", "artifacts/model/model1"
NEXT, CUT = EPISODE[:-1] + "1", "episodes/cut1/000000000000/000000000000"

# One of each pair; the other is named alike with a 2 for the 1, where it is not said.
KINDS: dict[str, tuple[str, ...]] = {
    "run": (RUN,),
    "meta": (f"{USER}/meta.json",),
    "status": (f"{MADE}/status.json",),
    "summary": (f"{RUN}/summary.json",),
    "environment": (f"{RUN}/environment.json",),
    "log": (f"{RUN}/logs.txt",),
    "checksums": (f"{MADE}/checksums.json",),
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
    "part and view": ("replay/run1.1/0000.h5", "replay/run1.1.h5"),
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
    "episode of a dataset": (EPISODE, NEXT),
    "meta of an episode": (f"{EPISODE}/meta.json",),
    "static": (f"{NEXT}/static.json",),
    "vector": (f"{EPISODE}/joint.parquet",),
    "vector of an episode": (f"{EPISODE}/joint.parquet", f"{EPISODE}/other.parquet"),
    "text": (f"{NEXT}/said.parquet",),
    "text of an episode": (f"{NEXT}/said.parquet", f"{NEXT}/told.parquet"),
    "video": (f"{EPISODE}/camera.mp4",),
    "video and its frames": (f"{EPISODE}/camera.mp4",),
    "video and its frames of a dataset": (f"{EPISODE}/camera.mp4", f"{NEXT}/camera.mp4"),
    "frames": (f"{NEXT}/camera.frames.parquet",),
    "frames of an episode": (f"{NEXT}/camera.frames.parquet", f"{NEXT}/wrist.frames.parquet"),
    "tape": (f"{CUT}/.recording",),
    "segment of a tape": (f"{CUT}/.recording/000000.seg",),
    "meta of a cut episode": (f"{CUT}/meta.json",),
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
    "manifest": (f"{MODEL}/v3/manifest.json",),
    "files": (f"{MODEL}/v2/files",),
    "file": (f"{MODEL}/v3/files/weights.bin",),
    "content": ("artifacts/.dedup/[0-7]*/*", "artifacts/.dedup/[8-f]*/*"),
    "deleted version": (f"{MODEL}/v1/.deleted", f"{MODEL[:-1]}2/v1/.deleted"),
}

# Of these kinds, the files of this name beside the two change places, too.
BESIDE = dict.fromkeys(("video and its frames", "video and its frames of a dataset"), "camera.frames.parquet")


def pairs_of(path: Path, kind: str) -> list[Pair]:
    """Find the two files of a kind, and those that go with them."""
    one, other, *_ = [*KINDS[kind], re.sub(r"(?<=[a-uw-z])1", "2", KINDS[kind][0])]
    pair = next(path.glob(one)), next(path.glob(other))
    return [pair] if kind not in BESIDE else [pair, (pair[0].with_name(BESIDE[kind]), pair[1].with_name(BESIDE[kind]))]


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


CAMPAIGN = os.environ.get("PLAYHEAD_CAMPAIGN") == "1"
Deed = Callable[[Path, Path, Path], None]
Way = Callable[[Sequence[str], Deed], dict[str, str]]


class Trial:
    """Files of a store under the names of others, and what becomes of that.

    Args:
        store: The store as it should be.
        work: A folder for copies.
    """

    def __init__(self, store: Path, work: Path) -> None:
        self.store, self._work = store, work
        self._before = twins.values_of(store)
        self._known = {_spelled(store, finding) for finding in verify(store, full=True)}

    def problems(self, kinds: Sequence[str], deed: Deed) -> list[str]:
        """Try several kinds that have nothing to do with each other at once; name what is silently wrong, by kind."""
        ways = [self._kept, self._rebuilt, *([self._repaired] if CAMPAIGN else [])]
        return [problem for way in ways for problem in self._tried(way, kinds, deed)]

    def _tried(self, way: Way, kinds: Sequence[str], deed: Deed) -> list[str]:
        """Try some kinds; what no check reports is tried again without the others, and then nothing may be wrong."""
        found = way(kinds, deed)
        if not found or len(found) == len(kinds):
            return list(found.values())
        return self._tried(way, list(found), deed)

    def _kept(self, kinds: Sequence[str], deed: Deed) -> dict[str, str]:
        """Try it in the store itself, with its catalogue; nothing that is done there writes."""
        done: list[tuple[Path, Path, Path]] = []
        try:
            pairs = {kind: pairs_of(self.store, kind) for kind in kinds}
            for pair in chain.from_iterable(pairs.values()):
                done.append((*pair, self._work / f"aside{len(done)}"))
                deed(*done[-1])
            return self._silent(self.store, pairs)
        finally:
            for one, other, aside in reversed(done):
                put_back(one, other, aside)

    def _rebuilt(self, kinds: Sequence[str], deed: Deed) -> dict[str, str]:
        """Try it in a copy, and rebuild that."""
        copy, pairs = self._in_a_copy(kinds, deed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            playhead.rebuild(copy)
        return self._silent(copy, pairs)

    def _repaired(self, kinds: Sequence[str], deed: Deed) -> dict[str, str]:
        """Try it in a copy, and repair that; what was moved aside is missing, and not wrong."""
        copy, pairs = self._in_a_copy(kinds, deed)
        deeds = list(Repair(Layout(copy)).mend(verify(copy, full=True)))
        moved = any("moved to" in one.done for one in deeds)
        return {} if moved and len(kinds) == 1 else self._silent(copy, pairs)

    def _in_a_copy(self, kinds: Sequence[str], deed: Deed) -> tuple[Path, dict[str, list[Pair]]]:
        copy, aside = self._work / "copy", self._work / "gone"
        for leftover in (copy, aside):
            shutil.rmtree(leftover, ignore_errors=True)
        subprocess.run(["cp", "-a", self.store, copy], check=True)
        aside.mkdir()
        pairs = {kind: pairs_of(copy, kind) for kind in kinds}
        for number, pair in enumerate(chain.from_iterable(pairs.values())):
            deed(*pair, aside / str(number))
        return copy, pairs

    def _silent(self, path: Path, pairs: Mapping[str, Sequence[Pair]]) -> dict[str, str]:
        """Say of each kind that no check reports what is read wrong, or refused without the name of a file."""
        found = twins.values_of(path)
        wrong = {what: found.get(what) for what in self._before | found if found.get(what) != self._before.get(what)}
        named = {what for what, value in wrong.items() if isinstance(value, PlayheadError) and str(path) in str(value)}
        if not wrong.keys() - named:
            return {}
        told = [finding for finding in verify(path, full=True) if _spelled(path, finding) not in self._known]
        return {
            kind: f"{kind} in {path.name}: {sorted(wrong.keys() - named)}, told: {[*map(str, told)]}"
            for kind, changed in pairs.items()
            if not any(_is_about(finding, pair) for finding in told for pair in changed)
        }


def _spelled(path: Path, finding: Finding) -> str:
    return str(finding).replace(str(path), "")


def _is_about(finding: Finding, pair: Pair) -> bool:
    """Return whether a finding names one of two files, or what they are in or beside."""
    if finding.is_harmless and not all((one / "meta.json").exists() or one.parent.name == "episodes" for one in pair):
        return False  # a note is enough only of a whole folder: its uid says what is in it
    places = [one.parent if (one.parent / "meta.json").exists() else one for one in pair]
    return any(finding.path in (one, *one.parents) or finding.path.is_relative_to(one) for one in places)


def _scope(path: str) -> str:
    """Name the run, episode, reel, table or version that a file is of."""
    folders = path.split("/")
    deep = {"project": 4, "episodes": 4, "artifacts": 4, "traces": 2, "tables": 2}
    return "/".join(folders[: deep.get(folders[0], 1)])


def batches() -> list[list[str]]:
    """Part the kinds so that no two of a batch are of the same run, reel, episode, table or version."""
    found: list[dict[str, set[str]]] = []
    for kind, paths in KINDS.items():
        mine = {_scope(path) for path in paths}
        for batch in found:
            others = set[str]().union(*batch.values())
            if not any(one.startswith(other) or other.startswith(one) for one in mine for other in others):
                batch[kind] = mine
                break
        else:
            found.append({kind: mine})
    return [list(batch) for batch in found]


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


# What each member of the layout names: a kind, or why there is nothing to swap.
ONE, LOCK, PLACE, MARK, FOREIGN = "one a store", "a lock", "a place in which nothing is read", "only there or not", "no"
LAYOUT = {
    **{f"Layout.{name}": ONE for name in ("marker", "database", "verified", "artifacts", "replay", "recording")},
    **{f"Layout.{name}": PLACE for name in ("trash", "incoming", "quarantine")},
    "Layout.recording_entry": "claim", "Layout.run": "run", "Layout.run_at": "run", "Layout.dataset": "dataset",
    "Layout.table": "table", "Layout.traces": "traces",
    "RunFolder.meta": "meta", "RunFolder.status": "status", "RunFolder.summary": "summary", "RunFolder.logs": "log",
    "RunFolder.environment": "environment", "RunFolder.checksums": "checksums", "RunFolder.media": "images",
    "RunFolder.artifacts_created": "made", "RunFolder.artifacts_used": "used", "RunFolder.deleted": "deleted",
    "RunFolder.events": "events",
    "ReelFiles.file": "reel", "ReelFiles.journal": "journal", "ReelFiles.parts": "parts", "ReelFiles.part": "part",
    "ReelFiles.episodes": "of other programs, whose replays say of nothing whose it is",
    "ReplayFolder.index": ONE, "ReplayFolder.reel": "reel", "TraceFolder.file": "trace",
    "EpisodeFolder.path": "episode", "EpisodeFolder.meta": "meta of an episode", "EpisodeFolder.static": "static",
    "EpisodeFolder.unfinished": MARK, "EpisodeFolder.tombstone": MARK, "EpisodeFolder.tape": "tape",
    "EpisodeFolder.edits": "as those of a dataset, of which each line says of which episode it is",
    "EpisodeFolder.vector": "vector", "EpisodeFolder.video": "video", "EpisodeFolder.frames": "frames",
    "EpisodeFolder.owned": "vector", "DatasetFolder.edits": "edits", "DatasetFolder.episode": "episode",
    "DatasetFolder.settled": "up to where a dataset was looked at after a power cut: nothing that was recorded",
    "TableFolder.sibling": "table", "TableFolder.database": "database of a table", "TableFolder.steps": "rows",
    "TableFolder.manifest": "manifest of a table", "TableFolder.shard": "shard", "TableFolder.part": "shard",
    "ArtifactsFolder.pool": ONE, "ArtifactsFolder.artifact": "artifact", "ArtifactsFolder.at": "artifact",
    "PoolFolder.lock": LOCK, "PoolFolder.blob": "content",
    "ArtifactFolder.lock": LOCK, "ArtifactFolder.versions": "versions", "ArtifactFolder.version": "version",
    "ArtifactFolder.type": PLACE, "ArtifactFolder.name": PLACE,
    "VersionFolder.metadata": "metadata", "VersionFolder.manifest": "manifest", "VersionFolder.files": "files",
    "VersionFolder.folder": "files", "VersionFolder.link_to": "files", "VersionFolder.deleted": "deleted version",
}  # fmt: skip
SINGLE = {"playhead.json", ".settled.json", "index.json", ".unfinished", "writer.lock", ".lock"}


def test_every_file_that_the_layout_knows_is_swapped() -> None:
    """A new one has to be said here, with the kind that covers it."""
    members = set()
    for name in ("Layout", *(name for name in layout.__all__ if name.endswith(("Folder", "Files")))):
        for member, found in vars(getattr(layout, name)).items():
            told = getattr(found, "fget", found)
            if member[0] != "_" and re.fullmatch(r"Path|str|\w+(Folder|Files)", _returned(told)):
                members.add(f"{name}.{member}")
    said = {"Layout.relative", "ArtifactsFolder.path"}  # texts that name no file
    assert members - said == set(LAYOUT)
    assert {kind for kind in LAYOUT.values() if " " not in kind} <= set(KINDS)


def test_the_store_has_two_of_every_file(trial: Trial) -> None:
    store = trial.store
    there = {_shape(path.relative_to(store)) for path in store.rglob("*") if path.is_file()}
    swapped = {
        _shape(path.relative_to(store))
        for kind in KINDS
        for one in pairs_of(store, kind)[0][:1]
        for path in ([one] if one.is_file() else [path for path in one.rglob("*") if path.is_file()])
    }
    assert {
        shape
        for shape in there - swapped
        if Path(shape).name not in SINGLE and not re.search("db-|^playhead.db", shape)
    } == set()


def _returned(function: object) -> str:
    return str(getattr(function, "__annotations__", {}).get("return", ""))


def _shape(path: Path) -> str:
    """Name what a file is of: without numbers, digests, and the names of runs, signals and images."""
    known = re.sub(r"[0-9a-f]{2}/[0-9a-f]{64}", "digest", path.as_posix())
    known = re.sub(r"(run|made|user|gone|died)[12]", "run", known).replace("tables/shards", "tables/table")
    known = re.sub(r"/(joint|other|said|told)\.", "/vector.", re.sub(r"/(camera|wrist)\.", "/video.", known))
    return re.sub(r"\d[0-9a-f_]*(first|second)?", "#", known)
