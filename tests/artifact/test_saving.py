"""What is saved: all of it, once, as other programs know it, or nothing."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import threading
from pathlib import Path

import pytest

import playhead
from playhead.catalog.artifacts import Listed
from playhead.lanes.files import intake
from playhead.layout import Layout
from playhead.testing import operations_of
from tests.artifact.conftest import CONTENTS, make, read


def blobs_of(store: playhead.Store) -> dict[str, Path]:
    return {path.name: path for path in store.path.glob("artifacts/.dedup/??/*")}


def test_a_folder_comes_back_as_it_was(store: playhead.Store, files: Path, tmp_path: Path) -> None:
    (files / "nothing here" / "at all").mkdir(parents=True)
    with store.run("p", "n") as run:
        version = run.log_artifact("policy", files, aliases=["best"], metadata={"accuracy": 0.9}, tags=["x"])
    assert (version.ref, version.aliases, version.metadata, version.tags) == (
        "model/policy:v1", ["latest", "best"], {"accuracy": 0.9}, ["x"],
    )  # fmt: skip
    target = store.artifacts["policy:best"].download(tmp_path / "out")
    assert read(target) == CONTENTS
    assert (target / "nothing here" / "at all").is_dir()
    assert version.files == sorted(CONTENTS)
    assert version.size == sum(map(len, CONTENTS.values()))


def test_json_files_have_the_keys_that_other_programs_know_in_their_order(store: playhead.Store, files: Path) -> None:
    with store.run("p", "n") as run:
        run.log_artifact("policy", files)
    folder = store.path / "artifacts" / "model" / "policy"
    versions = json.loads((folder / "versions.json").read_text())
    assert list(versions)[:6] == [
        "artifact_name", "artifact_type", "versions", "aliases", "created_at", "updated_at",
    ]  # fmt: skip
    assert list(versions["versions"][0]) == [
        "version", "created_at", "created_by_run", "size_bytes", "num_files", "status", "aliases",
    ]  # fmt: skip
    metadata = json.loads((folder / "v1" / "metadata.json").read_text())
    assert list(metadata) == [
        "name", "type", "version", "created_at", "updated_at", "created_by_run", "created_by_user", "size_bytes",
        "num_files", "num_references", "status", "metadata", "description", "tags", "aliases", "parent_artifacts",
        "manifest_digest",
    ]  # fmt: skip
    text = (folder / "v1" / "manifest.json").read_bytes()
    assert metadata["manifest_digest"] == hashlib.sha256(text).hexdigest()
    manifest = json.loads(text)
    assert list(manifest) == ["files", "references", "total_size", "total_files", "total_references", "created_at"]
    assert list(manifest["files"][0]) == ["path", "size", "digest", "modified_at"]
    entry = next(entry for entry in manifest["files"] if entry["path"] == "tokens/a.txt")
    assert entry["digest"] == "sha256:" + hashlib.sha256(b"hello").hexdigest()
    assert entry["modified_at"] == pytest.approx((files / "tokens" / "a.txt").stat().st_mtime, abs=1e-5)


def test_equal_contents_are_one_file_that_cannot_be_written(store: playhead.Store, files: Path) -> None:
    store.artifacts.save("policy", files)
    store.artifacts.save("again", files, type="dataset")
    blobs = blobs_of(store)
    assert len(blobs) == len(set(CONTENTS.values()))
    hello = blobs[hashlib.sha256(b"hello").hexdigest()].stat()
    assert hello.st_nlink == 5  # twice in each version, and in the pool
    assert hello.st_mode & 0o777 == 0o444 & ~_umask()
    for name, path in blobs.items():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == name


def _umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now


def test_a_run_notes_what_it_made_and_what_it_used(store: playhead.Store, files: Path) -> None:
    with store.run("p", "n") as run:
        run.log_artifact("data", files / "tokens", type="dataset")
        run.use_artifact("data:latest")
        run.use_artifact("dataset/data:v1")
        made = run.log_artifact("policy", files / "model.pt")
    created = json.loads((run.path / "artifacts_created.json").read_text())["artifacts"]
    assert [list(entry) for entry in created] == 2 * [
        ["name", "type", "version", "created_at", "size_bytes", "num_files", "num_references"]
    ]
    used = json.loads((run.path / "artifacts_used.json").read_text())["artifacts"]
    assert [list(entry) for entry in used] == [["name", "type", "version", "used_at", "size_bytes", "num_files"]]
    assert (used[0]["name"], used[0]["type"], used[0]["version"]) == ("data", "dataset", 1)
    assert made.parents == ["dataset/data:v1"]
    assert made.created_by_run == run.id
    assert [entry["name"] for entry in store.runs[run.id].artifacts_created] == ["data", "policy"]
    assert [entry["name"] for entry in store.runs[run.id].artifacts_used] == ["data"]


def test_an_artifact_is_put_together_before_it_is_saved(store: playhead.Store, files: Path, tmp_path: Path) -> None:
    artifact = playhead.Artifact("policy", type="code", description="what it is")
    artifact.add_file(files / "model.pt", "weights/last.pt")
    artifact.add_dir(files, "all", exclude=["*.pt", "tokens/*"])
    artifact.add_metadata(steps=3)
    artifact.add_tags("b", "a")
    with pytest.raises(playhead.NotFound, match="not saved yet"):
        artifact.download()
    assert artifact.files == ["all/.hidden", "all/config.json", "all/empty.txt", "all/größe.txt", "weights/last.pt"]
    with store.run("p", "n") as run:
        version = run.log_artifact(artifact)
    assert (artifact.version, artifact.path, artifact.verify()) == (1, version.path, [])
    assert (version.type, version.tags, version.description) == ("code", ["a", "b"], "what it is")
    assert sorted(read(artifact.download(tmp_path / "out"))) == artifact.files
    with pytest.raises(playhead.Closed, match="a version never changes"):
        artifact.add_file(files / "model.pt")


def test_several_paths_keep_the_names_of_folders(store: playhead.Store, files: Path) -> None:
    version = store.artifacts.save("policy", [files / "model.pt", files / "tokens"])
    assert version.files == ["model.pt", "tokens/a.txt", "tokens/copy of a.txt", "tokens/deep/b.bin"]


def test_a_file_that_is_as_it_was_is_not_read_again(
    store: playhead.Store, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in files.rglob("*"):
        os.utime(path, (1, 1))
    monkeypatch.setattr(intake, "_TICK_NS", -1)  # the files are new, and none is written meanwhile
    monkeypatch.setattr(intake, "_COARSE_NS", -1)
    store.artifacts.save("policy", files)
    read_again: list[str] = []
    copy = intake.Intake._copy
    monkeypatch.setattr(intake.Intake, "_copy", lambda *args: (read_again.append(args[1].member), copy(*args))[1])
    assert store.artifacts.save("policy", files).version == 2
    assert read_again == []
    (files / "model.pt").write_bytes(b"other")
    os.utime(files / "model.pt", (1, 1))  # of the same time, but not the same change of the inode
    version = store.artifacts.save("policy", files)
    assert read_again == ["model.pt"]
    assert version.file("model.pt").read_bytes() == b"other"


def test_a_file_written_just_now_is_not_trusted_to_be_as_it_was(store: playhead.Store, tmp_path: Path) -> None:
    for n in range(20):
        (tmp_path / "x").write_bytes(b"%02d" % n)
        version = store.artifacts.save("policy", tmp_path / "x")
        assert version.file("x").read_bytes() == b"%02d" % n


def test_many_files_are_synced_together_and_few_each(store: playhead.Store, tmp_path: Path) -> None:
    make(tmp_path / "many", {f"{n}.txt": b"%d" % n for n in range(50)})
    operations = operations_of(lambda: store.artifacts.save("many", tmp_path / "many"))
    assert len([one for one in operations if one.name == "fsync"]) < 20
    last = [one.path for one in operations if one.name == "rename"][-1]
    assert last.endswith("versions.json")
    written = [n for n, one in enumerate(operations) if one.name == "write" and "/files/" in one.path]
    synced = next(n for n, one in enumerate(operations) if one.name == "fsync" and one.path.endswith("/files"))
    linked = [n for n, one in enumerate(operations) if one.name == "link" and "/.dedup/" in one.path]
    assert max(written) < synced < min(linked)


# -- what is refused ----------------------------------------------------------------------------------------------


def nothing_changed(store: playhead.Store) -> bool:
    hidden = [path for path in store.path.glob("artifacts/*/*/*") if path.name.startswith(".") and path.name != ".lock"]
    return not hidden and not list(store.path.glob("artifacts/*/*/v*"))


def test_links_inside_are_followed_and_those_that_lead_out_refused(store: playhead.Store, files: Path) -> None:
    (files / "link.pt").symlink_to("model.pt")
    assert store.artifacts.save("a", files).file("link.pt").read_bytes() == CONTENTS["model.pt"]
    for target, why in (
        ("/etc/passwd", "leads out"),
        ("gone", "where nothing is"),
        ("tokens", "a folder"),
        ("bad", "to itself"),
    ):
        (files / "bad").symlink_to(target)
        with pytest.raises(playhead.WrongType, match=why):
            store.artifacts.save("b", files)
        assert "b:latest" not in store.artifacts
        store.artifacts.save("excluded", files, exclude=["bad"])
        (files / "bad").unlink()
    (files / "bad").symlink_to("bad")
    with pytest.raises(playhead.NotFound, match="to itself"):
        store.artifacts.save("b", files / "bad")


def test_pipes_sockets_and_devices_are_refused(store: playhead.Store, files: Path) -> None:
    os.mkfifo(files / "pipe")
    with pytest.raises(playhead.WrongType, match="it is a pipe"):
        store.artifacts.save("policy", files)
    (files / "pipe").unlink()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(files / "socket"))
        with pytest.raises(playhead.WrongType, match="a socket"):
            store.artifacts.save("policy", files)
    with pytest.raises(playhead.WrongType, match="a device"):
        store.artifacts.save("policy", "/dev/null")
    with pytest.raises(playhead.NotFound, match=r"no file .*gone"):
        store.artifacts.save("policy", files / "gone")
    assert nothing_changed(store)


@pytest.mark.parametrize("name", ["", "a/b", "a:b", "..", ".a", "con", "a\nb", "x" * 300, 3])
def test_bad_names_are_refused(store: playhead.Store, files: Path, name: str) -> None:
    with pytest.raises(playhead.BadName):
        store.artifacts.save(name, files)
    assert nothing_changed(store)


@pytest.mark.parametrize("alias", ["v3", "3", "a/b", "a:b", "", "latest "])
def test_bad_aliases_are_refused(store: playhead.Store, files: Path, alias: str) -> None:
    with pytest.raises(playhead.BadName):
        store.artifacts.save("policy", files, aliases=[alias])
    assert nothing_changed(store)


def test_an_artifact_of_nothing_and_of_no_known_type_is_refused(store: playhead.Store, tmp_path: Path) -> None:
    with pytest.raises(playhead.Empty, match="no files"):
        store.artifacts.save("policy", tmp_path / "store" / "..", exclude=["*"])
    with pytest.raises(playhead.WrongType, match="one of model, dataset"):
        playhead.Artifact("policy", type="thing")
    with pytest.raises(playhead.WrongType, match="say what to save"):
        store.artifacts.save("policy")


def test_two_files_of_one_place_are_refused(store: playhead.Store, files: Path) -> None:
    artifact = playhead.Artifact("policy")
    artifact.add_file(files / "model.pt", "x")
    artifact.add_file(files / "config.json", "x")
    with pytest.raises(playhead.BadName, match="would both be 'x'"):
        store.artifacts.save(artifact)
    nested = playhead.Artifact("policy")
    nested.add_file(files / "model.pt", "x")
    nested.add_file(files / "config.json", "x/y")
    with pytest.raises(playhead.BadName, match="lies in it"):
        store.artifacts.save(nested)


def test_a_file_that_is_written_while_it_is_read_is_noticed(store: playhead.Store, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(bytes(8 << 20))
    stop = threading.Event()

    def append() -> None:
        with path.open("ab") as file:
            while not stop.is_set():
                file.write(b"more")
                file.flush()

    writer = threading.Thread(target=append)
    writer.start()
    try:
        with pytest.raises(playhead.Damaged, match="written to, twice"):
            store.artifacts.save("policy", path)
    finally:
        stop.set()
        writer.join()
    assert nothing_changed(store)
    assert store.artifacts.save("policy", path).version == 1


def test_a_store_open_for_reading_lists_and_hands_out_but_saves_nothing(
    store: playhead.Store, files: Path, tmp_path: Path
) -> None:
    store.artifacts.save("policy", files)
    with playhead.open(store.path, mode="r") as reading:
        assert read(reading.artifacts["policy:v1"].download(tmp_path / "out")) == CONTENTS
        with pytest.raises(playhead.ReadOnly):
            reading.artifacts.save("policy", files)
        with pytest.raises(playhead.ReadOnly):
            reading.artifacts["policy:v1"].alias("best")


def test_what_is_listed_after_a_rebuild_is_what_was_listed_before(store: playhead.Store, files: Path) -> None:
    with store.run("p", "n") as run:
        run.log_artifact("policy", files, aliases=["best"], tags=["t"])
        run.log_artifact("data", files / "tokens", type="dataset")
        run.use_artifact("data:v1")
        run.log_artifact("policy", files / "model.pt")
    before, lineage = list(store.artifacts), store.artifacts["policy:v2"].lineage()
    assert [(row.type, row.name, row.latest, row.versions) for row in before] == [
        ("dataset", "data", 1, 1),
        ("model", "policy", 2, 2),
    ]
    assert store.sql("SELECT count(*) AS n FROM artifact_versions").to_pylist() == [{"n": 3}]
    store.close()
    playhead.rebuild(store.path)
    with playhead.open(store.path) as again:
        assert list(again.artifacts) == before
        assert again.artifacts["policy:v2"].lineage() == lineage


def test_what_another_program_does_to_the_files_is_seen_in_the_list(store: playhead.Store, files: Path) -> None:
    store.artifacts.save("policy", files)
    folder = Layout(store.path).artifacts.artifact("model", "policy")
    copy = Layout(store.path).artifacts.artifact("model", "other")
    assert [row.name for row in store.artifacts] == ["policy"]
    os.rename(folder.path, copy.path)
    found = store.artifacts.list()
    assert [(type(row), row.name) for row in found] == [(Listed, "other")]
    with playhead.open(store.path, mode="r") as reading:
        os.rename(copy.path, folder.path)
        assert "policy" in [row.name for row in reading.artifacts]
