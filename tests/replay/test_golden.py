"""Files that MOSAIC wrote are read as its own reader reads them; its known defects are not repeated."""

from __future__ import annotations

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from playhead.replay.reader import ReplayReader
from playhead.replay.resolver import FrameResolver

GOLDEN = Path(__file__).parents[3] / "shared" / "golden" / "mosaic" / "replay"
needs_golden = pytest.mark.skipif(not GOLDEN.is_dir(), reason="the files of MOSAIC are not here")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Copy the files, so that a change would show, and break nothing."""
    return Path(shutil.copytree(GOLDEN, tmp_path / "replay"))


def shown(number: int) -> NDArray[np.uint8]:
    frame = np.zeros((42, 40, 3), np.uint8)
    frame[number % 42] = 4 * number % 256
    return frame


@needs_golden
def test_discrete_actions_and_frames(folder: Path) -> None:
    before = (folder / "run_disc.h5").read_bytes()
    with ReplayReader(folder / "run_disc.h5") as reader:
        assert (reader.num_steps, reader.num_episodes, reader.has_frames, reader.has_observations) == (
            60,
            2,
            True,
            True,
        )
        assert reader.metadata == {
            "run_id": "run_disc",
            "total_steps": 60,
            "total_episodes": 2,
            "created_at": "2026-11-15T07:25:00.829879",
            "version": "1.0",
        }
        for i in range(60):
            step = reader.get_step(i)
            assert (step["action"], step["reward"]) == (i % 4, i / 2)
            assert (type(step["action"]), type(step["done"])) == (int, bool)
            assert (step["frame"] == shown(i)).all()
            assert (step["observation"] == np.full((8, 8, 4), i, np.uint8)).all()
        assert reader.get_frame(60) is None
        first, second = reader.get_episode(0), reader.get_episode(1)
        assert [(e["start_step"], e["length"], e["episode_index"]) for e in (first, second)] == [
            (0, 25, 0),
            (25, 35, 1),
        ]
        assert (second["frames"] == np.stack([shown(i) for i in range(25, 60)])).all()
        assert second["rewards"].tolist() == [i / 2 for i in range(25, 60)]
        with pytest.raises(IndexError, match="no episode 2"):
            reader.get_episode(2)
        for batch in reader.iter_batches(16, shuffle=True, include_frames=True):
            assert (batch["observations"][:, 0, 0, 0] == batch["indices"]).all()
            assert (batch["frames"] == np.stack([shown(i) for i in batch["indices"]])).all()
    assert (folder / "run_disc.h5").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == ["run_cont.h5", "run_disc.h5"]


@needs_golden
def test_continuous_actions_without_frames(folder: Path) -> None:
    with ReplayReader(folder / "run_cont.h5") as reader:
        assert (reader.num_steps, reader.num_episodes, reader.has_frames, reader.has_observations) == (
            30,
            1,
            False,
            True,
        )
        for i in range(30):
            step = reader.get_step(i)
            assert step["action"] == pytest.approx([i / 30, -i / 30])
            assert step["observation"] == pytest.approx(np.linspace(0, 1, 5) + i)
            assert step["reward"] == pytest.approx(0.1 * i)
            assert step["frame"] is None
        episode = reader.get_episode(0)
        assert episode["frames"] is None
        assert (episode["actions"].shape, episode["actions"].dtype) == ((30, 2), np.float32)
        assert (episode["rewards"].dtype, episode["dones"].dtype) == (np.float32, np.bool_)


@needs_golden
def test_every_value_is_what_h5py_reads(folder: Path) -> None:
    for run_id in ("run_disc", "run_cont"):
        path = folder / f"{run_id}.h5"
        with ReplayReader(path) as reader, h5py.File(path, "r") as file:
            assert reader.num_steps == len(file["actions"]) == file.attrs["total_steps"]
            batch = next(reader.iter_batches(1000, include_frames=True))
            for name in ("actions", "observations", "rewards", "dones", "frames"):
                if name in file:
                    assert batch[name].dtype == file[name].dtype
                    assert (batch[name] == file[name][:]).all()
                else:
                    assert batch[name] is None


@needs_golden
def test_refs_into_its_files(folder: Path) -> None:
    with FrameResolver(folder) as resolver:
        assert resolver.list_runs() == ["run_cont", "run_disc"]
        info = resolver.get_run_info("run_cont")
        assert info is not None
        assert (info["total_steps"], info["total_episodes"], info["has_frames"]) == (30, 1, False)
        assert info["created_at"] == "2026-11-15T07:25:01.338247"
        assert (resolver["h5://run_disc/frames/59"] == shown(59)).all()
        assert resolver["h5://run_disc/rewards/59"] == 29.5
        refs = [f"h5://run_disc/frames/{i}" for i in (3, 50, 3, 60)] + ["h5://run_cont/frames/0"]
        found = resolver.resolve_batch(refs)
        assert [one is None for one in found] == [False, False, False, True, True]
        assert (found[2] == shown(3)).all()
        assert resolver["h5://run_cont/observations/4"] == pytest.approx(np.linspace(0, 1, 5) + 4)


def test_an_episode_that_was_open_at_the_end(tmp_path: Path) -> None:
    """MOSAIC writes one start too few then."""
    with h5py.File(tmp_path / "run_1.h5", "w") as file:
        file["actions"], file["rewards"], file["dones"] = np.arange(8), np.zeros(8, np.float32), np.zeros(8, np.bool_)
        file["episodes/starts"], file["episodes/lengths"] = np.array([0]), np.array([5, 3])
        file.attrs["total_steps"] = 900  # more than is there
    with ReplayReader(tmp_path / "run_1.h5") as reader:
        assert [reader.get_episode(i)["actions"].tolist() for i in range(reader.num_episodes)] == [
            [0, 1, 2, 3, 4],
            [5, 6, 7],
        ]
        assert (reader.metadata["total_steps"], reader.metadata["run_id"]) == (8, "run_1")
