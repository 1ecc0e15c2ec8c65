"""Steps in blocks: of the size that a seek reads, whatever inputs are like."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.errors import Damaged, WrongType
from playhead.lanes.keyframes import blocks, frames, sealing, tape, tree
from playhead.lanes.keyframes.blocks import Block
from playhead.lanes.keyframes.contents import MemoryContents
from playhead.lanes.keyframes.sealed import Sealed
from playhead.lanes.keyframes.stored import StoredContents
from playhead.trace import Trace, TraceWriter

inputs = st.lists(st.none() | st.binary(min_size=1, max_size=20), max_size=40)


@settings(deadline=None)
@given(inputs, st.integers(0, 50), st.integers(0, 50), st.integers(1, 3))
def test_a_block_comes_back_and_can_be_cut_anywhere(given_: list[bytes | None], a: int, b: int, stride: int) -> None:
    n = len(given_)
    stamps = np.array([-(1 << 63) + 5 * i for i in range(n)], np.int64)
    block = Block(7, stamps, np.linspace(0, 1, n), given_, [1, 2])
    found = Block.unpack(block.pack(), "x")
    assert (found.first, found.stop, found.dropped) == (7, 7 + n, [1, 2])
    assert found.stamps.tolist() == stamps.tolist()
    assert found.errors.tolist() == np.linspace(0, 1, n).tolist()
    assert list(found.inputs) == given_
    assert found.inputs[a:b] == given_[a:b]
    assert found.inputs[a:b:stride] == given_[a:b:stride]
    assert len(found.inputs) == n


def test_large_inputs_make_small_blocks(tmp_path: Path) -> None:
    each = [bytes([number]) * 50_000 if number % 3 else None for number in range(200)]
    contents = MemoryContents({}, range(200), [0.0] * 200, {}, each)
    cut = list(sealing.blocks_of(contents))
    assert [block.first for block in cut] == [0, *np.cumsum([len(block.stamps) for block in cut])[:-1]]
    assert sum(len(block.stamps) for block in cut) == 200
    assert all(sum(map(len, filter(None, block.inputs))) < 2_000_000 for block in cut)
    assert len(cut) > 5
    sealing.write(tmp_path / "x.trace", contents)
    assert len(Sealed(tmp_path / "x.trace").block_starts) == len(cut)
    assert list(StoredContents(tmp_path / "x.trace").packed_inputs(0, 200)) == each


def test_inputs_that_hardly_get_smaller_lie_in_small_blocks_from_a_keyframe_on() -> None:
    draws, states = random.Random(1), dict.fromkeys(range(0, 400, 20), b"N")
    noise = MemoryContents({}, range(400), [0.0] * 400, states, [tree.pack(draws.randbytes(1000)) for _ in range(400)])
    small = list(sealing.blocks_of(noise))
    assert {block.first % 20 for block in small} == {0}
    assert max(len(block.stamps) for block in small) == 20
    assert all(len(block.pack()) >= 20_000 for block in small)
    zeros = MemoryContents({}, range(400), [0.0] * 400, states, [tree.pack(bytes(1000))] * 400)
    large = list(sealing.blocks_of(zeros))
    assert max(len(block.stamps) for block in large) > 100
    assert all(len(block.pack()) < 2000 for block in large)
    for cut, contents in ((small, noise), (large, zeros)):
        assert [one for block in cut for one in block.inputs] == contents.packed_inputs(0, 400)


def test_what_is_too_large_to_be_read_again_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "MOST_PACKED", 1000)
    with TraceWriter(tmp_path / "x.trace") as writer:
        for refused in ({"state": bytes(1000)}, {"state": 1, "input": bytes(1000)}):
            with pytest.raises(WrongType, match="at most"):
                writer.append(**refused)  # type: ignore[arg-type]
        writer.append(1, input=2)
    assert StoredContents(tmp_path / "x.trace").length == 1


def test_many_large_inputs_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is recorded can be read: here a twenty-thousandth of sizes and limits."""
    assert blocks.MOST_BYTES > blocks.MOST_PACKED + 2 * tape._QUEUE_BYTES  # what waits, and one input behind it
    monkeypatch.setattr(blocks, "MOST_PACKED", 50_000)
    monkeypatch.setattr(blocks, "MOST_BYTES", 2 * 50_000)
    monkeypatch.setattr(tape, "_QUEUE_BYTES", 40_000)
    monkeypatch.setattr(tape, "INTERVAL", 60.0)
    monkeypatch.setattr(sealing, "_LARGE", 1 << 15)
    path = tmp_path / "x.trace"
    with TraceWriter(path, bucket=100) as writer:
        writer._tape._relieve = lambda: None  # type: ignore[method-assign]  # all waits, as where the disk is slow
        for number in range(16):
            writer.append(number, input=np.full(49_900, number, np.uint8))
        del writer._tape._relieve
        writer.flush()
        assert [len(value) for value in Trace.open(path).contents.inputs(0, 16)] == [49_900] * 16
    trace = Trace.open(path)
    assert [trace.input(step)[-1] for step in range(16)] == list(range(16))


def test_a_block_that_nobody_would_read_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    block = Block(3, np.arange(2), np.zeros(2), [b"N" * 400, None])
    size = len(frames.look(block.pack(), 1000))
    monkeypatch.setattr(blocks, "MOST_BYTES", size)
    assert Block.unpack(block.pack(), "x").inputs[0] == b"N" * 400
    monkeypatch.setattr(blocks, "MOST_BYTES", size - 1)
    with pytest.raises(WrongType, match=f"steps 3 to 5 in {size} bytes: {size - 1} are read again"):
        block.pack()


@given(st.binary(max_size=60))
def test_other_bytes_are_damage(data: bytes) -> None:
    with pytest.raises(Damaged):
        Block.unpack(data, "x")
