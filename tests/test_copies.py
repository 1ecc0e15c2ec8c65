"""Copies of stores: complete at their first open, however they were made and whoever records into the original."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

import playhead
from playhead import opening
from playhead.care import verify
from tests.dump import dump

WRITER = """
import sys, time, itertools
import numpy as np
import playhead
from playhead.lanes.arrays.config import ReplayConfig
store, name = playhead.open(sys.argv[1]), sys.argv[2]
print("recording", flush=True)
for number in itertools.count():
    with store.run(name, "n", config={"number": number}, tags=[name], environment=False) as run:
        run.set_primary_metric("loss", "min")
        run.summary(number=number)
        for i in range(200):
            run.log({"loss": 1 / (i + 1), "step": i})
        if number % 3 == 0:
            with run.new_episode("teleop") as episode:
                for i in range(20):
                    episode.append("x", float(i), i + 1)
        if number % 4 == 1:
            run.log_image("frame", np.zeros((4, 4, 3), np.uint8))
        if number % 5 == 2:
            import pathlib
            path = pathlib.Path(sys.argv[3]) / f"{name}.bin"
            path.write_bytes(bytes([number % 256]) * 1000)
            run.log_artifact(f"model-{name}", path)
        if number % 4 == 3:
            reel = run.new_reel(facts={"env_id": "e"})
            for seed in range(2):
                reel.begin({"seed": seed})
                for i in range(30):
                    arrays = {"observations": np.full(3, i, np.float32), "actions": i % 2}
                    reel.step(arrays, 1.0, i == 29, False, b'{"lives":%d}' % i)
                    time.sleep(0.002)
                if seed:
                    time.sleep(0.1)
                reel.end("terminated")
