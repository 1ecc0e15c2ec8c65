"""`playhead trace verify | diff | convert`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import playhead
from tests.cli.invoking import answer, in_terminal, invoke
from tests.cli.trace.making import history, update

STEP = "tests.cli.trace.making:update"
OTHER = "tests.cli.trace.making:other"


def test_verify_reads_everything(traced: Path) -> None:
    assert answer("trace", "verify", "r1", store=traced) == {"trace": "r1/fit", "damage": [], "report": None}
    assert "all that is kept is as it was written" in invoke("trace", "verify", "r1", store=traced).stdout


def test_verify_recomputes(traced: Path) -> None:
    found = answer("trace", "verify", "r1", "--step", STEP, store=traced)
    assert found["report"]["is_good"]
    assert found["report"]["calls"] == int(_trace(traced).keyframes[-1])
    wrong = answer("trace", "verify", "r1", "--step", OTHER, expect=1, store=traced)["report"]
    assert not wrong["is_good"]
    assert (wrong["first"]["keyframe"], wrong["first"]["shows_at"]) == (0, 1)
    shown = invoke("trace", "verify", "r1", "--step", OTHER, expect=1, store=traced)
    assert "First: " in shown.stdout
    assert "warning: the step function is not the one" in shown.stderr
    near = answer("trace", "verify", "r1", "--step", OTHER, "--tolerance", "0.01", store=traced)
    assert near["report"]["is_good"]
    assert "needs --step" in invoke("trace", "verify", "r1", "--tolerance", "1", expect=2, store=traced).stderr


def _trace(store: Path) -> playhead.Trace:
    return playhead.Trace.open(store / "traces/r1/fit.trace")


def test_verify_finds_damage(changeable: Path) -> None:
    file = changeable / "traces/r1/fit.trace"
    data = bytearray(file.read_bytes())
    data[100] ^= 1
    file.write_bytes(data)
    found = answer("trace", "verify", "r1", "--step", STEP, expect=1, store=changeable)
    assert found["damage"][0]["remedy"]
    assert found["report"] is None
    assert "damage  expected the state of step" in invoke("trace", "verify", "r1", expect=1, store=changeable).stdout


def test_verify_draws_a_bar_where_a_person_waits(tmp_path: Path) -> None:
    with playhead.TraceWriter(tmp_path / "long.trace", step=update, bucket=10) as trace:
        state = history()[0][0]
        for _ in range(3000):
            trace.append(state, input=np.zeros((4, 3)))
            state = update(state, np.zeros((4, 3)))
    arguments = ("trace", "verify", tmp_path / "long.trace", "--step", STEP)
    code, shown = in_terminal(*arguments, store=tmp_path / "none")
    assert code == 0
    assert "Recomputing" in shown
    assert "as recorded" in shown
    assert "Recomputing" not in invoke(*arguments).output


def test_diff(traced: Path) -> None:
    assert "Equal: 300 steps" in invoke("trace", "diff", "r2/fit", "r2/small", store=traced).stdout
    found = answer("trace", "diff", "r1", "r2/fit", "--step", STEP, store=traced)
    assert (found["is_equal"], found["states"]["first"]) == (False, 1)
    assert answer("trace", "diff", "r1", "r2/fit", "--tolerance", "10", store=traced)["errors"] is None


def test_convert(traced: Path, tmp_path: Path) -> None:
    packed, back = tmp_path / "fit.json.gz", tmp_path / "fit.trace"
    assert "300 steps" in invoke("trace", "convert", "r1", packed, store=traced).stdout
    invoke("trace", "convert", packed, back)
    assert answer("trace", "diff", traced / "traces/r1/fit.trace", back)["is_equal"]
    assert "already" in invoke("trace", "convert", packed, back, expect=1).stderr
    assert "lost" in answer("trace", "convert", "r1", tmp_path / "t.json", "--form", "tiered", store=traced)
    shown = invoke("trace", "convert", "r1", tmp_path / "u.json", "--form", "tiered", store=traced)
    assert "left out: 300 inputs" in shown.stderr


def test_convert_chooses_keyframes(traced: Path, tmp_path: Path) -> None:
    thin, dense = tmp_path / "thin.trace", tmp_path / "dense.trace"
    said = answer("trace", "convert", "r1", thin, "--tiered", "-b", "2", store=traced)
    assert said["keyframes"] == playhead.tiers.keyframe_count(300, 2)
    assert said["bytes"] < said["bytes_before"]
    assert "--step" in invoke("trace", "convert", "r1", dense, "--tiered", expect=1, store=traced).stderr
    assert not dense.exists()
    answer("trace", "convert", "r1", dense, "--tiered", "--step", STEP, store=traced)
    states = [state for state, _ in history(seed=1)]
    found = playhead.Trace.open(dense)
    assert len(found.keyframes) == 300
    assert all(found.seek(step)["w"].tobytes() == states[step]["w"].tobytes() for step in range(300))


@pytest.mark.parametrize("form", ["json", "json.gz"])
def test_a_trace_in_json_is_recorded_listed_and_sought(tmp_path: Path, form: str) -> None:
    with playhead.open(tmp_path / "store") as store, store.run("p", "gd", run_id="r1", environment=False) as run:
        with run.trace("fit", update, bucket=5, form=form) as trace:
            for state, gradient in history()[:50]:
                trace.append(state, error=float(state["n"]), input=gradient)
        assert run.traces.path("fit").name == f"fit.{form}"
    with playhead.open(tmp_path / "store") as store:
        with store.run("p", "gd", run_id="r1", resume=True) as run, run.trace("fit", update, form=form) as trace:
            assert len(trace) == 50
            for state, gradient in history()[50:60]:
                trace.append(state, error=float(state["n"]), input=gradient)
    (one,) = answer("trace", "ls", store=tmp_path / "store")
    assert (one["steps"], one["best"], one["problem"]) == (60, 0, None)
    assert answer("trace", "verify", "r1", "--step", STEP, store=tmp_path / "store")["report"]["is_good"]
