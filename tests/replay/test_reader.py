"""ReplayReader: steps, episodes and batches of a file, of a run that is recorded now, and of one in several parts."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from playhead.errors import BadKey, Closed, Damaged, NotFound, OutOfRange, WrongType
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.writer import ReelWriter
from playhead.layout import ReplayFolder
from playhead.replay.reader import ReplayReader
from playhead.replay.writer import ReplayWriter


def frame(number: int) -> NDArray[np.uint8]:
    return np.full((6, 5, 3), number % 256, np.uint8)


def observed(number: int) -> NDArray[np.float32]:
    return np.arange(4, dtype=np.float32) + number


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Record 100 steps in episodes of 40, 35 and 25; every tenth of the second has no frame, the third has none."""
    with ReplayWriter("run_1", tmp_path) as writer:
        for i in range(100):
            seen = None if i >= 75 or (i >= 40 and i % 10 == 0) else frame(i)
            writer.record_step(seen, observed(i), i % 4, 0.1 * i, i in (39, 74))
    return writer.path


# -- the life of a reader ---------------------------------------------------------------------------------------------


def test_a_reader_that_is_not_open(path: Path) -> None:
    reader = ReplayReader(path)
    calls = [
        lambda: reader.num_steps,
        lambda: reader.num_episodes,
        lambda: reader.metadata,
        lambda: reader.has_frames,
        lambda: reader.has_observations,
        lambda: reader.get_step(0),
        lambda: reader.get_episode(0),
        lambda: reader.get_frame(0),
        lambda: reader.get_observation(0),
        lambda: reader.iter_batches(4),
    ]
    for _ in range(2):
        for call in calls:
            with pytest.raises(Closed, match="not open"):
                call()
        with pytest.raises(RuntimeError):
            reader.get_step(0)
        reader.open()
        assert reader.open() is reader
        assert (reader.num_steps, reader.path) == (100, path)
        batches = reader.iter_batches(4)
        next(batches)
        reader.close()
        reader.close()
        with pytest.raises(Closed, match="not open"):
            next(batches)


def test_files_that_are_none(tmp_path: Path, path: Path) -> None:
    for missing in (tmp_path / "run_2.h5", tmp_path / "run_1", tmp_path / "run_1.hdf5", tmp_path / "no" / "run_1.h5"):
        with pytest.raises(NotFound, match="no replay"):
            ReplayReader(missing).open()
    (tmp_path / "text.h5").write_text("not HDF5")
    with pytest.raises(Damaged, match="HDF5"):
        ReplayReader(tmp_path / "text.h5").open()
    path.rename(tmp_path / "a copy, renamed.h5")
    with ReplayReader(str(tmp_path / "a copy, renamed.h5")) as reader:
        assert reader.num_steps == 100


def test_what_a_file_says_of_itself(path: Path) -> None:
    with ReplayReader(path) as reader:
        said = reader.metadata
        assert (reader.num_steps, reader.num_episodes, reader.has_frames, reader.has_observations) == (
            100,
            3,
            True,
            True,
        )
    assert datetime.fromisoformat(said.pop("created_at")).tzinfo is None
    assert said == {"run_id": "run_1", "version": "1.0", "total_steps": 100, "total_episodes": 3}


def test_a_run_without_steps(tmp_path: Path) -> None:
    with ReplayWriter("run_1", tmp_path) as writer, ReplayReader(writer.path) as reader:
        assert (reader.num_steps, reader.num_episodes, reader.has_frames, reader.has_observations) == (
            0,
            0,
            False,
            False,
        )
        assert reader.metadata["created_at"] == ""
        assert reader.get_frame(0) is None
        assert list(reader.iter_batches(5, include_frames=True)) == []
        for call in (reader.get_step, reader.get_episode):
            with pytest.raises(OutOfRange, match="there are 0"):
                call(0)


# -- one step ---------------------------------------------------------------------------------------------------------


