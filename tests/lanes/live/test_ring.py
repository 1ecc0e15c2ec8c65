"""The bytes of a ring, both ways; headers that lie."""

from __future__ import annotations

import os
import platform
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead import live
from playhead.errors import Damaged, PlayheadError
from playhead.lanes.live import segments
from playhead.lanes.live.form import Form
from playhead.lanes.live.ring import RingReader
from tests.lanes.live.foreign import HEADER, ForeignWriter, newest

SHAPES = [(210, 160, 3), (1, 1, 3), (7, 5, 4), (33, 17, 3)]


def picture(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_we_write_reads_as_the_contract_says(run_id: str, shape: tuple[int, int, int]) -> None:
    with live.LiveWriter(run_id, rate=None) as writer:
        for number in range(1, 11):
            shown = picture(shape, number)
            writer.note(float(number), ended=False)
            writer.publish(shown)
            found = newest(segments.path_of(run_id))
            assert found[:3] == (number, shape, shown.tobytes())
            assert found[4][0] == float(number)
            assert found[3].endswith(b"}")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("capacity", [1, 3, 128])
def test_what_another_program_writes_is_read(run_id: str, shape: tuple[int, int, int], capacity: int) -> None:
    theirs = ForeignWriter(run_id, *shape, capacity=capacity, room=20)
    try:
        with live.LiveReader(run_id) as reader:
            assert reader.latest() is None
            for number in range(1, 8):
                shown = picture(shape, number)
                assert theirs.publish(shown.tobytes(), (1.5, -2.5, 60.0), b'{"step": 7}') == number
                found = reader.latest()
                assert found is not None
                assert np.array_equal(found.picture, shown)
                assert (found.number, found.figures, found.metadata.step) == (number, (1.5, -2.5, 60.0), 7)
                assert found.metadata.writer is None
    finally:
        theirs.remove()


def test_a_frame_shorter_than_its_slot_is_filled_with_black(run_id: str) -> None:
    theirs = ForeignWriter(run_id, 4, 4, room=30)
    try:
        theirs.publish(bytes([9] * 20), metadata=b'{"step":3}')
        with live.LiveReader(run_id) as reader:
            found = reader.latest()
            assert found is not None
            assert found.picture.tobytes() == bytes([9] * 20 + [0] * 28)
            assert found.metadata.step == 3
    finally:
        theirs.remove()


def test_a_slot_that_is_being_written_is_not_taken(run_id: str) -> None:
    theirs = ForeignWriter(run_id, 4, 4, capacity=1)
    try:
        theirs.publish(bytes(48))
        with live.LiveReader(run_id) as reader:
            struct.pack_into("<Q", theirs.memory, 80, 5)
            assert reader.latest() is None
            struct.pack_into("<Q", theirs.memory, 80, 4)
            assert reader.latest() is not None
    finally:
        theirs.remove()


def test_slots_of_ours_begin_where_a_number_is_stored_at_once() -> None:
    for height in range(1, 40):
        form = Form.fitting((height, 13, 3), 4, 512)
        assert form.room >= 512
        assert all(form.slot_at(number) % 64 <= 64 - 16 for number in range(1, 5))
        assert Form.unpack(form.pack(), form.size, "here") == form
        with pytest.raises(Damaged, match="sizes that fit"):
            Form.unpack(form.pack(), form.size - 1, "here")


WORDS = st.one_of(st.integers(0, 300), st.integers(0, 2**32 - 1), st.sampled_from([2**31, 2**32 - 1, 0, 1]))


@settings(max_examples=150, deadline=None)
@given(sizes=st.lists(WORDS, min_size=9, max_size=9), head=st.integers(0, 2**64 - 1), slot=st.binary(max_size=64))
def test_no_header_leads_outside_of_its_file(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], head: int, slot: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "hostile"
    path.write_bytes(HEADER.pack(b"FLAN", 1, *sizes[1:], head, 0, 0, 0, 0) + slot)
    fd = os.open(path, os.O_RDONLY)
    try:
        found = RingReader(fd, str(path)).newest()
        assert found is None or found.picture.nbytes <= len(slot)
    except Damaged:
        pass
    finally:
        os.close(fd)


@pytest.mark.parametrize("lengths", [(49, 0), (48, 1), (2**32 - 1, 2**32 - 1), (0, 49)])
def test_a_slot_that_says_more_than_it_holds_is_damage(run_id: str, lengths: tuple[int, int]) -> None:
    theirs = ForeignWriter(run_id, 4, 4, capacity=2)
    try:
        theirs.publish(bytes(48))
        struct.pack_into("<II", theirs.memory, 88, *lengths)
        with pytest.raises(Damaged, match="slots of 48 bytes"):
            live.LiveReader(run_id)
    finally:
        theirs.remove()


def test_a_file_that_is_cut_short_while_it_is_read_is_an_error(run_id: str) -> None:
    theirs = ForeignWriter(run_id, 40, 40, capacity=4)
    try:
        theirs.publish(bytes(4800))
        with live.LiveReader(run_id) as reader:
            os.truncate(theirs.path, 4000)
            with pytest.raises(Damaged):
                reader.latest()
            os.truncate(theirs.path, 10)
            with pytest.raises(Damaged, match="header"):
                reader.latest()
    finally:
        theirs.remove()


def test_other_processors_are_refused(run_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(PlayheadError, match="x86-64 only, and this is aarch64"):
        live.LiveWriter(run_id)
    assert run_id not in segments.paths()


def test_a_text_file_is_no_ring(run_id: str) -> None:
    Path(segments.path_of(run_id)).write_text("x" * 4000)
    with pytest.raises(Damaged, match="FLAN"):
        live.LiveReader(run_id)
    assert run_id not in [one.run_id for one in live.runs()]
