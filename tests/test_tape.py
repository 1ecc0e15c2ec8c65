"""The tape: what is recorded survives, errors of the background surface, a crash loses at most the last moment."""

from __future__ import annotations

import errno
import gc
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from playhead import tape
from playhead.errors import Damaged, Forked
from playhead.lanes.vectors import SimpleSignal, SimpleSignalWriter, VectorRecorder, VectorSealer
from playhead.tape import Tape
from playhead.testing import failing_at


def sealed(folder: Path, into: Path) -> dict[str, list[Any]]:
    names: list[str] = []

    def sealer(declaration: tape.Declaration) -> VectorSealer:
        names.append(declaration.name)
        return VectorSealer(declaration, into / f"{declaration.name}.parquet")

    tape.seal(folder, sealer)
    return {name: list(SimpleSignal[Any](into / f"{name}.parquet")) for name in names}


def test_several_signals_share_a_tape(tmp_path: Path) -> None:
    recording = Tape(tmp_path / "tape")
    a, b = VectorRecorder(recording, "a"), VectorRecorder(recording, "b")
    for number in range(100):
        a.append(float(number), number)
        b.append(f"t{number}", number * 2)
        if number % 30 == 0:
            recording.flush()
    recording.note({"task": "pick"})
    recording.close()
    recording.close()
    found = sealed(tmp_path / "tape", tmp_path)
    assert found["a"] == [(float(n), n) for n in range(100)]
    assert found["b"] == [(f"t{n}", n * 2) for n in range(100)]
    assert [declared.name for declared in tape.declarations(tmp_path / "tape")] == ["a", "b"]


def test_samples_reach_the_tape_by_themselves_within_a_second(tmp_path: Path) -> None:
    recording = Tape(tmp_path / "tape")
    recorder = VectorRecorder(recording, "a")
    recorder.append(1.0, 1)
    deadline = time.monotonic() + 5
    while recorder._pending and time.monotonic() < deadline:
        time.sleep(0.02)
    assert recorder._pending == []
    recording.abandon()
    assert sealed(tmp_path / "tape", tmp_path) == {"a": [(1.0, 1)]}


def test_an_error_of_the_background_is_raised_at_the_next_call_and_nothing_is_lost(tmp_path: Path) -> None:
    writer = SimpleSignalWriter[Any](tmp_path / "x.parquet")
    writer.append(1.0, 1)
    writer.flush()
    with failing_at(0, errno.ENOSPC, lasting=True):
        writer.append(2.0, 2)
        with pytest.raises(OSError, match="No space"):
            for number in range(3, 500):
                writer.append(float(number), number)
                time.sleep(0.01)
        last = writer._recorder._last
        with pytest.raises(OSError, match="No space"):
            writer.close()
    writer.close()
    assert SimpleSignal[Any](tmp_path / "x.parquet").timestamps.tolist() == list(range(1, last + 1))


def test_a_hole_in_a_tape_is_damage_and_makes_nothing(tmp_path: Path) -> None:
    recording = Tape(tmp_path / "tape")
    recorder = VectorRecorder(recording, "a")
    for number in range(3):
        recorder.append(float(number), number)
        recording.flush()
    recording.close()
    segment = next((tmp_path / "tape").glob("*.seg"))
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(content)
    with pytest.raises(Damaged, match="whole records"):
        sealed(tmp_path / "tape", tmp_path)
    assert list(tmp_path.glob("*.parquet")) == []
    assert list(tmp_path.glob(".*.tmp")) == []
    tape.seal(tmp_path / "tape", lambda found: VectorSealer(found, tmp_path / "a.parquet"), salvage=True)
    assert list(SimpleSignal[Any](tmp_path / "a.parquet")) == [(1.0, 1), (2.0, 2)]  # the hole was the first sample


def test_a_forked_child_cannot_record_into_its_parents_tape(tmp_path: Path) -> None:
    writer = SimpleSignalWriter[Any](tmp_path / "x.parquet")
    writer.append(1.0, 1)
    writer.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            writer.append(2.0, 2)
        except Forked:
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    writer.append(3.0, 3)
    writer.close()
    assert SimpleSignal[Any](tmp_path / "x.parquet").timestamps.tolist() == [1, 3]


def test_a_writer_that_is_dropped_ends_its_thread_and_leaves_a_tape_to_recover(tmp_path: Path) -> None:
    writer = SimpleSignalWriter[Any](tmp_path / "x.parquet")
    writer.append(1.0, 1)
    writer.flush()
    thread = writer._tape.writer._thread
    assert thread in threading.enumerate()
    del writer
    gc.collect()
    thread.join(5)
    assert not thread.is_alive()
    SimpleSignalWriter.recover(tmp_path / "x.parquet")
    assert len(SimpleSignal[Any](tmp_path / "x.parquet")) == 1


def test_a_crew_that_no_tape_ever_joined_can_be_stopped() -> None:
    crew = tape.Crew(0.1)
    crew.stop()
    crew.stop()
    assert not crew._is_started
