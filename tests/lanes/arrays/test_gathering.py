"""Copies that are made in one call are those that Python makes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from playhead.lanes.arrays import gathering
from playhead.lanes.arrays.gathering import Copies


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


def test_more_are_copied_than_the_kernel_takes_at_once() -> None:
    assert copied([[np.full((30, 40), number % 256, np.uint8) for number in range(3000)]])


def test_all_are_copied_where_the_kernel_has_no_such_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "_read", None)
    assert copied(arrays())


@pytest.mark.parametrize("answer", [-1, 0, 4096])
def test_all_are_copied_where_the_kernel_refuses_or_stops(monkeypatch: pytest.MonkeyPatch, answer: int) -> None:
    asked = []
    monkeypatch.setattr(gathering, "_read", lambda *arguments: asked.append(arguments) or answer)
    assert copied(arrays())
    assert len(asked) == 1


def test_the_kernel_copies_what_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    if gathering._read is None:
        pytest.skip("this system has no such call")
    copies = Copies()
    target = bytearray(2 << 20)
    copies.add(memoryview(target), [np.ones(1 << 20, np.uint8)] * 2)
    assert copies._in_few_calls()
    assert target == b"\1" * (2 << 20)