def test_one_step(path: Path) -> None:
    with ReplayReader(path) as reader:
        for i in (0, 39, 41, np.int64(74)):
            step = reader.get_step(i)
            assert set(step) == {"action", "reward", "done", "frame", "observation"}
            assert (step["action"], step["reward"], step["done"]) == (i % 4, 0.1 * i, i in (39, 74))
            assert (type(step["action"]), type(step["reward"]), type(step["done"])) == (int, float, bool)
            assert (step["frame"] == frame(i)).all()
            assert (step["observation"] == observed(i)).all()
        assert reader.get_step(40)["frame"] is None
        assert reader.get_step(-1)["reward"] == 0.1 * 99
        for outside in (100, -101, 10**18):
            with pytest.raises(IndexError, match=f"no step {outside} in .*run_1.h5: there are 100"):
                reader.get_step(outside)
        for wrong in ("1", 1.5, True):
            with pytest.raises(BadKey):
                reader.get_step(wrong)  # type: ignore[arg-type]


def test_frames_and_observations_by_step(path: Path) -> None:
    with ReplayReader(path) as reader:
        assert (reader.get_frame(74) == frame(74)).all()
        assert (reader.get_frame(-26) == frame(74)).all()
        assert (reader.get_observation(99) == observed(99)).all()
        assert [reader.get_frame(i) for i in (40, 75, 99, 100, -101, 10**18)] == [None] * 6
        assert [reader.get_observation(i) for i in (100, -101)] == [None] * 2
        taken = reader.get_frame(5)
        taken[:] = 0
        assert (reader.get_frame(5) == frame(5)).all()


@pytest.mark.parametrize("action", [np.array([0.5, -1], np.float32), np.arange(6).reshape(2, 3)])
def test_actions_of_several_numbers(tmp_path: Path, action: NDArray[Any]) -> None:
    with ReplayWriter("run_1", tmp_path) as writer:
        for i in range(4):
            writer.record_step(None, None, action + i, 1.0, False)
    with ReplayReader(writer.path) as reader:
        step = reader.get_step(2)
        assert (step["action"] == action + 2).all()
        assert step["action"].dtype == (action + 2).dtype
        assert (step["frame"], step["observation"]) == (None, None)
        episode = reader.get_episode(0)
        assert episode["actions"].shape == (4, *action.shape)
        assert (episode["frames"], episode["observations"]) == (None, None)
        assert not reader.has_frames
        assert not reader.has_observations


def test_single_numbers_are_pythons(tmp_path: Path) -> None:
    for number, action in enumerate((3, 0.25, np.array(7), True)):
        with ReplayWriter(f"run_{number}", tmp_path) as writer:
            writer.record_step(None, None, action, 1.0, False)
        with ReplayReader(writer.path) as reader:
            found = reader.get_step(0)["action"]
            assert found == action
            assert type(found) in (int, float, bool)


def test_structured_steps(tmp_path: Path) -> None:
    with ReplayWriter("run_1", tmp_path) as writer:
        for i in range(5):
            seen = None if i == 3 else {"camera": frame(i), "arm": {"joint": observed(i)}}
            writer.record_step(None, seen, {"move": [0.5, i], "fire": i % 2}, 0.0, False)
    with ReplayReader(writer.path) as reader:
        assert reader.has_observations
        step = reader.get_step(2)
        assert set(step["observation"]) == {"camera", "arm.joint"}
        assert (step["observation"]["arm.joint"] == observed(2)).all()
        assert (step["action"]["fire"], step["action"]["move"].tolist()) == (0, [0.5, 2])
        assert reader.get_observation(3) is None
        episode = reader.get_episode(0)
        assert episode["observations"]["camera"].shape == (5, 6, 5, 3)
        assert {name: where.tolist() for name, where in episode["holes"].items()} == {
            name: [False, False, False, True, False] for name in ("observations.arm.joint", "observations.camera")
        }
        batch = next(reader.iter_batches(5))
        assert batch["actions"]["move"][:, 1].tolist() == [0, 1, 2, 3, 4]
        assert set(batch["observations"]) == {"camera", "arm.joint"}


# -- many -------------------------------------------------------------------------------------------------------------


