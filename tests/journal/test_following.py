"""Readers that follow a writer in another process."""

from __future__ import annotations

import itertools
import os
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playhead import clock, testing
from playhead.journal import JournalReader, JournalWriter
from playhead.journal.segment import Segment

CAMPAIGN = float(os.environ.get("PLAYHEAD_CAMPAIGN", "1"))


def payload_of(number: int) -> bytes:
    chance = random.Random(number)
    return chance.randbytes(chance.choice([0, 3, 100, 2_000, 40_000]))


def forked(work: Callable[[], None]) -> int:
    """Do some work in a child; give its process id."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.alarm(100)
            work()
            status = 0
        finally:
            os._exit(status)
    return pid


# -- the four rules, each at its worst moment -------------------------------------------------------------------------


def once_before(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, happening: Callable[[], object]) -> list[str]:
    """Let something happen just before the first call of a method; give a list that then names it."""
    method, happened = getattr(owner, name), []

    def wrapped(*args: Any, **options: Any) -> Any:
        if not happened:
            happened.append(name)
            happening()
        return method(*args, **options)

    monkeypatch.setattr(owner, name, wrapped)
    return happened


@pytest.mark.parametrize("verify", [True, False])
def test_a_torn_end_that_is_written_over_between_two_looks_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verify: bool
) -> None:
    """Rule 1: the frame was torn at the first look; at the second there are whole ones in its place and behind it."""
    with JournalWriter(tmp_path) as writer:
        writer.append(b"first")
        torn = writer.append(b"t" * 100)
    os.truncate(tmp_path / "000000.seg", torn.end - 1)

    def write_over() -> None:
        with JournalWriter(tmp_path) as writer:
            assert writer.append(b"second").offset == torn.offset
            writer.append(b"third")

    with JournalReader(tmp_path, strict=True) as reader:
        happened = once_before(monkeypatch, Segment, "find", write_over)
        payloads = [reader.read(position) for position in reader.poll_positions(verify=verify)]
    assert happened
    assert payloads == [b"first", b"second", b"third"]


def test_a_torn_header_that_is_written_over_between_two_looks_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "000000.seg").write_bytes(b"torn")

    def write_over() -> None:
        with JournalWriter(tmp_path) as writer:
            writer.append(b"first")

    with JournalReader(tmp_path, strict=True) as reader:
        assert list(reader.poll()) == []
        happened = once_before(monkeypatch, JournalReader, "_skip", write_over)
        payloads = [record.payload for record in reader.poll()]
        payloads += [record.payload for record in reader.poll()]
    assert happened
    assert payloads == [b"first"]


def test_an_unchecked_record_that_may_yet_be_cut_off_is_not_given(tmp_path: Path) -> None:
    """Rule 1: after a power cut the end may have its full length and lack its bytes; the next writer cuts it off."""
    with JournalWriter(tmp_path) as writer:
        writer.append(b"first")
        lost = [writer.append(b"x" * 100), writer.append(b"y" * 100)]
    path = tmp_path / "000000.seg"
    data = bytearray(path.read_bytes())
    for position in lost:
        data[position.offset + 50 : position.end] = bytes(position.end - position.offset - 50)
    path.write_bytes(data)
    with JournalReader(tmp_path, strict=True) as reader:
        assert [position.number for position in reader.poll_positions(verify=False)] == [0]
        with JournalWriter(tmp_path) as writer:
            expected = [writer.append(b"second"), writer.append(b"third")]
        assert list(reader.poll_positions(verify=False)) == expected


def test_records_and_a_new_segment_that_come_behind_the_last_look_are_not_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 2: that a segment is complete must be known before its end is looked for."""
    with JournalWriter(tmp_path, segment_bytes=150) as writer, JournalReader(tmp_path, strict=True) as reader:
        writer.append(b"0")

        def write_on() -> None:
            for number in range(1, 8):
                writer.append(b"%d" % number)

        happened = once_before(monkeypatch, JournalReader, "_skip", write_on)
        payloads = [record.payload for record in reader.poll()]
        assert happened
        payloads += [record.payload for record in reader.poll()]
    assert payloads == [b"%d" % number for number in range(8)]


