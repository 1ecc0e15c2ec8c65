"""Frames that are made of what images repeat are Zstandard's own: any reader of it gives the same bytes back."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from playhead import native, zstd
from playhead.lanes.arrays import codec
from playhead.native import repeats

needs_it = pytest.mark.skipif(
    native.library is None or repeats.zstandard is None, reason="Playhead was installed without a compiler"
)

DECOMPRESS = ctypes.CFUNCTYPE(  # ZSTD_decompressDCtx
    ctypes.c_size_t, *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t)
)


def film(shape: tuple[int, ...], dtype: Any = np.uint8, *, number: int = 16, changed: int = 20) -> NDArray[Any]:
    """Make images of which each differs from the one before in a few places."""
    rng = np.random.default_rng(number)
    image = np.zeros(shape, dtype)
    image.reshape(-1)[:: max(1, image.size // 50)] = 7
    found = np.empty((number, *shape), dtype)
    for each in found:
        image.reshape(-1)[rng.integers(0, image.size, changed)] = rng.integers(0, 200, changed).astype(dtype)
        each[...] = image
    return found


def unpacked(data: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompress(data)


def packed(rows: NDArray[Any], distances: tuple[int, ...] | None = None) -> bytes | None:
    flat = rows.reshape(-1).view(np.uint8)
    likely = codec._distances(rows.shape[1:], rows.dtype.itemsize) if distances is None else distances
    [found] = repeats.pack([flat], [likely])
    return found


@needs_it
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int64])
@pytest.mark.parametrize("shape", [(210, 160, 3), (84, 84), (84, 84, 4), (4, 84, 84), (3, 96, 96), (5000,), (70, 61)])
def test_images_come_back_and_are_small(shape: tuple[int, ...], dtype: Any) -> None:
    rows = film(shape, dtype)
    found = packed(rows)
    assert found is not None
    assert unpacked(found) == rows.tobytes()
    assert len(found) < rows.nbytes / 40
    out = np.empty_like(rows)
    codec.decode(codec.ZSTD, found, out, rows.nbytes)
    assert np.array_equal(out, rows)


@needs_it
def test_what_moves_is_half_of_what_zstandard_alone_makes_of_it() -> None:
    rng = np.random.default_rng(2)
    rows = np.repeat(rng.integers(0, 3, (1, 70, 50, 3), np.uint8), 16, axis=0).repeat(3, 1).repeat(3, 2)
    ball = rng.integers(0, 255, (8, 8, 3), np.uint8)
    for number, each in enumerate(rows):
        each[10 * number : 10 * number + 8, 5 * number : 5 * number + 8] = ball
    found = packed(rows)
    assert found is not None
    assert len(found) * 2 < len(zstd.compress(rows.reshape(-1), 1))


@needs_it
def test_single_changes_cost_no_more_than_zstandard_alone_makes_of_them() -> None:
    """Was a bug: a far repetition was taken where one byte had changed, which is cheaper to write than a distance."""
    rows = film((210, 160, 3), changed=200)
    found = packed(rows)
    assert found is not None
    assert len(found) < 1.02 * len(zstd.compress(rows.reshape(-1), 1))


@needs_it
def test_noise_is_left_to_zstandard() -> None:
    rows = np.random.default_rng(0).integers(0, 256, (16, 84, 84), np.uint8)
    assert packed(rows) is None
    assert unpacked(codec.encode(codec.ZSTD, rows, 1)) == rows.tobytes()


@needs_it
def test_a_chunk_too_large_for_readers_is_left_to_zstandard() -> None:
    assert packed(np.zeros((1, repeats.MOST_BYTES + 1), np.uint8)) is None
    found = packed(np.zeros((2, repeats.MOST_BYTES // 2), np.uint8))
    assert found is not None
    assert len(unpacked(found)) == repeats.MOST_BYTES


@needs_it
@pytest.mark.parametrize("size", [1, 4, 7, 8, 9, 15, 16, 17, 131071, 131072, 131073, 131079, 131080, 262144, 262145])
@pytest.mark.parametrize("value", [0, 9])
def test_every_end_of_a_block_comes_back(size: int, value: int) -> None:
    rows = np.full((1, size), value, np.uint8)
    rows[0, -1] = 200
    found = packed(rows, (1, 16, 100, 131072))
    assert found is None or unpacked(found) == rows.tobytes()
    assert found is not None or size < 8


@needs_it
@settings(max_examples=300, deadline=None)
@given(
    pieces=st.lists(st.tuples(st.integers(0, 5000), st.integers(1, 3000), st.booleans()), min_size=1, max_size=60),
    distances=st.lists(st.integers(1, 70_000), min_size=1, max_size=8, unique=True),
    seed=st.integers(0, 2**32 - 1),
)
def test_whatever_is_packed_comes_back(pieces: list[tuple[int, int, bool]], distances: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = bytearray(rng.integers(0, 4, 64, np.uint8).tobytes())
    for back, length, is_new in pieces:
        start = max(0, len(data) - back - 1)
        data += rng.bytes(min(length, 40)) if is_new else (bytes(data[start:]) * length)[:length]
    flat = np.frombuffer(bytes(data), np.uint8)
    [found] = repeats.pack([flat], [tuple(distances)])
    assert found is None or unpacked(found) == flat.tobytes()


@needs_it
def test_several_are_packed_in_one_go_each_by_itself() -> None:
    noise = np.random.default_rng(1).integers(0, 256, (8, 84, 84), np.uint8)
    chunks = [film((84, 84), number=32), noise, film((210, 160, 3)), np.arange(40, dtype=np.int32).reshape(20, 2)]
    found = codec.encode_all(chunks, 1)
    assert [unpacked(data) for data in found] == [rows.tobytes() for rows in chunks]
    assert found == [codec.encode(codec.ZSTD, rows, 1) for rows in chunks]
    assert codec.encode_all([], 1) == []


@needs_it
def test_a_higher_level_is_never_larger() -> None:
    for rows in (film((84, 84), number=32), film((210, 160, 3)), np.zeros((16, 84, 84), np.uint8)):
        sizes = [len(codec.encode(codec.ZSTD, rows, level)) for level in (1, 9)]
        assert sizes == sorted(sizes, reverse=True)
        assert unpacked(codec.encode(codec.ZSTD, rows, 9)) == rows.tobytes()


@needs_it
def test_threads_pack_beside_each_other() -> None:
    films = [film((84, 84), number=32, changed=number) for number in range(1, 9)]
    expected = [packed(rows) for rows in films]
    found: list[list[bytes | None]] = [[] for _ in films]

    def work(place: int) -> None:
        found[place] = [packed(films[place]) for _ in range(50)]

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(films))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[data] * 50 for data in expected]


@pytest.mark.parametrize("missing", ["library", "zstandard"])
def test_without_it_all_is_compressed_as_usual(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, missing, None)
    rows = film((84, 84))
    assert packed(rows) is None
    assert unpacked(codec.encode(codec.ZSTD, rows, 1)) == rows.tobytes()


@needs_it
@pytest.mark.parametrize("version", [10502, 10600])
def test_an_unknown_version_of_zstandard_is_not_used(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        def __init__(self, path: str) -> None:
            self.path = path

        def ZSTD_versionNumber(self) -> int:
            return version

    monkeypatch.setattr(repeats.ctypes, "CDLL", Other)
    assert repeats._zstandard() is None


@needs_it
@pytest.mark.parametrize("wrong", ["a byte", "the size", "an error"])
def test_a_frame_that_does_not_read_back_is_not_used(wrong: str) -> None:
    assert repeats.zstandard is not None
    assert native.library is not None
    own = repeats.Repeats(repeats.zstandard, native.library)
    rows = film((84, 84)).reshape(-1)
    assert own.pack([rows], [(7056, 84)]) != [None]
    decompress = DECOMPRESS(own._with.decompress)

    def decompress_wrongly(context: int, out: int, room: int, data: int, size: int) -> int:
        back: int = decompress(context, out, room, data, size)
        if wrong == "a byte":
            ctypes.c_uint8.from_address(out + back // 2).value ^= 1
        return {"a byte": back, "the size": back - 1, "an error": 2**64 - 20}[wrong]

    wrongly = DECOMPRESS(decompress_wrongly)
    own._with.decompress = ctypes.cast(wrongly, ctypes.c_void_p)
    assert own.pack([rows], [(7056, 84)]) == [None]


@pytest.mark.parametrize(
    ("shape", "itemsize", "expected"),
    [
        ((210, 160, 3), 1, (100800, 480, 960, 18, 3)),
        ((84, 84), 1, (7056, 84, 168, 16, 1)),
        ((84, 84, 4), 1, (28224, 28223, 336, 672, 16, 4)),
        ((4, 84, 84), 1, (21168, 28224, 7056, 84, 168, 16, 1)),
        ((84, 84), 4, (28224, 336, 672, 16, 4)),
        ((5000,), 1, (5000, 10000, 16, 1)),
        ((17,), 8, ()),
        ((), 4, ()),
    ],
)
def test_distances_follow_the_shape(shape: tuple[int, ...], itemsize: int, expected: tuple[int, ...]) -> None:
    assert codec._distances(shape, itemsize) == expected