def test_episodes(path: Path) -> None:
    with ReplayReader(path) as reader:
        first, second, third = (reader.get_episode(i) for i in range(3))
        assert set(first) == {
            *("frames", "observations", "actions", "rewards", "dones"),
            *("episode_index", "start_step", "length", "holes"),
        }
        assert [(e["episode_index"], e["start_step"], e["length"]) for e in (first, second, third)] == [
            (0, 0, 40),
            (1, 40, 35),
            (2, 75, 25),
        ]
        assert (first["frames"] == np.stack([frame(i) for i in range(40)])).all()
        assert (second["observations"] == np.stack([observed(i) for i in range(40, 75)])).all()
        assert second["actions"].tolist() == [i % 4 for i in range(40, 75)]
        assert second["rewards"].dtype == np.float32
        assert (second["rewards"] == np.float32([0.1 * i for i in range(40, 75)])).all()
        assert np.flatnonzero(second["dones"]).tolist() == [34]
        assert first["holes"] == {}
        assert np.flatnonzero(second["holes"]["frames"]).tolist() == [0, 10, 20, 30]
        assert (second["frames"][9] == frame(49)).all()
        assert not second["frames"][10].any()
        assert third["frames"] is None
        assert third["holes"] == {}
        assert reader.get_episode(-1)["episode_index"] == 2
        for outside in (3, -4):
            with pytest.raises(IndexError, match=f"no episode {outside} in .*there are 3"):
                reader.get_episode(outside)


def test_batches_in_order(path: Path) -> None:
    with ReplayReader(path) as reader:
        batches = list(reader.iter_batches(30))
        assert [len(batch["actions"]) for batch in batches] == [30, 30, 30, 10]
        assert set(batches[0]) == {"indices", "actions", "observations", "rewards", "dones", "holes"}
        assert np.concatenate([batch["indices"] for batch in batches]).tolist() == list(range(100))
        assert (np.concatenate([batch["observations"] for batch in batches])[:, 0] == np.arange(100)).all()
        assert np.flatnonzero(np.concatenate([batch["dones"] for batch in batches])).tolist() == [39, 74]
        assert batches[0]["holes"] == {}
        assert len(next(reader.iter_batches())["actions"]) == 32
        for size in (0, -1, 1.5, None):
            with pytest.raises(WrongType, match="batch_size"):
                reader.iter_batches(size)  # type: ignore[arg-type]


def test_batches_in_any_order(path: Path) -> None:
    with ReplayReader(path) as reader:
        batches = list(reader.iter_batches(30, shuffle=True, include_frames=True, seed=7))
        order = np.concatenate([batch["indices"] for batch in batches])
        assert sorted(order.tolist()) == list(range(100))
        for batch in batches:
            indices = batch["indices"]
            assert (np.diff(indices) < 0).any()  # not sorted within
            assert (batch["observations"][:, 0] == indices).all()
            assert (batch["actions"] == indices % 4).all()
            assert (batch["rewards"] == (0.1 * indices).astype(np.float32)).all()
            missing = (indices >= 75) | ((indices >= 40) & (indices % 10 == 0))
            assert (batch["holes"]["frames"] == missing).all()
            assert (batch["frames"][:, 0, 0, 0] == np.where(missing, 0, indices)).all()
        again = np.concatenate([b["indices"] for b in reader.iter_batches(9, shuffle=True, seed=7)])
        other = np.concatenate([b["indices"] for b in reader.iter_batches(9, shuffle=True, seed=8)])
        assert again.tolist() == order.tolist()
        assert other.tolist() != order.tolist()


def test_stacks_come_back_whole(tmp_path: Path) -> None:
    reel = ReelWriter(ReplayFolder(tmp_path).reel("run_1"), ReplayConfig(), stacks={"observations": 3})
    expected = []
    for episode in range(3):
        planes = [np.full((4, 4), 10 * episode + i, np.uint8) for i in range(7)]
        reel.begin(prefixes={"observations": np.stack(planes[:2])})
        for i in range(5):
            reel.step({"observations": planes[i + 2], "actions": i}, 0.0, i == 4, False)
            expected.append(np.stack(planes[i : i + 3]))
        reel.end("terminated")
    reel.close()
    with ReplayReader(tmp_path / "run_1.h5") as reader:
        assert all((reader.get_observation(i) == expected[i]).all() for i in range(15))
        assert (reader.get_episode(1)["observations"] == np.stack(expected[5:10])).all()
        for shuffle in (False, True):
            for batch in reader.iter_batches(4, shuffle=shuffle):
                assert (batch["observations"] == np.stack([expected[i] for i in batch["indices"]])).all()


