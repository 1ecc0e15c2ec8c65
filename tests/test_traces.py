"""Traces of runs: recorded, read meanwhile, gone on with, found by name and by ref, recovered, purged and checked."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import playhead
from playhead import layout, traces
from playhead.errors import BadName, BadRef, Closed, Exists, NotFound, OutOfRange, ReadOnly, StoreLocked, WrongType
from playhead.layout import tape_beside
from playhead.testing import failing_at

State = dict[str, Any]


def update(state: State, gradient: Any) -> State:
    return {"w": state["w"] - 0.1 * gradient, "n": state["n"] + 1}


def steps(count: int, state: State | None = None) -> list[tuple[State, Any]]:
    """A history: states, and the inputs that lead from each to the next."""
    state = state or {"w": np.linspace(1, 2, 5), "n": 0}
    found = []
    for _ in range(count):
        gradient = np.sin(state["w"] * (state["n"] + 1)) + state["w"]
        found.append((state, gradient))
        state = update(state, gradient)
    return found


def put(trace: playhead.TraceWriter, history: list[tuple[State, Any]]) -> None:
    for state, gradient in history:
        trace.append(state, error=float(np.abs(state["w"]).sum()), input=gradient)


def same(one: State, other: State) -> bool:
    return bool(one["n"] == other["n"] and one["w"].tobytes() == other["w"].tobytes())


def record(store: playhead.Store, history: list[tuple[State, Any]], run_id: str = "r1", **options: Any) -> playhead.Run:
    with store.run("fit", "gd", run_id=run_id, environment=False) as run, run.trace("fit", update, **options) as trace:
        put(trace, history)
    return store.runs[run_id]


def test_a_run_has_its_traces_while_it_records_and_after(store: playhead.Store) -> None:
    history = steps(300)
    with store.run("fit", "gd", environment=False) as run:
        assert list(run.traces) == []
        assert "none" in repr(run.traces)
        with run.trace("fit", update, bucket=10, parameters={"lr": 0.1}) as trace:
            put(trace, history[:200])
            meanwhile = run.traces.open("fit", step=update)
            assert len(meanwhile) == 200
            assert same(meanwhile.seek(199), history[199][0])
            put(trace, history[200:])
        other = run.trace("other")  # which the end of the run closes
        other.append({"x": 1})
    with pytest.raises(Closed):
        other.append({"x": 2})
    found = store.runs[-1].traces
    assert list(found) == ["fit", "other"]
    assert len(found) == 2
    assert "fit" in found
    assert "fit, other" in repr(found)
    whole = found.open("fit", step=update)
    assert all(same(whole.seek(step), history[step][0]) for step in range(300))
    assert whole.parameters == {"lr": 0.1}
    assert np.array_equal(found["fit"].keyframes, [s for s in range(300) if playhead.tiers.is_keyframe(s, 10)])
    assert found["other"].seek(0) == {"x": 1}
    assert sorted(path.name for path in found.path("fit").parent.iterdir()) == ["fit.trace", "other.trace"]


def test_a_run_that_fails_keeps_its_trace(store: playhead.Store) -> None:
    history = steps(50)
    with pytest.raises(ZeroDivisionError), store.run("fit", "gd", environment=False) as run:
        put(run.trace("fit", update), history)
        _ = 1 / 0
    trace = store.runs[-1].traces["fit"]
    assert len(trace) == 50
    assert same(trace.seek(49), history[49][0])
    assert not tape_beside(store.runs[-1].traces.path("fit")).exists()


def test_a_resumed_run_goes_on_with_its_trace(store: playhead.Store) -> None:
    history = steps(200)
    record(store, history[:120], bucket=10, parameters={"lr": 0.1})
    with store.run("fit", "gd", run_id="r1", resume=True) as run, run.trace("fit", update) as trace:
        assert len(trace) == 120
        put(trace, history[120:])
    found = store.runs["r1"].traces.open("fit", step=update)
    assert len(found) == 200
    assert all(same(found.seek(step), history[step][0]) for step in range(0, 200, 7))
    assert found.facts["retention"] == {"strategy": "tiered", "bucket": 10}
    assert found.marks == [s for s in range(200) if found.errors[s] < min([np.inf, *found.errors[:s]])]


def test_a_name_is_one_trace(store: playhead.Store) -> None:
    record(store, steps(5))
    with store.run("fit", "gd", run_id="r1", resume=True) as run:
        with pytest.raises(Exists, match=r"fit\.trace; go on with it in that form"):
            run.trace("fit", form="json")
        run.trace("fit").close()
        with pytest.raises(Exists, match="another name"):
            run.trace("fit")
    assert len(store.runs["r1"].traces["fit"]) == 5


@pytest.mark.parametrize(
    "name", ["", " ", "..", "a/b", "../up", "fit.trace", "fit.json", "a.json.gz", "con", ".x", "a:b"]
)
def test_a_name_that_no_file_could_have_is_refused(store: playhead.Store, name: str) -> None:
    with store.run("fit", "gd", environment=False) as run, pytest.raises(BadName):
        run.trace(name)
    assert list(store.runs[-1].traces) == []


@given(st.text(max_size=40) | st.sampled_from(["a.json", "x.trace", "fit", "a.b"]), st.sampled_from(layout.TRACE_FORMS))
def test_any_text_is_refused_or_names_one_file_that_is_found_again(name: str, form: str) -> None:
    with tempfile.TemporaryDirectory() as path:
        folder = layout.TraceFolder(Path(path))
        try:
            file = folder.file(name, form)
        except BadName:
            return
        file.touch()
        assert file.parent == folder.path
        ((found, where),) = folder.files().items()
        assert (found, where) == (layout.check_trace_name(name), file)
        file.unlink()
        tape_beside(file).mkdir()
        assert folder.files() == {found: file}


def test_wrong_arguments_leave_nothing(store: playhead.Store) -> None:
    with store.run("fit", "gd", environment=False) as run:
        with pytest.raises(BadName, match="'csv' is no form of a trace"):
            run.trace("fit", form="csv")
        with pytest.raises(WrongType, match="bucket"):
            run.trace("fit", bucket=0)
        with pytest.raises(WrongType, match="not both"):
            run.trace("fit", bucket=2, retention=playhead.retention.Dense())
        assert list(run.traces) == []
        run.trace("fit", retention=playhead.retention.Aged(4))
    assert store.runs[-1].traces["fit"].facts["retention"]["strategy"] == "aged"


def test_a_name_with_spaces_and_letters_of_any_language(store: playhead.Store) -> None:
    with store.run("fit", "gd", run_id="r1", environment=False) as run, run.trace("Verlauf ü 1.5") as trace:
        trace.append([1.5])
    ref = playhead.TraceRef("r1", "Verlauf ü 1.5", 0)
    assert store.resolve(str(ref)) == [1.5]
    assert list(store.runs["r1"].traces) == ["Verlauf ü 1.5"]


def test_two_processes_of_a_run_do_not_share_a_trace(store: playhead.Store) -> None:
    with store.run("fit", "gd", run_id="r1", environment=False) as run, store.attach("r1") as actor:
        held = run.trace("fit")  # one that nobody holds is completed
        held.append({"x": 0})
        with pytest.raises(StoreLocked, match="being recorded"):
            actor.trace("fit")
        actor.trace("actor").append({"x": 1})
        assert list(run.traces) == ["actor", "fit"]
    assert store.runs["r1"].traces["actor"].seek(0) == {"x": 1}


def test_a_store_open_for_reading_records_no_trace(store: playhead.Store) -> None:
    record(store, steps(5))
    with playhead.open(store.path, mode="r") as reader:
        assert len(reader.runs["r1"].traces["fit"]) == 5
        with pytest.raises(ReadOnly):
            traces.new_trace(reader._home, "r1", "other")


def test_a_missing_trace_is_named_with_those_there_are(store: playhead.Store) -> None:
    run = record(store, steps(5))
    with pytest.raises(NotFound, match="no trace 'r1/nope'; there is: fit"):
        run.traces["nope"]
    assert run.traces.get("nope") is None


# -- refs -------------------------------------------------------------------------------------------------------------


def test_a_ref_leads_to_a_keyframe(store: playhead.Store) -> None:
    history = steps(200)
    record(store, history, bucket=10)
    assert same(store.resolve("trace://r1/fit/160"), history[160][0])
    with pytest.raises(NotFound, match=r"needs the function.*traces\.open\('fit', step=…\)\.seek\(161\)"):
        store.resolve("trace://r1/fit/161")
    with pytest.raises(OutOfRange):
        store.resolve("trace://r1/fit/200")
    with pytest.raises(NotFound, match="no trace 'r1/other'"):
        store.resolve("trace://r1/other/0")
    with pytest.raises(NotFound, match="no trace 'r9/fit'"):
        store.resolve("trace://r9/fit/0")


@pytest.mark.parametrize(
    "text",
    [
        "trace://",
        "trace://r1/fit",
        "trace://r1/fit/-1",
        "trace://r1/fit/01",
        "trace://../fit/0",
        "trace://r1/a b/0",
        "trace://r1/fit/0/",
        "trace://r1//0",
        "trace://r1/%66it/0",
        "trace://r1.2/fit/0",
        "trace://r1/fit/1e3",
    ],
)
def test_what_is_no_ref_is_refused(store: playhead.Store, text: str) -> None:
    with pytest.raises(BadRef, match="trace://run_id/name/730"):
        store.resolve(text)


def test_a_ref_out_of_the_store_finds_nothing(store: playhead.Store) -> None:
    record(store, steps(5))
    shutil.copy(store.runs["r1"].traces.path("fit"), store.path / "fit.trace")
    with pytest.raises(NotFound):
        store.resolve("trace://r1/..%2F..%2Ffit/0")


@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,9}", fullmatch=True), st.text(min_size=1), st.integers(0, 10**18))
def test_a_ref_comes_back_from_its_text(run_id: str, name: str, step: int) -> None:
    ref = playhead.TraceRef(run_id, name, step)
    try:
        text = str(ref)
    except UnicodeEncodeError:  # half a character has no text
        return
    assert playhead.TraceRef.parse(text) == ref


# -- crashes ----------------------------------------------------------------------------------------------------------

SCRIPT = """
import sys, time, playhead
from tests.test_traces import put, steps, update
with playhead.open(sys.argv[1]) as store, store.run("fit", "gd", run_id="r1", environment=False) as run:
    trace = run.trace("fit", update, bucket=10, form=sys.argv[2])
    put(trace, steps(250))
    trace.flush()
    print("ready", flush=True)
    time.sleep(60)
