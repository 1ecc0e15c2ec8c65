"""`verify`: what is wrong is named with what was expected, what was found and what mends it; nothing else is said."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import playhead
from playhead import disk
from playhead.care import Finding, subset, verify
from playhead.errors import BadQuery, NotAStore
from playhead.layout import Layout


def wrong(path: Path, *, full: bool = True) -> list[Finding]:
    """Check; the episode that was cut short is known."""
    found = [finding for finding in verify(path, full=full) if not finding.is_harmless]
    return [finding for finding in found if finding.found != "one that was cut short"]


def change(path: Path, place: int = -1) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.chmod(0o644)
    path.write_bytes(data)


def sql(path: Path, statement: str) -> None:
    with sqlite3.connect(path / "playhead.db") as database:
        assert database.execute(statement).rowcount
    database.close()


@pytest.mark.parametrize("full", [False, True])
def test_a_sound_store_has_no_findings(path: Path, full: bool) -> None:
    assert wrong(path, full=full) == []


def test_nothing_is_written(path: Path) -> None:
    def state() -> dict[str, tuple[int, bytes]]:
        files = [
            file for file in sorted(path.rglob("*")) if file.is_file() and not file.name.endswith(("-shm", "-wal"))
        ]
        return {str(file): (file.stat().st_mtime_ns, file.read_bytes()) for file in files}

    before = state()
    list(verify(path, full=True))
    assert state() == before


def test_a_folder_that_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotAStore, match=r"playhead\.json"):
        list(verify(tmp_path))


@pytest.mark.parametrize(
    ("where", "lane", "cure"),
    [
        ("replay/run_a/0000.h5", "replay", "quarantine"),
        ("replay/run_a.h5", "replay", "view"),
        ("replay/run_b.journal/000000.seg", "replay", ""),
        ("episodes/teleop/000000000000/000000000001/joint.parquet", "episodes", "quarantine"),
        ("episodes/teleop/000000000000/000000000001/camera.mp4", "episodes", "quarantine"),
        ("tables/numbers/steps.npy", "tables", ""),
        ("artifacts/model/policy/v1/manifest.json", "artifacts", ""),
        ("artifacts/model/policy/v1/metadata.json", "artifacts", ""),
        ("artifacts/model/policy/versions.json", "artifacts", "versions"),
    ],
)
def test_a_changed_file_is_named(path: Path, where: str, lane: str, cure: str) -> None:
    file = path / where
    change(file, -30 if file.suffix == ".h5" else -5)
    found = [finding for finding in wrong(path) if finding.path == file]
    assert found, wrong(path)
    assert (found[0].lane, found[0].cure) == (lane, cure)
    assert found[0].expected
    assert found[0].found
    assert found[0].mend


def test_a_changed_content_of_the_pool_is_found_by_a_full_check(path: Path) -> None:
    blob = next(file for file in (path / "artifacts" / ".dedup").rglob("*") if file.is_file() and len(file.name) == 64)
    change(blob)
    assert wrong(path, full=False) == []
    assert blob in [finding.path for finding in wrong(path)]


@pytest.mark.parametrize("full", [False, True])
def test_missing_files_are_found_without_reading(path: Path, full: bool) -> None:
    for where in (
        "replay/run_a/0001.h5",
        "episodes/teleop/000000000000/000000000002/camera.frames.parquet",
        "tables/numbers/steps.npy",
        "artifacts/model/policy/v2/manifest.json",
    ):
        (path / where).unlink()
    media = next((path / "pong/dqn/runs/run_a/media").iterdir())
    media.unlink()
    lanes = {finding.lane for finding in wrong(path, full=full)}
    assert lanes >= {"artifacts", "episodes", "replay", "runs", "tables"}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE points SET value = value + 1e-9 WHERE step = 77",
        "UPDATE points SET step = 78 WHERE step = 77",
        "DELETE FROM points WHERE step = 77",
        "UPDATE series SET max_value = 1e9 WHERE name = 'return'",
        "UPDATE runs SET best_metric_value = 7 WHERE id = 'run_a'",
        "UPDATE runs SET config = '{}' WHERE id = 'run_a'",
        "UPDATE run_values SET number = 3 WHERE key = 'config.lr'",
        "DELETE FROM run_tags",
        "UPDATE media SET caption = 'white'",
        "UPDATE replay_steps SET reward = 2 WHERE step = 3",
        "UPDATE replay_episodes SET steps = 9 WHERE number = 0",
        "UPDATE replay_episodes SET total_reward = 11 WHERE number = 0",
        "UPDATE reels SET steps = 1",
        "UPDATE episode_folders SET static = '{}' WHERE uid = 'uid1'",
        "UPDATE episode_folders SET finished = 0 WHERE uid = 'uid1'",
        "UPDATE artifact_versions SET size_bytes = 1 WHERE version = 1",
        "UPDATE artifact_uses SET version = 2",
    ],
)
def test_a_row_that_says_something_else_than_the_files_is_found(path: Path, statement: str) -> None:
    sql(path, statement)
    assert {(finding.lane, finding.cure) for finding in wrong(path)} == {("catalogue", "rebuild")}


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM runs WHERE id = 'run_b'", "DELETE FROM episode_folders WHERE uid = 'uid0'"],
)
def test_a_missing_row_is_found_at_once(path: Path, statement: str) -> None:
    sql(path, statement)
    assert {finding.cure for finding in wrong(path, full=False)} == {"rebuild"}


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("UPDATE sources SET offset = offset - 1000 WHERE offset > 5000", "events.jsonl"),
        ("DELETE FROM sources WHERE run = (SELECT key FROM runs WHERE id = 'run_b')", "events.jsonl"),
    ],
)
def test_a_catalogue_that_is_behind_its_files_is_found_at_once(path: Path, statement: str, name: str) -> None:
    sql(path, statement)
    assert {(finding.path.name, finding.cure) for finding in wrong(path, full=False)} == {(name, "rebuild")}


@pytest.mark.parametrize(
    ("statement", "note"),
    [
        ("UPDATE points SET value = value + 1e-9 WHERE step = 77", "pong/dqn/runs/run_a/checksums.json"),
        (
            "UPDATE episode_folders SET static = '{}' WHERE uid = 'uid1'",
            "episodes/teleop/000000000000/000000000002/meta.json",
        ),
    ],
)
def test_where_nothing_says_which_is_right_no_rebuild_is_advised(path: Path, statement: str, note: str) -> None:
    """As in stores of earlier versions, whose files have no checksums."""
    sql(path, statement)
    file = path / note
    if file.name == "checksums.json":
        file.unlink()
    else:
        file.write_text(json.dumps({k: v for k, v in json.loads(file.read_text()).items() if k != "sealed"}))
    (found,) = wrong(path)
    assert (found.lane, found.cure) == ("catalogue", "")
    assert "Only if the file is right" in found.mend


def test_a_catalogue_that_is_no_database_is_a_finding_and_the_rest_is_checked(path: Path) -> None:
    (path / "playhead.db").write_bytes(b"nonsense" * 1000)
    change(path / "tables/numbers/steps.npy")
    assert {finding.lane for finding in wrong(path)} == {"catalogue", "tables"}


def test_a_run_that_is_being_recorded_is_left_alone(path: Path) -> None:
    with playhead.open(path) as store, store.run("pong", "now", run_id="live", environment=False) as run:
        run.log({"loss": 1.0})
        assert wrong(path) == []


@pytest.mark.parametrize("full", [False, True])
def test_a_check_keeps_the_locks_that_its_process_has_on_the_catalogue(path: Path, full: bool) -> None:
    visit = (
        "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); d.execute('SELECT id FROM runs').fetchall(); d.close()"
    )
    with playhead.open(path) as store:
        store.runs[0].tag("before")
        list(verify(path, full=full))
        subprocess.run([sys.executable, "-c", visit, str(path / "playhead.db")], check=True)
        assert (path / "playhead.db-wal").exists()  # who leaves last removes it, and that was not the other
        store.runs[0].tag("after")
    with playhead.open(path) as store:
        assert {"before", "after"} <= {*store.runs[0].tags}
    assert wrong(path) == []


def test_a_sum_that_was_rounded_otherwise_is_harmless(path: Path) -> None:
    sql(path, "UPDATE replay_episodes SET total_reward = total_reward + 1e-12 WHERE number = 0")
    assert wrong(path) == []
    assert any("total_reward" in finding.expected for finding in verify(path, full=True))


def test_parts_cover_everything_and_begin_anew(path: Path) -> None:
    seen: list[str] = []

    def check() -> list[str]:
        part: list[str] = []
        list(
            verify(
                path, share=Fraction(1, 4), watch=lambda things: part.extend(thing.place for thing in things) or things
            )
        )
        return part

    for _ in range(4):
        seen += check()
    whole: list[str] = []
    list(verify(path, watch=lambda things: whole.extend(thing.place for thing in things) or things))
    assert seen == whole
    assert check() == seen[: len(whole) // 4 + (len(whole) % 4 > 0)]


@pytest.mark.parametrize("text", ["", "0/3", "4/3", "1/0", "a/b", "0.1"])
def test_a_share_that_is_none(text: str) -> None:
    with pytest.raises(BadQuery, match="1/30"):
        subset.parse(text)


def test_a_version_that_is_being_saved_is_no_finding(path: Path) -> None:
    artifact = Layout(path).artifacts.artifact("model", "policy")
    shutil.copytree(artifact.version(1).path, artifact.version(7).path)

    def noted() -> list[str]:
        return [finding.expected for finding in verify(path) if finding.path == artifact.version(7).path]

    with disk.locked(artifact.lock, make=True):
        assert noted() == []
    assert noted() == ["an entry in versions.json"]
