"""One odd file: it is named, and the rest of the store works."""

from __future__ import annotations

import contextlib
import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import playhead
from playhead import clock, facts, opening, typed
from playhead.care import verify
from playhead.care.repairing import Repair
from playhead.cli import program, words
from playhead.errors import Damaged, WrongType
from playhead.lanes.scalars import events
from playhead.layout import Layout, check_member

IDS = ["r0", "r1", "r2"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with playhead.open(tmp_path / "s") as store:
        for run_id in IDS:
            with store.run("p", "n", run_id=run_id, tags=["a"], config={"lr": 1}, environment=False) as run:
                run.log({"loss": 1.0})
    return tmp_path / "s"


def change(file: Path, **fields: Any) -> Path:
    content = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps(content | fields))
    return file


def forget_catalogue(path: Path) -> None:
    for file in path.glob("playhead.db*"):
        file.unlink()


def run_command(*arguments: str) -> str:
    result = CliRunner().invoke(program, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    return str(result.output)


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        *(("meta", "tags", 5), ("meta", "tags", [5]), ("meta", "config", "x"), ("meta", "config", [1])),
        *(("meta", "pid", 2**70), ("meta", "created_at", 1e300), ("meta", "created_at", "Infinity")),
        *(("meta", "created_at", None), ("meta", "project", 5), ("meta", "name", {}), ("meta", "notes", ["x"])),
        *(("status", "started_at", "now"), ("status", "ended_at", -1), ("status", "exit_reason", 5)),
        *(("status", "status", []), ("summary", "best_metric_name", 5), ("summary", "best_metric_mode", "up")),
    ],
)
def test_an_odd_field_is_named_and_every_run_is_listed(path: Path, name: str, field: str, value: Any) -> None:
    file = change(path / "p/n/runs/r1" / f"{name}.json", **{field: value})
    full = [found for found in verify(path, full=True) if found.path == file and repr(field) in found.expected]
    assert full
    forget_catalogue(path)
    for mode in ("r", "a"):
        with playhead.open(path, mode=mode) as store:
            assert sorted(run.id for run in store.runs) == IDS
            assert store.runs["r1"]["loss"].values.tolist() == [1.0]
    problems = opening.rebuild(path)
    assert [problem.path for problem in problems] == [str(file)]
    assert repr(field) in str(problems[0])
    assert all(run_id in run_command("ls", "--store", str(path)) for run_id in IDS)
    assert "r1" in run_command("show", "r1", "--store", str(path))
    assert "Read 3 runs" in run_command("rebuild", "--store", str(path))


@pytest.mark.parametrize("name", ["status", "summary"])
@pytest.mark.parametrize("data", ["", "{", "[]", "nonsense"])
def test_a_run_is_listed_whose_other_files_are_no_json(path: Path, name: str, data: str) -> None:
    file = path / "p/n/runs/r1" / f"{name}.json"
    file.write_text(data)
    forget_catalogue(path)
    with playhead.open(path) as store:
        assert sorted(run.id for run in store.runs) == IDS
        assert store.runs["r1"].tags == ["a"]
    assert [problem.path for problem in opening.rebuild(path)] == [str(file)]
    assert any(found.path == file for found in verify(path))


def test_what_the_catalogue_knows_stays_where_a_file_is_odd_and_repair_writes_it(path: Path) -> None:
    folder = path / "p/n/runs/r1"
    right = json.loads((folder / "meta.json").read_text())
    change(folder / "meta.json", tags=5, config="x", created_at="soon")
    with playhead.open(path) as store:
        run = store.runs["r1"]
        with pytest.raises(Damaged, match=r"'created_at'|'tags'|'config'"):
            run.tag("b")
        run.delete()
        run.restore()
        assert (run.tags, run.config, run.created_at) == (["a"], {"lr": 1}, right["created_at"])
    deeds = list(Repair(Layout(path)).mend(verify(path, full=True)))
    assert [deed.left for deed in deeds if deed.left] == []
    again = json.loads((folder / "meta.json").read_text())
    assert {name: again[name] for name in ("tags", "config", "created_at")} == {
        name: right[name] for name in ("tags", "config", "created_at")
    }
    assert [found for found in verify(path, full=True) if not found.is_harmless] == []


