"""How recordings end: closed beside other writers, aborted, dropped, interrupted; nothing is lost or put elsewhere."""

from __future__ import annotations

import contextlib
import errno
import gc
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from playhead import disk, retention, tape
from playhead.errors import StoreLocked
from playhead.lanes.keyframes.tape import TraceTape
from playhead.testing import failing_at
from playhead.trace import Trace, TraceWriter
from playhead.trace.writing import recover

FORMS = pytest.mark.parametrize("name", ["x.trace", "x.json"])


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tape, "_PATIENCE_SECONDS", 0.0)


class Meanwhile:
    """Does something else at one change of the disk, as another process would between two of ours."""

    def __init__(self, at: int, action: Callable[[], object]) -> None:
        self._at, self._action, self._seen, self._is_busy = at, action, 0, False
        self.is_done = False

    def __call__(self, operation: str, path: str, size: int) -> None:
        if not self._is_busy:
            self._seen += 1
            if self._seen == self._at:
                self.is_done = self._is_busy = True
                self._action()
                self._is_busy = False


def recorded(path: Path, steps: int, **options: Any) -> TraceWriter:
    writer = TraceWriter(path, **options)
    for step in range(len(writer), steps):
        writer.append({"n": step}, error=float(-step))
    writer.flush()
    return writer


def steps_of(path: Path) -> list[int]:
    trace = Trace.open(path)
    return [trace.seek(step)["n"] for step in range(len(trace))]


def each_change(folder: Path, begin: Callable[[Path], Any], work: Callable[[Any], object], also: Any) -> Iterator[Path]:
    """Do a piece of work anew for each change of the disk that it makes, and something else at that change."""
    for at in count(1):
        path = folder / str(at) / also.name
        path.parent.mkdir()
        given = begin(path)
        meanwhile = Meanwhile(at, lambda path=path: also(path))
        with disk.hooked(meanwhile):
            work(given)
        yield path
        if not meanwhile.is_done:
            assert at > 5
            return


class Second:
    """Another writer, who records one step more where nobody else records."""

    def __init__(self, name: str) -> None:
        self.name, self.refused = name, 0

    def __call__(self, path: Path) -> None:
        try:
            writer = TraceWriter(path, resume=True)
        except StoreLocked:
            self.refused += 1
            return
        assert len(writer) == 10
        writer.append({"n": 10}, error=-10.0)
        writer.close()


@FORMS
@pytest.mark.usefixtures("impatient")
def test_a_second_writer_beside_one_that_closes(tmp_path: Path, name: str) -> None:
    second, went_on = Second(name), 0
    for path in each_change(tmp_path, lambda path: recorded(path, 10), TraceWriter.close, second):
        found = steps_of(path)
        assert found in (list(range(10)), list(range(11)))
        went_on += len(found) > 10
        assert list(path.parent.iterdir()) == [path]
    assert second.refused > 3
    assert went_on > 0


@FORMS
@pytest.mark.usefixtures("impatient")
def test_a_second_writer_beside_one_that_recovers(tmp_path: Path, name: str) -> None:
    second = Second(name)

    def died(path: Path) -> Path:
        writer = recorded(path, 10)
        writer._tape.abandon()
        return path

    for path in each_change(tmp_path, died, recover, second):
        assert steps_of(path) in (list(range(10)), list(range(11)))
        assert list(path.parent.iterdir()) == [path]
    assert second.refused > 3


@FORMS
@pytest.mark.usefixtures("impatient")
def test_recovering_beside_one_that_records(tmp_path: Path, name: str) -> None:
    """What the recorder is writing is never swept away."""

    class Recovering:
        refused = 0

        def __call__(self, path: Path) -> None:
            try:
                assert not recover(path)
            except StoreLocked:
                self.refused += 1

    also = Recovering()
    also.name = name  # type: ignore[attr-defined]
    for path in each_change(tmp_path, lambda path: recorded(path, 10), TraceWriter.close, also):
        assert steps_of(path) == list(range(10))
    assert also.refused > 3


