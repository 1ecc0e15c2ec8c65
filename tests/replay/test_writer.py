"""ReplayWriter: what its users know, and what must not happen again."""

from __future__ import annotations

import contextlib
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from playhead.errors import BadName, Closed, Exists, StoreLocked, WrongShape, WrongType
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.reel import Reel
from playhead.layout import ReplayFolder
from playhead.replay.reader import ReplayReader
from playhead.replay.writer import ReplayWriter


def frame(number: int) -> NDArray[np.uint8]:
    return np.full((6, 5, 3), number % 256, np.uint8)


def observed(number: int) -> NDArray[np.float32]:
    return np.arange(4, dtype=np.float32) + number


def record(writer: ReplayWriter, count: int, first: int = 0) -> list[str]:
    return [writer.record_step(frame(i), observed(i), i % 4, i / 2, False) for i in range(first, first + count)]


def reel(folder: Path, run_id: str = "run_1") -> contextlib.closing[Reel]:
    return contextlib.closing(Reel(ReplayFolder(folder).reel(run_id)))


# -- the life of a writer ---------------------------------------------------------------------------------------------


def test_the_file_is_there_from_the_start(tmp_path: Path) -> None:
    writer = ReplayWriter("run_1", tmp_path / "new" / "replay")
    assert (writer.run_id, writer.path) == ("run_1", tmp_path / "new" / "replay" / "run_1.h5")
    assert not writer.path.exists()
    writer.start()
    with h5py.File(writer.path, "r") as file:
        assert file.attrs["run_id"] == "run_1"
    assert json.loads((writer.path.parent / "index.json").read_text()) == {"run_1": "run_1.h5"}
    writer.close()


def test_a_ref_is_given_for_every_step(tmp_path: Path) -> None:
    with ReplayWriter("run_1", str(tmp_path)) as writer:
        assert writer.step_count == 0
        assert record(writer, 3) == [f"h5://run_1/frames/{i}" for i in range(3)]
        assert writer.step_count == 3
        assert repr(writer) == "<ReplayWriter run_1, 3 steps>"
    assert writer.step_count == 3


def test_close_drains_what_was_not_flushed(tmp_path: Path) -> None:
    writer = ReplayWriter("run_1", tmp_path, batch_size=100, compression="lzf")
    writer.start()
    record(writer, 900)
    writer.close()
    with h5py.File(writer.path, "r") as file:
        assert file.attrs["total_steps"] == 900
        assert {
            name: len(file[name]) for name in ("frames", "observations", "actions", "rewards", "dones")
        } == dict.fromkeys(("frames", "observations", "actions", "rewards", "dones"), 900)
        assert file["frames"][899].max() == 899 % 256


def test_nothing_is_recorded_before_the_start_or_after_the_end(tmp_path: Path) -> None:
    writer = ReplayWriter("run_1", tmp_path)
    calls = [lambda: record(writer, 1), writer.mark_episode_end, writer.flush]
    for call in calls:
        with pytest.raises(Closed, match="not started"):
            call()
    with pytest.raises(RuntimeError):
        record(writer, 1)
    writer.close()
    writer.start()
    record(writer, 2)
    writer.close()
    with pytest.raises(Closed, match="ended"):
        record(writer, 1)
    assert writer.step_count == 2


def test_starting_and_ending_twice_is_fine(tmp_path: Path) -> None:
    writer = ReplayWriter("run_1", tmp_path)
    writer.start()
    record(writer, 2)
    writer.start()
    record(writer, 2, 2)
    writer.close()
    writer.close()
    writer.flush()
    writer.mark_episode_end()
    writer.start()
    assert record(writer, 1, 4) == ["h5://run_1/frames/4"]
    writer.close()
    with ReplayReader(writer.path) as reader:
        assert [int(batch) for batch in reader.get_episode(0)["frames"][:, 0, 0, 0]] == [0, 1, 2, 3]
        assert (reader.num_steps, reader.num_episodes) == (5, 2)


def test_a_run_that_is_there_is_gone_on_with(tmp_path: Path) -> None:
    for session in range(3):
        with ReplayWriter("run_1", tmp_path, compression="gzip") as writer:
            assert writer.step_count == 5 * session
            assert record(writer, 5, 5 * session)[0] == f"h5://run_1/frames/{5 * session}"
            writer.mark_episode_end()
    with ReplayReader(writer.path) as reader:
        assert reader.num_steps == 15
        assert [reader.get_step(i)["frame"].max() for i in range(15)] == list(range(15))
    with h5py.File(writer.path, "r") as file:
        assert file["frames"][:, 0, 0, 0].tolist() == list(range(15))
        assert file["episodes/starts"][:].tolist() == [0, 5, 10]