def test_segments_that_are_made_behind_a_look_are_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 3: the file was asked for before it was made, the folder looked at when there were three more."""
    with JournalWriter(tmp_path, segment_bytes=1) as writer, JournalReader(tmp_path, strict=True) as reader:
        writer.append(b"0")
        assert [record.payload for record in reader.poll()] == [b"0"]
        writer.append(b"1")
        assert [record.payload for record in reader.poll()] == [b"1"]
        reader._file.close()
        reader._file, reader.segment, reader.offset = None, 2, 0

        def write_on() -> None:
            for number in range(2, 6):
                writer.append(b"%d" % number)

        happened = once_before(monkeypatch, JournalReader, "_has_successor", write_on)
        payloads = [record.payload for record in reader.poll()]
    assert happened
    assert payloads == [b"2", b"3", b"4", b"5"]


def test_segments_that_are_removed_behind_a_look_are_not_called_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 4: the reader has just read segment 0 when 0 to 2 go."""
    with JournalWriter(tmp_path, segment_bytes=1) as writer, JournalReader(tmp_path, strict=True) as reader:
        for number in range(5):
            writer.append(b"%d" % number)
        happened = once_before(monkeypatch, Segment, "close", lambda: writer.remove_before(3))
        payloads = [record.payload for record in reader.poll()]
    assert happened
    assert payloads == [b"0", b"3", b"4"]


# -- real processes ---------------------------------------------------------------------------------------------------


def test_a_reader_sees_every_record_of_a_writer_in_another_process(tmp_path: Path) -> None:
    total = int(3000 * CAMPAIGN)

    def write() -> None:
        with JournalWriter(tmp_path, segment_bytes=1_000_000) as writer:
            for number in range(total):
                writer.append(payload_of(number))

    child = forked(write)
    positions = []
    with JournalReader(tmp_path, strict=True) as reader, JournalReader(tmp_path, strict=True) as hopper:
        count = polls = 0
        while count < total:
            for record in reader.poll():
                assert record.position.number == count
                assert record.payload == payload_of(count)
                count += 1
            polls += 1
            for position in hopper.poll_positions(verify=False):
                positions.append(position)
                assert len(hopper.read(position)) == position.length
            clock.sleep(0.001)
        positions += hopper.poll_positions(verify=False)
    assert os.waitpid(child, 0)[1] == 0
    assert polls > 3
    assert [position.number for position in positions] == list(range(total))
    assert positions[-1].segment > 5


def test_a_reader_follows_while_segments_are_removed(tmp_path: Path) -> None:
    """It may miss records of removed segments, never one of a segment that stays, and sees no damage."""
    total = int(3000 * CAMPAIGN)

    def write() -> None:
        with JournalWriter(tmp_path, segment_bytes=50_000) as writer:
            for number in range(total):
                writer.append(payload_of(number))
                if number % 50 == 0:
                    writer.remove_before(writer.segment - 1)

    child = forked(write)
    last = -1
    with JournalReader(tmp_path, strict=True) as reader:
        while last < total - 1:
            for record in reader.poll():
                assert record.position.number > last
                last = record.position.number
                assert record.payload == payload_of(last)
            clock.sleep(0.001)
    assert os.waitpid(child, 0)[1] == 0


def follow(folder: Path, stop: Path, *, verify: bool) -> None:
    """Read until told to stop; every record must be the next one, as it was written."""
    numbers = itertools.count()
    with JournalReader(folder, strict=True) as reader:
        done = False
        while not done:
            done = stop.exists()
            if verify:
                for record in reader.poll():
                    assert record.position.number == next(numbers)
                    assert record.payload == payload_of(record.position.number)
            else:
                for position in reader.poll_positions(verify=False):
                    assert position.number == next(numbers)
                    assert reader.read(position) == payload_of(position.number)
            clock.sleep(0.0005)
        assert next(numbers) == int(stop.read_text())


def test_readers_stay_right_while_writers_are_killed_and_go_on_again_and_again(tmp_path: Path) -> None:
    """A torn end is cut off and written over while they look at it."""
    folder, stop = tmp_path / "journal", tmp_path / "stop"
    folder.mkdir()
    readers = [forked(lambda verify=verify: follow(folder, stop, verify=verify)) for verify in (True, False)]
    chance = random.Random(5)
    acknowledged = 0

    def write(acknowledge: Callable[[int], None]) -> None:
        with JournalWriter(folder, segment_bytes=100_000) as writer:
            for _ in range(1000):
                acknowledge(writer.append(payload_of(writer.number)).number)

    for _ in range(int(60 * CAMPAIGN)):
        crash = testing.killed_at(chance.randrange(40), write, torn=chance.random() < 0.8)
        acknowledged = max([acknowledged, *(number + 1 for number in crash.acknowledged)])
    with JournalReader(folder, strict=True) as reader:
        count = len(list(reader.poll()))
    assert count >= acknowledged > 100
    (tmp_path / "new").write_text(str(count))
    (tmp_path / "new").rename(stop)
    assert [os.waitpid(reader, 0)[1] for reader in readers] == [0, 0]
