"""Copies that are made in one call are those that Python makes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from playhead.lanes.arrays import gathering
from playhead.lanes.arrays.gathering import Copies


def arrays() -> list[NDArray[Any]]:
    rng = np.random.default_rng(0)
    found: list[NDArray[Any]] = [rng.integers(0, 256, (40, 50, 3), np.uint8) for _ in range(1500)]
    found += [rng.standard_normal((60, 30)), np.frombuffer(b"fixed" * 999, np.uint8)]
    found[3].flags.writeable = False
    return found


def copied(found: list[NDArray[Any]]) -> bool:
    memory = bytearray(sum(array.nbytes for array in found))
    copies, at = Copies(), 0
    for array in found:
        copies.add(memoryview(memory)[at : at + array.nbytes], array)
        at += array.nbytes
    copies.make()
    return bytes(memory) == b"".join(array.tobytes() for array in found)


def test_all_are_copied() -> None:
    assert copied(arrays())
    assert copied([])


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
    copies.add(memoryview(target), np.ones(2 << 20, np.uint8))
    assert copies._in_one_call()
    assert target == b"\1" * (2 << 20)
