"""Recording a run: what goes in comes back, and every end is told truthfully."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import playhead
from playhead.care.verifying import verify
from playhead.errors import BadName, Closed, Exists, NotFound, StoreLocked, WrongShape, WrongType
from playhead.trace import TraceWriter


def begin(store: playhead.Store, name: str = "n", **options: object) -> playhead.RunWriter:
    return store.run("p", name, **{"environment": False, **options})  # type: ignore[arg-type]


def test_values_steps_and_times_come_back(store: playhead.Store) -> None:
    with begin(store) as run:
        for value in range(5):
            run.log({"loss": 1 / (value + 1), "acc": value})
    signal_ = store.runs[run.id]["loss"]
    assert signal_.values.tolist() == [1 / (value + 1) for value in range(5)]
    assert signal_.steps.tolist() == [1, 2, 3, 4, 5]
    assert (np.diff(signal_.timestamps) > 0).all()
    assert abs(signal_.times[-1] / 1e9 - time.time()) < 60
    assert signal_[0] == (1.0, signal_.timestamps[0])
    assert [value for value, _ in signal_] == signal_.values.tolist()


def test_an_explicit_step_sets_the_counter_and_automatic_ones_go_on(store: playhead.Store) -> None:
    with begin(store) as run:
        run.log({"a": 1})
        run.log({"a": 1}, step=10)
        run.log({"a": 1})
        run.log({"a": 1}, step=np.int64(3))
        run.log({"a": 1, "step": 7})
        run.log({"a": 1, "global_step": 9}, step=8)
    assert run["a"].steps.tolist() == [1, 10, 11, 3, 7, 8]
    assert run.metric_names() == ["a"]


@pytest.mark.parametrize("step", [1.5, "3", True, math.nan, math.inf, 2**63])
def test_a_step_that_is_no_integer_is_refused(store: playhead.Store, step: object) -> None:
    with begin(store) as run:
        with pytest.raises(WrongType, match="a step is an integer"):
            run.log({"a": 1}, step=step)  # type: ignore[arg-type]
        run.log({"a": 2})
    assert run["a"].values.tolist() == [2]


def test_nan_and_the_infinities_come_back_as_they_went_in(store: playhead.Store) -> None:
    values = [1.0, math.nan, math.inf, -math.inf, 5e-324, 1.7976931348623157e308, 0.1]
    with begin(store) as run:
        for value in values:
            run.log({"x": value})
    np.testing.assert_array_equal(run["x"].values, values)
    np.testing.assert_array_equal(run.metrics()["value"].to_numpy(), values)
    for line in (run.path / "events.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=pytest.fail)


def test_a_sum_that_overflows_does_not_hide_finite_values(store: playhead.Store) -> None:
    with begin(store) as run:
        run.log({"a": 1e308, "b": 1e308})
        run.log({"a": 1e308, "b": 1e308})
    assert run["b"].values.tolist() == [1e308, 1e308]


def test_numbers_of_every_kind_are_taken(store: playhead.Store) -> None:
    class TorchLike:
        shape = ()

        def item(self) -> float:
            return 2.5

    numbers = {
        "int": 3, "bool": True, "float32": np.float32(0.5), "int8": np.int8(-3), "zero_d": np.array(1.25),
        "one": np.array([4.0]), "big": 2**70, "torch": TorchLike(), "np_bool": np.bool_(True), "half": np.float16(0.25),
        "long": np.longdouble(0.75), "longs": np.array([0.75], np.longdouble),
    }  # fmt: skip
    with begin(store) as run:
        run.log(numbers)
        run.log(numbers)
    found = {name: run[name].values.tolist() for name in run}
    assert found == {
        "int": [3] * 2, "bool": [1] * 2, "float32": [0.5] * 2, "int8": [-3] * 2, "zero_d": [1.25] * 2, "one": [4.0] * 2,
        "big": [2.0**70] * 2, "torch": [2.5] * 2, "np_bool": [1] * 2, "half": [0.25] * 2,
        "long": [0.75] * 2, "longs": [0.75] * 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"a": "text"}, "not a number"),
        ({"a": None}, "not a number"),
        ({"a": [1, 2]}, "not a number"),
        ({"a": np.zeros(3)}, r"shape \(3,\)"),
        ({"a": np.zeros(0)}, r"shape \(0,\)"),
        ({"a": np.array(["x"])}, "not a number"),
        ({"a": {"b": 1}}, "name/key"),
        ({"a": 10**400}, "past the largest float"),
        ([("a", 1)], "takes a mapping"),
    ],
)
def test_what_is_not_a_number_is_refused_and_nothing_is_written(
    store: playhead.Store, values: object, message: str
) -> None:
    with begin(store) as run:
        run.log({"a": 1.0, "b": 2.0})
        before = (run.path / "events.jsonl").read_bytes()
        with pytest.raises(WrongType, match=message):
            run.log(values)  # type: ignore[arg-type]
        assert (run.path / "events.jsonl").read_bytes() == before
        run.log({"a": 2.0})
    assert run["a"].values.tolist() == [1, 2]


@pytest.mark.parametrize("name", ["", " ", "a\x00b", "a\nb", "x" * 201, "a\u202eb", "\ud800", 3])
def test_metric_names_that_cannot_be_stored_are_refused(store: playhead.Store, name: object) -> None:
    with begin(store) as run, pytest.raises(BadName):
        run.log({name: 1.0})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "name", ["train/loss", "a.b", "ä", "损失", "time", "..", "a b", "'; DROP TABLE runs; --", "ts"]
)
def test_metric_names_of_all_kinds_come_back(store: playhead.Store, name: str) -> None:
    with begin(store) as run:
        run.log({name: 1.5})
        run.log({name: 2.5, "other": 0})
    assert run[name].values.tolist() == [1.5, 2.5]


def test_stages_are_kept_apart_in_tables_and_together_in_a_signal(store: playhead.Store) -> None:
    with begin(store) as run:
        run.log({"loss": 1}, stage="train")
        run.log({"loss": 2}, stage="eval")
        run.log({"loss": 3, "stage": "train"})
        run.log({"loss": 4, "stage": "eval"}, stage="train")
        run.log({"loss": 5})
    assert run["loss"].values.tolist() == [1, 2, 3, 4, 5]
    assert run.metrics()["stage"].to_pylist() == ["train", "eval", "train", "train", None]
    rows = store.sql("SELECT stage, metric_value FROM metrics ORDER BY ts_ns").to_pylist()
    assert [row["stage"] for row in rows] == ["train", "eval", "train", "train", None]


def test_two_values_of_one_instant_are_both_kept(store: playhead.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("playhead.clock.elapsed_ns", lambda: 0)
    with begin(store) as run:
        for value in range(100):
            run.log({"x": value})
    assert run["x"].values.tolist() == list(range(100))


def test_an_empty_log_counts_a_step(store: playhead.Store) -> None:
    with begin(store) as run:
        run.log({})
        run.log({"a": 1})
    assert run["a"].steps.tolist() == [2]


def test_threads_log_at_once(store: playhead.Store) -> None:
    with begin(store) as run:
        threads = [threading.Thread(target=lambda n=n: [run.log({f"m{n}": i}) for i in range(200)]) for n in range(8)]  # type: ignore[misc]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert all(run[f"m{n}"].values.tolist() == list(range(200)) for n in range(8))
    assert sorted(step for n in range(8) for step in run[f"m{n}"].steps) == list(range(1, 1601))


def test_the_folder_says_everything(store: playhead.Store) -> None:
    with begin(store, "my/run", config={"lr": 1e-3}, tags=["b", "a"], notes="try") as run:
        run.log({"loss": 0.5})
        run.log_text("hello\nworld")
        run.summary(note="x", nan=math.nan)
    assert run.path == store.path / "p" / "my%2Frun" / "runs" / run.id
    meta = json.loads((run.path / "meta.json").read_text())
    assert (meta["id"], meta["project"], meta["name"], meta["config"]) == (run.id, "p", "my/run", {"lr": 1e-3})
    assert (meta["tags"], meta["notes"], meta["pid"]) == (["a", "b"], "try", os.getpid())
    status = json.loads((run.path / "status.json").read_text())
    assert status["status"] == "finished"
    assert status["ended_at"] >= status["started_at"]
    assert json.loads((run.path / "summary.json").read_text()) == {
        "note": "x",
        "nan": None,
        "$not_finite": {"NaN": [["nan"]]},
    }
    stamp = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}[+-]\d\d:\d\d"
    assert re.fullmatch(rf"({stamp} \| (hello|world)\n){{2}}", run.logs())
    assert math.isnan(run.summary()["nan"])
    assert os.listdir(store.path / ".recording") == []


def test_config_of_any_form_comes_back(store: playhead.Store) -> None:
    @dataclass
    class Config:
        lr: float
        layers: tuple[int, ...]

    given = {
        "deep": {"a": {"b": 1}}, "none": None, "nan": math.nan, "path": Path("x"), "np": np.float32(0.5),
        "arr": np.arange(2), "dc": Config(1.0, (1, 2)), "ns": Namespace(x=1), 3: "key", "big": 2**80 + 1, "type": int,
    }  # fmt: skip
    run = begin(store, config=given)
    run.finish()
    config = store.runs[run.id].config
    assert math.isnan(config.pop("nan"))
    assert config == {
        "deep": {"a": {"b": 1}}, "none": None, "path": "x", "np": 0.5, "arr": [0, 1], "dc": {"lr": 1.0, "layers": [1, 2]},
        "ns": {"x": 1}, "3": "key", "big": 2**80 + 1, "type": "<class 'int'>",
    }  # fmt: skip
    begin(store, config=Config(2.0, ())).finish()
    begin(store, config=Namespace(lr=3)).finish()
    assert store.runs[-1].config == {"lr": 3}
    with pytest.raises(WrongType, match="config is a mapping"):
        begin(store, config=[1, 2])
    with pytest.raises(WrongType, match="as text"):
        begin(store, config={"a number of thousands of digits": 10**5000})
    assert len(store.runs) == 3


def test_a_negative_zero_is_in_the_file_and_a_zero_in_the_catalogue(store: playhead.Store) -> None:
    """SQLite keeps a REAL of a whole number as an integer, which has one zero."""
    with begin(store) as run:
        run.log({"a": -0.0})
        run.log({"a": np.float32(-0.0)})
    assert (run.path / "events.jsonl").read_text().count('"a":-0.0') == 2
    assert run["a"].values.tolist() == [0.0, 0.0]


def test_an_id_is_made_of_the_time_and_six_hex_digits(store: playhead.Store) -> None:
    run = begin(store)
    run.finish()
    assert re.fullmatch(r"\d{8}_\d{6}_[0-9a-f]{6}", run.id)


def test_an_exception_marks_the_run_failed_with_its_reason(store: playhead.Store) -> None:
    with pytest.raises(ZeroDivisionError), begin(store) as run:
        run.log({"a": 1})
        _ = 1 / 0
    run = store.runs[run.id]
    assert (run.status, run.exit_reason) == ("failed", "ZeroDivisionError: division by zero")


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (KeyboardInterrupt(), "interrupted", "KeyboardInterrupt"),
        (SystemExit(0), "finished", None),
        (SystemExit(3), "failed", "SystemExit: 3"),
    ],
)
def test_ctrl_c_and_exit_are_told_apart(store: playhead.Store, error: BaseException, status: str, reason: str) -> None:
    with pytest.raises(type(error)), begin(store) as run:
        raise error
    assert (store.runs[run.id].status, store.runs[run.id].exit_reason) == (status, reason)


def script(tmp_path: Path, body: str, *, signal_: int | None = None) -> subprocess.CompletedProcess[str]:
    head = "import playhead, os, sys, time, signal\nstore = playhead.open(sys.argv[1])\n"
    command = [sys.executable, "-u", "-c", head + body, str(tmp_path / "store")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if signal_ is not None:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal_)
    out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


WAITING = """
with store.run("p", "n") as run:
    run.log({"a": 1})
    print("ready")
    time.sleep(60)
