"""`playhead artifact`: saved, listed, shown, handed out, named, deleted, compared and traced from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import playhead
from playhead.cli.artifact import completing
from tests.cli.invoking import answer, invoke


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A store with two versions of one artifact, of which a run made the second from a data set."""
    (tmp_path / "model.pt").write_bytes(b"one")
    with playhead.open(tmp_path / "store") as store:
        store.artifacts.save("data", tmp_path / "model.pt", type="dataset")
        store.artifacts.save("policy", tmp_path / "model.pt", metadata={"accuracy": 0.5}, tags=["t"])
        (tmp_path / "model.pt").write_bytes(b"three")
        with store.run("pong", "dqn", run_id="run") as run:
            run.use_artifact("data:v1")
            run.log_artifact("policy", tmp_path / "model.pt", aliases=["best"], metadata={"accuracy": 0.9})
    return tmp_path / "store"


def test_ls(place: Path, tmp_path: Path) -> None:
    assert [(one["name"], one["latest"], one["aliases"]) for one in answer("artifact", "ls", store=place)] == [
        ("data", 1, ["latest"]),
        ("policy", 2, ["latest", "best"]),
    ]
    assert [one["name"] for one in answer("artifact", "ls", "--type", "model", store=place)] == ["policy"]
    assert [one["ref"] for one in answer("artifact", "ls", "policy", store=place)] == [
        "model/policy:v1",
        "model/policy:v2",
    ]
    shown = invoke("artifact", "ls", store=place).stdout
    assert "policy" in shown
    assert "best" in shown
    assert "v2" in invoke("artifact", "ls", "policy", store=place).stdout
    for name in ([], ["policy"]):
        found = answer("artifact", "ls", *name, "--alias", "best", store=place)
        assert [one["ref"] for one in found] == ["model/policy:v2"]
    assert answer("artifact", "ls", "data", "--alias", "best", store=place) == []
    assert "dataset/data:v1" in invoke("artifact", "ls", "--alias", "latest", store=place).stdout
    playhead.open(tmp_path / "empty").close()
    assert "playhead artifact save" in invoke("artifact", "ls", store=tmp_path / "empty").stderr


def test_show(place: Path) -> None:
    found = answer("artifact", "show", "policy:best", store=place)
    assert (found["version"], found["metadata"], found["created_by_run"]) == (2, {"accuracy": 0.9}, "run")
    assert [one["path"] for one in found["files"]] == ["model.pt"]
    assert found["parent_artifacts"] == ["dataset/data:v1"]
    shown = invoke("artifact", "show", "policy:v1", "--verify", store=place).stdout
    assert "accuracy  0.5" in shown
    assert "Every file is as it was saved" in shown


def test_show_tells_damage_with_the_exit_code(place: Path) -> None:
    blob = next(path for path in place.glob("artifacts/.dedup/??/*") if path.read_bytes() == b"three")
    blob.chmod(0o644)
    blob.write_bytes(b"threE")
    assert len(answer("artifact", "show", "policy:v2", "--verify", expect=1, store=place)["problems"]) == 1
    assert "is damaged" in invoke("artifact", "get", "policy:v2", place.parent / "out", expect=1, store=place).stderr
    assert not (place.parent / "out").exists()


def test_save(place: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("a")
    (tmp_path / "folder" / "b.tmp").write_text("b")
    options = ["--alias", "x", "--tag", "t", "--meta", "n=3", "--meta", "s=word", "--exclude", "*.tmp", "--about", "d"]
    found = answer("artifact", "save", "code", tmp_path / "folder", "--type", "code", *options, store=place)
    assert (found["ref"], found["num_files"], found["metadata"]) == ("code/code:v1", 1, {"n": 3, "s": "word"})
    assert (found["aliases"], found["tags"], found["description"]) == (["latest", "x"], ["t"], "d")
    assert "Saved code/code:v2" in invoke(
        "artifact", "save", "code", tmp_path / "folder", "--type", "code", store=place
    ).stdout  # fmt: skip
    checksum = "sha256:" + "0" * 64
    invoke("artifact", "save", "far", "--ref", f"s3://b/k={checksum}", "--ref", "s3://b/other", store=place)
    assert answer("artifact", "show", "far:v1", store=place)["references"] == [
        {"uri": "s3://b/k", "checksum": checksum},
        {"uri": "s3://b/other", "checksum": None},
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (["save", "x"], 2, "say what to save"),
        (["save", "x", "/gone"], 1, "no file /gone"),
        (["save", "x", "/dev/null"], 1, "a device"),
        (["save", "a:b", __file__], 1, "cannot be the name"),
        (["save", "x", __file__, "--meta", "n"], 2, "KEY=VALUE"),
        (["show", "policy"], 1, "names no version"),
        (["show", "policy:v9"], 1, "there is: v1, v2"),
        (["get", "other:v1"], 1, "no artifact 'other'"),
        (["rm", "policy:v1", "policy:v9"], 1, "no version"),
        (["rm", "policy:v1", "--restore", "--purge"], 2, "exclude each other"),
        (["alias", "policy:v1", "latest"], 1, "always names the newest"),
    ],
)
def test_what_is_refused_is_told_in_one_line(place: Path, arguments: list[str], code: int, why: str) -> None:
    before = json.dumps(answer("artifact", "ls", store=place))
    assert why in invoke("artifact", *arguments, expect=code, store=place).stderr
    assert json.dumps(answer("artifact", "ls", store=place)) == before