@FORMS
@pytest.mark.usefixtures("impatient")
def test_one_that_was_recorded_while_another_began_is_left_alone(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    recorded(path, 10).close()
    refused = 0

    def more() -> None:
        with contextlib.suppress(StoreLocked):
            recorded(path, len(Trace.open(path)) + 1, resume=True).close()

    for at in count(1):
        before = len(Trace.open(path))
        meanwhile = Meanwhile(at, more)
        try:
            with disk.hooked(meanwhile):
                writer = TraceWriter(path, resume=True)
        except StoreLocked:
            refused += 1
            assert len(steps_of(path)) == before + 1
            continue
        writer.abort()
        if not meanwhile.is_done:
            break
    assert refused > 0
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("before", [0, 10, 300])
def test_aborting_takes_back_what_was_given_up_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    path = tmp_path / "x.trace"
    if before:
        recorded(path, before, retention=retention.Aged(4)).close()
    data = path.read_bytes() if before else None
    for at in count():  # aborting fails at one change after the other, and is tried again
        writer = TraceWriter(path, retention=retention.Aged(4), resume=True)
        for step in range(before, before + 400):
            writer.append({"n": step})
            if step % 20 == 0:
                writer.flush()
        assert path.exists()
        if before:
            assert path.read_bytes() != data
        failed: list[str] = []  # where the background took the fault, nobody hears of it
        try:
            with failing_at(at, errno.EIO) as failed:
                writer.abort()
        except OSError:
            if before or path.exists():
                assert len(Trace.open(path)) >= before  # a crash here leaves a trace
            writer.abort()
        assert (path.read_bytes() if before else None) == (data if path.exists() else None)
        assert list(tmp_path.iterdir()) == ([path] if before else [])
        if not failed:
            break
    assert at > 5


def test_a_crash_while_aborting_leaves_a_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.trace"
    recorded(path, 10, retention=retention.Aged(4)).close()
    data = path.read_bytes()
    writer = TraceWriter(path, resume=True)
    for step in range(10, 400):
        writer.append({"n": step})
        if step % 20 == 0:
            writer.flush()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(TraceTape, "take_away", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        writer.abort()
    writer._tape.abandon()  # as if the process had died there
    assert path.read_bytes() == data
    assert len(Trace.open(path)) == 10
    assert recover(path)
    assert Trace.open(path).seek(9) == {"n": 9}


def lines_of_adding() -> list[int]:
    return sorted({line for _, _, line in TraceTape.add.__code__.co_lines() if line is not None})[1:]


@pytest.mark.parametrize("kept", [retention.BestOnly(), retention.Dense(), retention.Aged(2, best=2)])
@pytest.mark.parametrize("line", range(len(lines_of_adding())))
def test_a_signal_within_a_step_puts_no_state_elsewhere(tmp_path: Path, kept: retention.Retention, line: int) -> None:
    at = lines_of_adding()[line]

    def interrupt(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code is TraceTape.add.__code__ and event == "line" and frame.f_lineno == at:
            sys.settrace(None)
            raise KeyboardInterrupt
        return interrupt

    path, due, traced = tmp_path / "x.trace", [], sys.gettrace()
    with TraceWriter(path, retention=kept) as writer:
        for number, error in enumerate([5.0, 4.0, 9.0, 1.0, 7.0, 3.0, 0.5, 8.0]):
            length = len(writer)
            if number in (3, 6):
                sys.settrace(interrupt)
            try:
                writer.append(number, error=error)
            except KeyboardInterrupt:
                pass
            finally:
                sys.settrace(traced)
            due += [(number, error)] * (len(writer) - length)
    trace = Trace.open(path)
    assert trace.errors.tolist() == [error for _, error in due]
    assert [trace.seek(step) for step in trace.keyframes.tolist()] == [
        due[step][0] for step in trace.keyframes.tolist()
    ]
    if isinstance(kept, retention.BestOnly):
        assert trace.keyframes.tolist() == trace.marks[:]


@FORMS
def test_a_writer_that_is_dropped_loses_nothing(tmp_path: Path, name: str) -> None:
    path = tmp_path / name

    def record() -> None:
        writer = TraceWriter(path)
        for step in range(1000):
            writer.append({"n": step})

    record()
    gc.collect()
    assert steps_of(path) == list(range(1000))
    with TraceWriter(path, resume=True) as writer:
        writer.append({"n": 1000})
    assert steps_of(path) == list(range(1001))


def test_a_writer_that_is_dropped_amid_its_writing_writes_each_step_once(tmp_path: Path) -> None:
    """Garbage is collected in any thread, also in that which writes the tape."""
    path = tmp_path / "x.trace"
    writer = TraceWriter(path)
    written = writer._tape

    def append_state(step: int, packed: bytes) -> None:
        written.drop()
        TraceTape._append_state(written, step, packed)

    written._append_state = append_state  # type: ignore[method-assign]
    for step in range(10):
        writer.append({"n": step})
    written._relieve()
    assert steps_of(path) == list(range(10))
    assert recover(path)
    assert steps_of(path) == list(range(10))
