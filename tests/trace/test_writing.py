"""Recording a trace: what is taken, what is refused, and how much is kept on the way."""

from __future__ import annotations

import errno
import math
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.errors import (
    BadKey,
    BadName,
    Closed,
    Damaged,
    Exists,
    Forked,
    NotFound,
    OutOfOrder,
    PlayheadError,
    StoreLocked,
    WrongType,
)
from playhead.lanes.keyframes import retention, tape, tiers
from playhead.lanes.keyframes.sealed import Sealed
from playhead.lanes.keyframes.taped import STEPS, Taped
from playhead.signal.solo import tape_of
from playhead.tape import SAMPLES
from playhead.trace import Trace, TraceWriter
from playhead.trace.writing import recover
from tests.trace.made import append, assert_holds, history, record, update

FORMS = ["x.trace", "x.json", "x.json.gz"]
LONGER = max(1.0, 10 * float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1")))


@pytest.mark.parametrize("name", FORMS)
def test_a_history_comes_back_and_goes_on(tmp_path: Path, name: str) -> None:
    path = record(tmp_path / name, 150, bucket=10, parameters={"lr": 0.05})
    trace = Trace.open(path, update)
    assert_holds(trace, 150)
    assert trace.keyframes.tolist() == [step for step in range(150) if tiers.is_keyframe(step, 10)]
    assert trace.parameters == {"lr": 0.05}
    assert list(tmp_path.iterdir()) == [path]
    with TraceWriter(path, resume=True) as writer:
        assert len(writer) == 150
        append(writer, 400, start=150)
    trace = Trace.open(path, update)  # without a warning: it is still known which function it was
    assert_holds(trace, 400)
    assert trace.keyframes.tolist() == [step for step in range(400) if tiers.is_keyframe(step, 10)]
    assert trace.parameters == {"lr": 0.05}
    assert trace.marks == tree_marks(400)
    assert list(tmp_path.iterdir()) == [path]


def tree_marks(steps: int) -> list[int]:
    best, found = math.inf, []
    for step, (_, error, _) in enumerate(history(steps)):
        if error < best:
            best = error
            found.append(step)
    return found


@pytest.mark.parametrize("name", FORMS)
def test_an_empty_trace_is_one(tmp_path: Path, name: str) -> None:
    with TraceWriter(tmp_path / name):
        pass
    trace = Trace.open(tmp_path / name)
    assert (len(trace), trace.best, trace.keyframes.tolist()) == (0, None, [])
    assert repr(trace) == "<Trace, empty>" or "0 steps" in repr(trace)
    with TraceWriter(tmp_path / name, resume=True) as writer:
        writer.append(1)
    assert Trace.open(tmp_path / name).seek(0) == 1


@pytest.mark.parametrize("bucket", [0, -1, 1.5, "9", True])
def test_what_is_no_bucket_leaves_nothing(tmp_path: Path, bucket: Any) -> None:
    with pytest.raises(WrongType, match="a bucket is a whole number"):
        TraceWriter(tmp_path / "x.trace", bucket=bucket)
    with pytest.raises(WrongType, match="not both"):
        TraceWriter(tmp_path / "x.trace", bucket=5, retention=retention.Dense())
    with pytest.raises(BadName, match=r"\.trace, \.json or \.json\.gz"):
        TraceWriter(tmp_path / "x.txt")
    assert list(tmp_path.iterdir()) == []


def test_traces_do_not_share_what_a_retention_remembers(tmp_path: Path) -> None:
    for way in (retention.Tiered(3), retention.Aged(3, 2), retention.BestSpaced(3, 10)):
        kept = []
        for name in ("a", "b"):
            path = tmp_path / f"{name}{way.name}.trace"
            record(path, 60, retention=way)
            kept.append(Trace.open(path).keyframes.tolist())
        assert kept[0] == kept[1]
    with pytest.raises(WrongType, match="a retention is one of"):
        TraceWriter(tmp_path / "x.trace", retention="dense")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"state": object()}, WrongType),
        ({"state": {"a": {1, 2}}}, WrongType),
        ({"input": object()}, WrongType),
        ({"error": "large"}, WrongType),
        ({"error": "1.5"}, WrongType),
        ({"error": [1.0]}, WrongType),
        ({"error": 10**400}, WrongType),
        ({"ts_ns": 998}, OutOfOrder),
        ({"ts_ns": 1 << 63}, BadKey),
        ({"ts_ns": 1.5}, BadKey),
    ],
)
def test_a_step_that_is_refused_leaves_the_trace_as_it_was(tmp_path: Path, given: Any, error: Any) -> None:
    with TraceWriter(tmp_path / "x.trace", step=update, retention=retention.Dense()) as writer:
        append(writer, 1)
        for number, (state, loss, gradient) in enumerate(history(5)):
            if number == 0:
                continue
            with pytest.raises(error):
                writer.append(**({"state": state, "error": loss, "input": gradient, "ts_ns": 1000 + number} | given))
            assert len(writer) == number
            writer.append(state, error=loss, input=gradient, ts_ns=1000 + number)
    assert_holds(Trace.open(tmp_path / "x.trace", update), 5)