def test_a_run_with_an_odd_mark_of_the_recycle_bin_stays_in_it(path: Path) -> None:
    with playhead.open(path) as store:
        store.runs["r1"].delete("done")
    change(path / "p/n/runs/r1/.deleted", deleted_at="x", reason=5)
    opening.rebuild(path)
    with playhead.open(path) as store:
        assert [run.id for run in store.runs.deleted] == ["r1"]
        store.runs.deleted[0].purge()


@pytest.mark.parametrize(
    "fields",
    [
        {"hostname": 5, "platform": [1], "python": {}, "argv": [1, 2], "gpus": [5], "git": {"commit": 5, "diff": 7}},
        {"argv": "x", "gpus": {"a": 1}, "git": "main"},
        {"gpus": [{"name": 5}], "git": {"branch": 1, "commit": None}},
    ],
)
def test_an_odd_environment_is_shown_as_far_as_it_goes(path: Path, fields: dict[str, Any]) -> None:
    file = change(path / "p/n/runs/r1/environment.json", cwd="/somewhere", **fields)
    assert "r1" in run_command("show", "r1", "--store", str(path))
    assert '"/somewhere"' in run_command("show", "r1", "--json", "--store", str(path))
    assert "/somewhere" in run_command("diff", "r0", "r1", "--store", str(path))
    assert {found.expected.split("as ")[-1] for found in verify(path) if found.path == file} == {
        repr(name) for name in fields
    }


def test_times_that_no_calendar_has_are_shown_as_numbers() -> None:
    for seconds in (1e300, -1e300, float("inf"), float("nan"), 2.5e11 + 1e11):
        assert words.moment(seconds)
        assert isinstance(words.age(seconds), str)
        assert isinstance(words.duration(seconds), str)


@pytest.mark.parametrize("begin", [b"", b'{"ts":1794727420.687950612,"type":"metrics","data":'])
def test_a_very_long_line_is_skipped_quickly_and_named(path: Path, begin: bytes) -> None:
    file = path / "p/n/runs/r1/events.jsonl"
    line = file.read_bytes()
    with file.open("ab") as opened:
        opened.write(begin)
        for _ in range(3 * events.LONGEST >> 20):
            opened.write(b"[" * (1 << 20))
        opened.write(b"\n" + line.replace(b"1.0", b"2.0"))
    begun = clock.spent_ns()
    tracemalloc.start()
    try:
        problems = opening.rebuild(path)
        assert tracemalloc.get_traced_memory()[1] < 1.5 * events.LONGEST
    finally:
        tracemalloc.stop()
    assert clock.spent_ns() - begun < 5 * clock.SECOND
    assert problems == []
    with playhead.open(path) as store:
        assert store.runs["r1"]["loss"].values.tolist() == [1.0, 2.0]
    assert any(found.path == file and "too long" in found.found for found in verify(path))


def test_a_line_is_read_whole_up_to_the_longest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "LONGEST", 1000)
    monkeypatch.setattr(events, "_BLOCK", 64)
    file = tmp_path / "e"
    own = b'{"ts":1' + b" " * 991 + b"}\n"
    file.write_bytes(own + own[:-2] + b" }\n" + b"z" * 1000 + b"\n" + b"torn" * 1000)
    assert events.read(file, 0, 10) == (own, 1000, 0)
    assert events.read(file, 1000, 10) == (b"", 1001, 1)
    assert events.read(file, 2001, 10) == (b"", 1001, 1)
    assert events.read(file, 3002, 10) == (b"", 0, 0)


