"""Everything that is recorded comes back, bit for bit: from the journal while it grows, and from the sealed file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.writer import ReelWriter
from tests.lanes.arrays.reels import (
    CODECS,
    Recording,
    assert_live_and_sealed,
    assert_same,
    noise,
    patterned,
    quiet,
    reel_in,
)

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "S1", "S9"]
SHAPES: list[tuple[int, ...]] = [(), (1,), (7,), (3, 2), (4, 1, 3), (2, 3, 2, 2)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_in_every_shape(tmp_path: Path, dtype: str) -> None:
    recording = Recording(reel_in(tmp_path))
    for number in range(11):
        arrays = {f"x{place}": patterned(number, shape, dtype) for place, shape in enumerate(SHAPES)}
        recording.step(arrays)
    assert_live_and_sealed(recording)


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_with_every_size_of_item(tmp_path: Path, codec: str | None) -> None:
    recording = Recording(reel_in(tmp_path), quiet(codec=codec))
    for number in range(23):
        arrays = {f"x{place}": patterned(number, (5, 3), dtype) for place, dtype in enumerate(DTYPES[:12])}
        recording.step(arrays)
    assert_live_and_sealed(recording)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("shape", [(3,), (40, 30)], ids=str)
def test_what_cannot_be_compressed(tmp_path: Path, codec: str | None, shape: tuple[int, ...]) -> None:
    """LZF gives such chunks up and leaves them as they are."""
    recording = Recording(reel_in(tmp_path), quiet(codec=codec))
    for number in range(13):
        recording.step({"frames": noise(number, shape), "observations": np.zeros((4, 4), np.uint8)})
    assert_live_and_sealed(recording)


@pytest.mark.parametrize("level", [1, 3, 9])
@pytest.mark.parametrize("codec", CODECS)
def test_every_level(tmp_path: Path, codec: str | None, level: int) -> None:
    recording = Recording(reel_in(tmp_path), quiet(codec=codec, level=level))
    for number in range(6):
        recording.step({"frames": patterned(number, (8, 8, 3), np.uint8)})
    assert_live_and_sealed(recording)


@pytest.mark.parametrize("dtype", ["i4", "f8", "?", "S9"])
def test_a_row_without_dimensions_is_an_array(tmp_path: Path, dtype: str) -> None:
    """Was a bug: `row` gives a NumPy scalar, which for bytes has another type than the array."""
    recording = Recording(reel_in(tmp_path))
    recording.step({"x": patterned(3, (), dtype)})
    for end in (recording.flush, recording.close):
        end()
        found = Reel(recording.files).row("x", 0)
        assert isinstance(found, np.ndarray)
        assert_same(found, patterned(3, (), dtype))


def test_special_floats(tmp_path: Path) -> None:
    """Was a bug: a reward that float32 cannot hold makes sealing warn, which a strict program takes for an error."""
    recording = Recording(reel_in(tmp_path))
    values = [np.nan, -np.nan, np.inf, -np.inf, -0.0, 5e-324, np.finfo("f8").max]
    for value in values:
        recording.step({"x": np.array([value, 1.0])}, reward=value if value == value else 0.5)
    recording.step({"x": np.frombuffer(b"\x01\x00\x00\x00\x00\x00\xf0\x7f\xff" + b"\xff" * 7, "f8")})  # two odd NaNs
    assert_live_and_sealed(recording)


def test_bytes_that_end_in_zeros(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path))
    for text in (b"", b"abc", b"\0a", b"\xff\xfe", b"abcde"):
        recording.step({"actions": np.array([text, b"x"], "S5")})
    assert_live_and_sealed(recording)


@pytest.mark.parametrize("dtype", [">i2", ">u4", ">i8", ">f4", ">f8", ">c8"])
def test_numbers_of_the_other_byte_order_are_turned_round(tmp_path: Path, dtype: str) -> None:
    files = reel_in(tmp_path)
    with_either = ReelWriter(files, quiet())
    for number in range(6):
        value = patterned(number, (3,), dtype)
        with_either.step(
            {"x": value if number % 2 == 0 else value.astype(np.dtype(dtype).newbyteorder("<"))}, 0, False, False
        )
    with_either.close()
    expected = np.stack([patterned(number, (3,), np.dtype(dtype).newbyteorder("<")) for number in range(6)])
    assert_same(Reel(files).read("x", 0, 6), expected)


def test_arrays_that_do_not_lie_in_one_piece(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path))
    whole = patterned(3, (20, 30), np.int32)
    for number in range(6):
        recording.step({"a": whole[::2, number::7][:, :3], "b": whole.T[number : number + 2], "c": whole[::-1, ::-1]})
    assert_live_and_sealed(recording)


def test_the_caller_may_use_his_array_again_at_once(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path))
    mine = np.zeros((5, 5), np.uint8)
    for number in range(40):
        mine[:] = number
        recording.step({"frames": mine})
    mine[:] = 255
    assert_live_and_sealed(recording)


def test_numbers_lists_and_scalars_are_arrays_too(tmp_path: Path) -> None:
    files = reel_in(tmp_path)
    writer = ReelWriter(files, quiet())
    for number in range(5):
        arrays = {
            "actions": number,
            "a": float(number),
            "b": [1.5, number],
            "c": np.float32(number),
            "d": number % 2 == 0,
        }
        writer.step(arrays, np.float32(1), np.bool_(False), False)
    writer.close()
    reel = Reel(files)
    assert_same(reel.read("actions", 0, 5), np.arange(5, dtype=np.int32))
    assert_same(reel.read("a", 0, 5), np.arange(5.0))
    assert_same(reel.read("b", 0, 5), np.array([[1.5, number] for number in range(5)]))
    assert_same(reel.read("c", 0, 5), np.arange(5, dtype=np.float32))
    assert_same(reel.read("d", 0, 5), np.arange(5) % 2 == 0)


def test_rows_without_a_value(tmp_path: Path) -> None:
    """An observation space may have a part of size 0. Was a bug: sealing raises ValueError, and then no close succeeds."""
    recording = Recording(reel_in(tmp_path))
    for number in range(6):
        recording.step({"x": np.zeros((0, 3), np.float32), "actions": np.array(number)})
    assert_live_and_sealed(recording)


def test_a_row_larger_than_a_chunk_should_be(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path), quiet(chunk=None))
    for number in range(3):
        recording.step({"frames": patterned(number, (900, 900, 3), np.uint8), "actions": np.array(number)})
    assert_live_and_sealed(recording)