"""


@pytest.mark.parametrize(("number", "reason"), [(signal.SIGTERM, "SIGTERM"), (signal.SIGINT, "KeyboardInterrupt")])
def test_signals_mark_the_run_interrupted(tmp_path: Path, number: int, reason: str) -> None:
    result = script(tmp_path, WAITING, signal_=number)
    assert result.returncode != 0
    with playhead.open(tmp_path / "store") as store:
        assert (store.runs[0].status, store.runs[0].exit_reason) == ("interrupted", reason)
        assert store.runs[0]["a"].values.tolist() == [1]


def test_a_handler_of_the_program_for_sigterm_is_left_alone(tmp_path: Path) -> None:
    body = "signal.signal(signal.SIGTERM, lambda *_: os._exit(7))\n" + WAITING
    assert script(tmp_path, body, signal_=signal.SIGTERM).returncode == 7


CHAINED = """
run = store.run("p", "n")
before = signal.getsignal(signal.SIGTERM)
def mine(number, frame):
    print("mine")
    before(number, frame)
signal.signal(signal.SIGTERM, mine)
print("ready")
time.sleep(60)
"""


def test_a_handler_that_calls_the_one_before_ends_the_run(tmp_path: Path) -> None:
    result = script(tmp_path, CHAINED, signal_=signal.SIGTERM)
    assert (result.returncode, result.stdout, result.stderr) == (143, "mine\n", "")
    with playhead.open(tmp_path / "store") as store:
        assert (store.runs[0].status, store.runs[0].exit_reason) == ("interrupted", "SIGTERM")


def test_a_handler_that_exits_by_itself_ends_the_run_as_interrupted(tmp_path: Path) -> None:
    body = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\nrun = store.run('p', 'n')\n"
    result = script(tmp_path, body + "print('ready')\ntime.sleep(60)", signal_=signal.SIGTERM)
    assert (result.returncode, result.stderr) == (143, "")
    with playhead.open(tmp_path / "store") as store:
        assert (store.runs[0].status, store.runs[0].exit_reason) == ("interrupted", "SystemExit: 143 (SIGTERM)")


def test_sigterm_and_exit_are_as_before_once_no_run_is_recorded(tmp_path: Path) -> None:
    body = """