def test_an_array_that_is_stored_under_another_name(tmp_path: Path) -> None:
    files = ReplayFolder(tmp_path).reel("run_1")
    reel = ReelWriter(files, ReplayConfig(), facts={"same": {"observations": "frames"}})
    for i in range(5):
        reel.step({"frames": frame(i)}, 0.0, False, False)
    reel.close()
    with ReplayReader(files.file) as reader:
        assert reader.has_observations
        assert (reader.get_observation(3) == frame(3)).all()
        assert (reader.get_episode(0)["observations"] == reader.get_episode(0)["frames"]).all()


def test_a_run_in_several_parts(tmp_path: Path) -> None:
    for session in range(3):
        with ReplayWriter("run_1", tmp_path) as writer:
            for i in range(20 * session, 20 * session + 20):
                writer.record_step(frame(i) if i % 7 else None, observed(i), i, float(i), i % 15 == 14)
    with ReplayReader(writer.path) as reader:
        assert [reader.get_episode(i)["start_step"] for i in range(reader.num_episodes)] == [0, 15, 20, 30, 40, 45]
        assert [reader.get_step(i)["action"] for i in range(60)] == list(range(60))
        found = [reader.get_frame(i) for i in range(60)]
        assert [None if one is None else int(one.max()) for one in found] == [i if i % 7 else None for i in range(60)]
        batch = next(reader.iter_batches(60, shuffle=True, include_frames=True))
        assert (batch["frames"][:, 0, 0, 0] == np.where(batch["indices"] % 7, batch["indices"], 0)).all()


