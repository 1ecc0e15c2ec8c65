"""Names of agents: many of them, odd ones, and those that no file could hold."""

from __future__ import annotations

import contextlib
from pathlib import Path

import h5py
import numpy as np
import pytest

from playhead.errors import WrongType
from playhead.lanes.arrays import declaring
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.recompressing import recompress
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.writer import ReelWriter
from playhead.layout import ReelFiles
from tests.lanes.arrays.reels import reel_in


def record(files: ReelFiles, names: list[str]) -> None:
    writer = ReelWriter(files, ReplayConfig())
    for name in names:
        writer.step({"actions": np.int32(1)}, 1.0, False, False, agent=name)
    writer.close()


def in_hdf5(path: Path) -> list[str]:
    with h5py.File(path) as file:
        if "steps/agent_names" in file:
            return [name.decode() for name in file["steps/agent_names"][:]]
        return list(file["steps/agent"].attrs["names"])


@pytest.mark.parametrize("count", [1, 3999, 4001])
def test_a_reel_of_thousands_is_sealed(tmp_path: Path, count: int) -> None:
    """Was a bug: over 4,096 names, it was never sealed."""
    files, names = reel_in(tmp_path), [f"ägent {number}" for number in range(count)]
    record(files, names)
    with contextlib.closing(Reel(files)) as reel:
        assert reel.agents == names
        assert reel.rows(0, count)["agent"].tolist() == list(range(count))
    assert in_hdf5(files.file) == names
    assert not files.journal.exists()
    assert recompress(files, 9) is not None
    assert in_hdf5(files.file) == names


def test_they_may_become_many_in_a_later_part(tmp_path: Path) -> None:
    files, names = reel_in(tmp_path), [f"{number}" for number in range(4100)]
    record(files, names[:10])
    record(files, names[5:])
    with contextlib.closing(Reel(files)) as reel:
        assert len(reel.parts) == 2
        assert reel.agents == names
        assert reel.rows(0, reel.length)["agent"].tolist() == [*range(10), *range(5, 4100)]
    assert in_hdf5(files.file) == names
    assert in_hdf5(files.part(0)) == names[:10]


@pytest.mark.parametrize("name", ["a\0b", "\0", "\ud800", "half \udcff", "", 5, b"x"])
def test_a_name_that_cannot_be_written_is_refused_at_the_step(tmp_path: Path, name: str) -> None:
    """Was a bug: the reel was never sealed, or nothing at all was written any more."""
    files = reel_in(tmp_path)
    writer = ReelWriter(files, ReplayConfig())
    writer.step({"actions": np.int32(1)}, 1.0, False, False, agent="one")
    with pytest.raises(WrongType, match="an agent is named by"):
        writer.step({"actions": np.int32(2)}, 1.0, False, False, agent=name)
    writer.step({"actions": np.int32(3)}, 1.0, False, False, agent="two")
    writer.close()
    with contextlib.closing(Reel(files)) as reel:
        assert (reel.agents, reel.read("actions", 0, reel.length).tolist()) == (["one", "two"], [1, 3])


def test_one_more_than_can_be_numbered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declaring, "_MOST_AGENT", 2)
    writer = ReelWriter(reel_in(tmp_path), ReplayConfig())
    for name in ("a", "b", "c", "a"):
        writer.step({}, 1.0, False, False, agent=name)
    with pytest.raises(WrongType, match="at most 3 agents"):
        writer.step({}, 1.0, False, False, agent="d")
    writer.close()
