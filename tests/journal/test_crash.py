"""Failing disks, kills and interrupts at every step: what was acknowledged is there, and writing goes on."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playhead import testing
from playhead.journal import JournalReader, JournalWriter
from tests.interrupting import At

SEGMENT_BYTES = 150
PAYLOADS = [b"%d:" % n + b"x" * size for n, size in enumerate((10, 0, 60, 200, 5, 20_000, 30, 1))]


def read_all(folder: Path) -> list[bytes]:
    """Read a journal in which nothing may be damaged, in both ways."""
    with JournalReader(folder, strict=True) as reader:
        payloads = [record.payload for record in reader.poll()]
    with JournalReader(folder, strict=True) as reader:
        assert [reader.read(position) for position in reader.poll_positions(verify=False)] == payloads
    return payloads


def record(folder: Path, acknowledge: Callable[[Any], None]) -> None:
    """Record all payloads in two sessions, with syncs in between."""
    for session in (PAYLOADS[:5], PAYLOADS[5:]):
        with JournalWriter(folder, segment_bytes=SEGMENT_BYTES) as journal:
            for payload in session:
                journal.append(payload)
                acknowledge(payload.decode())
                if len(payload) < 10:
                    journal.sync()


# -- a disk that fails ------------------------------------------------------------------------------------------------


def record_what_can_be(folder: Path) -> list[bytes]:
    """Record as `record` does, and go on after each failure; give the payloads that were acknowledged."""
    acknowledged: list[bytes] = []
    for session in (PAYLOADS[:5], PAYLOADS[5:]):
        try:
            journal = JournalWriter(folder, segment_bytes=SEGMENT_BYTES)
        except OSError:
            continue
        for payload in session:
            try:
                journal.append(payload)
                acknowledged.append(payload)
                journal.sync()
            except OSError:
                continue
        journal.close()
    return acknowledged


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize(("code", "short"), [(errno.EIO, False), (errno.ENOSPC, False), (errno.ENOSPC, True)])
def test_a_failure_of_any_operation_loses_nothing_acknowledged(
    tmp_path: Path, code: int, short: bool, lasting: bool
) -> None:
    total = testing.count_operations(lambda: record_what_can_be(tmp_path / "count"))
    assert total > 40
    for n in range(total):
        folder = tmp_path / str(n)
        with testing.failing_at(n, code, short=short, lasting=lasting):
            acknowledged = record_what_can_be(folder)
        with JournalWriter(folder, segment_bytes=SEGMENT_BYTES) as journal:
            journal.append(b"after")
        assert read_all(folder) == [*acknowledged, b"after"], n


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("short", [False, True])
def test_the_same_writer_goes_on_after_a_failure_of_any_operation(tmp_path: Path, short: bool, lasting: bool) -> None:
    def work(journal: JournalWriter) -> list[bytes]:
        acknowledged = []
        for payload in PAYLOADS:
            try:
                position = journal.append(payload)
                acknowledged.append(payload)
                assert position.number == len(acknowledged) - 1
                journal.sync()
            except OSError:
                continue
        return acknowledged

    with JournalWriter(tmp_path / "count", segment_bytes=SEGMENT_BYTES) as journal:
        total = testing.count_operations(lambda: work(journal))
    for n in range(total):
        folder = tmp_path / str(n)
        with (
            JournalWriter(folder, segment_bytes=SEGMENT_BYTES) as journal,
            JournalReader(folder, strict=True) as reader,
        ):
            with testing.failing_at(n, short=short, lasting=lasting):
                acknowledged = work(journal)
            assert [record.payload for record in reader.poll()] == acknowledged, n
            journal.append(b"after")
            journal.sync()
            assert [record.payload for record in reader.poll()] == [b"after"], n
        assert read_all(folder) == [*acknowledged, b"after"], n


# -- kills ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("torn", [False, True])
def test_a_kill_at_any_operation_loses_nothing_acknowledged(tmp_path: Path, torn: bool) -> None:
    expected = [payload.decode() for payload in PAYLOADS]
    for n in range(1000):
        folder = tmp_path / str(n)
        folder.mkdir()
        crash = testing.killed_at(n, lambda acknowledge, folder=folder: record(folder, acknowledge), torn=torn)
        found = [payload.decode() for payload in read_all(folder)]
        assert found[: len(crash.acknowledged)] == crash.acknowledged == expected[: len(crash.acknowledged)], n
        assert found == expected[: len(found)]
        assert len(found) <= len(crash.acknowledged) + 1
        with JournalWriter(folder, segment_bytes=SEGMENT_BYTES) as journal:
            assert journal.append(b"after").number == len(found)
        assert read_all(folder) == [*map(str.encode, found), b"after"]
        if not crash.killed:
            break
    assert 30 < n < 999
    assert crash.acknowledged == expected


@pytest.mark.parametrize("torn", [False, True])
def test_a_kill_while_recovering_from_a_kill_loses_nothing(tmp_path: Path, torn: bool) -> None:
    folder = tmp_path / "journal"
    with JournalWriter(folder, segment_bytes=SEGMENT_BYTES) as journal:
        expected = [PAYLOADS[n % 3] for n in range(10)]
        for payload in expected:
            journal.append(payload)
        newest = folder / f"{journal.segment:06}.seg"
    whole = newest.read_bytes()
    for n in range(100):
        newest.write_bytes(whole + b"torn")

        def reopen(acknowledge: Callable[[Any], None]) -> None:
            with JournalWriter(folder, segment_bytes=SEGMENT_BYTES) as journal:
                acknowledge(journal.append(b"more").number)

        crash = testing.killed_at(n, reopen, torn=torn)
        found = read_all(folder)
        assert found[: len(expected)] == expected
        assert set(found[len(expected) :]) <= {b"more"}
        assert all(number < len(found) for number in crash.acknowledged)
        for path in folder.glob("*.seg"):
            if path > newest:
                path.unlink()
        if not crash.killed:
            break
    assert 2 < n < 99


def test_a_kill_while_segments_are_removed_leaves_an_end_without_gaps(tmp_path: Path) -> None:
    for n in range(100):
        folder = tmp_path / str(n)
        with JournalWriter(folder, segment_bytes=1) as journal:
            for number in range(6):
                journal.append(b"%d" % number)

        def remove(acknowledge: Callable[[Any], None], folder: Path = folder) -> None:
            with JournalWriter(folder, segment_bytes=1) as journal:
                journal.remove_before(4)

        crash = testing.killed_at(n, remove)
        found = read_all(folder)
        assert found == [b"%d" % number for number in range(6 - len(found), 6)]
        if not crash.killed:
            break
    assert found == [b"4", b"5"]


# -- interrupts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("payload", [b"small", b"l" * 20_000])
def test_an_interrupt_at_any_point_of_an_append_loses_and_doubles_nothing(tmp_path: Path, payload: bytes) -> None:
    """Ctrl-C raises wherever it comes, also between a write and the note that it was done."""
    stayed = 0
    for n in range(10_000):
        folder = tmp_path / str(n)
        with (
            JournalWriter(folder, segment_bytes=160) as journal,
            JournalReader(folder, strict=True) as reader,
        ):
            before = [b"%d" % k for k in range(4)]
            for each in before:
                journal.append(each)
            interrupted = False
            try:
                with At(n, "journal/writer.py", "journal/segment.py", "disk/"):
                    journal.append(payload)  # into a new segment
            except KeyboardInterrupt:
                interrupted = True
            seen = [record.payload for record in reader.poll()]
            journal.append(b"a")  # would still fit into the old segment, which a reader may have left
            journal.append(b"x" * 150)
            journal.sync()
            found = [record.payload for record in reader.poll()]
        assert found in ([b"a", b"x" * 150], [payload, b"a", b"x" * 150]), n
        assert seen in (before, [*before, payload])
        assert interrupted or payload in seen
        stayed += interrupted and payload in seen + found
        assert read_all(folder) == seen + found
        if not interrupted:
            break
    assert 30 < n < 9_999
    assert stayed > 2, "some interrupts come behind the last byte"