def test_get(place: Path, tmp_path: Path) -> None:
    found = answer("artifact", "get", "policy:v1", tmp_path / "out", store=place)
    assert (found["files"], (tmp_path / "out" / "model.pt").read_bytes()) == (["model.pt"], b"one")
    assert "is there, with another content" in invoke(
        "artifact", "get", "policy:v2", tmp_path / "out", expect=1, store=place
    ).stderr  # fmt: skip
    assert "each checked" in invoke("artifact", "get", "policy:v2", tmp_path / "out", "--overwrite", store=place).stdout
    assert (tmp_path / "out" / "model.pt").read_bytes() == b"three"


def test_alias(place: Path) -> None:
    assert answer("artifact", "alias", "policy:v1", "best", "old", store=place)["aliases"] == ["best", "old"]
    assert answer("artifact", "show", "policy:v2", store=place)["aliases"] == ["latest"]
    assert "without a name" in invoke("artifact", "alias", "policy:v1", "best", "old", "--remove", store=place).stdout


def test_rm(place: Path) -> None:
    assert answer("artifact", "rm", "policy:v2", store=place) == {"deleted": ["model/policy:v2"]}
    assert answer("artifact", "show", "policy:latest", store=place)["version"] == 1
    assert "deleted" in invoke("artifact", "ls", "policy", "--deleted", store=place).stdout
    assert answer("artifact", "rm", "policy:v2", "--restore", store=place) == {"restored": ["model/policy:v2"]}
    found = answer("artifact", "rm", "policy:v2", "--purge", store=place)
    assert found == {"purged": ["model/policy:v2"], "freed_bytes": len(b"three")}


def test_lineage(place: Path) -> None:
    shown = invoke("artifact", "lineage", "policy:v2", store=place).stdout
    assert "run run (pong/dqn, finished)" in shown
    assert "dataset/data:v1" in shown
    assert "used for: nothing recorded" in shown
    found = answer("artifact", "lineage", "data:v1", store=place)
    assert found["downstream"] == ["run", "model/policy:v2"]
    assert answer("artifact", "lineage", "data:v1", "--depth", "1", store=place)["downstream"] == ["run"]
    assert '"run" -> "model/policy:v2"' in invoke("artifact", "lineage", "data:v1", "--dot", store=place).stdout


def test_diff(place: Path) -> None:
    found = answer("artifact", "diff", "policy:v1", "policy:v2", store=place)
    assert (found["changed"], found["bytes"]) == (["model.pt"], 2)
    shown = invoke("artifact", "diff", "policy:v1", "policy:v2", store=place).stdout
    assert "~ model.pt" in shown
    assert "accuracy: 0.5 → 0.9" in shown
    assert "hold the same" in invoke("artifact", "diff", "policy:v1", "policy:v1", store=place).stdout


def test_the_shell_completes_names_and_versions(place: Path) -> None:
    assert [item.value for item in completing.names(str(place), "p")] == ["policy"]
    assert [item.value for item in completing.versions(str(place), "pol")] == ["policy:latest"]
    assert [item.value for item in completing.versions(str(place), "policy:")] == [
        "policy:latest", "policy:best", "policy:v2", "policy:v1",
    ]  # fmt: skip
    assert [item.value for item in completing.versions(str(place), "model/policy:v")] == [
        "model/policy:v2",
        "model/policy:v1",
    ]
    assert completing.versions(str(place), "other:") == []