leave = sys.exit
with store.run("p", "n"):
    run = store.run("p", "n")
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
assert sys.exit is not leave
child = os.fork()
if child == 0:
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL and sys.exit is leave
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
run.finish()
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL and sys.exit is leave
print("ready")
time.sleep(60)
"""
    result = script(tmp_path, body, signal_=signal.SIGTERM)
    assert (result.returncode, result.stderr) == (-signal.SIGTERM, "")


@pytest.mark.parametrize("leaving", ["sys.exit(3)", "os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)"])
def test_an_exit_that_the_program_catches_does_not_count(tmp_path: Path, leaving: str) -> None:
    body = f"""
run = store.run("p", "n")
try:
    {leaving}
except SystemExit:
    pass
run.log({{"a": 1}})
"""
    assert script(tmp_path, body).returncode == 0
    with playhead.open(tmp_path / "store") as store:
        assert (store.runs[0].status, store.runs[0].exit_reason) == ("finished", None)


LATE = """
from playhead.recording import run_writer
settle = run_writer.checksums.note_part
def note_part(*arguments):
    settle(*arguments)
    os.kill(os.getpid(), signal.SIGTERM)
    print("settled")
run_writer.checksums.note_part = note_part
run = store.run("p", "n")
run.finish()
print("not reached")
"""


def test_sigterm_waits_until_a_run_is_completed(tmp_path: Path) -> None:
    result = script(tmp_path, LATE)
    assert (result.returncode, result.stdout, result.stderr) == (143, "settled\n", "")
    with playhead.open(tmp_path / "store") as store:
        assert store.runs[0].status == "finished"


def test_a_run_in_a_generator_that_nobody_ends_is_finished(store: playhead.Store) -> None:
    def steps() -> Iterator[Any]:
        with begin(store) as run:
            yield run

    generator = steps()
    run = next(generator)
    generator.close()
    assert (run.status, run.exit_reason) == ("finished", None)


def test_a_run_that_was_never_closed_ends_with_the_program(tmp_path: Path) -> None:
    assert script(tmp_path, "run = store.run('p', 'good')\nrun.log({'a': 1})").returncode == 0
    assert script(tmp_path, "run = store.run('p', 'bad')\nrun.log({'a': 1})\nraise ValueError('oh')").returncode == 1
    with playhead.open(tmp_path / "store") as store:
        assert [(run.name, run.status) for run in store.runs] == [("good", "finished"), ("bad", "failed")]
        assert store.runs[1].exit_reason == "ValueError: oh"
        assert store.runs[1]["a"].values.tolist() == [1]


def test_a_killed_run_is_found_and_keeps_every_point(tmp_path: Path) -> None:
    result = script(
        tmp_path, "run = store.run('p', 'n')\nfor i in range(1000): run.log({'a': i})\nos.kill(os.getpid(), 9)"
    )
    assert result.returncode == -9
    with playhead.open(tmp_path / "store") as store:
        run = store.runs[0]
        assert (run.status, run.exit_reason) == ("failed", "process_not_found")
        assert run["a"].values.tolist() == list(range(1000))
        assert json.loads((run.path / "status.json").read_text())["status"] == "failed"


def killed_recorder(tmp_path: Path) -> Path:
    """Leave the claim of a recorder that was killed."""
    script(tmp_path, "run = store.run('p', 'n', run_id='r')\nrun.log({'a': 1})\nos.kill(os.getpid(), 9)")
    (claim,) = (tmp_path / "store" / ".recording").glob("*.json")
    return claim


def test_a_run_on_another_machine_is_judged_by_its_heartbeat(tmp_path: Path) -> None:
    claim = killed_recorder(tmp_path)
    content = json.loads(claim.read_text())
    content["process"] |= {"place": "elsewhere", "pid": 1}
    claim.write_text(json.dumps(content))
    with playhead.open(tmp_path / "store") as other:
        assert other.runs["r"].status == "running"
    os.utime(claim, (time.time() - 700, time.time() - 700))
    with playhead.open(tmp_path / "store") as other:
        assert other.runs["r"].status == "failed"


def test_a_pid_that_is_used_again_does_not_keep_a_dead_run_alive(tmp_path: Path) -> None:
    claim = killed_recorder(tmp_path)
    content = json.loads(claim.read_text())
    content["process"]["pid"] = os.getpid()
    claim.write_text(json.dumps(content))
    with playhead.open(tmp_path / "store") as other:
        assert other.runs["r"].status == "failed"


def test_a_running_run_without_its_claim_is_settled(store: playhead.Store) -> None:
    run = begin(store)
    run.log({"a": 1})
    run.flush()
    copied = store.path.parent / "copied"
    shutil.copytree(store.path, copied, ignore=shutil.ignore_patterns(".recording"))
    run.finish()
    with playhead.open(copied) as other:
        assert other.runs[run.id].status == "failed"


def test_resuming_goes_on_after_the_last_step(store: playhead.Store) -> None:
    with begin(store) as run:
        run.log({"a": 1}, step=41)
    with begin(store, run_id=run.id, resume=True) as again:
        assert again.status == "running"
        again.log({"a": 2})
    assert again.id == run.id
    assert again["a"].steps.tolist() == [41, 42]
    assert (np.diff(again["a"].timestamps) > 0).all()
    assert store.runs[run.id].status == "finished"


def test_resuming_by_name_takes_the_newest_and_makes_one_where_there_is_none(store: playhead.Store) -> None:
    with begin(store, "it's", resume=True) as run:
        run.log({"a": 1})
    with begin(store, "it's", resume=True) as again:
        pass
    assert again.id == run.id


def test_resuming_after_a_kill_in_the_middle_of_a_line(tmp_path: Path) -> None:
    script(tmp_path, "run = store.run('p', 'n', run_id='r')\nrun.log({'a': 1})\nos.kill(os.getpid(), 9)")
    events = tmp_path / "store" / "p" / "n" / "runs" / "r" / "events.jsonl"
    with events.open("ab") as file:
        file.write(b'{"ts":1794727420.000000001,"type":"metr')
    with playhead.open(tmp_path / "store") as store:
        assert events.read_bytes().endswith(b"\n")
        with begin(store, run_id="r", resume=True) as run:
            run.log({"a": 2})
        assert run["a"].values.tolist() == [1, 2]


def test_a_line_that_is_no_json_is_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "s") as store:
        run = begin(store)
        run.log({"a": 1})
        with (run.path / "events.jsonl").open("ab") as file:
            file.write(b'{"half": \nnot json\n[1]\n\n{"ts": "x", "type": "metrics", "data": {}}\n')
        run.log({"a": 2})
        run.finish()
        assert run["a"].values.tolist() == [1, 2]
        assert store.info()["unreadable_lines"] == 4


def test_two_runs_with_one_id_are_refused(store: playhead.Store) -> None:
    with begin(store, run_id="mine"):
        for name in ("n", "other"):
            with pytest.raises(Exists, match="resume=True"):
                begin(store, name, run_id="mine")
        with pytest.raises(StoreLocked, match=r"store\.attach"):
            begin(store, run_id="mine", resume=True)
    with pytest.raises(Exists):
        begin(store, run_id="mine")
    assert len(store.runs) == 1
    assert not (store.path / "p" / "other").exists()


@pytest.mark.parametrize("run_id", ["", "../x", "a/b", "a.b", "a b", "x" * 129, "con", "-a", "ä", "a\x00", ".x"])
def test_ids_that_cannot_be_file_names_are_refused(store: playhead.Store, run_id: str) -> None:
    with pytest.raises(BadName, match="cannot be a run id"):
        begin(store, run_id=run_id)


def test_other_processes_attach_and_log_into_the_same_run(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "store") as store:
        with begin(store) as run:
            run.log({"a": 0})
            body = f"with store.attach({run.id!r}) as run:\n  for i in range(50): run.log({{'a': i, 'rank': 1}})"
            assert script(tmp_path, body).returncode == 0
            assert script(tmp_path, body).returncode == 0
            run.log({"a": 1})
            assert store.runs[run.id].status == "running"
        assert sorted(path.name for path in run.path.glob("events*")) == [
            "events-2.jsonl",
            "events-3.jsonl",
            "events.jsonl",
        ]
        assert len(run["a"]) == 102
        assert len(run["rank"]) == 100
        with pytest.raises(Closed, match="resume=True"):
            store.attach(run.id)
        with pytest.raises(NotFound):
            store.attach("nope")


def test_a_killed_rank_loses_nothing_and_does_not_end_the_run(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "store") as store, begin(store) as run:
        script(tmp_path, f"run = store.attach({run.id!r})\nrun.log({{'rank': 7}})\nos.kill(os.getpid(), 9)")
        with playhead.open(tmp_path / "store") as other:
            assert other.runs[run.id].status == "running"
            assert other.runs[run.id]["rank"].values.tolist() == [7]


def test_a_forked_child_is_told_so_until_it_attaches(tmp_path: Path) -> None:
    body = """