def test_a_refused_time_between_keyframes(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "x.trace", bucket=1) as writer:
        for step in range(9):
            writer.append(step, ts_ns=10 * step)
            with pytest.raises(OutOfOrder):
                writer.append(step, ts_ns=10 * step)
    assert Trace.open(tmp_path / "x.trace").timestamps.tolist() == list(range(0, 90, 10))


@pytest.mark.parametrize("error", [None, math.nan, np.float32("nan"), math.inf])
def test_errors_that_are_none_are_never_the_best(tmp_path: Path, error: Any) -> None:
    with TraceWriter(tmp_path / "x.trace", retention=retention.BestOnly()) as writer:
        for value in (error, 2.0, error, 2.0, np.float64(1.0), error):
            writer.append("state", error=value)
    trace = Trace.open(tmp_path / "x.trace")
    assert trace.marks == [1, 4]
    assert trace.keyframes.tolist() == [0, 1, 4]
    assert np.isnan(trace.errors).tolist() == [error is None or math.isnan(error), False] * 1 + [
        error is None or math.isnan(error), False, False, error is None or math.isnan(error)
    ]  # fmt: skip
    with TraceWriter(tmp_path / "x.trace", resume=True) as writer:
        for value in (1.0, error, 0.5):
            writer.append("state", error=value)
    assert Trace.open(tmp_path / "x.trace").marks == [1, 4, 8]


def test_states_may_change_after_they_were_appended(tmp_path: Path) -> None:
    state, given = {"w": np.zeros(3)}, np.zeros(2)
    with TraceWriter(tmp_path / "x.trace", retention=retention.Dense()) as writer:
        for step in range(50):
            state["w"][:] = step
            given[:] = step
            writer.append(state, input=given)
        state["w"][:] = given[:] = -1
    trace = Trace.open(tmp_path / "x.trace")
    assert [trace.seek(step)["w"][0] for step in range(50)] == list(range(50))
    assert [trace.input(step)[1] for step in range(50)] == list(range(50))