def test_only_one_records_a_run(tmp_path: Path) -> None:
    with ReplayWriter("run_1", tmp_path) as first:
        second = ReplayWriter("run_1", tmp_path)
        with pytest.raises(StoreLocked):
            second.start()
        with pytest.raises(Closed, match="not started"):
            record(second, 1)
        record(first, 1)
    second.start()
    assert second.step_count == 1
    second.close()


def test_a_file_of_another_program_stays_as_it_is(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run_1.h5", "w") as file:
        file["actions"], file["rewards"] = np.arange(3), np.zeros(3, np.float32)
    before = (tmp_path / "run_1.h5").read_bytes()
    with pytest.raises(Exists, match=r"written by another program.*another run"):
        ReplayWriter("run_1", tmp_path).start()
    assert (tmp_path / "run_1.h5").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["run_1.h5"]


@pytest.mark.parametrize("run_id", ["../run", "a/b", "", ".hidden", "run 1", "a.b", "con", 7])
def test_a_run_id_that_is_no_file_name(tmp_path: Path, run_id: Any) -> None:
    with pytest.raises(BadName):
        ReplayWriter(run_id, tmp_path)


# -- episodes ---------------------------------------------------------------------------------------------------------


def test_marks_make_episodes(tmp_path: Path) -> None:
    with ReplayWriter("run_1", tmp_path, compression="gzip") as writer:
        writer.mark_episode_end()
        record(writer, 5)
        writer.mark_episode_end()
        writer.mark_episode_end()
        record(writer, 3, 5)
    with h5py.File(writer.path, "r") as file:
        assert file["episodes/starts"][:].tolist() == [0, 5]
        assert file["episodes/lengths"][:].tolist() == [5, 3]  # the last was open at the end
        assert file.attrs["total_episodes"] == 2
    with reel(tmp_path) as found:
        assert [span.how for span in found.spans] == ["reset", "closed"]


def test_a_step_that_is_done_ends_the_episode(tmp_path: Path) -> None:
    with ReplayWriter("run_1", tmp_path) as writer:
        for i in range(9):
            writer.record_step(None, None, 0, 1.0, i in (2, 6))
            if i == 6:
                writer.mark_episode_end()
    with reel(tmp_path) as found:
        assert [(span.start, span.length, span.how) for span in found.spans] == [
            (0, 3, "terminated"),
            (3, 4, "terminated"),
            (7, 2, "closed"),
        ]


def test_an_error_within_is_noted(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), ReplayWriter("run_1", tmp_path) as writer:
        record(writer, 2)
        raise ZeroDivisionError
    with reel(tmp_path) as found:
        assert [(span.length, span.how) for span in found.spans] == [(2, "error")]


# -- what a step may be -----------------------------------------------------------------------------------------------


def test_a_step_without_a_frame_shifts_nothing(tmp_path: Path) -> None:
    with ReplayWriter("run_1", tmp_path, compression="gzip") as writer:
        refs = [writer.record_step(None if i == 2 else frame(i), observed(i), i, 0.0, False) for i in range(8)]
    assert refs == [f"h5://run_1/frames/{i}" for i in range(8)]
    with ReplayReader(writer.path) as reader:
        assert [None if (f := reader.get_frame(i)) is None else f.max() for i in range(8)] == [
            0,
            1,
            None,
            3,
            4,
            5,
            6,
            7,
        ]
    with h5py.File(writer.path, "r") as file:
        assert file["frames"][:, 0, 0, 0].tolist() == [0, 1, 0, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int16, np.bool_])
def test_frames_keep_their_type(tmp_path: Path, dtype: Any) -> None:
    given = np.linspace(0, 1000, 30).reshape(6, 5).astype(dtype)
    with ReplayWriter("run_1", tmp_path, compression=None) as writer:
        writer.record_step(given, None, 0, 0.0, False)
    with h5py.File(writer.path, "r") as file:
        assert file["frames"].dtype == dtype
        assert (file["frames"][0] == given).all()


