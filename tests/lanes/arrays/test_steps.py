"""Steps and episodes come back as they were recorded: holes, ends, agents, infos; and what is not there is named."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from playhead.errors import NotFound, OutOfRange
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.rows import TERMINATED, TRUNCATED
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


def test_an_array_of_which_no_step_is_known_yet(tmp_path: Path) -> None:
    """Bug: it is declared at once, and its group is noted with the next steps; between the two, ValueError."""
    recording = Recording(reel_in(tmp_path))
    recording.step({"actions": np.array(1)})
    recording.flush()
    recording.step({"actions": np.array(2), "late": patterned(2, (2,), "f4")})
    reel = Reel(recording.files)
    assert reel.length == 1
    assert reel.row("late", 0) is None
    recording.assert_steps(reel, 0, 1)
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
    """Was a bug: every info takes as much as the largest; sealing 20,000 steps with one of 1 MB asks for 20 GB."""
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
