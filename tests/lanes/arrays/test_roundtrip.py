"""Everything that is recorded comes back, bit for bit: from the journal while it grows, and from the sealed file."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from playhead.errors import NotFound, OutOfRange
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.rows import TERMINATED, TRUNCATED
from playhead.lanes.arrays.writer import ReelWriter
from tests.lanes.arrays.reels import CODECS, FOR_EVER, Recording, assert_same, noise, patterned, reel_in

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "S1", "S9"]
SHAPES: list[tuple[int, ...]] = [(), (1,), (7,), (3, 2), (4, 1, 3), (2, 3, 2, 2)]


def quiet(**options: Any) -> ReplayConfig:
    return ReplayConfig(**{"interval": FOR_EVER, "chunk": 4, **options})


def assert_live_and_sealed(recording: Recording) -> None:
    """Read what is in the journal, seal it, and read it from the file, with a reel that was open before too."""
    recording.flush()
    following = Reel(recording.files)
    recording.assert_whole(following)
    recording.close()
    assert not recording.files.journal.exists()
    following.refresh()
    recording.assert_whole(following)
    recording.assert_whole()
    following.close()


# -- kinds of arrays --------------------------------------------------------------------------------------------------


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
    """Bug: `row` gives a NumPy scalar, which for bytes has another type than the array."""
    recording = Recording(reel_in(tmp_path))
    recording.step({"x": patterned(3, (), dtype)})
    for end in (recording.flush, recording.close):
        end()
        found = Reel(recording.files).row("x", 0)
        assert isinstance(found, np.ndarray)
        assert_same(found, patterned(3, (), dtype))


def test_special_floats(tmp_path: Path) -> None:
    """Bug: a reward that float32 cannot hold makes sealing warn, which a strict program takes for an error."""
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
    """An observation space may have a part of size 0. Bug: sealing raises ValueError, and then no close succeeds."""
    recording = Recording(reel_in(tmp_path))
    for number in range(6):
        recording.step({"x": np.zeros((0, 3), np.float32), "actions": np.array(number)})
    assert_live_and_sealed(recording)


def test_a_row_larger_than_a_chunk_should_be(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path), quiet(chunk=None))
    for number in range(3):
        recording.step({"frames": patterned(number, (900, 900, 3), np.uint8), "actions": np.array(number)})
    assert_live_and_sealed(recording)


# -- holes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", CODECS)
def test_a_step_without_an_array_shifts_nothing(tmp_path: Path, codec: str | None) -> None:
    recording = Recording(reel_in(tmp_path), quiet(codec=codec))
    for number in range(70):
        arrays = {"actions": np.array(number)}
        if number % 3 == 1 and not 20 <= number < 45:  # whole chunks are missing too
            arrays["frames"] = patterned(number, (4, 3), np.uint8)
        recording.step(arrays)
        if number % 9 == 8:
            recording.flush()
    assert_live_and_sealed(recording)


@pytest.mark.parametrize("chunk", [4, None])
def test_an_array_that_first_appears_at_step_500(tmp_path: Path, chunk: int | None) -> None:
    recording = Recording(reel_in(tmp_path), quiet(chunk=chunk))
    for number in range(520):
        arrays = {"actions": np.array(number)}
        if number >= 500:
            arrays["frames"] = patterned(number, (5, 5), np.uint8)
        recording.step(arrays)
        if number in (100, 499, 500, 510):
            recording.flush()
    assert_live_and_sealed(recording)


def test_steps_without_any_array(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path))
    for number in range(10):
        recording.step({}, reward=number)
    assert_live_and_sealed(recording)


def test_nothing_at_all(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path))
    assert recording.files.file.exists()  # from the start
    assert_live_and_sealed(recording)
    with pytest.raises(NotFound, match="frames"):
        Reel(recording.files).read("frames", 0, 1)


# -- steps and episodes -----------------------------------------------------------------------------------------------


def test_everything_that_is_known_of_a_step(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path))
    chance = np.random.default_rng(1)
    for number in range(60):
        recording.step(
            {"actions": np.array(number)},
            reward=float(chance.normal()),
            flags=int(chance.integers(4)),
            info=[b"", b"{}", b'{"lives": %d}' % number, '{"ü": "日本"}'.encode() * 9][number % 4],
            agent=["one", "two", "drei", None][number % 4],
        )
        if number % 7 == 6:
            recording.flush()
    assert_live_and_sealed(recording)


def test_episodes_of_every_end(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path))
    for number, how in enumerate(["terminated", "truncated", "reset", "error", "closed"] * 3):
        recording.begin({"seed": number})
        for place in range(number % 4):  # some without a step
            flags = {"terminated": TERMINATED, "truncated": TRUNCATED}.get(how, 0) if place == number % 4 - 1 else 0
            recording.step({"x": patterned(number + place, (3,), "i2")}, flags=flags)
        recording.end(how, facts={"score": number / 2})
        if number % 4 == 0:
            recording.flush()
    recording.begin()
    recording.step({"x": patterned(1, (3,), "i2")})
    recording.begin({"seed": 99})  # the one before is reset
    recording.step({"x": patterned(2, (3,), "i2")})
    assert_live_and_sealed(recording)  # closing ends the last


def test_what_was_seen_after_the_last_step(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path))
    for number in range(14):
        recording.begin()
        for place in range(3):
            recording.step({"observations": patterned(number * 3 + place, (4,), "f4")})
        finals: dict[str, Any] = {"observations": patterned(1000 + number, (4,), "f4")}
        if number % 3 == 0:
            finals["frames"] = noise(number, (6, 5))
        recording.end("terminated", {} if number % 5 == 4 else finals)
        if number % 4 == 1:
            recording.flush()
    assert_live_and_sealed(recording)


def test_stacks_and_what_comes_before_them(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path), stacks={"observations": 4})
    for number in range(9):
        before = np.stack([patterned(-place, (6, 6), np.uint8) for place in (1, 2, 3)])
        recording.begin(prefixes={"observations": before} if number != 4 else None)
        for place in range(5):
            recording.step({"observations": patterned(number * 5 + place, (6, 6), np.uint8)})
        recording.end("truncated", {"observations": patterned(500 + number, (6, 6), np.uint8)})
    recording.flush()
    assert Reel(recording.files).kinds["observations"].stack == 4
    assert_live_and_sealed(recording)
    assert Reel(recording.files).kinds["observations"].stack == 4


def test_an_array_under_two_names_is_stored_once(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path), facts={"same": {"observations": "frames"}})
    for number in range(9):
        recording.step({"frames": noise(number, (30, 30))})
    recording.flush()
    for _ in ("live", "sealed"):
        reel = Reel(recording.files)
        assert_same(reel.read("observations", 0, 9), reel.read("frames", 0, 9))
        assert_same(reel.row("observations", 5), noise(5, (30, 30)))
        recording.close()
    with h5py.File(recording.files.file) as file:
        assert file["observations"] == file["frames"]  # one dataset


def test_the_facts_of_a_reel(tmp_path: Path) -> None:
    facts = {"env": "Pong", "spec": {"kwargs": [1, 2.5, None]}, "ü": "日本"}
    recording = Recording(reel_in(tmp_path), facts=facts)
    recording.step({"actions": np.array(1)})
    recording.flush()
    assert Reel(recording.files).facts == facts
    recording.close()
    assert Reel(recording.files).facts == facts


def test_one_large_info_among_small_ones(tmp_path: Path) -> None:
    """Bug: every info takes as much as the largest; sealing 20,000 steps with one of 1 MB asks for 20 GB."""
    recording = Recording(reel_in(tmp_path))
    for number in range(2000):
        recording.step({}, info=b"x" * 200_000 if number == 7 else b"{}")
    recording.flush()
    tracemalloc.start()
    recording.close()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40_000_000, f"{peak >> 20} MB to seal 0.2 MB of infos"
    recording.assert_whole()


# -- asking for what is not there -------------------------------------------------------------------------------------


def test_rows_that_are_not_there(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path))
    for number in range(9):
        recording.step({"frames": patterned(number, (2,), "u1")})
    for end in (recording.flush, recording.close):
        end()
        reel = Reel(recording.files)
        for start, stop in [(-1, 2), (8, 10), (9, 10), (50, 51)]:
            with pytest.raises(OutOfRange, match="frames of run: there are 9"):
                reel.read("frames", start, stop)
            with pytest.raises(OutOfRange, match="run"):
                reel.take("frames", np.array([start, stop - 1]))
        for position in (-1, 9):
            with pytest.raises(OutOfRange, match="run"):
                reel.row("frames", position)
        with pytest.raises(NotFound, match="frames"):
            reel.read("nothing", 0, 1)
        assert reel.read("frames", 3, 3).shape == (0, 2)
        assert reel.take("frames", np.array([], np.int64)).shape == (0, 2)


def test_reading_into_an_array_of_the_caller(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path))
    for number in range(10):
        recording.step({"frames": patterned(number, (2, 2), "u1")} if number != 6 else {})
    recording.close()
    mine = np.full((8, 2, 2), 9, np.uint8)
    found = Reel(recording.files).read("frames", 1, 9, out=mine)
    assert found is mine
    assert_same(mine, Reel(recording.files).read("frames", 0, 10)[1:9])


def test_a_reel_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="run"):
        Reel(reel_in(tmp_path))