@pytest.mark.parametrize("name", FORMS)
def test_one_writer_at_a_time(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with TraceWriter(path) as writer:
        writer.append(1)
        for resume in (False, True):
            with pytest.raises(StoreLocked, match="being recorded"):
                TraceWriter(path, resume=resume)
        with pytest.raises(StoreLocked):
            recover(path)
    with pytest.raises(Exists, match="pass resume=True"):
        TraceWriter(path)
    assert Trace.open(path).seek(0) == 1


@pytest.mark.parametrize("name", FORMS)
def test_ended_is_ended(tmp_path: Path, name: str) -> None:
    writer = TraceWriter(tmp_path / name)
    writer.append(1)
    writer.close()
    writer.close()
    for ask in (lambda: writer.append(2), writer.flush):
        with pytest.raises(Closed, match="finished"):
            ask()
    writer = TraceWriter(tmp_path / name, resume=True)
    writer.append(2)
    writer.flush()
    writer.abort()
    writer.abort()
    with pytest.raises(Closed, match="aborted"):
        writer.append(3)
    assert len(Trace.open(tmp_path / name)) == 1
    fresh = TraceWriter(tmp_path / f"y{name}")
    fresh.append(1)
    fresh.abort()
    with pytest.raises(NotFound):
        Trace.open(tmp_path / f"y{name}")
    assert [found.name for found in tmp_path.iterdir()] == [name]


def test_a_forked_child_cannot_record(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "x.trace")
    writer.append(1)
    child = os.fork()
    if child == 0:
        try:
            for _ in range(3):
                writer.append(2)
            writer.flush()
        except Forked:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    writer.append(2)
    writer.close()
    assert [Trace.open(tmp_path / "x.trace").seek(step) for step in (0, 1)] == [1, 2]


@pytest.mark.parametrize("name", FORMS)
def test_what_was_recorded_can_be_read_on_the_way(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with TraceWriter(path, step=update, bucket=10) as writer:
        with pytest.raises(NotFound):
            Trace.open(tmp_path / "other.trace")
        append(writer, 100)
        writer.flush()
        trace = Trace.open(path, update)
        assert_holds(trace, 100)
        append(writer, 200, start=100)
        writer.flush()
        assert_holds(trace, 100)
        trace.refresh()
        assert_holds(trace, 200)
    trace.refresh()
    assert_holds(trace, 200)
    with TraceWriter(path, resume=True) as writer:
        append(writer, 300, start=200)
        writer.flush(sync=True)
        assert_holds(Trace.open(path, update), 300)


def test_a_reader_sees_that_another_recording_began(tmp_path: Path) -> None:
    path = record(tmp_path / "x.trace", 30, retention=retention.BestSpaced(1, 1000))
    writer = TraceWriter(path, resume=True)
    append(writer, 60, start=30)
    writer.flush()
    trace = Trace.open(path, update)
    assert_holds(trace, 60)
    writer.abort()
    trace.refresh()
    assert_holds(trace, 30)
    with TraceWriter(path, resume=True) as writer:
        for _ in range(5):
            writer.append({"n": -1, "w": np.zeros(8)}, input=np.ones(8))
        writer.flush()
        trace.refresh()
        assert len(trace) == 35
        assert trace.seek(29)["n"] == 29
    fresh = TraceWriter(tmp_path / "y.trace")
    fresh.append(1)
    fresh.flush()
    lost = Trace.open(tmp_path / "y.trace")
    fresh.abort()
    with pytest.raises(NotFound):
        lost.refresh()


# -- how much is kept ----------------------------------------------------------------------------------------------


def journal_states(path: Path) -> int:
    """Count the states that lie on the disk, given up or not: those of the file, and those of the tape."""
    count = 0
    if path.exists():
        sealed = Sealed(path)
        count += len(sealed.keyframes)
        sealed.close()
    taped = Taped(path)
    if taped.poll():
        count += len(taped.states) + len(taped._waiting)
    taped.close()
    return count


@pytest.mark.parametrize("bucket", [1, 7, 60])
def test_tiered_keyframes_stay_within_their_bound(tmp_path: Path, bucket: int) -> None:
    path = tmp_path / "x.trace"
    with TraceWriter(path, bucket=bucket) as writer:
        for step in range(6000):
            writer.append(step)
            if step % 500 == 499:
                writer.flush()
                bound = bucket * (tiers.tier(step, bucket) + 2)
                assert len(Trace.open(path).keyframes) == journal_states(path) <= bound


def due_by_age(bucket: int, steps: int) -> list[int]:
    keeps = retention.Aged(bucket).tier_keeps
    return [s for s in range(steps) if s % tiers.resolution(tiers.tier(steps - 1 - s, keeps)) == 0]


@pytest.mark.parametrize(("bucket", "steps"), [(1, 100), (2, 300), (7, 600), (60, 700)])
def test_aged_keyframes_stay_within_their_bound_at_every_step(
    tmp_path: Path, bucket: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the disk, with those given up: looked at behind each step, and over kills and recordings that go on."""
    steps = round(steps * LONGER)
    monkeypatch.setattr(tape, "INTERVAL", 3600.0)  # what is written, is written here
    path, draws = tmp_path / "x.trace", random.Random(bucket)
    writer, made, file = TraceWriter(path, retention=retention.Aged(bucket)), 0, 0
    for step in range(steps):
        writer.append(step, ts_ns=step)
        writer.flush()
        assert journal_states(path) <= bucket * (tiers.tier(step, bucket) + 2)
        made += path.exists() and path.stat().st_ino != file
        file = path.stat().st_ino if path.exists() else 0
        if draws.random() < 4 / steps:
            abandoned(writer)
            assert journal_states(path) <= bucket * (tiers.tier(step, bucket) + 2)
            writer = TraceWriter(path, resume=True)
        elif draws.random() < 4 / steps:
            writer.close()
            writer = TraceWriter(path, resume=True)
        if step % 500 == 499:
            trace = Trace.open(path)
            assert trace.keyframes.tolist() == due_by_age(bucket, step + 1)
            assert [trace.seek(s) for s in trace.keyframes.tolist()] == trace.keyframes.tolist()
    writer.close()
    again = Trace.open(path)
    assert again.timestamps.tolist() == list(range(steps))
    assert again.keyframes.tolist() == due_by_age(bucket, steps)
    assert made >= 3
    assert bucket == 1 or made < steps / max(1, bucket // 3), "each time makes room for a third of a bucket"


@pytest.mark.parametrize(("bucket", "at_once", "steps"), [(3, 1, 150), (20, 1, 200), (30, 10, 800), (20, 300, 1500)])
def test_the_disk_never_holds_more_states_than_said(
    tmp_path: Path, bucket: int, at_once: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked at behind each record that is written: what was there is made room from, before others come."""
    monkeypatch.setattr(tape, "INTERVAL", 3600.0)
    path, counts = tmp_path / "x.trace", []
    writer = TraceWriter(path, retention=retention.Aged(bucket))
    plain = writer._tape._append

    def append_and_look(*given: Any) -> None:
        plain(*given)
        if given[0] == SAMPLES:  # between two of which the file is made anew, and both lie there for a moment
            counts.append(journal_states(path))

    monkeypatch.setattr(writer._tape, "_append", append_and_look)
    for step in range(steps):
        writer.append(step, ts_ns=step)
        if step % at_once == at_once - 1:
            counts.clear()
            writer.flush()
            bound = bucket * (tiers.tier(step, bucket) + 2)
            many = at_once > bucket  # of which not all are kept; more come at once than there may be room for
            assert 0 < max(counts) <= bound + many * 2 * bucket
            assert journal_states(path) <= bound
    assert path.exists(), "it was never made anew"
    writer.close()


def test_states_whose_block_could_not_be_written_are_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the file is made anew in between, with which they go."""
    monkeypatch.setattr(tape, "INTERVAL", 3600.0)
    path, fails = tmp_path / "x.trace", False
    writer = TraceWriter(path, retention=retention.Aged(3))
    plain = writer._tape._append

    def append_or_fail(what: int, kind: int, *data: Any) -> None:
        if fails and (what, kind) == (SAMPLES, STEPS):
            raise OSError(errno.EIO, "no block")
        plain(what, kind, *data)

    monkeypatch.setattr(writer._tape, "_append", append_or_fail)
    for step in range(0, 150, 3):
        with writer._tape._turn:  # so that its thread does not come between
            writer.append(step)
            fails = True
            with pytest.raises(OSError, match="no block"):
                writer._tape._fetch()
            fails = False
            writer.append(step + 1)
            writer.append(step + 2)
            writer._tape._fetch()
        trace = Trace.open(path)
        assert trace.keyframes.tolist() == due_by_age(3, step + 3)
        assert trace.seek(step) == step
    assert path.exists(), "it was never made anew"
    writer.close()


def test_what_another_retention_kept_is_given_up_by_age(tmp_path: Path) -> None:
    path = tmp_path / "x.trace"
    with TraceWriter(path, retention=retention.Dense()) as writer:
        for step in range(500):
            writer.append(step)
    with TraceWriter(path, retention=retention.Aged(9), resume=True) as writer:
        writer.append(500)
        writer.flush()
        assert journal_states(path) <= 9 * (tiers.tier(500, 9) + 2)
    assert Trace.open(path).keyframes.tolist() == due_by_age(9, 501)


def test_states_given_up_before_they_are_written_never_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recorder that is quicker than the disk: of 20,000 states, those are written that are left."""
    monkeypatch.setattr(tape, "INTERVAL", 3600.0)
    path = tmp_path / "x.trace"
    writer = TraceWriter(path, retention=retention.Aged(10))
    for step in range(20_000):
        writer.append(step, ts_ns=step)
    writer.flush()
    assert journal_states(path) == len(Trace.open(path).keyframes) <= 10 * (tiers.tier(20_000, 10) + 2)
    writer.close()
    trace = Trace.open(path)
    assert [trace.seek(step) for step in trace.keyframes.tolist()] == trace.keyframes.tolist()


def test_aged_keeps_the_best(tmp_path: Path) -> None:
    path = tmp_path / "x.trace"
    with TraceWriter(path, retention=retention.Aged(2, best=3)) as writer:
        for step in range(500):
            writer.append(step, error=1 / step if step in (3, 77, 201, 333, 499) else None)
    kept = Trace.open(path).keyframes.tolist()
    assert {3, 499} <= set(kept)
    assert len(set(kept) & {3, 77, 201, 333, 499}) >= 3


# -- after a crash -----------------------------------------------------------------------------------------------------


def test_nothing_to_recover(tmp_path: Path) -> None:
    assert not recover(tmp_path / "x.trace")
    tape_of(tmp_path / "x.trace").mkdir()
    assert not recover(tmp_path / "x.trace")
    assert list(tmp_path.iterdir()) == []


def abandoned(writer: TraceWriter) -> None:
    """Let go of a recording as a kill does."""
    writer.flush()
    writer._tape.abandon()


@pytest.mark.parametrize("name", FORMS)
def test_a_recording_that_died_is_recovered_once(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    writer = TraceWriter(path, step=update, bucket=10)
    append(writer, 120)
    abandoned(writer)
    assert_holds(Trace.open(path, update), 120)
    assert recover(path)
    assert not recover(path)
    assert_holds(Trace.open(path, update), 120)
    writer = TraceWriter(path, resume=True)
    append(writer, 150, start=120)
    abandoned(writer)
    with pytest.raises(Exists):
        TraceWriter(path)
    assert_holds(Trace.open(path, update), 150)
    with TraceWriter(path, resume=True) as writer:
        append(writer, 160, start=150)
    assert_holds(Trace.open(path, update), 160)


def test_a_json_trace_whose_resumption_died_early_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps that are being copied to the tape are still in the file."""
    path = record(tmp_path / "x.json", 50, bucket=5)

    append_record = tape.TraceTape._append

    class Died(Exception):
        pass

    for after in range(8):
        count = 0

        def dying(self: Any, *given: Any, after: int = after) -> None:
            nonlocal count
            count += 1
            if count > after:
                raise Died
            append_record(self, *given)

        with monkeypatch.context() as patch:
            patch.setattr(tape.TraceTape, "_append", dying)
            with pytest.raises(Died):
                TraceWriter(path, resume=True)
        assert_holds(Trace.open(path, update), 50)
        recover(path)
        assert_holds(Trace.open(path, update), 50)
        assert list(tmp_path.iterdir()) == [path]


def test_a_tape_without_the_steps_before_it_is_damage(tmp_path: Path) -> None:
    path = record(tmp_path / "x.trace", 50)
    writer = TraceWriter(path, resume=True)
    append(writer, 80, start=50)
    abandoned(writer)
    kept = path.read_bytes()
    path.unlink()
    for ask in (lambda: Trace.open(path), lambda: recover(path), lambda: TraceWriter(path, resume=True)):
        with pytest.raises(Damaged, match="the 50 steps before"):
            ask()
    path.write_bytes(kept)
    assert_holds(Trace.open(path, update), 80)


def test_a_foreign_file_is_told_so(tmp_path: Path) -> None:
    for name, content in (("x.trace", b""), ("y.trace", b"PK\3\4" + bytes(100)), ("z.trace", b"\x89PHTRCE\n")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(Damaged, match="expected a trace"):
            Trace.open(tmp_path / name)
        with pytest.raises(PlayheadError):
            TraceWriter(tmp_path / name, resume=True)
        assert (tmp_path / name).read_bytes() == content
