"""Copies that are made in one call are those that Python makes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from playhead.lanes.arrays import gathering
from playhead.lanes.arrays.gathering import Copies
from playhead.native.colours import Colours


def arrays() -> list[list[NDArray[Any]]]:
    rng = np.random.default_rng(0)
    frames: list[NDArray[Any]] = [rng.integers(0, 256, (40, 50, 3), np.uint8) for _ in range(1500)]
    frames[3].flags.writeable = False
    found = [frames[at : at + 16] for at in range(0, len(frames), 16)]
    found += [[rng.standard_normal((60, 30))] * 2, [np.frombuffer(b"fixed" * 999, np.uint8)]]
    return found


def copied(found: list[list[NDArray[Any]]]) -> bool:
    memory = bytearray(sum(array.nbytes for values in found for array in values))
    copies, at = Copies(), 0
    for values in found:
        size = sum(array.nbytes for array in values)
        copies.add(memoryview(memory)[at : at + size], values)
        at += size
    copies.make()
    return bytes(memory) == b"".join(array.tobytes() for values in found for array in values)


def test_all_are_copied() -> None:
    assert copied(arrays())
    assert copied([])


def test_many_small_ones_are_copied() -> None:
    assert copied([[np.full((30, 40), number % 256, np.uint8) for number in range(3000)]])


def test_all_are_copied_where_nothing_was_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "library", None)
    assert copied(arrays())


def test_what_is_large_is_copied_by_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    if gathering.library is None:
        pytest.skip("Playhead was installed without a compiler")
    asked: list[int] = []
    real = gathering.library.playhead_gather

    class Library:
        @staticmethod
        def playhead_gather(pieces: int, number: int) -> None:
            asked.append(number)
            real(pieces, number)

    monkeypatch.setattr(gathering, "library", Library)
    found = arrays()
    assert copied(found)
    assert asked == [sum(map(len, found))]
    assert copied([[np.ones(100, np.uint8)]])
    assert len(asked) == 1


def spelled_out(at_once: int) -> bool:
    """Copy pictures of which some are numbers of colours, and tell whether all are pixels."""
    rng, colours = np.random.default_rng(1), Colours()
    everything = rng.integers(0, 256, (256, 3), np.uint8)
    assert colours.learn(np.arange(256, dtype=np.uint8).reshape(16, 16), everything.reshape(16, 16, 3))
    numbers = [rng.integers(0, 256, (37, 41), np.uint8) for _ in range(at_once)]
    expected = [everything[each] for each in numbers]
    given = [each if place % 3 else pixels for place, (each, pixels) in enumerate(zip(numbers, expected, strict=True))]
    memory = bytearray(sum(pixels.nbytes for pixels in expected))
    copies = Copies()
    assert copies.add(memoryview(memory), given, colours)
    copies.make()
    return bytes(memory) == b"".join(pixels.tobytes() for pixels in expected)


@pytest.mark.skipif(gathering.library is None, reason="Playhead was installed without a compiler")
def test_numbers_of_colours_are_spelled_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert spelled_out(5)
    assert spelled_out(700)
    monkeypatch.setattr(gathering, "library", None)
    assert spelled_out(700)
