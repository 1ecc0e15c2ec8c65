"""Lineage in both directions, transitively, also where it goes in circles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import playhead
from playhead.artifact import index
from playhead.layout import RunFolder


@pytest.fixture
def chain(store: playhead.Store, tmp_path: Path) -> dict[str, str]:
    """Raw data, prepared by one run, trained on by two, the second of which also uses what the first made."""
    (tmp_path / "x").write_text("x")
    store.artifacts.save("raw", tmp_path / "x", type="dataset")
    runs = {}
    for name, uses, makes in (
        ("prepare", ["raw:v1"], "prepared"),
        ("first", ["prepared:v1"], "policy"),
        ("second", ["prepared:v1", "policy:v1"], "policy"),
        ("aside", ["raw:v1"], "other"),
    ):
        with store.run("p", name) as run:
            for ref in uses:
                run.use_artifact(ref)
            run.log_artifact(makes, tmp_path / "x", type="model" if makes == "policy" else "dataset")
            runs[name] = run.id
    return runs


def ids(nodes: list[object], names: dict[str, str]) -> list[str]:
    known = {run_id: name for name, run_id in names.items()}
    return [known.get(node.id, node.id) for node in nodes]  # type: ignore[attr-defined]


def test_both_directions_transitively(store: playhead.Store, chain: dict[str, str]) -> None:
    found = store.artifacts["policy:v1"].lineage()
    assert ids(found.upstream, chain) == ["first", "dataset/prepared:v1", "prepare", "dataset/raw:v1"]
    assert ids(found.downstream, chain) == ["second", "model/policy:v2"]
    root = store.artifacts["raw:v1"].lineage()
    assert root.upstream == []
    assert set(ids(root.downstream, chain)) == {
        "prepare", "aside", "first", "second", "dataset/prepared:v1", "dataset/other:v1", "model/policy:v1",
        "model/policy:v2",
    }  # fmt: skip
    assert ids(store.artifacts["raw:v1"].lineage(depth=1).downstream, chain) == ["prepare", "aside"]
    assert {edge.kind for edge in root.edges} == {"made", "used"}


def test_forms(store: playhead.Store, chain: dict[str, str]) -> None:
    found = store.artifacts["policy:v2"].lineage()
    data = found.to_json()
    assert data["root"] == "model/policy:v2"
    assert {edge["source"] for edge in data["edges"]} <= {node["id"] for node in data["nodes"]}
    dot = found.to_dot()
    assert f'"dataset/prepared:v1" -> "{chain["second"]}" [label="used"];' in dot
    assert dot.count("->") == len(found.edges)
    shown = [(depth, *ids([node], chain), again) for depth, node, again in found.tree(is_upstream=True)]
    assert shown[0] == (1, "second", False)
    assert (4, "dataset/prepared:v1", True) in shown or (2, "dataset/prepared:v1", True) in shown


def test_a_run_that_uses_what_it_made_is_no_endless_loop(store: playhead.Store, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x")
    with store.run("p", "n") as run:
        run.log_artifact("policy", tmp_path / "x")
        run.use_artifact("policy:v1")
        run.log_artifact("policy", tmp_path / "x")
    found = store.artifacts["policy:v1"].lineage()
    assert [node.id for node in found.upstream] == [run.id]
    assert [node.id for node in found.downstream] == [run.id, "model/policy:v2"]
    assert len(list(found.tree(is_upstream=False))) < 5


def test_a_run_that_was_purged_leaves_the_versions_it_made(store: playhead.Store, chain: dict[str, str]) -> None:
    run = store.runs[chain["first"]]
    run.delete()
    run.purge()
    found = store.artifacts["policy:v1"].lineage()
    assert ids(found.upstream, chain) == ["first"]
    assert store.artifacts["policy:v1"].verify() == []


@pytest.mark.parametrize("key", ["type", "name", "version", "used_at"])
def test_what_a_run_used_is_read_or_refused_with_words(store: playhead.Store, tmp_path: Path, key: str) -> None:
    folder = RunFolder(tmp_path)
    for odd in (None, 10**30, [], {}, -1, 1e300):
        entry = {"type": "model", "name": "policy", "version": 1, "used_at": 1.0} | {key: odd}
        folder.artifacts_used.write_text(json.dumps({"artifacts": [entry]}))
        with pytest.raises(playhead.Damaged, match=r"artifacts_used\.json is damaged"):
            index.put_uses(store._home, 1, folder)