@pytest.mark.parametrize(
    ("actions", "dtype", "shape"),
    [
        ([3, np.int64(2), np.array(1), True], np.int32, ()),
        ([np.array(3), 2, np.int8(1)], np.int32, ()),
        ([0.5, 1, np.float64(2)], np.float64, ()),
        ([[1, 2], [3, 4]], np.int64, (2,)),
        ([(0.1, 0.2), np.array([1.0, 2.0])], np.float64, (2,)),
        ([np.array([0.1, 0.2], np.float32), [0.5, 1]], np.float32, (2,)),
    ],
)
def test_actions_of_every_kind(tmp_path: Path, actions: list[Any], dtype: Any, shape: tuple[int, ...]) -> None:
    with ReplayWriter("run_1", tmp_path, compression=None) as writer:
        for action in actions:
            writer.record_step(None, None, action, 0.0, False)
    with h5py.File(writer.path, "r") as file:
        assert (file["actions"].dtype, file["actions"].shape[1:]) == (dtype, shape)
        assert (file["actions"][:] == np.array([np.asarray(action, dtype) for action in actions])).all()


def test_structured_observations_and_actions(tmp_path: Path) -> None:
    with ReplayWriter("run_1", tmp_path, compression="gzip") as writer:
        for i in range(3):
            seen = {"camera": frame(i), "arm": {"joint": observed(i), "gripper": i}}
            writer.record_step(None, seen if i != 1 else None, {"move": [0.5, i], "fire": i % 2}, 0.0, False)
    with h5py.File(writer.path, "r") as file:
        arrays = {name for name in file if isinstance(file[name], h5py.Dataset)} - {"rewards", "dones"}
        assert arrays == {
            "observations.camera",
            "observations.arm.joint",
            "observations.arm.gripper",
            "actions.move",
            "actions.fire",
        }
        assert file["observations.arm.gripper"][:].tolist() == [0, 0, 2]
        assert file["actions.move"][2].tolist() == [0.5, 2]


@pytest.mark.parametrize("reopened", [False, True])
def test_parts_are_there_in_every_step_or_not_at_all(tmp_path: Path, reopened: bool) -> None:
    writer = ReplayWriter("run_1", tmp_path)
    writer.start()
    writer.record_step(None, {"a": 1, "b": 2}, 0, 0.0, False)
    if reopened:
        writer.close()
        writer = ReplayWriter("run_1", tmp_path)
        writer.start()
    for seen in ({"a": 1}, {"a": 1, "b": 2, "c": 3}, 7):
        with pytest.raises(WrongShape, match=r"where the steps before have observations\.a, observations\.b"):
            writer.record_step(None, seen, 0, 0.0, False)
    writer.record_step(None, {}, 0, 0.0, False)
    assert writer.record_step(None, {"b": 2, "a": 1}, 0, 0.0, False).endswith("/2")
    writer.close()


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        ({"a.b": 1, "a": {"b": 2}}, "both"),
        ({1: 2}, "names"),
        ({"a/b": 1}, "cannot name an array"),
        ({"ü": 1}, "cannot name an array"),
    ],
)
def test_names_of_parts_that_cannot_be(tmp_path: Path, seen: Any, message: str) -> None:
    with ReplayWriter("run_1", tmp_path) as writer:
        with pytest.raises(BadName, match=message):
            writer.record_step(None, seen, 0, 0.0, False)
        assert writer.step_count == 0


def test_promised_shapes_are_kept(tmp_path: Path) -> None:
    with ReplayWriter("run_1", tmp_path, frame_shape=(6, 5, 3), obs_shape=[4]) as writer:
        with pytest.raises(WrongShape, match=r"frames has the shape \[5, 6, 3\] where \[6, 5, 3\] was promised"):
            writer.record_step(np.zeros((5, 6, 3), np.uint8), observed(0), 0, 0.0, False)
        with pytest.raises(WrongShape, match="observations"):
            writer.record_step(frame(0), np.zeros(5), 0, 0.0, False)
        writer.record_step(None, None, 0, 0.0, False)
        assert record(writer, 1) == ["h5://run_1/frames/1"]


def test_a_step_that_is_refused_leaves_nothing(tmp_path: Path) -> None:
    with ReplayWriter("run_1", tmp_path) as writer:
        record(writer, 2)
        refused: list[tuple[Any, ...]] = [
            (np.zeros((6, 5), np.uint8), observed(2), 0, 0.0),
            (frame(2).astype(np.float32), observed(2), 0, 0.0),
            ({"left": frame(2)}, observed(2), 0, 0.0),
            (frame(2), "text", 0, 0.0),
            (frame(2), observed(2), [1, 2], 0.0),
            (frame(2), observed(2), 0.5, 0.0),
            (frame(2), observed(2), 1 << 40, 0.0),
            (frame(2), observed(2), 0, None),
            (frame(2), observed(2), 0, "much"),
            (frame(2), observed(2), 0, 10**5000),
        ]
        for step in refused:
            with pytest.raises((WrongShape, WrongType)):
                writer.record_step(*step, False)
        assert record(writer, 1, 2) == ["h5://run_1/frames/2"]
    with ReplayReader(writer.path) as reader:
        assert [reader.get_step(i)["frame"].max() for i in range(reader.num_steps)] == [0, 1, 2]