def test_threads_share_a_reader(path: Path) -> None:
    problems: list[BaseException] = []

    def read(reader: ReplayReader, seed: int) -> None:
        try:
            for i in np.random.default_rng(seed).integers(0, 40, 60).tolist():
                assert (reader.get_step(i)["frame"] == frame(i)).all()
                assert reader.num_steps == 100
        except BaseException as error:  # noqa: BLE001  raised again below
            problems.append(error)

    with ReplayReader(path) as reader:
        threads = [threading.Thread(target=read, args=(reader, seed)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert problems == []


def test_a_reader_goes_to_another_process(path: Path) -> None:
    reader = ReplayReader(path)
    with pytest.raises(Closed, match="not open"):
        pickle.loads(pickle.dumps(reader)).get_frame(0)
    with reader, pickle.loads(pickle.dumps(reader)) as sent:
        assert (sent.get_frame(3) == reader.get_frame(3)).all()


# -- while it is recorded ---------------------------------------------------------------------------------------------


def test_growth_is_seen(tmp_path: Path) -> None:
    with ReplayWriter("run_1", tmp_path) as writer, ReplayReader(writer.path) as reader:
        assert reader.get_frame(0) is None
        writer.record_step(frame(0), observed(0), 0, 0.5, False)
        writer.flush()
        assert reader.get_step(0)["reward"] == 0.5
        assert reader.get_episode(0)["length"] == 1
        batches = reader.iter_batches(1)
        for i in range(1, 50):
            writer.record_step(frame(i), observed(i), i, 0.5, i == 20)
        writer.flush()
        assert (reader.get_frame(49) == frame(49)).all()
        assert (reader.num_steps, reader.num_episodes, reader.metadata["total_steps"]) == (50, 2, 50)
        assert reader.get_episode(1)["length"] == 29
        assert len(list(batches)) == 1  # what was there when it began
        batches = reader.iter_batches(10, include_frames=True)
        next(batches)
        writer.close()  # sealed under the reader's eyes
        assert [batch["frames"][0].max() for batch in batches] == [10, 20, 30, 40]
        assert (reader.get_frame(7) == frame(7)).all()
        assert reader.num_steps == 50


def test_a_recording_of_nothing_was_followed(tmp_path: Path) -> None:
    with ReplayWriter("run_1", tmp_path) as writer:
        reader = ReplayReader(writer.path).open()
        assert reader.num_steps == 0
    with ReplayWriter("run_1", tmp_path) as writer, reader:
        writer.record_step(frame(0), None, 0, 0.0, False)
        writer.flush()
        assert reader.num_steps == 1


RECORDING = """
import sys
import numpy as np
from playhead.replay.writer import ReplayWriter

with ReplayWriter("run_1", sys.argv[1], compression="gzip") as writer:
    for line in sys.stdin:
        for i in range(writer.step_count, int(line)):
            writer.record_step(np.full((6, 5, 3), i % 256, np.uint8), None, [i, -i], i / 2, i % 30 == 29)
        writer.flush()
        print(writer.step_count, flush=True)
"""


def test_another_process_records(tmp_path: Path) -> None:
    program = [sys.executable, "-c", RECORDING, str(tmp_path)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        reader = ReplayReader(tmp_path / "run_1.h5")
        for count in (10, 45, 200):
            process.stdin.write(f"{count}\n")
            process.stdin.flush()
            assert int(process.stdout.readline()) == count
            reader.open()
            assert (reader.num_steps, reader.num_episodes) == (count, -(-count // 30))
            last = reader.get_step(count - 1)
            assert (last["frame"].max(), last["action"].tolist()) == (count - 1, [count - 1, 1 - count])
            episode = reader.get_episode(-1)
            assert episode["frames"][:, 0, 0, 0].tolist() == list(range(episode["start_step"], count))
        process.stdin.close()
        assert process.wait() == 0
    assert [reader.get_frame(i).max() for i in range(200)] == list(range(200))
    assert reader.num_episodes == 7
    reader.close()


# -- anything that can be done with a writer --------------------------------------------------------------------------

DEEDS = st.lists(
    st.one_of(
        st.tuples(st.just("step"), st.booleans(), st.booleans(), st.booleans()),
        st.just(("mark",)),
        st.just(("flush",)),
        st.just(("reopen",)),
    ),
    max_size=30,
)


@settings(max_examples=20, deadline=None)
@given(DEEDS, st.sampled_from(["zstd", "gzip", "lzf", None]), st.sampled_from([None, 1, 3]))
def test_what_is_read_is_what_was_recorded(
    tmp_path_factory: pytest.TempPathFactory, deeds: list[Any], compression: str | None, chunk: int | None
) -> None:
    folder = tmp_path_factory.mktemp("replay")
    steps: list[tuple[bool, bool, bool]] = []
    ends: set[int] = set()
    writer = ReplayWriter("run_1", folder, compression=compression, chunk_size=chunk)
    writer.start()
    reader = ReplayReader(writer.path).open()
    for deed in deeds:
        match deed[0]:
            case "step":
                i, (has_frame, has_observation, done) = len(steps), deed[1:]
                ref = writer.record_step(
                    frame(i) if has_frame else None, observed(i) if has_observation else None, i, i / 4, done
                )
                assert ref == f"h5://run_1/frames/{i}"
                steps.append(deed[1:])
                ends |= {i + 1} if done else set()
            case "mark":
                writer.mark_episode_end()
                ends.add(len(steps))
            case "flush":
                writer.flush()
                assert_same(reader, steps, ends)
            case "reopen":
                writer.close()
                ends.add(len(steps))
                writer = ReplayWriter("run_1", folder, compression=compression, chunk_size=chunk)
                writer.start()
    writer.close()
    assert_same(reader, steps, ends)
    reader.close()
    with ReplayReader(writer.path) as fresh:
        assert_same(fresh, steps, ends)


def assert_same(reader: ReplayReader, steps: list[tuple[bool, bool, bool]], ends: set[int]) -> None:
    assert reader.num_steps == len(steps)
    bounds = sorted({0, *ends, len(steps)}) if steps else [0]
    assert reader.num_episodes == len(bounds) - 1
    for number, (start, stop) in enumerate(pairwise(bounds)):
        episode = reader.get_episode(number)
        assert (episode["start_step"], episode["length"]) == (start, stop - start)
        assert episode["actions"].tolist() == list(range(start, stop))
        assert episode["dones"].tolist() == [done for _, _, done in steps[start:stop]]
        frames = episode["frames"] if any(has for has, _, _ in steps[start:stop]) else np.zeros((stop - start, 6, 5, 3))
        assert (frames == np.stack([frame(i) * steps[i][0] for i in range(start, stop)])).all()
    for i, (has_frame, has_observation, done) in enumerate(steps):
        step = reader.get_step(i)
        assert (step["action"], step["reward"], step["done"]) == (i, i / 4, done)
        assert (step["frame"] is not None, step["observation"] is not None) == (has_frame, has_observation)
        assert not has_frame or (step["frame"] == frame(i)).all()
        assert not has_observation or (step["observation"] == observed(i)).all()