"""


def recording(path: Path, form: str = "trace") -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, path, form], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("form", ["trace", "json.gz"])
def test_a_trace_is_read_while_another_process_records_it_and_finished_when_that_dies(
    tmp_path: Path, form: str
) -> None:
    path = tmp_path / "store"
    history = steps(300)
    with recording(path, form) as process:
        with playhead.open(path) as store:
            live = store.runs["r1"].traces.open("fit", step=update)
            assert len(live) == 250
            assert same(live.seek(249), history[249][0])
            assert list(traces.verify(store._home)) == []
            glance = traces.glance(store.runs["r1"].traces.path("fit"))
            assert (glance.steps, glance.is_recorded) == (250, True)
        os.kill(process.pid, signal.SIGKILL)
    file = path / f"traces/r1/fit.{form}"
    assert not file.exists()
    assert tape_beside(file).is_dir()
    with playhead.open(path, mode="r") as store:  # nothing is changed by reading
        assert len(store.runs["r1"].traces["fit"]) == 250
        assert not file.exists()
    with playhead.open(path) as store:
        assert store.runs["r1"].status == "failed"
        assert file.exists()
        assert not tape_beside(file).exists()
        with store.run("fit", "gd", run_id="r1", resume=True) as run:
            put(run.trace("fit", update, form=form), history[250:])
        found = store.runs["r1"].traces.open("fit", step=update)
        assert len(found) == 300
        assert all(same(found.seek(step), history[step][0]) for step in range(0, 300, 11))


def test_a_tape_that_cannot_be_read_is_told_and_keeps_nothing_else_from_being_recovered(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with recording(path) as process:
        os.kill(process.pid, signal.SIGKILL)
    folder = path / "traces/r1"
    shutil.copytree(folder / ".fit.trace.recording", folder / ".bad.trace.recording")
    segment = max((folder / ".bad.trace.recording").iterdir(), key=lambda one: one.stat().st_size)
    data = bytearray(segment.read_bytes())
    data[len(data) // 8] ^= 0xFF  # at its end, it would count as torn by the crash
    segment.write_bytes(data)
    with pytest.warns(RuntimeWarning, match="bad"), playhead.open(path) as store:
        assert store.runs["r1"].status == "failed"
        assert len(store.runs["r1"].traces["fit"]) == 250
        assert (folder / ".bad.trace.recording").is_dir()
        (problem,) = traces.verify(store._home)
        # Which is found first, the flipped byte or another's name in the head, depends on where the byte lies.
        assert Path(problem.path).name in {"bad.trace", ".bad.trace.recording"}
        assert problem.remedy
    with playhead.open(path):  # and the next open does not say it again: the run is settled
        pass


def test_a_full_disk_at_the_end_of_a_run_loses_nothing(tmp_path: Path) -> None:
    history = steps(30)
    with playhead.open(tmp_path / "store") as store:
        run = store.run("fit", "gd", run_id="r1", environment=False)
        trace = run.trace("fit", update, bucket=4)
        put(trace, history)
        trace.flush()
        with failing_at(0, errno.ENOSPC, lasting=True), pytest.raises(OSError, match="No space"):
            run.finish()
        found = store.runs["r1"].traces.open("fit", step=update)
        assert all(same(found.seek(step), history[step][0]) for step in range(30))
        trace.close()  # as soon as there is room
        assert not tape_beside(store.runs["r1"].traces.path("fit")).exists()
        assert len(store.runs["r1"].traces["fit"]) == 30


def test_purging_a_run_removes_its_traces(store: playhead.Store) -> None:
    record(store, steps(5))
    record(store, steps(5), run_id="r2")
    store.runs["r1"].delete()
    assert (store.path / "traces/r1/fit.trace").exists()
    store.purge()
    assert [path.name for path in (store.path / "traces").iterdir()] == ["r2"]


def test_a_store_that_moved_has_its_traces(store: playhead.Store, tmp_path: Path) -> None:
    history = steps(30)
    record(store, history)
    store.close()
    moved = shutil.move(store.path, tmp_path / "elsewhere")
    with playhead.open(moved, mode="r") as found:
        assert same(found.resolve("trace://r1/fit/29"), history[29][0])


# -- care -------------------------------------------------------------------------------------------------------------


def test_verify_finds_every_flipped_byte_that_changes_anything(store: playhead.Store) -> None:
    record(store, steps(60), bucket=4)
    record(store, steps(60), run_id="r2", bucket=4)
    assert list(traces.verify(store._home)) == []
    file = store.path / "traces/r1/fit.trace"
    good, finds = file.read_bytes(), 0
    whole = playhead.Trace.open(file)
    states = [whole.contents.packed(step) for step in whole.keyframes.tolist()]
    generator = np.random.default_rng(0)
    for place in [0, 9, len(good) - 1, len(good) - 30, *generator.integers(0, len(good), 100).tolist()]:
        bad = bytearray(good)
        bad[place] ^= 1 << int(generator.integers(8))
        file.write_bytes(bad)
        problems = list(traces.verify(store._home))
        if not problems:  # of a compressed state, a bit that its content does not depend on
            found = playhead.Trace.open(file)
            assert [found.contents.packed(step) for step in found.keyframes.tolist()] == states, place
            continue
        assert [problem.path for problem in problems] == [str(file)], place
        assert all((problems[0].expected, problems[0].found, problems[0].remedy)), place
        finds += 1
    assert finds > 90
    file.write_bytes(good[:-7])
    assert len(list(traces.verify(store._home))) == 1
    file.write_bytes(b"")
    assert len(list(traces.verify(store._home))) == 1


def test_a_glance_reads_what_the_trace_says(store: playhead.Store) -> None:
    run = record(store, steps(5000), bucket=100)
    trace, seen = run.traces["fit"], traces.glance(run.traces.path("fit"))
    assert (seen.steps, seen.keyframes, seen.best) == (5000, len(trace.keyframes), trace.best)
    assert trace.best is not None
    assert seen.error == trace.errors[trace.best]
    assert (seen.bytes, seen.is_recorded) == (run.traces.path("fit").stat().st_size, False)
    with store.run("fit", "gd", environment=False) as empty:
        empty.trace("nothing").close()
        seen = traces.glance(empty.traces.path("nothing"))
    assert (seen.steps, seen.best, seen.error) == (0, None, None)
