"""A store of a stranger: whatever lies in it, nothing outside of it is changed, and nothing waits for ever."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead.care import artifacts, collecting, verify
from playhead.care.ground import Ground
from playhead.care.repairing import Repair
from playhead.care.verifying import look
from playhead.catalog import glance
from playhead.cli import logtail
from playhead.errors import Damaged
from playhead.layout import Layout
from tests.care.test_verifying import change
from tests.test_recovery import killed_run

LONG_AGO = 1e9


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    """A store with one small artifact."""
    (tmp_path / "src" / "conf").mkdir(parents=True)
    (tmp_path / "src" / "model.pt").write_text("weights")
    (tmp_path / "src" / "conf" / ".bashrc").write_text("echo owned\n")
    with playhead.open(tmp_path / "store") as store:
        store.artifacts.save("policy", tmp_path / "src")
    return tmp_path / "store"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """What the stranger would like to have changed: it looks like garbage of each kind."""
    home = tmp_path / "home"
    for name in (
        "policy/v7/chapter.tex",
        "v7/chapter.tex",
        "ab/" + "ab" + "0" * 62,
        "ab" + "0" * 62,
        "old_run/events.jsonl",
        ".x.999999999-0badf00d.tmp",
        "gone.journal/0.journal",
        ".bashrc",
    ):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("years of work")
    for path in (*home.rglob("*"), home):
        os.utime(path, (LONG_AGO, LONG_AGO))
    return home


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "place",
    [
        "artifacts/dataset",
        "artifacts/model/other",
        "artifacts/model/policy/v7",
        "artifacts/.dedup/ab",
        "replay",
        "replay/gone.journal",
        ".trash",
        ".recording",
        "project",
    ],
)
def test_collecting_never_follows_a_link(store_path: Path, home: Path, place: str) -> None:
    link, before = store_path / place, contents(home)
    if link.is_dir():
        shutil.rmtree(link)
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(home)
    with playhead.open(store_path) as store:
        collecting.collect(store._home, older_than=0.0)
        assert store.artifacts["policy:v1"].verify() == []
    assert contents(home) == before


def test_collecting_takes_the_names_of_folders_as_they_are(store_path: Path, home: Path) -> None:
    before = contents(home)
    folder = store_path / "artifacts" / str(home).replace("/", "%2F") / "policy" / "v1"
    folder.mkdir(parents=True)
    os.utime(folder, (LONG_AGO, LONG_AGO))
    with playhead.open(store_path) as store:
        found = collecting.collect(store._home)
    assert [one.path for one in found.garbage] == [folder]
    assert contents(home) == before


@pytest.mark.parametrize("place", ["artifacts", "artifacts/.dedup"])
def test_a_pool_that_lies_elsewhere_is_left_alone_and_told(store_path: Path, tmp_path: Path, place: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.move(store_path / place, elsewhere)
    (store_path / place).symlink_to(elsewhere)
    shutil.rmtree(store_path / "artifacts" / "model")  # now nothing holds the contents
    before = contents(elsewhere)
    with playhead.open(store_path) as store:
        found = collecting.collect(store._home, older_than=0.0)
    assert "a place in the store" in found.problems[0]
    assert contents(elsewhere) == before


def test_a_store_behind_a_link_is_a_store_like_any_other(store_path: Path, tmp_path: Path) -> None:
    stray = store_path / "artifacts/.dedup/ab" / ("ab" + "0" * 62)
    stray.parent.mkdir(exist_ok=True)
    stray.write_text("left by a crash")
    (tmp_path / "link").symlink_to(store_path)
    killed_run(tmp_path / "link")
    with playhead.open(tmp_path / "link") as store:
        assert store.runs["r"].status == "failed"
        found = collecting.collect(store._home, older_than=0.0)
    assert ([one.kind for one in found.garbage], found.problems) == (["blob"], [])
    assert not stray.exists()


@pytest.mark.parametrize("place", ["files", "files/conf"])
def test_repairing_never_writes_through_a_link(store_path: Path, home: Path, place: str) -> None:
    before = contents(home)
    link = store_path / "artifacts/model/policy/v1" / place
    shutil.rmtree(link)
    link.symlink_to(home)
    deeds = list(Repair(Layout(store_path)).mend(verify(store_path, full=True)))
    assert [deed.done for deed in deeds if deed.path == link] == ["made anew from the pool"]
    assert contents(home) == before
    with playhead.open(store_path) as store:
        assert store.artifacts["policy:v1"].verify() == []


@pytest.mark.parametrize("place", ["pong", "episodes/teleop", "replay"])
def test_repairing_changes_nothing_behind_a_link(path: Path, tmp_path: Path, place: str) -> None:
    """Here a whole project, dataset or lane lies elsewhere, and is damaged there."""
    elsewhere = tmp_path / "elsewhere"
    shutil.move(path / place, elsewhere)
    (path / place).symlink_to(elsewhere)
    for file in elsewhere.rglob("joint.parquet"):
        change(file)
    for name in ("runs/*/meta.json", "runs/*/status.json", "index.json"):
        for file in elsewhere.rglob(name):
            file.write_text("{")
    before = {file: file.read_bytes() for file in elsewhere.rglob("*") if file.is_file()}
    deeds = list(Repair(Layout(path)).mend(verify(path, full=True)))
    assert any("Put what they lead to in their place" in deed.left for deed in deeds)
    assert {file: file.read_bytes() for file in elsewhere.rglob("*") if file.is_file()} == before


def test_opening_cuts_no_file_behind_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text("first line\nthe last line has no newline")
    events = killed_run(tmp_path / "s") / "events.jsonl"
    events.unlink()
    events.symlink_to(victim)
    with pytest.warns(RuntimeWarning, match=r"events\.jsonl is damaged: .* a link to .*victim"):
        playhead.open(tmp_path / "s").close()
    assert victim.read_text() == "first line\nthe last line has no newline"


@pytest.mark.parametrize("is_run", [True, False])
def test_opening_settles_no_run_behind_a_link(tmp_path: Path, is_run: bool) -> None:
    """Neither is a run cut that lies elsewhere, nor a folder removed that looks like one that died early."""
    folder = killed_run(tmp_path / "s")
    (folder / "events.jsonl").write_text('{"a": 1' if is_run else "")
    if not is_run:
        (folder / "meta.json").unlink()
    shutil.move(tmp_path / "s" / "p", tmp_path / "home")
    (tmp_path / "s" / "p").symlink_to(tmp_path / "home")
    before = contents(tmp_path / "home")
    with pytest.warns(RuntimeWarning, match="links that lead to"):
        playhead.open(tmp_path / "s").close()
    assert contents(tmp_path / "home") == before
    assert before


RUN = "pong/dqn/runs/run_a"


@pytest.mark.parametrize(
    ("place", "left"), [(RUN, ["run_b", "run_c"]), ("pong/dqn/runs", ["run_c"]), ("pong/dqn", ["run_c"]), ("pong", [])]
)
def test_no_run_is_read_behind_a_link(path: Path, tmp_path: Path, place: str, left: list[str]) -> None:
    """Was a bug: the folder that a link leads to was indexed, and checked, as a run of the store."""
    shutil.move(path / place, tmp_path / "elsewhere")
    (path / place).symlink_to(tmp_path / "elsewhere")
    assert "run_a" not in [folder.path.name for folder in Layout(path).run_folders()]
    problems = playhead.rebuild(path)
    assert f"{RUN}/meta.json" in {os.path.relpath(problem.path, path) for problem in problems}
    with playhead.open(path) as store:
        assert sorted(run.id for run in store.runs) == left
    told = [finding for finding in verify(path) if finding.path == path / RUN / "meta.json"]
    assert ["links that lead to" in finding.found for finding in told] == [True]


def test_a_run_that_the_catalogue_knows_is_not_read_behind_a_link(path: Path, tmp_path: Path) -> None:
    """Was a bug: only the text of the path was looked at."""
    shutil.move(path / RUN, tmp_path / "elsewhere")
    (path / RUN).symlink_to(tmp_path / "elsewhere")
    with playhead.open(path) as store:
        run = store.runs["run_a"]
        for read in (lambda: run.path, run.logs, lambda: run.media, lambda: run.environment):
            with pytest.raises(Damaged, match="links that lead to"):
                read()


def test_a_link_within_the_store_is_no_second_run(path: Path) -> None:
    (path / "pong/dqn/runs/again").symlink_to("run_a")
    (problem,) = playhead.rebuild(path)
    assert "run_a" in problem.found
    with playhead.open(path) as store:
        assert sorted(run.id for run in store.runs) == ["run_a", "run_b", "run_c"]


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
def test_a_catalogue_that_is_a_link_is_refused_and_made_anew(path: Path, tmp_path: Path, suffix: str) -> None:
    """Was a bug: SQLite followed it, and wrote there."""
    victim, file = tmp_path / "victim", path / f"playhead.db{suffix}"
    if suffix:
        victim.write_bytes(b"years of work")
    else:
        shutil.move(file, victim)
    file.unlink(missing_ok=True)
    file.symlink_to(victim)
    before = victim.read_bytes()
    for mode in "ar":
        with pytest.raises(playhead.Damaged, match=r"a link to .*victim.*playhead rebuild"):
            playhead.open(path, mode=mode)
    assert glance.projects(path / "playhead.db") == []
    told = [finding for finding in verify(path) if finding.path == file]
    assert [finding.found for finding in told] == [f"a link to {victim}"]
    assert playhead.rebuild(path) == []
    with playhead.open(path) as store:
        assert len(store.runs) == 3
    assert victim.read_bytes() == before


@pytest.mark.parametrize("place", ["s/playhead.db", "s/p/n/runs/r/meta.json"])
def test_a_store_whose_folder_is_a_link_has_its_catalogue_and_runs(tmp_path: Path, place: str) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "s").symlink_to("far")
    with playhead.open(tmp_path / "s") as store, store.run("p", "n", run_id="r", environment=False) as run:
        run.log({"a": 1})
    assert (tmp_path / place).exists()
    assert playhead.rebuild(tmp_path / "s") == []
    with playhead.open(tmp_path / "s", mode="r") as store:
        assert [run.id for run in store.runs] == ["r"]
    assert not [finding for finding in verify(tmp_path / "s", full=True) if not finding.is_harmless]


@pytest.mark.parametrize(
    "place",
    [
        *(f"{RUN}/{name}" for name in ("events.jsonl", "logs.txt", "meta.json", "status.json", "checksums.json")),
        ".recording/run_a.1.json",
        "playhead.db",
        "replay/run_a.h5",
        "replay/run_b.journal/000000.seg",
        "episodes/teleop/000000000000/000000000000/.recording/000000.seg",
        "episodes/teleop/000000000000/000000000001/camera.mp4",
        "episodes/teleop/000000000000/000000000001/camera.frames.parquet",
        "episodes/teleop/000000000000/000000000001/joint.parquet",
    ],
)
@pytest.mark.filterwarnings("ignore:a run could not be recovered")
def test_a_pipe_in_place_of_a_file_of_a_run_makes_nobody_wait(path: Path, place: str) -> None:
    (path / place).parent.mkdir(exist_ok=True)
    assert place.startswith(".recording") or (path / place).is_file()
    (path / place).unlink(missing_ok=True)
    os.mkfifo(path / place)
    with in_time():
        found = list(verify(path, full=True))
        rebuild_problems = playhead.rebuild(path)
        with playhead.open(path) as store:
            for run in store.runs:
                for call in (run.logs, run.summary, lambda run=run: run.config):
                    with contextlib.suppress(playhead.Damaged):
                        call()
            with contextlib.suppress(playhead.Damaged):
                logtail.last_lines(path / RUN / "logs.txt", 5)
    assert rebuild_problems or not place.endswith(("events.jsonl", "meta.json", "status.json"))
    assert place.startswith(".recording") or any(finding.path == path / place for finding in found)


@contextlib.contextmanager
def in_time() -> Iterator[None]:
    def waited_too_long(*_: object) -> None:
        raise AssertionError("it waits for a pipe")

    before = signal.signal(signal.SIGALRM, waited_too_long)
    signal.alarm(20)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    "place",
    [
        "artifacts/.dedup/ab/ab" + "0" * 62,
        "artifacts/.dedup/.lock",
        "artifacts/model/policy/.lock",
        "artifacts/model/policy/versions.json",
        "artifacts/model/policy/v1/metadata.json",
        "artifacts/model/policy/v1/manifest.json",
        "artifacts/model/policy/v1/files/model.pt",
    ],
)
def test_a_pipe_makes_nobody_wait(store_path: Path, tmp_path: Path, place: str) -> None:
    (store_path / place).parent.mkdir(exist_ok=True)
    (store_path / place).unlink(missing_ok=True)
    os.mkfifo(store_path / place)
    with in_time():
        found = list(verify(store_path, full=True))
        list(Repair(Layout(store_path)).mend(found))
        with playhead.open(store_path) as store:
            collecting.collect(store._home, older_than=0.0)
            assert [row.name for row in store.artifacts] == ["policy"]
            with contextlib.suppress(playhead.Damaged):
                store.artifacts.save("policy", tmp_path / "src")
    assert found or place.endswith(".lock")


CALLS: list[Callable[[playhead.Store], object]] = [
    lambda store: list(store.artifacts),
    lambda store: store.artifacts["policy:v1"].summary(),
    lambda store: store.artifacts["policy:latest"].verify(),
    lambda store: store.artifacts["policy:v1"]._repr_html_(),
    lambda store: store.artifacts["policy:v1"].lineage().to_json(),
    lambda store: collecting.collect(store._home, dry_run=True),
]
ODD: list[Any] = [None, 5, -1, 1.5, "x", [], {"a": 1}, 10**30, True]


def odd_files(folder: Path) -> Iterator[tuple[str, Path, dict[str, Any]]]:
    """Give each file of an artifact with one odd value."""
    reference = {"uri": "s3://a/b", "checksum": None, "size": None, "metadata": {}}
    for path in (folder / "versions.json", folder / "v1/metadata.json", folder / "v1/manifest.json"):
        content = json.loads(path.read_text())
        lists = [part for part in ("versions", "files") if part in content]
        for odd in ODD:
            for key in content:
                yield f"{path.name} {key}={odd!r}", path, content | {key: odd}
            for part in lists:
                for key in content[part][0]:
                    yield f"{part} {key}={odd!r}", path, content | {part: [content[part][0] | {key: odd}]}
            for key in reference if "references" in content else ():
                yield f"reference {key}={odd!r}", path, content | {"references": [reference | {key: odd}]}


def test_odd_values_in_the_files_of_an_artifact_are_findings_or_nothing(store_path: Path) -> None:
    """Whatever they are, each check and each call answers, or raises an error of ours."""
    folder, layout = store_path / "artifacts/model/policy", Layout(store_path)
    listed = json.loads((folder / "versions.json").read_text())
    del listed["digest"], listed["metadata_digests"]  # they would tell of everything
    write(folder / "versions.json", listed)
    about = json.loads((folder / "v1/metadata.json").read_text())
    write(folder / "v1/metadata.json", about | {"manifest_digest": None})
    told = 0
    with playhead.open(store_path) as store, Ground(layout) as ground:
        for what, path, content in odd_files(folder):
            before = path.read_bytes()
            write(path, content)
            found = [finding for thing in artifacts.things(ground) for finding in look(thing, layout, False)]
            damage = [finding for finding in found if not finding.is_harmless]
            told += len(damage)
            assert len(damage) <= 1, what
            for call in CALLS:
                with contextlib.suppress(playhead.PlayheadError):
                    call(store)
            path.unlink()
            path.write_bytes(before)
    assert told > 100


def write(path: Path, content: object) -> None:
    path.unlink()
    path.write_text(json.dumps(content))


@pytest.mark.parametrize("is_listed", [True, False])
@pytest.mark.parametrize("has_catalogue", [True, False])
def test_after_a_repair_no_number_is_given_twice(tmp_path: Path, is_listed: bool, has_catalogue: bool) -> None:
    source, path = tmp_path / "m.pt", tmp_path / "store"
    with playhead.open(path) as store:
        for n in range(3):
            source.write_text(f"model {n}")
            version = store.artifacts.save("policy", source, aliases=["best"] if n == 0 else [])
        store.artifacts["policy:v2"].alias("best")
        version.purge()
    listed = path / "artifacts/model/policy/versions.json"
    data = bytearray(listed.read_bytes())
    data[40] ^= 1
    listed.write_bytes(data)
    if is_listed:
        with playhead.open(path) as store:
            assert [bool(row.problem) for row in store.artifacts] == [True]
    if not has_catalogue:
        (path / "playhead.db").unlink()
    assert all(deed.done for deed in Repair(Layout(path)).mend(verify(path, full=True)))
    assert not [finding for finding in verify(path, full=True) if not finding.is_harmless]
    with playhead.open(path) as store:
        source.write_text("another")
        assert store.artifacts.save("policy", source).version == 4
        assert store.artifacts["policy:best"].version == (2 if has_catalogue else 1)