"""


def by_cp(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-a", source, target], check=False, stderr=subprocess.DEVNULL)


def by_plain_cp(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-r", source, target], check=False, stderr=subprocess.DEVNULL)


def by_tar(source: Path, target: Path) -> None:
    target.mkdir()
    subprocess.run(f"tar -C {source} -cf - . 2>/dev/null | tar -C {target} -xf -", shell=True, check=False)


def by_rsync(source: Path, target: Path) -> None:
    if not shutil.which("rsync"):
        pytest.skip("no rsync here")
    subprocess.run(["rsync", "-a", f"{source}/", f"{target}/"], check=False, stderr=subprocess.DEVNULL)


def without_hidden(source: Path, target: Path) -> None:
    target.mkdir()
    subprocess.run(f"cp -a {source}/* {target}/", shell=True, check=False, stderr=subprocess.DEVNULL)


USES = "SELECT id, type, artifact_uses.name, version FROM artifact_uses JOIN runs ON run = runs.key ORDER BY 1, 2, 3, 4"
COPIERS = [by_cp, by_plain_cp, by_tar, by_rsync, without_hidden]


def with_uses(path: Path) -> set[str]:
    """Name the runs of which the list of what they used is there; opening a store to record may restore others."""
    return {file.parent.name for file in path.glob("*/*/runs/*/artifacts_used.json")}


def answers(path: Path, mode: str, there: set[str] | None = None) -> dict[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a copy does not hold, and what of it cannot be read
        with playhead.open(path, mode) as store:
            store.artifacts.list()
            found = dump(store)
            found["artifacts"] = repr(
                store.sql("SELECT type, name, version, status, created_by_run FROM artifact_versions ORDER BY 1, 2, 3")
                .to_pylist()
            )  # fmt: skip
            # Of a run that was copied while it was purged, the catalogue may know more than is left of its folder.
            there = with_uses(path) if there is None else there
            found["uses"] = repr([use for use in store.sql(USES).to_pylist() if use["id"] in there])
            return found


def difference(found: str, due: str) -> str:
    """Show where two answers begin to differ."""
    same = next((place for place, (one, other) in enumerate(zip(found, due, strict=False)) if one != other), 0)
    place = max(0, same - 80)
    return f"...{found[place:][:240]}... for ...{due[place:][:240]}..."


def check_complete(copy: Path, scratch: Path) -> None:
    """Compare what a copy says, opened to read and to record, with what its files say."""
    there = with_uses(copy)
    read = answers(copy, "r", there)
    again = scratch / f"{copy.name}-again"
    subprocess.run(["cp", "-a", copy, again], check=True)
    recorded = answers(copy, "a", there)
    for path in again.glob("playhead.db*"):
        path.unlink()
    due = answers(again, "r", there)
    for name, rows in due.items():
        assert read[name] == rows, f"{name}, read: {difference(read[name], rows)}"
    due = answers(again, "a", there)
    for name, rows in due.items():
        assert recorded[name] == rows, f"{name}, opened to record: {difference(recorded[name], rows)}"
    shutil.rmtree(again)


def test_an_episode_that_was_copied_while_it_was_sealed_is_listed_with_its_signals(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "s") as store:
        writer = store.dataset("teleop").new_episode()
        writer.append("x", 1.0, 1)
        by_cp(tmp_path / "s", tmp_path / "copy")
        writer.append("x", 2.0, 20)
        writer.close()
    (folder,) = (tmp_path / "copy" / "episodes").glob("*/*/*[0-9]")
    shutil.rmtree(folder)
    by_cp(tmp_path / "s" / folder.relative_to(tmp_path / "copy"), folder)
    (folder / ".unfinished").touch()
    (tmp_path / "scratch").mkdir()
    check_complete(tmp_path / "copy", tmp_path / "scratch")


@pytest.mark.parametrize("mode", ["a", "r"])
def test_a_copy_keeps_lineage_of_which_the_file_was_not_copied(tmp_path: Path, mode: str) -> None:
    source = tmp_path / "model.bin"
    source.write_bytes(b"weights")
    with playhead.open(tmp_path / "s") as store:
        store.artifacts.save("model", source)
        with store.run("p", "n", run_id="r", environment=False) as run:
            run.use_artifact("model:v1")
    by_cp(tmp_path / "s", tmp_path / "copy")
    (file,) = (tmp_path / "copy").glob("*/*/runs/r/artifacts_used.json")
    file.unlink()
    with playhead.open(tmp_path / "copy", mode) as store:
        assert [(use["id"], use["name"]) for use in store.sql(USES).to_pylist()] == [("r", "model")]
    assert any(finding.path == file for finding in verify(tmp_path / "copy", full=True))


def test_a_copy_without_the_artifacts_that_its_catalogue_knows_lists_none(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"weights")
    with playhead.open(tmp_path / "s") as store:
        store.artifacts.save("model", tmp_path / "model.bin")
    by_cp(tmp_path / "s", tmp_path / "copy")
    shutil.rmtree(tmp_path / "copy" / "artifacts")  # the copy began before there were any
    check_complete(tmp_path / "copy", tmp_path)
    assert answers(tmp_path / "copy", "r")["artifacts"] == "[]"


@pytest.mark.parametrize("mode", ["a", "r"])
def test_a_copy_keeps_lineage_of_which_the_list_was_emptied(tmp_path: Path, mode: str) -> None:
    source = tmp_path / "model.bin"
    source.write_bytes(b"weights")
    with playhead.open(tmp_path / "s") as store:
        store.artifacts.save("model", source)
        with store.run("p", "n", run_id="r", environment=False) as run:
            run.use_artifact("model:v1")
    by_cp(tmp_path / "s", tmp_path / "copy")
    (file,) = (tmp_path / "copy").glob("*/*/runs/r/artifacts_used.json")
    data = file.read_bytes()
    file.write_text('{"artifacts": []}')
    with playhead.open(tmp_path / "copy", mode) as store:
        assert [(use["id"], use["name"]) for use in store.sql(USES).to_pylist()] == [("r", "model")]
    assert (file.read_bytes() == data) == (mode == "a")  # what is open for reading is not changed


def test_copies_of_a_store_that_others_record_into_are_complete(tmp_path: Path) -> None:
    source, scratch = tmp_path / "s", tmp_path / "scratch"
    scratch.mkdir()
    playhead.open(source).close()
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(source), f"w{n}", str(scratch)], stdout=subprocess.PIPE)
        for n in range(4)
    ]
    rounds = 4 if os.environ.get("PLAYHEAD_CAMPAIGN") else 1
    copies = []
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline()
        for number in range(rounds):
            for copier in COPIERS:
                if copier is by_rsync and not shutil.which("rsync"):
                    continue
                time.sleep(0.7)
                copies.append(tmp_path / f"{copier.__name__}-{number}")
                copier(source, copies[-1])
        for writer in writers:
            assert writer.poll() is None, "a writer ended"
        for copy in copies:
            check_complete(copy, scratch)
        recorded = answers(copies[0], "a")
        assert opening.rebuild(copies[0]) == []  # while those who record into the original live
        assert answers(copies[0], "a") == recorded
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()


def test_a_copy_that_is_only_read_knows_the_versions_that_its_catalogue_misses(tmp_path: Path) -> None:
    source, (first, second) = tmp_path / "s", (tmp_path / "1.bin", tmp_path / "2.bin")
    first.write_bytes(b"1")
    second.write_bytes(b"2")
    with playhead.open(source) as store:
        store.artifacts.save("model", first)
        early = tmp_path / "early.db"
        with contextlib.closing(sqlite3.connect(source / "playhead.db")) as catalogue:
            catalogue.execute("VACUUM INTO ?", [str(early)])
        store.artifacts.save("model", second)
    copy = tmp_path / "copy"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("playhead.db*"))
    shutil.copy(early, copy / "playhead.db")
    check_complete(copy, tmp_path)
    assert answers(copy, "r")["artifacts"].count("'version'") == 2


@pytest.mark.parametrize("mode", ["r", "a"])
def test_a_copy_whose_catalogue_is_torn_is_indexed_from_its_files(tmp_path: Path, mode: str) -> None:
    source = tmp_path / "s"
    with playhead.open(source) as store:
        run = store.run("p", "n", run_id="r", environment=False)
        run.log({"a": 1})
        run.flush()
        copy = tmp_path / "copy"
        by_cp(source, copy)
        run.finish()
    for beside in copy.glob("playhead.db-*"):
        beside.unlink()
    with (copy / "playhead.db").open("r+b") as catalogue:
        catalogue.seek(100)
        catalogue.write(b"\xff" * 200)  # the list of tables, of another moment than its head
    with playhead.open(copy, mode) as found:
        assert [(run.id, run["a"].values.tolist()) for run in found.runs] == [("r", [1])]


def test_a_catalogue_that_is_damaged_where_it_is_stays_for_a_person_to_see(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "s") as store:
        store.run("p", "n", run_id="r", environment=False).finish()
    with (tmp_path / "s" / "playhead.db").open("r+b") as catalogue:
        catalogue.seek(100)
        catalogue.write(b"\xff" * 200)
    (tmp_path / "s" / ".recording" / "x.1.json").write_text("{}")
    for mode in ("r", "a"):
        with pytest.raises(playhead.Damaged, match="malformed"):
            playhead.open(tmp_path / "s", mode)