def test_an_event_that_nobody_would_read_is_refused_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "LONGEST", 5000)
    with playhead.open(tmp_path / "s") as store, store.run("p", "n", environment=False) as run:
        many = {f"m{number}": 1.0 for number in range(1000)}
        for values in (many, dict(list(many.items())[:100]), many):
            with pytest.raises(WrongType, match="in several calls") if values is many else contextlib.nullcontext():
                run.log(values)
        with pytest.raises(WrongType, match="in several calls"):
            run.log_image("i", np.zeros((2, 2, 3), np.uint8), caption="x" * 5000)
        run.log({"m1": 2.0})
        assert run["m1"].values.tolist() == [1.0, 2.0]
        assert run.metric_names() == sorted(f"m{number}" for number in range(100))


def test_a_path_of_thousands_of_folders_is_no_file_of_an_artifact(path: Path, tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text("x")
    with playhead.open(path) as store:
        store.artifacts.save("policy", tmp_path / "f.txt")
        store.artifacts.save("other", tmp_path / "f.txt")
    folder = path / "artifacts/model/policy"
    content = json.loads((folder / "v1/manifest.json").read_text())
    content["files"][0]["path"] = "a/" * 2000 + "f.txt"
    (folder / "v1/manifest.json").write_text(json.dumps(content))
    for name, key in (("versions.json", "metadata_digests"), ("v1/metadata.json", "manifest_digest")):
        said = json.loads((folder / name).read_text())
        said.pop(key)
        said.pop("digest", None)
        (folder / name).write_text(json.dumps(said))
    assert any(found.path.name == "manifest.json" for found in verify(path))
    with playhead.open(path) as store:
        assert sorted(artifact.name for artifact in store.artifacts) == ["other", "policy"]
        with pytest.raises(Damaged, match=r"manifest\.json"):
            store.artifacts["policy:v1"].download(tmp_path / "out")
        assert store.artifacts["other:v1"].verify() == []
    with contextlib.suppress(SystemExit):
        run_command("repair", "--store", str(path))
    assert check_member("a/" * 250 + "f")


def test_an_episode_with_odd_facts_is_listed_and_named(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "s") as store:
        with store.dataset("d").new_episode() as episode:
            episode.append("x", 1.0, 1)
        folder = next((tmp_path / "s/episodes/d").glob("*/*"))
        change(folder / "meta.json", uid=5, created_ts_ns=2**70, run_id=[1])
        forget_catalogue(tmp_path / "s")
    with playhead.open(tmp_path / "s") as store:
        assert store.dataset("d")[0]["x"].values.tolist() == [1.0]
        assert store.dataset("d")[0].created_ts_ns is None
    for full in (False, True):
        found = {one.expected + one.found for one in verify(tmp_path / "s", full=full) if one.path.name == "meta.json"}
        assert all(any(name in text for text in found) for name in ("'uid'", "'created_ts_ns'", "'run_id'"))


@pytest.mark.parametrize("half", [b"\\udcff", b"\xed\xb3\xbf"])
def test_text_with_half_a_character_is_spelled_out(path: Path, half: bytes) -> None:
    for name in ("meta", "status"):
        file = path / f"p/n/runs/r1/{name}.json"
        file.write_bytes(file.read_bytes().replace(b"{", b'{"mine": "%b",' % half).replace(b'"a"', b'"a%b"' % half))
    file = path / "p/n/runs/r1/meta.json"
    forget_catalogue(path)
    with playhead.open(path) as store:
        assert store.runs["r1"].tags == ["a\\udcff"]
        store.runs["r1"].tag("b")
    assert facts.load(file)["tags"] == ["a\\udcff", "b"]


@pytest.mark.parametrize(
    ("value", "due"),
    [
        (3, 3.0),
        (0.5, 0.5),
        (1 << 70, float(1 << 70)),
        *((odd, None) for odd in (10**400, True, None, "1", np.inf, np.nan)),
    ],
)
def test_a_number_that_no_float_holds_is_none(value: object, due: float | None) -> None:
    assert typed.finite(value) == due
