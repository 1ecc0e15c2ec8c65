"""What goes into a journal comes out of it: records, positions, segments, reopening, removal."""

from __future__ import annotations

import itertools
import os
import socket
import struct
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead import disk, testing
from playhead.errors import Closed, Damaged, Forked, NotFound, StoreLocked, StoreTooNew, WrongShape
from playhead.journal import JournalReader, JournalWriter, Position

SMALL = 200


def read_all(folder: Path, **options: bool) -> list[bytes]:
    with JournalReader(folder, strict=True, **options) as reader:
        return [record.payload for record in reader.poll()]


def segments(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.endswith(".seg"))


@given(
    sessions=st.lists(
        st.lists(st.integers(0, 3 * SMALL) | st.sampled_from([0, 1, SMALL - 57, SMALL - 56, SMALL - 55]), max_size=8),
        min_size=1,
        max_size=4,
    ),
    segment_bytes=st.sampled_from([1, SMALL, 1 << 20]),
)
@settings(deadline=None, max_examples=60)
def test_records_come_back_in_order_over_segments_and_sessions(
    tmp_path_factory: pytest.TempPathFactory, sessions: list[list[int]], segment_bytes: int
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    counter, payloads, positions = itertools.count(), [], []
    for sizes in sessions:
        with JournalWriter(folder, segment_bytes=segment_bytes) as writer:
            assert writer.cut is None
            for size in sizes:
                payloads.append((b"%d|" % next(counter) * (size // 2 + 1))[:size])
                positions.append(writer.append(payloads[-1]))
            assert writer.number == len(payloads)
    with JournalReader(folder, strict=True) as reader:
        records = list(reader.poll())
        assert [record.payload for record in records] == payloads
        assert [record.position for record in records] == positions
        assert [position.number for position in positions] == list(range(len(payloads)))
        assert [reader.read(position) for position in reversed(positions)] == payloads[::-1]
        assert list(reader.poll()) == []
    for verify in (True, False):
        with JournalReader(folder, strict=True) as reader:
            assert list(reader.poll_positions(verify=verify)) == positions


def test_several_buffers_make_one_record(tmp_path: Path) -> None:
    array = numpy.arange(30_000, dtype=numpy.float32).reshape(3, 100, 100)
    parts = [b"head", bytearray(b"more"), memoryview(b""), memoryview(array), memoryview(numpy.empty((0, 3)))]
    with JournalWriter(tmp_path) as writer:
        small = writer.append(*parts[:3])
        large = writer.append(*parts)
        empty = writer.append()
    assert [small.length, large.length, empty.length] == [8, 120_008, 0]
    assert read_all(tmp_path) == [b"headmore", b"headmore" + array.tobytes(), b""]


def test_a_buffer_that_is_not_contiguous_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    with JournalWriter(tmp_path) as writer:
        writer.append(b"one")
        for array in (numpy.zeros((100, 100))[:, ::2], numpy.zeros(8)[::2]):
            with pytest.raises((BufferError, ValueError, TypeError)):
                writer.append(memoryview(array))
        writer.append(b"two")
    assert read_all(tmp_path) == [b"one", b"two"]


def test_a_record_past_four_gigabytes_is_refused(tmp_path: Path) -> None:
    huge = memoryview(numpy.lib.stride_tricks.as_strided(numpy.zeros(1, numpy.uint8), (1 << 32,), (0,)))
    with JournalWriter(tmp_path) as writer:
        with pytest.raises(WrongShape, match="split it"):
            writer.append(huge)
        writer.append(b"one")
    assert read_all(tmp_path) == [b"one"]


def test_the_bytes_are_as_the_format_says(tmp_path: Path) -> None:
    """Read by hand, so that the code cannot change the format without a word."""
    with JournalWriter(tmp_path, segment_bytes=80) as writer:
        writer.append(b"first record")
        writer.append(b"second")
    data = (tmp_path / "000001.seg").read_bytes()
    magic, version, segment, first, salt, crc = struct.unpack("<8sIIQ4sI", data[:32])
    assert (magic, version, segment, first, crc) == (b"\x89PHJRNL\n", 1, 1, 1, zlib.crc32(data[:28]))
    mark, frame_salt, crc, length, number, payload = struct.unpack("<4s4sIIQ6s", data[32:])
    assert (mark, frame_salt, length, number, payload) == (b"\xf5\x9bPr", salt, 6, 1, b"second")
    seed = zlib.crc32(mark + salt + struct.pack("<I", 1)) + 32
    assert crc == zlib.crc32(data[44:], seed & 0xFFFFFFFF)


def test_a_segment_is_filled_but_never_past_its_size(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, segment_bytes=SMALL) as writer:
        for size in (10, 100, 10, 500, 10):
            writer.append(bytes(size))
    sizes = [(tmp_path / name).stat().st_size for name in segments(tmp_path)]
    assert sizes == [32 + 24 + 10 + 24 + 100, 32 + 24 + 10, 32 + 24 + 500, 32 + 24 + 10]


def test_a_payload_that_is_a_journal_is_just_a_payload(tmp_path: Path) -> None:
    """Nor is it taken for records when the frame around it is broken."""
    with JournalWriter(tmp_path / "inner") as writer:
        for n in range(5):
            writer.append(b"inner %d" % n)
    inner = (tmp_path / "inner" / "000000.seg").read_bytes()
    with JournalWriter(tmp_path / "outer") as writer:
        writer.append(inner)
        mine = (tmp_path / "outer" / "000000.seg").read_bytes()
        around = writer.append(mine)
        writer.append(b"last")
    assert read_all(tmp_path / "outer") == [inner, mine, b"last"]
    path = tmp_path / "outer" / "000000.seg"
    data = bytearray(path.read_bytes())
    data[around.offset] ^= 1
    path.write_bytes(data)
    with JournalReader(tmp_path / "outer") as reader:
        assert [record.payload for record in reader.poll()] == [inner, b"last"]


# -- one writer -------------------------------------------------------------------------------------------------------


def test_a_second_writer_is_refused_until_the_first_has_gone(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, segment_bytes=1) as writer:
        for _ in range(3):
            with pytest.raises(StoreLocked, match="another writer"):
                JournalWriter(tmp_path)
            writer.append(b"x")
    JournalWriter(tmp_path).close()
    assert read_all(tmp_path) == [b"x"] * 3


def test_a_closed_writer_takes_nothing_more(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path)
    writer.append(b"x")
    writer.close()
    writer.close()
    for call in (lambda: writer.append(b"y"), writer.sync, lambda: writer.remove_before(1)):
        with pytest.raises(Closed, match="is closed"):
            call()
    assert read_all(tmp_path) == [b"x"]


def test_a_forked_child_may_not_write_and_does_not_hold_the_lock(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path)
    writer.append(b"parent")
    here, there = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            here.close()
            with pytest.raises(Forked):
                writer.append(b"child")
            writer.close()
            there.send(b"x")
            there.recv(1)  # until the parent has opened the journal again
            status = 0
        finally:
            os._exit(status)
    there.close()
    here.recv(1)
    writer.append(b"parent again")
    writer.close()
    with JournalWriter(tmp_path) as again:
        again.append(b"reopened")
    here.close()
    assert os.waitpid(pid, 0)[1] == 0
    assert read_all(tmp_path) == [b"parent", b"parent again", b"reopened"]


# -- sync -------------------------------------------------------------------------------------------------------------


def test_sync_reaches_every_segment_since_the_last_and_then_their_names(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, segment_bytes=1) as writer:
        for _ in range(3):
            writer.append(b"x")
        synced = [Path(operation.path).name for operation in testing.operations_of(writer.sync)]
        assert synced == ["000000.seg", "000001.seg", "000002.seg", tmp_path.name]
        assert [operation.name for operation in testing.operations_of(writer.sync)] == ["fsync"]
        writer.append(b"x")
        assert testing.count_operations(writer.sync) == 3


def test_a_sync_that_failed_is_made_up_for_by_the_next(tmp_path: Path) -> None:
    for n in range(4):
        with JournalWriter(tmp_path / str(n), segment_bytes=1) as writer:
            for _ in range(3):
                writer.append(b"x")
            with testing.failing_at(n), pytest.raises(OSError):
                writer.sync()
            assert testing.count_operations(writer.sync) == 4 - min(n, 2)
            writer.append(b"x")
        assert len(read_all(tmp_path / str(n))) == 4


def test_few_files_stay_open_however_many_segments_are_not_synced(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with JournalWriter(tmp_path, segment_bytes=1) as writer:
        for _ in range(100):
            writer.append(b"x")
        assert len(os.listdir("/proc/self/fd")) - before <= 20
    assert len(os.listdir("/proc/self/fd")) == before
    assert len(read_all(tmp_path)) == 100


# -- removal ----------------------------------------------------------------------------------------------------------


def test_segments_that_are_kept_elsewhere_can_be_removed(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, segment_bytes=1) as writer:
        positions = [writer.append(b"%d" % n) for n in range(6)]
        reader = JournalReader(tmp_path, strict=True)
        assert next(reader.poll()).payload == b"0"
        writer.remove_before(3)
        assert segments(tmp_path) == ["000003.seg", "000004.seg", "000005.seg"]
        assert [record.payload for record in reader.poll()] == [b"3", b"4", b"5"]
        with pytest.raises(NotFound, match="removed"):
            reader.read(positions[1])
        writer.remove_before(100)
        assert segments(tmp_path) == ["000005.seg"], "the one that is written to stays"
        writer.append(b"6")
        assert [record.payload for record in reader.poll()] == [b"6"]
        reader.close()
    assert read_all(tmp_path) == [b"5", b"6"]
    with JournalWriter(tmp_path) as writer:
        assert writer.append(b"7") == Position(6, 32 + 24 + 1, 7, 1)


def test_numbers_go_on_when_all_full_segments_were_removed(tmp_path: Path) -> None:
    """Also when the one that stays is so new that nothing was written into it."""
    with JournalWriter(tmp_path) as writer:
        position = writer.append(b"damaged")
        writer.append(b"whole")
    data = bytearray((tmp_path / "000000.seg").read_bytes())
    data[position.offset] ^= 1
    (tmp_path / "000000.seg").write_bytes(data)
    with JournalWriter(tmp_path) as writer:
        assert writer.segment == 1
        writer.remove_before(1)
    assert segments(tmp_path) == ["000001.seg"]
    with JournalWriter(tmp_path) as writer:
        assert writer.append(b"x") == Position(1, 32, 2, 1)


def test_removal_goes_upwards(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, segment_bytes=1) as writer:
        for _ in range(4):
            writer.append(b"x")
        seen = testing.operations_of(lambda: writer.remove_before(3))
    assert [Path(op.path).name for op in seen if op.name == "unlink"] == ["000000.seg", "000001.seg", "000002.seg"]


# -- reading ----------------------------------------------------------------------------------------------------------


def test_an_empty_journal_has_nothing_yet(tmp_path: Path) -> None:
    with JournalReader(tmp_path, strict=True) as reader:
        assert list(reader.poll()) == []
        (tmp_path / "000000.seg").write_bytes(b"")
        assert list(reader.poll()) == []
        with JournalWriter(tmp_path) as writer:
            assert list(reader.poll()) == []
            writer.append(b"x")
            assert [record.payload for record in reader.poll()] == [b"x"]


def test_a_missing_folder_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no such folder"):
        JournalReader(tmp_path / "missing")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotFound, match="no such folder"):
        JournalReader(tmp_path / "file")


def test_a_later_format_is_refused_by_name(tmp_path: Path) -> None:
    JournalWriter(tmp_path).close()
    head = struct.pack("<8sIIQ4s", b"\x89PHJRNL\n", 2, 0, 0, b"salt")
    (tmp_path / "000000.seg").write_bytes(head + struct.pack("<I", zlib.crc32(head)))
    with pytest.raises(StoreTooNew, match="journal format 2"), JournalReader(tmp_path) as reader:
        list(reader.poll())
    with pytest.raises(StoreTooNew, match="journal format 2"):
        JournalWriter(tmp_path)


def test_a_poll_that_was_left_early_goes_on_where_it_was(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, segment_bytes=SMALL) as writer:
        for n in range(20):
            writer.append(b"%d" % n)
    for verify in (True, False):
        with JournalReader(tmp_path, strict=True) as reader:
            taken = [next(reader.poll_positions(verify=verify)).number for _ in range(20)]
            assert taken == list(range(20))
            assert list(reader.poll()) == []


def test_records_can_be_read_while_a_poll_is_under_way(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, segment_bytes=SMALL) as writer:
        positions = [writer.append(b"%d" % n) for n in range(30)]
    with JournalReader(tmp_path, strict=True) as reader:
        for n, record in enumerate(reader.poll()):
            assert record.payload == b"%d" % n
            assert reader.read(positions[-1 - n]) == b"%d" % (29 - n)


def test_threads_may_read_at_once(tmp_path: Path) -> None:
    """Was a bug: one that went to another segment closed the file that another was reading."""
    with JournalWriter(tmp_path, segment_bytes=400) as writer:
        positions = [writer.append(b"%d" % n * 40) for n in range(40)]
    threads = 6

    def read(thread: int) -> None:
        begin.wait()
        for turn in range(200):
            n = (7 * thread + 3 * turn) % 40
            assert reader.read(positions[n]) == b"%d" % n * 40

    for _ in range(3):
        begin = threading.Barrier(threads)
        with JournalReader(tmp_path) as reader, ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(read, thread) for thread in range(threads)]:
                done.result()


def test_a_closed_reader_reads_nothing_more(tmp_path: Path) -> None:
    with JournalWriter(tmp_path) as writer:
        position = writer.append(b"x")
        writer.append(b"y")
    reader = JournalReader(tmp_path)
    poll = reader.poll()
    next(poll)
    reader.close()
    reader.close()
    for call in (lambda: next(poll), lambda: list(reader.poll()), lambda: reader.read(position)):
        with pytest.raises(Closed):
            call()


def test_a_reader_holds_two_files_at_most(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, segment_bytes=1) as writer:
        positions = [writer.append(b"x") for _ in range(20)]
    before = len(os.listdir("/proc/self/fd"))
    with JournalReader(tmp_path) as reader:
        for _, position in zip(reader.poll(), reversed(positions), strict=True):
            reader.read(position)
            assert len(os.listdir("/proc/self/fd")) - before <= 2
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_position_that_was_never_written_is_refused(tmp_path: Path) -> None:
    with JournalWriter(tmp_path) as writer:
        position = writer.append(b"abc")
        writer.append(b"def")
    with JournalReader(tmp_path) as reader:
        wrong = [
            position._replace(number=1),
            position._replace(length=2),
            position._replace(length=5),
            position._replace(offset=position.offset + 1),
            position._replace(offset=1 << 20),
        ]
        for ask in wrong:
            with pytest.raises(Damaged, match=f"expected record {ask.number} of {ask.length} bytes"):
                reader.read(ask)
        assert reader.read(position) == b"abc"


def test_large_records_are_read_whole_over_the_edges_of_blocks(tmp_path: Path) -> None:
    sizes = [(256 << 10) - 24, (256 << 10) - 23, 5, (256 << 10) - 1, 1 << 20, 0, 3 << 20, 100]
    with JournalWriter(tmp_path) as writer:
        for n, size in enumerate(sizes):
            writer.append(bytes([n]) * size)
    assert read_all(tmp_path) == [bytes([n]) * size for n, size in enumerate(sizes)]


def test_the_lock_file_and_others_are_no_segments(tmp_path: Path) -> None:
    with JournalWriter(tmp_path) as writer:
        writer.append(b"x")
    for name in ("notes.txt", "a.seg", "-1.seg", ".000009.seg"):
        (tmp_path / name).write_bytes(b"?")
    disk.make_folders(tmp_path / "folder")
    assert read_all(tmp_path) == [b"x"]
    JournalWriter(tmp_path).close()


@pytest.mark.parametrize("size", [0, 1, 5 << 10, (5 << 10) + 1, 100_000, (256 << 10) + 1])
@pytest.mark.parametrize("several", [False, True])
def test_records_of_any_size_have_the_crc_of_their_bytes(tmp_path: Path, size: int, several: bool) -> None:
    data = numpy.arange(size, dtype=numpy.uint16).astype(numpy.uint8).tobytes()
    with JournalWriter(tmp_path) as writer:
        found = writer.append_all([(data, b"x"), (b"y", memoryview(data))]) if several else [writer.append(data)]
    whole = (tmp_path / "000000.seg").read_bytes()
    for position in found:
        frame = whole[position.offset : position.end]
        crc = zlib.crc32((0).to_bytes(4, "little"), zlib.crc32(frame[:8])) + position.offset & 0xFFFFFFFF
        assert zlib.crc32(frame[12:], crc) == int.from_bytes(frame[8:12], "little")
    assert read_all(tmp_path) == ([data + b"x", b"y" + data] if several else [data])
