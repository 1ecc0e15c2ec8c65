"""`playhead trace ls | info | seek | best | plot`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import playhead
from playhead.trace.formats.states import from_json
from tests.cli.invoking import answer, in_terminal, invoke
from tests.cli.trace.making import history

STEP = "tests.cli.trace.making:update"


def test_ls(traced: Path, empty: Path) -> None:
    found = answer("trace", "ls", store=traced)
    assert [(one["run"], one["name"], one["steps"]) for one in found] == [
        ("r2", "fit", 300),
        ("r2", "small", 300),
        ("r1", "fit", 300),
    ]
    assert {one["run"] for one in answer("trace", "ls", "r1", store=traced)} == {"r1"}
    trace = playhead.Trace.open(traced / "traces/r1/fit.trace")
    (one,) = answer("trace", "ls", "r1", store=traced)
    assert (one["keyframes"], one["best"], one["error"]) == (len(trace.keyframes), trace.best, trace.errors[trace.best])
    lines = invoke("trace", "ls", store=traced).stdout.splitlines()
    assert lines[0].split() == ["trace", "steps", "keyframes", "best", "at", "step", "size"]
    assert lines[1].startswith("r2/fit")
    assert answer("trace", "ls", store=empty) == []
    assert "No traces" in invoke("trace", "ls", store=empty).stderr


def test_ls_shows_what_is_damaged_and_hides_deleted_runs(changeable: Path) -> None:
    (changeable / "traces/r1/fit.trace").write_bytes(b"nothing of the kind")
    assert "is damaged" in invoke("trace", "ls", "r1", store=changeable).stdout
    assert answer("trace", "ls", store=changeable)[-1]["problem"]
    with playhead.open(changeable) as store:
        store.runs["r2"].delete()
    assert {one["run"] for one in answer("trace", "ls", store=changeable)} == {"r1"}


def test_a_trace_that_is_recorded_shows_as_such(changeable: Path) -> None:
    with playhead.open(changeable) as store, store.run("p", "gd", run_id="live", environment=False) as run:
        trace = run.trace("fit")
        trace.append({"x": 1}, error=1.0)
        trace.flush()
        assert answer("trace", "info", "live", store=changeable)["is_recorded"] is True
        assert "recording" in invoke("trace", "ls", "live", store=changeable).stdout
        assert "being recorded" in invoke("trace", "info", "live", store=changeable).stdout


def test_info(traced: Path) -> None:
    found = answer("trace", "info", "r1/fit", store=traced)
    assert (found["steps"], found["has_inputs"], found["is_recorded"]) == (300, True, False)
    assert found["retention"] == {"strategy": "tiered", "bucket": 10}
    assert found["parameters"] == {"lr": 0.1}
    assert found["function"]["name"] == "update"
    assert found["state"] == [
        {"path": "w", "type": "float64 [4×3]"},
        {"path": "opt.m", "type": "float64 [4×3]"},
        {"path": "n", "type": "int"},
    ]
    shown = invoke("trace", "info", "r1/fit", store=traced).stdout
    for part in ("strategy tiered, bucket 10", "tests.cli.trace.making:update", "lr 0.1", "opt.m", "recorded"):
        assert part in shown


def test_seek(traced: Path, tmp_path: Path) -> None:
    states = [state for state, _ in history(seed=1)]
    shown = invoke("trace", "seek", "r1/fit", "201", "--step", STEP, store=traced).stdout
    assert "Step 201 of 300: recomputed from keyframe 192 in 9 calls" in shown
    assert "float64 [4×3]" in shown
    assert "201" in shown
    found = answer("trace", "seek", "r1/fit", "201", "--step", STEP, store=traced)
    assert (found["step"], found["keyframe"], found["calls"]) == (201, 192, 9)
    assert from_json(found["state"])["w"].tobytes() == states[201]["w"].tobytes()
    target = tmp_path / "state.json"
    assert "Wrote" in invoke("trace", "seek", "r1", "208", "-o", target, store=traced).stdout
    assert from_json(json.loads(target.read_bytes()))["opt"]["m"].tobytes() == states[208]["opt"]["m"].tobytes()


def test_seek_by_word(traced: Path) -> None:
    trace = playhead.Trace.open(traced / "traces/r1/fit.trace")
    assert answer("trace", "seek", "r1", "best", "--step", STEP, store=traced)["step"] == trace.best
    assert answer("trace", "seek", "r1", "last", "--step", STEP, store=traced)["step"] == 299


def test_seek_that_cannot_be_done(traced: Path) -> None:
    assert "--step module:function" in invoke("trace", "seek", "r1", "201", expect=1, store=traced).stderr
    assert "no step 300" in invoke("trace", "seek", "r1", "300", expect=1, store=traced).stderr
    assert "no step -1" in invoke("trace", "seek", "r1", "--", "-1", expect=1, store=traced).stderr
    assert "'best' or 'last'" in invoke("trace", "seek", "r1", "first", expect=2, store=traced).stderr


def test_seek_prints_every_kind_of_state_shortly(tmp_path: Path) -> None:
    state = {
        "many": np.arange(1000.0),
        "nested": [{"a": (1, 2)}, [np.float32(0.5), None]],
        "text\x1b[31m": "x" * 500,
        5: b"\x00\x01",
        "empty": {},
        "nan": float("nan"),
        **{f"k{number}": number for number in range(200)},
    }
    with playhead.TraceWriter(tmp_path / "odd.trace") as trace:
        trace.append(state)
    shown = invoke("trace", "seek", tmp_path / "odd.trace", "0").stdout
    assert "0 1 2 3 4 5 …" in shown
    assert "float64 [1000]" in shown
    assert "nested[0].a" in shown
    assert "tuple [2]" in shown
    assert "\x1b" not in shown
    assert "x" * 100 not in shown
    assert "[5]" in shown
    assert "and 107 more" in shown
    assert "error" not in shown


def test_best(traced: Path) -> None:
    trace = playhead.Trace.open(traced / "traces/r1/fit.trace")
    found = answer("trace", "best", "r1", "-n", "0", store=traced)
    assert [one["step"] for one in found["steps"]] == list(trace.marks)
    assert [one["error"] for one in found["steps"]] == trace.errors[list(trace.marks)].tolist()
    few = answer("trace", "best", "r1", "-n", "2", "--before", "100", store=traced)
    assert [one["step"] for one in few["steps"]] == trace.marks.between(0, 100)[-2:]
    shown = invoke("trace", "best", "r1", "-n", "2", store=traced)
    assert len(shown.stdout.splitlines()) == 3
    assert f"and {len(trace.marks) - 2:,} before them" in shown.stderr


def test_plot(traced: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    target = tmp_path / "fit.png"
    assert invoke("trace", "plot", "r1", "-o", target, store=traced).stdout == f"Wrote {target}.\n"
    with Image.open(target) as image:
        assert image.size[0] == 1800
    assert "does not say what to draw" in invoke("trace", "plot", "r1", "-o", "a.txt", expect=1, store=traced).stderr


def test_tables_fit_a_narrow_terminal(traced: Path) -> None:
    code, shown = in_terminal("trace", "ls", store=traced, columns=50)
    assert code == 0
    assert "r2/fit" in shown
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()
    assert max(map(len, lines)) <= 50
    assert "keyframes" not in lines[0]