# -- options ----------------------------------------------------------------------------------------------------------


def test_options_of_older_code_are_taken(tmp_path: Path) -> None:
    writer = ReplayWriter("run_1", tmp_path, max_steps=3, chunk_size=100, compression="lzf", batch_size=2, queue_size=1)
    with writer:
        record(writer, 250)
    with h5py.File(writer.path, "r") as file:
        assert file["frames"].shape == (250, 6, 5, 3)
        assert file["frames"].chunks == (100, 6, 5, 3)
        assert file["frames"].compression == "lzf"


def test_gzip_is_of_the_level_that_h5py_means(tmp_path: Path) -> None:
    with ReplayWriter("run_1", tmp_path, compression="gzip") as writer:
        record(writer, 30)
    with h5py.File(tmp_path / "usual.h5", "w") as file:
        frames = np.stack([np.full((6, 5, 3), i, np.uint8) for i in range(30)])
        usual = file.create_dataset("frames", data=frames, chunks=(16, 6, 5, 3), compression="gzip")
        level = usual.compression_opts
    with h5py.File(writer.path, "r") as file:
        assert (file["frames"].compression, file["frames"].compression_opts, level) == ("gzip", 4, 4)
        _, chunk = file["frames"].id.read_direct_chunk((0, 0, 0, 0))
    assert chunk[:2] == b"\x78\x5e"  # zlib itself says which kind of level made it: 2 to 5
    assert (ReplayConfig().strength, ReplayConfig(codec="lzf").strength, ReplayConfig(codec="gzip").strength) == (
        1,
        1,
        4,
    )
    assert ReplayConfig(codec="gzip", level=1).strength == 1


def test_a_config_says_it_all(tmp_path: Path) -> None:
    config = ReplayConfig(codec="gzip", level=9, chunk=7, queue=1 << 10)
    with ReplayWriter("run_1", tmp_path, config=config) as writer:
        record(writer, 300)
    with h5py.File(writer.path, "r") as file:
        assert file["frames"][:, 0, 0, 0].tolist() == [i % 256 for i in range(300)]
        assert (file["frames"].chunks[0], file["frames"].compression, file["frames"].compression_opts) == (7, "gzip", 9)
    for twice in ({"compression": "lzf"}, {"chunk_size": 5}):
        with pytest.raises(WrongType, match="leave compression and chunk_size out"):
            ReplayWriter("run_2", tmp_path, config=config, **twice)
    with pytest.raises(WrongType, match="no codec 'rar'"):
        ReplayWriter("run_2", tmp_path, compression="rar")
    with pytest.raises(WrongType, match="chunk"):
        ReplayWriter("run_2", tmp_path, chunk_size=0)


@pytest.mark.parametrize("compression", ["gzip", "lzf", None])
def test_other_programs_read_the_file(tmp_path: Path, compression: str | None) -> None:
    with ReplayWriter("run_1", tmp_path, compression=compression, chunk_size=16) as writer:
        for i in range(100):
            writer.record_step(frame(i), observed(i), i % 4, i / 2, i == 39)
    with h5py.File(writer.path, "r") as file:
        assert {"actions", "dones", "episodes", "frames", "observations", "rewards"} <= set(file)
        assert (file["frames"].dtype, file["frames"].compression) == (np.uint8, compression)
        assert (file["frames"][:] == np.stack([frame(i) for i in range(100)])).all()
        assert (file["observations"].dtype, file["observations"].compression) == (np.float32, compression)
        assert (file["observations"][:] == np.stack([observed(i) for i in range(100)])).all()
        assert (file["actions"].dtype, file["actions"][:].tolist()) == (np.int32, [i % 4 for i in range(100)])
        assert (file["rewards"].dtype, file["rewards"][:].tolist()) == (np.float32, [i / 2 for i in range(100)])
        assert (file["dones"].dtype, np.flatnonzero(file["dones"][:]).tolist()) == (np.bool_, [39])
        for name, values in (("starts", [0, 40]), ("lengths", [40, 60])):
            assert (file["episodes"][name].dtype, file["episodes"][name][:].tolist()) == (np.int64, values)
        said = dict(file.attrs)
    assert (said["run_id"], said["total_steps"], said["total_episodes"], said["version"]) == ("run_1", 100, 2, "1.0")
    assert datetime.fromisoformat(said["created_at"]).tzinfo is None
