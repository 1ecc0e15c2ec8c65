"""Signals that are recorded alone: nobody else has their tape before it is gone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from playhead import disk
from playhead.errors import Closed, Exists, StoreLocked
from playhead.lanes.vectors import SimpleSignal, SimpleSignalWriter
from playhead.signal.solo import tape_of


class Rivals:
    """Tries at every change of the disk to take the recording over, as other processes may at any time."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self.refused = 0
        self.taken: list[str] = []
        self._is_trying = False

    def __call__(self, operation: str, path: str, size: int) -> int | None:
        if self._is_trying or not tape_of(self._target).is_dir():
            return None
        self._is_trying = True
        for taking in (self._record, self._recover):
            try:
                taking()
            except StoreLocked:
                self.refused += 1
            except Exists:
                self.taken.append(f"{operation} {path}: a crash")
            else:
                self.taken.append(f"{operation} {path}: {taking.__name__}")
        self._is_trying = False
        return None

    def _record(self) -> None:
        SimpleSignalWriter[float](self._target).abort()

    def _recover(self) -> None:
        SimpleSignalWriter.recover(self._target)


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let rivals look once only: who holds the lock here holds it until the end."""
    monkeypatch.setattr("playhead.tape.PATIENCE", 0)


def written(path: Path) -> SimpleSignalWriter[float]:
    writer = SimpleSignalWriter[float](path)
    for stamp in range(10):
        writer.append(stamp / 2, stamp)
    writer.flush()
    return writer


def finish(writer: SimpleSignalWriter[float]) -> None:
    writer.close()


def abort(writer: SimpleSignalWriter[float]) -> None:
    writer.abort()


@pytest.mark.parametrize("end", [finish, abort])
def test_nobody_takes_a_recording_before_it_has_ended(
    end: Callable[[SimpleSignalWriter[float]], None], tmp_path: Path
) -> None:
    """Was a bug: the lock was given back first, and then the file was made."""
    path = tmp_path / "x.parquet"
    writer, rivals = written(path), Rivals(path)
    with disk.hooked(rivals):
        end(writer)
    assert rivals.taken == []
    assert rivals.refused
    assert not tape_of(path).exists()
    assert [one.name for one in tmp_path.iterdir()] == (["x.parquet"] if end is finish else [])


def test_nobody_takes_a_recording_that_is_being_recovered(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    written(path)._tape.close()
    rivals = Rivals(path)

    def hook(operation: str, place: str, size: int) -> int | None:
        return rivals(operation, place, size) if not place.endswith(".lock") else None  # it is taken first

    with disk.hooked(hook):
        assert SimpleSignalWriter.recover(path)
    assert rivals.taken == []
    assert rivals.refused
    assert len(SimpleSignal[float](path)) == 10


def test_a_close_that_failed_keeps_the_tape_and_what_comes_after(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    writer = written(path)

    def full(operation: str, place: str, size: int) -> int | None:
        if operation == "rename":
            raise OSError(28, "no room", place)
        return None

    with disk.hooked(full), pytest.raises(OSError, match="no room"):
        writer.close()
    with pytest.raises(StoreLocked):
        SimpleSignalWriter.recover(path)
    writer.append(5.0, 10)
    writer.close()
    assert SimpleSignal[float](path)[-1] == (5.0, 10)
    with pytest.raises(Closed):
        writer.append(5.5, 11)
