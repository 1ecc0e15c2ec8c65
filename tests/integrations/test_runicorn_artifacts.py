"""Taking over the artifacts of a Runicorn folder: every version under its number, checked, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead import testing
from playhead.care import verify
from playhead.integrations import runicorn
from tests.integrations.conftest import MOMENT, RunicornFolder, tree, write

RUN = "20261115_072340_aaaaaa"
STRIDE = max(1, round(0.3 / float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))))
GOLDEN = Path(__file__).parents[3] / "shared" / "golden" / "runicorn_040"

Files = dict[str, bytes]
FIRST: Files = {"m.bin": b"one" * 1000, "data/same.txt": b"same"}
SECOND: Files = {"m.bin": b"two" * 1000, "data/same.txt": b"same"}
THIRD: Files = {"m.bin": b"one" * 1000, "größe.txt": b"\xff"}


def save(
    root: Path, *versions: Files, type: str = "model", name: str = "policy", aliases: dict[str, int] | None = None
) -> Path:
    """Save versions as Runicorn 0.4 does: contents in the pool, hard links to them, three JSON files."""
    artifact = root / "artifacts" / type / name
    entries = []
    for number, files in enumerate(versions, 1):
        folder = artifact / f"v{number}"
        manifest = {"files": [_stored(root, folder, path, data) for path, data in files.items()], "references": []}
        manifest["references"].append({"uri": "s3://bucket/key", "checksum": None, "size": 5, "metadata": {}})
        write(folder / "manifest.json", manifest | {"total_size": 0, "total_files": 0, "created_at": MOMENT + number})
        digest = hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()
        entry = {"version": number, "created_at": MOMENT + number, "created_by_run": RUN, "size_bytes": 1}
        about = {"name": name, "type": "model", "updated_at": MOMENT + number, "metadata": {"score": float("nan")}}
        write(folder / "metadata.json", {**entry, **about, "tags": ["paper"], "manifest_digest": digest})
        entries.append({**entry, "num_files": len(files), "status": "ready", "aliases": []})
    listed = {"artifact_name": name, "artifact_type": "model", "versions": entries}
    named = {"latest": len(versions)} | (aliases or {})
    write(artifact / "versions.json", {**listed, "aliases": named, "created_at": MOMENT, "updated_at": MOMENT})
    (artifact / ".lock").touch()
    return artifact


def _stored(root: Path, folder: Path, path: str, data: bytes) -> dict[str, Any]:
    digest = hashlib.sha256(data).hexdigest()
    blob = root / "artifacts" / ".dedup" / digest[:2] / digest
    blob.parent.mkdir(parents=True, exist_ok=True)
    if not blob.exists():
        blob.write_bytes(data)
    (folder / "files" / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / "files" / path).hardlink_to(blob)
    return {"path": path, "size": len(data), "digest": f"sha256:{digest}", "modified_at": MOMENT}


def held(store: playhead.Store, ref: str, target: Path) -> Files:
    """Hand a version out, checked, and read it."""
    folder = store.artifacts[ref].download(target / ref.replace("/", "_"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def wrong(store: playhead.Store) -> list[str]:
    return [str(finding) for finding in verify(store.path, full=True) if not finding.is_harmless]


# -- what arrives ---------------------------------------------------------------------------------------------------


def test_versions_arrive_with_their_numbers_names_marks_and_contents(
    folder: RunicornFolder, store: playhead.Store, tmp_path: Path
) -> None:
    run = folder.old("demo", "expA", RUN)
    artifact = save(folder.path, FIRST, SECOND, THIRD, aliases={"best": 1, "gone": 2})
    write(artifact / "v2" / ".deleted", {"deleted_at": MOMENT + 9, "version": 2})
    entry = {"name": "policy", "type": "model", "version": 1, "size_bytes": 1, "num_files": 2}
    write(run / "artifacts_used.json", {"artifacts": [{**entry, "used_at": MOMENT}]})
    write(run / "artifacts_created.json", {"artifacts": [{**entry, "version": 3, "created_at": MOMENT}]})
    before = tree(folder.path)
    report = runicorn.migrate(folder.path, store)
    assert (report.artifacts, report.artifacts_imported, report.is_complete) == (3, 3, True)
    assert tree(folder.path) == before
    assert [one.version for one in store.artifacts.versions("policy", deleted=True)] == [1, 2, 3]
    assert [held(store, f"policy:v{number}", tmp_path) for number in (1, 2, 3)] == [FIRST, SECOND, THIRD]
    assert (store.artifacts["policy:latest"].version, store.artifacts["policy:best"].version) == (3, 1)
    assert store.artifacts["policy:v2"].is_deleted
    assert "policy:gone" not in store.artifacts
    first = store.artifacts["policy:v1"]
    assert (first.created_at, first.created_by_run, first.tags) == (MOMENT + 1, RUN, ["paper"])
    assert [one.uri for one in first.references] == ["s3://bucket/key"]
    assert [use["version"] for use in store.runs[RUN].artifacts_used] == [1]
    assert [node.id for node in first.lineage().downstream if node.kind == "run"] == [RUN]
    pool = [path for path in (store.path / "artifacts" / ".dedup").rglob("*") if len(path.name) == 64]
    assert len(pool) == len({*FIRST.values(), *SECOND.values(), *THIRD.values()})
    assert wrong(store) == []


def test_aliases_arrive_and_are_found_whatever_they_are(
    folder: RunicornFolder, store: playhead.Store, tmp_path: Path
) -> None:
    words = {"best": 1, "prod 1.0": 2, "v7": 1, "v3": 1, "a:b": 1, "ünï": 3, "x/y": 2, "a\nb": 3, "%41": 2, "12": 2}
    save(folder.path, FIRST, SECOND, THIRD, aliases=words)
    save(folder.path, FIRST, SECOND, name="other", type="dataset", aliases={"best": 2, "x/y": 1})
    assert runicorn.migrate(folder.path, store).is_complete
    for word, number in words.items():
        expected = 3 if word == "v3" else number  # the version of this number goes first
        assert store.artifacts[f"policy:{word}"].version == store.artifacts[f"model/policy:{word}"].version == expected
        found = {(one.type, one.name): one.version for one in store.artifacts.named(word)}
        assert found["model", "policy"] == number
    with pytest.raises(playhead.errors.NotFound):
        store.artifacts["policy:v8"]
    assert [one.ref for one in store.artifacts.named("best")] == ["dataset/other:v2", "model/policy:v1"]
    assert [one.ref for one in store.artifacts.named("best", "model")] == ["model/policy:v1"]
    assert [one.ref for one in store.artifacts.named("latest")] == ["dataset/other:v2", "model/policy:v3"]
    assert list(store.artifacts.named("none")) == []
    sql = "SELECT name, version FROM artifact_versions, json_each(aliases) AS alias WHERE alias.value = 'x/y'"
    assert sorted(map(tuple, (row.values() for row in store.sql(sql).to_pylist()))) == [("other", 1), ("policy", 2)]
    store.artifacts["policy:a:b"].alias("best", "good")
    store.artifacts["policy:x/y"].delete()
    with playhead.open(store.path, mode="r") as reading:
        assert [one.ref for one in reading.artifacts.named("good")] == ["model/policy:v1"]
        assert [one.ref for one in reading.artifacts.named("x/y")] == ["dataset/other:v1"]
    assert wrong(store) == []


def test_what_the_real_program_saved_arrives(store: playhead.Store, tmp_path: Path) -> None:
    if not GOLDEN.is_dir():
        pytest.skip("the golden samples are not here")
    before = tree(GOLDEN)
    report = runicorn.migrate(GOLDEN, store)
    assert (report.artifacts_imported, report.is_complete) == (1, True)
    assert held(store, "model-a:v1", tmp_path) == {
        "m.bin": (GOLDEN / "artifacts/model/model-a/v1/files/m.bin").read_bytes()
    }
    assert store.artifacts["model-a:latest"].created_by_run == store.runs[0].id
    assert (tree(GOLDEN), wrong(store)) == (before, [])


def test_a_folder_called_after_the_enumeration_is_of_the_type_that_was_meant(
    folder: RunicornFolder, store: playhead.Store, tmp_path: Path
) -> None:
    save(folder.path, FIRST, type="ArtifactType.MODEL")
    save(folder.path, SECOND, type="ArtifactType.DATASET", name="set")
    assert runicorn.migrate(folder.path, store).artifacts_imported == 2
    assert held(store, "model/policy:v1", tmp_path) == FIRST
    assert held(store, "dataset/set:v1", tmp_path) == SECOND


def test_of_two_folders_of_one_type_the_right_one_wins_and_the_other_is_told_of(
    folder: RunicornFolder, store: playhead.Store, tmp_path: Path
) -> None:
    save(folder.path, FIRST)
    save(folder.path, SECOND, THIRD, type="ArtifactType.MODEL")
    report = runicorn.migrate(folder.path, store)
    assert [finding.run for finding in report.artifacts_differing] == ["artifacts/ArtifactType.MODEL/policy/v1"]
    assert not report.is_complete
    assert [held(store, f"policy:v{number}", tmp_path) for number in (1, 2)] == [FIRST, THIRD]


def test_lines_and_paths_of_windows_are_understood(
    folder: RunicornFolder, store: playhead.Store, tmp_path: Path
) -> None:
    version = save(folder.path, FIRST) / "v1"
    text = (version / "manifest.json").read_text().replace("data/", "data\\\\")
    metadata = json.loads((version / "metadata.json").read_text())
    write(version / "metadata.json", metadata | {"manifest_digest": hashlib.sha256(text.encode()).hexdigest()})
    (version / "manifest.json").write_bytes(text.replace("\n", "\r\n").encode())
    assert runicorn.migrate(folder.path, store).artifacts_imported == 1
    assert held(store, "policy:v1", tmp_path) == FIRST


# -- again ----------------------------------------------------------------------------------------------------------


def test_a_second_time_brings_what_is_new_and_never_what_was_purged(
    folder: RunicornFolder, store: playhead.Store, tmp_path: Path
) -> None:
    artifact = save(folder.path, FIRST, SECOND)
    runicorn.migrate(folder.path, store)
    store.artifacts["policy:v1"].purge()
    before = tree(store.path / "artifacts")
    report = runicorn.migrate(folder.path, store)
    assert (report.artifacts_imported, report.artifacts_present, report.is_complete) == (0, 2, True)
    assert tree(store.path / "artifacts") == before
    shutil.rmtree(artifact)
    save(folder.path, FIRST, SECOND, THIRD)
    assert runicorn.migrate(folder.path, store).artifacts_imported == 1
    assert held(store, "policy:latest", tmp_path) == THIRD
    (tmp_path / "x").write_bytes(b"x")
    assert store.artifacts.save("policy", tmp_path / "x").version == 4


def test_a_version_of_the_store_is_never_replaced(
    folder: RunicornFolder, store: playhead.Store, tmp_path: Path
) -> None:
    (tmp_path / "own.txt").write_bytes(b"own")
    store.artifacts.save("policy", tmp_path / "own.txt", aliases=["best"])
    save(folder.path, FIRST, SECOND, aliases={"best": 2})
    report = runicorn.migrate(folder.path, store)
    assert [finding.run for finding in report.artifacts_differing] == ["artifacts/model/policy/v1"]
    assert held(store, "policy:v1", tmp_path) == held(store, "policy:best", tmp_path) == {"own.txt": b"own"}
    assert held(store, "policy:v2", tmp_path) == SECOND


# -- what is damaged or hostile ---------------------------------------------------------------------------------------


def test_a_flipped_bit_is_found_and_the_other_versions_arrive(
    folder: RunicornFolder, store: playhead.Store, tmp_path: Path
) -> None:
    artifact = save(folder.path, FIRST, SECOND)
    (artifact / "v1/files/m.bin").write_bytes(b"One" + FIRST["m.bin"][3:])  # and in the pool, being the same file
    report = runicorn.migrate(folder.path, store)
    (refused,) = report.artifacts_refused
    assert refused.run == "artifacts/model/policy/v1"
    assert "m.bin is not what was saved" in refused.reason
    assert (report.artifacts_imported, report.is_complete) == (1, False)
    assert [one.version for one in store.artifacts.versions("policy")] == [2]
    assert not list((store.path / ".incoming").iterdir())
    assert wrong(store) == []


def test_a_damaged_content_of_the_pool_is_taken_from_the_version_s_own_copy(
    folder: RunicornFolder, store: playhead.Store, tmp_path: Path
) -> None:
    artifact = save(folder.path, FIRST)
    own = artifact / "v1/files/m.bin"
    shutil.copyfile(own, tmp_path / "copy")
    own.unlink()
    shutil.move(tmp_path / "copy", own)
    digest = hashlib.sha256(FIRST["m.bin"]).hexdigest()
    (folder.path / "artifacts/.dedup" / digest[:2] / digest).write_bytes(b"gone")
    assert runicorn.migrate(folder.path, store).artifacts_imported == 1
    assert held(store, "policy:v1", tmp_path) == FIRST


def _manifest(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """Change a manifest, and its digest with it, as somebody who means harm would."""

    def spoil(artifact: Path) -> None:
        version = artifact / "v1"
        content = json.loads((version / "manifest.json").read_text())
        change(content)
        write(version / "manifest.json", content)
        digest = hashlib.sha256((version / "manifest.json").read_bytes()).hexdigest()
        metadata = json.loads((version / "metadata.json").read_text())
        write(version / "metadata.json", metadata | {"manifest_digest": digest})

    return spoil


def _metadata(key: str, text: str) -> Callable[[Path], None]:
    def spoil(artifact: Path) -> None:
        path = artifact / "v1/metadata.json"
        path.write_text(f'{path.read_text().rstrip()[:-1]}, "{key}": {{"x": {text}}}}}')

    return spoil


def _listed(**changes: Any) -> Callable[[Path], None]:
    def spoil(artifact: Path) -> None:
        content = json.loads((artifact / "versions.json").read_text())
        write(artifact / "versions.json", content | changes)

    return spoil


def _linked_out(artifact: Path) -> None:
    """Let a file be a link out of the folder, with the right content behind it."""
    secret = artifact.parents[3] / "secret"
    shutil.copyfile(artifact / "v1/files/m.bin", secret)
    digest = hashlib.sha256(secret.read_bytes()).hexdigest()
    for path in (artifact / "v1/files/m.bin", artifact.parents[1] / ".dedup" / digest[:2] / digest):
        path.unlink()
        path.symlink_to(secret)


HARM: dict[str, Callable[[Path], object]] = {
    "a path that leads out": _manifest(lambda content: content["files"][0].update(path="../../../outside")),
    "an absolute path": _manifest(lambda content: content["files"][0].update(path="/tmp/outside")),
    "a path of Windows that leads out": _manifest(lambda content: content["files"][0].update(path="..\\..\\m.bin")),
    "no digest": _manifest(lambda content: content["files"][0].update(digest="sha256:../../x")),
    "a number as digest": _manifest(lambda content: content["files"][0].update(digest=7)),
    "another size": _manifest(lambda content: content["files"][0].update(size=3)),
    "no size": _manifest(lambda content: content["files"][0].update(size="many")),
    "two files in one place": _manifest(lambda content: content["files"].append(content["files"][0])),
    "a file in a file": _manifest(lambda content: content["files"][1].update(path="m.bin/x")),
    "a folder in a file": _manifest(lambda content: content.update(folders=["m.bin/x"])),
    "a folder for a file": _manifest(lambda content: content.update(folders=["m.bin"])),
    "a path without end": _manifest(lambda content: content["files"][0].update(path="x/" * 2000 + "m.bin")),
    "no reference": _manifest(lambda content: content["references"][0].update(uri="no place")),
    "nothing": _manifest(lambda content: content.update(files=[], references=[])),
    "an empty manifest": _manifest(lambda content: content.clear()),
    "a manifest that was changed": lambda artifact: (artifact / "v1/manifest.json").write_text("{}"),
    "no metadata": lambda artifact: (artifact / "v1/metadata.json").unlink(),
    "metadata that is no object": lambda artifact: (artifact / "v1/metadata.json").write_text("[" * 100_000),
    "metadata that is nested without end": _metadata("metadata", "[" * 900 + "]" * 900),
    "a list of versions that is none": lambda artifact: (artifact / "versions.json").write_text("[]"),
    "a version without a number": _listed(versions=[{"version": "1"}]),
    "a number without end": _listed(aliases={"best": float("inf")}),
    "versions that are not listed": _listed(versions=[]),
    "a link out of the folder": _linked_out,
}


@pytest.mark.parametrize("harm", HARM)
def test_what_is_hostile_is_refused_and_nothing_is_written(
    harm: str, folder: RunicornFolder, store: playhead.Store, tmp_path: Path
) -> None:
    HARM[harm](save(folder.path, FIRST))
    before, kept = tree(folder.path), sorted(os.listdir(tmp_path))
    report = runicorn.migrate(folder.path, store)
    assert [finding.run for finding in report.artifacts_refused] == ["artifacts/model/policy/v1"], report
    assert (report.artifacts_imported, len(store.artifacts), tree(folder.path)) == (0, 0, before)
    assert sorted(os.listdir(tmp_path)) == kept
    assert not list((store.path / ".incoming").iterdir())
    assert wrong(store) == []


@pytest.mark.parametrize(
    "content",
    [
        {"artifacts": "policy"},
        {"artifacts": [{"name": "policy", "type": "model"}]},
        {"artifacts": [{"name": "policy", "type": "model", "version": "1"}]},
        {"artifacts": [{"name": "policy", "type": "model", "version": 1, "used_at": "once"}]},
        {"artifacts": [], "digest": "of something else"},
    ],
)
def test_a_list_of_uses_that_is_none_is_kept_beside(
    content: dict[str, Any], folder: RunicornFolder, store: playhead.Store
) -> None:
    write(folder.old("demo", "expA", RUN) / "artifacts_used.json", content)
    report = runicorn.migrate(folder.path, store)
    assert (report.imported, len(report.unreadable_files)) == (1, 1)
    assert store.runs[RUN].artifacts_used == []
    assert json.loads((store.runs[RUN].path / "artifacts_used.json.rejected.txt").read_text()) == content


def test_checksums_are_those_of_what_arrived(folder: RunicornFolder, store: playhead.Store) -> None:
    write(folder.old("demo", "expA", RUN) / "checksums.json", {"sha256": {"../../secret": "0", "logs.txt": "0"}})
    runicorn.migrate(folder.path, store)
    noted = json.loads((store.runs[RUN].path / "checksums.json").read_text())["sha256"]
    assert {"meta.json", "events.jsonl", "logs.txt"} <= noted.keys()
    assert wrong(store) == []


def test_progress_sees_every_version(folder: RunicornFolder, store: playhead.Store) -> None:
    save(folder.path, FIRST, SECOND)
    seen: list[int] = []

    def progress(things: Any) -> Any:
        for thing in things:
            yield thing
            seen.append(thing.number)

    report = runicorn.migrate(folder.path, store, progress)
    assert seen == [1, 2]
    assert "Imported 2 of 2 versions of artifacts, every file compared with its SHA-256." in str(report)


# -- a crash ----------------------------------------------------------------------------------------------------------


def migrate(source: Path, store: Path) -> None:
    with playhead.open(store) as opened:
        runicorn.migrate(source, opened)


def migrate_and_ask(source: Path, store: Path) -> dict[str, Any]:
    """Give all files of the artifacts after a migration, and what the catalogue says of them."""
    with playhead.open(store) as opened:
        report = runicorn.migrate(source, opened)
        assert report.is_complete
        assert report.artifacts_imported + report.artifacts_present == 2
        assert wrong(opened) == []
        found = tree(store / "artifacts")
        return {
            "files": {path: data for path, data in found.items() if not path.endswith((".lock", ".tmp"))},
            "rows": [row._replace(problem=None) for row in opened.artifacts],
            "left": list((store / ".incoming").iterdir()),
        }


def test_killed_at_any_change_of_the_disk_the_next_one_makes_it_good(folder: RunicornFolder, tmp_path: Path) -> None:
    artifact = save(folder.path, FIRST, SECOND, aliases={"best": 1})
    write(artifact / "v2" / ".deleted", {"version": 2})
    playhead.open(tmp_path / "empty").close()
    source, empty = folder.path, tmp_path / "empty"
    expected = migrate_and_ask(source, shutil.copytree(empty, tmp_path / "whole"))
    counted = shutil.copytree(empty, tmp_path / "counted")
    changes = testing.operations_of(lambda: migrate(source, counted))
    assert len(changes) > 30
    for n in range(STRIDE // 2, len(changes), STRIDE):
        store = shutil.copytree(empty, tmp_path / f"store{n}")
        crash = testing.killed_at(n, lambda _, store=store: migrate(source, store))  # type: ignore[misc]
        assert crash.killed
        assert migrate_and_ask(source, store) == expected, f"killed at change {n}, {changes[n]}"
