"""Frames of packed values: any reader of Zstandard opens them, and what lies there as it is, is not copied."""

from __future__ import annotations

import random

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead import zstd
from playhead.lanes.keyframes import frames

MOST = 1 << 22


def noise(size: int) -> bytes:
    return random.Random(size).randbytes(size)


@pytest.mark.parametrize("size", [0, 1, 255, 256, 4095, 4096, 31_000, 1 << 17, (1 << 17) + 1, 1 << 18, 300_000])
def test_noise_comes_back_here_and_elsewhere(size: int) -> None:
    data = noise(size)
    frame = frames.squeezed(data)
    assert frames.look(frame, MOST) == data
    assert zstandard.ZstdDecompressor().decompress(frame) == data
    assert len(frame) <= size + 12 + 3 * (size >> 17)
    is_bare = frames.look(frame, MOST).obj is frame
    assert is_bare == (4096 <= size <= 1 << 17)


@settings(deadline=None, max_examples=60)
@given(st.binary(max_size=200), st.integers(1, 400))
def test_what_repeats_gets_smaller(data: bytes, times: int) -> None:
    frame = frames.squeezed(data * times)
    assert frames.look(frame, MOST) == data * times == zstandard.ZstdDecompressor().decompress(frame)
    if len(data) * times > 4096:
        assert frames.gets_smaller(data * times)
        assert len(frame) < len(data) * times


def test_what_says_to_be_larger_than_allowed_is_refused() -> None:
    for data in (noise(5000), bytes(5000)):
        frame = frames.squeezed(data)
        assert len(frames.look(frame, 5000)) == 5000
        with pytest.raises(zstd.Malformed, match="5000 bytes"):
            frames.look(frame, 4999)


def test_a_frame_that_was_changed_gives_no_more_than_it_has() -> None:
    """Whoever reads it compares a hash; here nothing but an error or as many bytes as it says may come."""
    frame, draws = frames.squeezed(noise(5000)), random.Random(1)
    for place in range(12):
        for _ in range(20):
            changed = bytearray(frame)
            changed[place] ^= draws.randrange(1, 256)
            try:
                assert len(frames.look(bytes(changed), MOST)) <= 5000
            except zstd.Malformed:
                continue
    for size in range(0, len(frame), 97):
        with pytest.raises(zstd.Malformed):
            frames.look(frame[:size], MOST)