with store.run("p", "n") as run:
    run.log({"a": 1})
    pid = os.fork()
    if pid == 0:
        for call in (lambda: run.log({"a": 2}), lambda: run.log_text("x"), run.finish, run.flush):
            try:
                call()
            except playhead.Forked as error:
                assert "store.attach" in str(error)
            else:
                os._exit(1)
        with store.attach(run.id) as mine:
            mine.log({"child": 3})
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    run.log({"a": 4})
"""
    result = script(tmp_path, body)
    assert result.returncode == 0, result.stderr
    with playhead.open(tmp_path / "store") as store:
        assert store.runs[0]["a"].values.tolist() == [1, 4]
        assert store.runs[0]["child"].values.tolist() == [3]
        assert store.runs[0].status == "finished"


def test_after_the_end_every_call_raises_at_once(store: playhead.Store) -> None:
    with begin(store) as run:
        run.log({"a": 1})
    run.finish()
    calls = (
        lambda: run.log({"a": 2}), lambda: run.log_text("x"), lambda: run.log_image("i", np.zeros((2, 2))),
        lambda: run.summary(x=1), lambda: run.set_primary_metric("a"), run.flush, run.__enter__,
    )  # fmt: skip
    for call in calls:
        with pytest.raises(Closed, match="has ended"):
            call()
    assert run["a"].values.tolist() == [1]


def test_the_best_value_is_kept(store: playhead.Store) -> None:
    with begin(store) as run:
        run.log({"loss": math.nan})
        run.set_primary_metric("loss", mode="min")
        for value in (3.0, 1.0, math.nan, 1.0, 2.0):
            run.log({"loss": value})
        run.flush()
        assert json.loads((run.path / "summary.json").read_text())["best_metric_value"] == 1.0
    assert (run.best, run.best_step, run.primary_metric) == (1.0, 3, "loss")
    with begin(store) as other:
        other.set_primary_metric("acc")
        for value in (0.5, 0.9, 0.9, -math.inf):
            other.log({"acc": value})
    assert (other.best, other.best_step) == (0.9, 2)
    with begin(store) as third, pytest.raises(WrongType, match="'max' or 'min'"):
        third.set_primary_metric("acc", mode="best")


def test_changing_the_primary_metric_changes_the_best(store: playhead.Store) -> None:
    with begin(store) as run:
        run.log({"a": 1, "b": 5})
        run.set_primary_metric("a", "max")
        run.flush()
        run.set_primary_metric("b", "min")
    assert (run.primary_metric, run.best) == ("b", 5)


@pytest.mark.parametrize(
    "image",
    [
        np.zeros((4, 5), np.uint8), np.ones((4, 5, 1), np.uint8), np.full((4, 5, 3), 0.5), np.zeros((4, 5, 4), np.uint8),
        np.ones((4, 5), bool),
    ],
)  # fmt: skip
def test_images_of_every_form_are_kept(store: playhead.Store, image: np.ndarray) -> None:
    from PIL import Image

    with begin(store) as run:
        run.log({"a": 1}, step=5)
        run.log_image("a/b c", image, caption="cap")
    (found,) = run.media
    assert (found.key, found.step, found.caption) == ("a/b c", 5, "cap")
    assert re.fullmatch(r"\d{13}_[0-9a-f]{6}_a_b_c\.png", found.path.name)
    with Image.open(found.path) as opened:
        assert opened.size == (5, 4)


def test_an_image_file_and_a_pil_image_are_kept(store: playhead.Store, tmp_path: Path) -> None:
    from PIL import Image

    picture = Image.new("RGB", (3, 2), (10, 20, 30))
    picture.save(tmp_path / "in.JPG", format="JPEG")
    with begin(store) as run:
        run.log_image("file", tmp_path / "in.JPG")
        run.log_image("pil", picture)
    assert [entry.path.suffix for entry in run.media] == [".jpg", ".png"]
    assert run.media[0].path.read_bytes() == (tmp_path / "in.JPG").read_bytes()


@pytest.mark.parametrize(
    ("image", "error"),
    [
        (np.zeros((2, 2, 2), np.uint8), WrongShape), (np.zeros(3), WrongShape), (np.zeros((0, 3), np.uint8), WrongShape),
        (np.full((2, 2), 2.0), WrongType), (np.full((2, 2), math.nan), WrongType), (np.zeros((2, 2), np.int64), WrongType),
        (object(), WrongType),
    ],
)  # fmt: skip
def test_what_is_no_image_is_refused(store: playhead.Store, image: object, error: type[Exception]) -> None:
    with begin(store) as run, pytest.raises(error):
        run.log_image("x", image)
    assert run.media == []


def test_a_missing_image_file_is_refused(store: playhead.Store, tmp_path: Path) -> None:
    with begin(store) as run, pytest.raises(NotFound, match=r"none\.png"):
        run.log_image("x", tmp_path / "none.png")
    assert run.media == []


def test_the_environment_is_noted(store: playhead.Store) -> None:
    with store.run("p", "n"):
        pass
    environment = store.runs[-1].environment
    assert environment["python"]
    assert "numpy" in environment["packages"]


def test_the_console_is_captured(store: playhead.Store, capsys: pytest.CaptureFixture[str]) -> None:
    with begin(store, capture_console=True) as run:
        print("to the console")
        print("\r 10%\r100%", file=sys.stderr)
    print("after")
    assert "to the console" in run.logs()
    assert "100%" in run.logs()
    assert " 10%" not in run.logs()
    assert "after" not in run.logs()
    assert "to the console" in capsys.readouterr().out


def test_the_machine_is_sampled(store: playhead.Store) -> None:
    with begin(store, system_metrics=0.05) as run:
        run.log({"a": 1})
        deadline = time.monotonic() + 20
        while "system/memory_percent" not in run and time.monotonic() < deadline:
            time.sleep(0.05)
        run.log({"a": 2})
    assert len(run["system/cpu_percent"]) >= 1
    assert run["a"].steps.tolist() == [1, 2]


def test_what_is_synced_on_a_timer_is_synced(store: playhead.Store) -> None:
    from playhead import disk

    synced: list[str] = []

    def watch(operation: str, path: str, size: int) -> None:
        if operation == "fsync":
            synced.append(Path(path).name)

    with begin(store, sync_every=0.02) as run, disk.hooked(watch):
        run.log({"a": 1})
        deadline = time.monotonic() + 20
        while "events.jsonl" not in synced and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "events.jsonl" in synced
        synced.clear()
        run.flush(sync=True)
        assert "events.jsonl" in synced


def test_an_error_in_the_background_is_raised_at_the_next_call_and_at_the_end(store: playhead.Store) -> None:
    run = begin(store)
    run.log({"a": 1})
    run.flush()
    shutil.move(run.path, run.path.with_name("moved"))
    deadline = time.monotonic() + 20
    with pytest.raises(NotFound, match="moved or deleted"):
        while time.monotonic() < deadline:
            run.log({"a": 2})
            time.sleep(0.02)
    shutil.move(run.path.with_name("moved"), run.path)
    run.log({"a": 3})
    run.finish()
    assert run["a"].values[-1] == 3


def test_an_error_that_lasts_is_raised_by_finish(store: playhead.Store) -> None:
    run = begin(store)
    shutil.rmtree(run.path)
    with pytest.raises(NotFound):
        run.finish()


@pytest.mark.parametrize("options", [{"sync_every": 0}, {"sync_every": "1"}, {"system_metrics": -1}])
def test_options_without_sense_are_refused_and_leave_no_run(store: playhead.Store, options: dict[str, object]) -> None:
    with pytest.raises(WrongType, match="positive number of seconds"):
        begin(store, **options)
    assert len(store.runs) == 0
    assert list(store.path.glob("p")) == []


def test_an_ending_of_ones_own_is_refused(store: playhead.Store) -> None:
    with begin(store) as run, pytest.raises(WrongType, match="finished, failed, interrupted"):
        run.finish("done")
    assert run.status == "finished"


def test_the_last_line_without_its_newline_is_captured(store: playhead.Store) -> None:
    with begin(store, capture_console=True) as run:
        print("no newline", end="")
    assert "no newline" in run.logs()


def test_a_run_has_a_repr(store: playhead.Store) -> None:
    with begin(store) as run:
        run.log({"loss": 0.5})
        run.set_primary_metric("loss", "min")
    assert repr(run) == f"<RunWriter {run.id} p/n, finished, 1 points, best loss 0.5>"
    assert repr(run["loss"]).startswith("<MetricSignal 'loss', 1 values")


def test_a_metric_that_was_never_logged_lists_those_that_were(store: playhead.Store) -> None:
    with begin(store) as run:
        run.log({"loss": 1, "acc": 2})
    with pytest.raises(NotFound, match="there is: acc, loss"):
        run["los"]
    with pytest.raises(KeyError):
        run["los"]


@pytest.mark.parametrize("is_old", [False, True], ids=["as written", "as earlier versions wrote them"])
def test_nan_and_infinities_are_the_same_after_a_rebuild(tmp_path: Path, is_old: bool) -> None:
    logged = [1.0, math.nan, math.inf, -math.inf, 2.0]
    with playhead.open(tmp_path / "store") as store:
        with store.run("p", "n", run_id="r", environment=False) as run:
            for value in logged:
                run.log({"loss": value, "fine": 0.5}, stage="train")
            run.summary({"final": math.nan, "deep": {"worst": [math.inf, 1]}})
            run.set_primary_metric("loss", "max")
        path = run.path

    def read() -> str:
        with playhead.open(tmp_path / "store", mode="r") as opened:
            found = opened.runs["r"]
            values = found["loss"].values.tolist(), found["fine"].values.tolist()
            return repr((values, found.best, dict(sorted(found.summary().items()))))

    before = read()
    assert repr(logged) in before
    assert "'final': nan" in before
    if is_old:
        events = (path / "events.jsonl").read_text()
        for word in ("NaN", "Infinity", "-Infinity"):
            events = re.sub(f'"loss":null(.*),"not_finite":{{"loss":"{word}"}}', rf'"loss":"{word}"\1', events)
        assert "null" not in events
        (path / "events.jsonl").write_text(events)
        summary = json.loads((path / "summary.json").read_text())
        del summary["$not_finite"]
        changed = {"final": "NaN", "deep": {"worst": ["Infinity", 1]}, "best_metric_value": "Infinity"}
        (path / "summary.json").write_text(json.dumps(summary | changed))
    else:
        assert [one for one in verify(tmp_path / "store", full=True) if not one.is_harmless] == []
    for file in (tmp_path / "store").glob("playhead.db*"):
        file.unlink()
    with playhead.open(tmp_path / "store"):
        assert read() == before


def test_a_primary_metric_that_is_set_last_has_its_best_value_in_the_folder(store: playhead.Store) -> None:
    with begin(store) as run:
        run.log({"loss": 0.5})
        run.flush()
        deadline = time.monotonic() + 30
        while store.sql("SELECT count(*) FROM metrics")["count(*)"][0].as_py() < 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        run.set_primary_metric("loss", "min")
    assert json.loads((run.path / "summary.json").read_text())["best_metric_value"] == 0.5


def in_a_thread(call: Callable[[], object]) -> tuple[threading.Thread, list[BaseException]]:
    """Call something in a thread; its errors come into the list."""
    errors: list[BaseException] = []

    def work() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    return thread, errors


def test_a_run_may_end_while_another_thread_logs_text(store: playhead.Store) -> None:
    def log_on(run: playhead.RunWriter) -> None:
        while True:
            run.log_text("x")

    for _ in range(5):
        run = begin(store)
        thread, errors = in_a_thread(partial(log_on, run))
        time.sleep(0.05)
        run.close()
        thread.join()
        assert [type(error) for error in errors] == [Closed]


def test_two_threads_may_close_a_recorder_at_once(store: playhead.Store) -> None:
    for number in range(5):
        with begin(store) as run:
            made = run.new_reel() if number % 2 else run.trace("fit")
            for value in range(9):
                if isinstance(made, TraceWriter):
                    made.append({"x": np.full(3, float(value))})
                else:
                    made.step({"x": np.full(3, float(value))}, 1.0, False, False)
            closing = [in_a_thread(made.close) for _ in range(4)]
            for thread, errors in closing:
                thread.join()
                assert errors == []
        assert run.status == "finished"
