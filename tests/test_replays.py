"""Replays of a store: recorded under runs, in SQL and by reference, found again after anything."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import playhead
from playhead import clock, export
from playhead.errors import BadRef, Closed, Damaged, NotFound, OutOfRange, ReadOnly
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.writer import ReelWriter
from playhead.recording import bulk
from playhead.replay import ReplayEpisode
from tests.dump import assert_catalogue_agrees_with_folders

FRAMES = np.random.default_rng(0).integers(0, 256, (400, 20, 16, 3), dtype=np.uint8)


def play(reel: ReelWriter, steps: int, *, seed: int = 0, end: str | None = "terminated") -> None:
    """Record an episode in which every value can be told from its place."""
    reel.begin({"seed": seed})
    first = reel.row
    for place in range(steps):
        row = first + place
        arrays: dict[str, Any] = {"observations": np.full((4,), row, np.float32), "actions": row % 5}
        if place % 4 != 3:
            arrays["frames"] = FRAMES[row % 400]
        is_last = place == steps - 1
        info = b'{"lives":%d,"flags":[true,null],"name":"x"}' % (row % 3)
        reel.step(arrays, row / 4, is_last and end == "terminated", is_last and end == "truncated", info)
    if end is not None:
        reel.end(end, {"observations": np.full((4,), -first, np.float32)})


def record(store: playhead.Store, run_id: str = "run_a", lengths: tuple[int, ...] = (10, 20, 5)) -> None:
    with store.run("p", "n", run_id=run_id, environment=False) as run:
        reel = run.new_reel(facts={"env_id": "Toy-v0"})
        for seed, steps in enumerate(lengths):
            play(reel, steps, seed=seed)


def test_bytes_that_are_no_text_are_escaped(store: playhead.Store, tmp_path: Path) -> None:
    """Was a bug: a UnicodeDecodeError, of the values and of every export."""
    with store.run("p", "n", run_id="run_a", environment=False) as run:
        reel = run.new_reel()
        reel.begin()
        for value in (b"na\xc3\xafve", b"\xff\x80a"):
            reel.step({"observations": np.array(value, "S6")}, 1.0, False, False)
        reel.close()
    episode = store.runs["run_a"].episodes[0]
    assert episode["observation"].values.tolist() == ["naïve", "\\xff\\x80a"]
    assert [value for value, _ in episode["observation"]] == ["naïve", "\\xff\\x80a"]
    assert store.resolve("h5://run_a/observations/1") == b"\xff\x80a"
    for call in (export.to_csv, export.to_parquet, export.to_npz):
        call(episode, tmp_path / call.__name__, signals=["observation"])
    assert (tmp_path / "to_csv").read_text().splitlines()[2].endswith(r",\xff\x80a")


def test_episodes_of_a_run_are_read_while_it_plays_and_after(store: playhead.Store) -> None:
    with store.run("p", "n", run_id="run_a", environment=False) as run:
        reel = run.new_reel(facts={"env_id": "Toy-v0"})
        for seed in range(3):
            play(reel, 10, seed=seed)
            assert [episode.length for episode in run.episodes] == [10] * (seed + 1)
        play(reel, 4, end=None)
        assert run.episodes[-1].is_unfinished
        while_playing = run.episodes[1]["frame"].values
    episodes = store.runs["run_a"].episodes
    assert [episode.id for episode in episodes] == [f"run_a-ep{number:04}" for number in range(4)]
    assert [episode.how for episode in episodes] == ["terminated"] * 3 + ["closed"]
    assert [episode.static for episode in episodes[:2]] == [{"env_id": "Toy-v0", "seed": seed} for seed in range(2)]
    episode = episodes[1]
    assert isinstance(episode, ReplayEpisode)
    assert np.array_equal(episode["frame"].values, while_playing)
    assert np.array_equal(episode["frame"].values, FRAMES[[row for row in range(10, 20) if (row - 10) % 4 != 3]])
    assert np.array_equal(episode["observation"].values[:, 0], np.arange(10, 20))
    assert np.array_equal(episode["action"].values, np.arange(10, 20) % 5)
    assert np.array_equal(episode["reward"].values, np.arange(10, 20) / 4)
    assert episode.total_reward == np.sum(np.arange(10, 20) / 4)
    assert episode.final["observation"][0] == -10
    assert episode.infos[1] == {"lives": 2, "flags": [True, None], "name": "x"}
    moment = episode.time[int(episode.steps["ts_ns"][3])]
    assert moment["observation"][0][0] == 13
    assert np.array_equal(moment["frame"][0], FRAMES[12])  # the newest that was seen until then
    last = episode.transition(9)
    assert (last.observation[0], last.action, last.reward, last.next_observation[0]) == (19, 4, 19 / 4, -10)
    assert (last.terminated, last.truncated) == (True, False)
    assert episode.transition(0).next_observation[0] == 11
    with pytest.raises(OutOfRange):
        episode.transition(10)
    assert episodes[2].duration_ns > 0
    assert "10 steps" in repr(episode)
    assert store.episode("run_a-ep0001").ref("frame", 2) == "h5://run_a/frames/12"
    with pytest.raises(NotFound, match="run_a-ep0000"):
        store.episode("run_a-ep9999")
    with pytest.raises(OutOfRange):
        episodes[7]


def indexed(store: playhead.Store) -> int:
    return int(store.sql("SELECT count(*) AS steps FROM steps").to_pylist()[0]["steps"])


def test_steps_come_into_the_catalogue_by_themselves_and_at_a_flush(
    store: playhead.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.run("p", "n", run_id="run_a", environment=False) as run:
        reel = run.new_reel()
        play(reel, 10, end=None)
        deadline = clock.elapsed_ns() + 20 * clock.SECOND
        while indexed(store) < 10:
            assert clock.elapsed_ns() < deadline
            clock.sleep(0.05)
        monkeypatch.setattr(bulk, "INDEX_SECONDS", 1000)
        for steps in (20, 30):
            play(reel, 10, end=None)
            reel.flush()
            clock.sleep(1.2)  # two rounds of the background
            assert indexed(store) == steps - 10
            run.flush()
            assert indexed(store) == steps
        play(reel, 10)
    assert indexed(store) == 40


def test_steps_and_episodes_are_in_sql(store: playhead.Store) -> None:
    record(store)
    (row,) = store.sql("SELECT * FROM steps WHERE episode_id = 'run_a-ep0001' AND step_index = 3").to_pylist()
    assert {name: row[name] for name in row if name not in ("timestamp", "ts_ns")} == {
        "episode_id": "run_a-ep0001",
        "step_index": 3,
        "action": 3,
        "reward": 13 / 4,
        "terminated": 0,
        "truncated": 0,
        "frame_ref": None,
        "obs_ref": "h5://run_a/observations/13",
        "info": '{"lives":1,"flags":[true,null],"name":"x"}',
        "agent_id": None,
        "run_id": "run_a",
        "reel": "run_a",
        "row": 13,
    }
    (episode,) = store.sql("SELECT * FROM episodes WHERE episode_id = 'run_a-ep0001'").to_pylist()
    assert (episode["run_id"], episode["steps"], episode["terminated"], episode["truncated"]) == ("run_a", 20, 1, 0)
    assert episode["total_reward"] == sum(row / 4 for row in range(10, 30))
    sums = store.sql("SELECT episode_id, sum(reward) AS total FROM steps GROUP BY 1 ORDER BY 1").to_pylist()
    totals = store.sql("SELECT episode_id, total_reward AS total FROM episodes ORDER BY 1").to_pylist()
    assert sums == totals
    assert store.sql("SELECT count(*) AS n FROM steps WHERE frame_ref IS NULL").to_pylist() == [{"n": 8}]
    plan = store.sql("EXPLAIN QUERY PLAN SELECT * FROM steps WHERE episode_id = 'x'").to_pylist()
    assert not any(str(step["detail"]).startswith(("SCAN s", "SCAN e")) for step in plan)
    plan = store.sql("EXPLAIN QUERY PLAN SELECT * FROM steps WHERE reel = 'run_a' AND row = 13").to_pylist()
    details = [str(step["detail"]) for step in plan]
    assert any(detail.startswith("SEARCH e USING INDEX") for detail in details)  # only the episodes of this reel
    assert any(detail.startswith("SEARCH s USING PRIMARY KEY") for detail in details)
    # Without Playhead too.
    with sqlite3.connect(store.path / "playhead.db") as plain:
        assert plain.execute("SELECT count(*), sum(json_extract(info, '$.lives')) FROM steps").fetchone()[0] == 35


def test_a_ref_leads_to_the_row_and_to_the_step(store: playhead.Store) -> None:
    record(store)
    assert np.array_equal(store.resolve("h5://run_a/frames/12"), FRAMES[12])
    assert store.resolve("h5://run_a/observations/13")[0] == 13
    step = store.step_of("h5://run_a/frames/12")
    assert (step["episode_id"], step["step_index"], step["action"], step["info"]["lives"]) == ("run_a-ep0001", 2, 2, 0)
    assert step["frame_ref"] == "h5://run_a/frames/12"
    for ref, error, text in [
        ("h5://run_a/frames/1x", BadRef, "is not the address"),
        ("h5://run_a/frames/007", BadRef, "is not the address"),
        ("h5://../frames/1", BadRef, "is not the address"),
        ("h5://run_a/../1", NotFound, "run_a"),
        ("file:///etc/passwd", BadRef, "is not the address"),
        ("h5://run_x/frames/1", NotFound, "run_x"),
        ("h5://run_a/pixels/1", NotFound, "frames"),
        ("h5://run_a/frames/35", NotFound, "35"),
        ("h5://run_a/frames/13", NotFound, "13"),
    ]:
        with pytest.raises(error, match=text):
            store.resolve(ref)
    with pytest.raises(BadRef):
        store.step_of("h5://run_a")
    with pytest.raises(NotFound, match="there are 35"):
        store.step_of("h5://run_a/frames/35")
    with pytest.raises(NotFound, match="run_x"):
        store.step_of("h5://run_x/frames/0")
    with pytest.raises(NotFound, match="no step 9223372036854775808 in run_a: there are 35"):
        store.step_of(f"h5://run_a/frames/{1 << 63}")  # which SQLite has no number for
    recent = store.recent_steps("run_a", 3)
    assert [step["action"] for step in recent] == [2, 3, 4]
    assert [step["observation"][0] for step in recent] == [32, 33, 34]
    assert [step["frame"] is None for step in recent] == [False, True, False]
    assert "frame" not in store.recent_steps("run_a", 2, arrays=False)[0]
    assert store.recent_steps(store.runs["run_a"], 0) == []
    assert len(store.recent_steps("run_a", 1 << 70, arrays=False)) == 35


def test_going_on_with_a_run_appends(store: playhead.Store) -> None:
    record(store)
    with store.run("p", "n", run_id="run_a", resume=True, environment=False) as run:
        reel = run.new_reel(facts={"env_id": "Toy-v0"})
        assert (reel.id, reel.row, reel.episode) == ("run_a", 35, 3)
        play(reel, 5)
        other = run.new_reel(facts={"env_id": "Other-v0"})
        assert other.id == "run_a.1"
        play(other, 3, end="truncated")
    assert [(e.id, e.length, e.how) for e in store.runs["run_a"].episodes] == [
        ("run_a-ep0000", 10, "terminated"),
        ("run_a-ep0001", 20, "terminated"),
        ("run_a-ep0002", 5, "terminated"),
        ("run_a-ep0003", 5, "terminated"),
        ("run_a.1-ep0000", 3, "truncated"),
    ]
    assert store.step_of("h5://run_a.1/observations/2")["truncated"]
    assert_catalogue_agrees_with_folders(store.path)
    index = (store.path / "replay" / "index.json").read_text()
    assert "run_a.1.h5" in index
    with pytest.raises(Closed):
        run.new_reel()
    with pytest.raises(Closed):
        reel.step({}, 0, False, False)


def test_several_agents_share_an_episode(store: playhead.Store) -> None:
    with store.run("p", "n", run_id="run_a", environment=False) as run:
        reel = run.new_reel()
        reel.begin()
        for turn in range(4):
            for agent in ("red", "blue"):
                value = np.float32(turn + (10 if agent == "blue" else 0))
                reel.step({"actions": turn, "observations": np.array([value])}, turn, False, False, agent=agent)
        reel.end("truncated")
    rows = store.sql("SELECT agent_id, step_index, action FROM steps ORDER BY row").to_pylist()
    assert [tuple(row.values()) for row in rows] == [(agent, n, n) for n in range(4) for agent in ("red", "blue")]
    episode = store.runs["run_a"].episodes[0]
    assert episode["blue.observation"].values[:, 0].tolist() == [10, 11, 12, 13]
    assert episode["red.reward"].values.tolist() == [0, 1, 2, 3]
    assert_catalogue_agrees_with_folders(store.path)


def test_actions_of_every_kind_are_in_sql(store: playhead.Store) -> None:
    with store.run("p", "n", run_id="run_a", environment=False) as run:
        for facts, arrays in [
            ("continuous", {"actions": np.array([0.1, -2.5], np.float32)}),
            ("structured", {"actions.arm": np.array([1, 2], np.int64), "actions.word": np.array(b"go", "S8")}),
            ("number", {"actions": np.float64(0.5)}),
            ("large", {"actions": np.zeros(1000)}),
            ("none", {}),
        ]:
            reel = run.new_reel(facts={"env_id": facts})
            reel.step(arrays, float("nan"), False, False)
    with sqlite3.connect(store.path / "playhead.db") as plain:
        found = plain.execute("SELECT action, reward FROM steps ORDER BY reel").fetchall()
    assert [row[0] for row in found] == ["[0.1,-2.5]", '{"arm":[1,2],"word":"go"}', 0.5, None, None]
    assert {row[1] for row in found} == {None}
    assert np.isnan(store.recent_steps("run_a", 1)[0]["reward"])
    assert store.step_of("h5://run_a.1/actions/0")["action"] == {"arm": [1, 2], "word": "go"}
    assert_catalogue_agrees_with_folders(store.path)


def test_a_killed_run_keeps_its_steps_and_goes_on(tmp_path: Path) -> None:
    script = """
import os, sys, numpy as np, playhead
from tests.test_replays import play
store = playhead.open(sys.argv[1])
run = store.run("p", "n", run_id="run_a", environment=False)
reel = run.new_reel(facts={"env_id": "Toy-v0"})
play(reel, 30)
play(reel, 12, end=None)
reel.flush()
os.kill(os.getpid(), 9)
"""
    folder = tmp_path / "store"
    died = subprocess.run([sys.executable, "-c", script, str(folder)], cwd=Path(__file__).parent.parent, check=False)
    assert died.returncode == -signal.SIGKILL
    with playhead.open(folder) as store:
        run = store.runs["run_a"]
        assert run.status == "failed"
        assert [(e.length, e.how) for e in run.episodes] == [(30, "terminated"), (12, None)]
        assert np.array_equal(run.episodes[1]["observation"].values[:, 0], np.arange(30, 42))
        assert store.resolve("h5://run_a/observations/41")[0] == 41
        assert (folder / "replay" / "run_a.journal").exists()
        with playhead.open(folder, mode="r") as reading:
            assert reading.runs["run_a"].episodes[1].length == 12
        with store.run("p", "n", run_id="run_a", resume=True, environment=False) as run:
            play(run.new_reel(facts={"env_id": "Toy-v0"}), 3)
        assert [(e.length, e.how) for e in store.runs["run_a"].episodes] == [
            (30, "terminated"),
            (12, None),
            (3, "terminated"),
        ]
        assert not (folder / "replay" / "run_a.journal").exists()
    assert_catalogue_agrees_with_folders(folder)


def test_compact_seals_what_a_crash_left(store: playhead.Store) -> None:
    with store.run("p", "n", run_id="run_a", environment=False) as run:
        reel = run.new_reel(facts={"env_id": "Toy-v0"})
        play(reel, 30)
        assert store.compact() == []  # it is being recorded
        reel.flush()
        reel.abandon()
    before = store.runs["run_a"].episodes[0]["frame"].values
    assert store.compact() == ["run_a"]
    assert store.compact() == []
    assert np.array_equal(store.runs["run_a"].episodes[0]["frame"].values, before)
    assert_catalogue_agrees_with_folders(store.path)


def test_purging_a_run_removes_its_replays(store: playhead.Store) -> None:
    record(store, "run_a")
    record(store, "run_b")
    store.runs["run_a"].delete()
    assert len(store.runs.deleted["run_a"].episodes) == 3
    store.purge()
    assert sorted(path.name for path in (store.path / "replay").iterdir()) == ["index.json", "run_b.h5"]
    assert store.sql("SELECT DISTINCT run_id FROM steps").to_pylist() == [{"run_id": "run_b"}]
    with pytest.raises(NotFound):
        store.resolve("h5://run_a/frames/0")
    assert "run_a" not in (store.path / "replay" / "index.json").read_text()


def test_damage_is_named_and_the_rest_reads(store: playhead.Store) -> None:
    with store.run("p", "n", run_id="run_a", environment=False) as run:
        reel = run.new_reel(config=ReplayConfig(chunk=4))
        play(reel, 40)
    path = store.path / "replay" / "run_a.h5"
    data = bytearray(path.read_bytes())
    import h5py

    with h5py.File(path) as file:
        place = file["frames"].id.get_chunk_info(3).byte_offset
    data[place + 20] ^= 1
    path.write_bytes(data)
    with playhead.open(store.path, mode="r") as again:
        frames = again.runs["run_a"].episodes[0]["frame"]
        with pytest.raises(Damaged, match=r"run_a.h5.*frames"):
            frames.values  # noqa: B018
        assert np.array_equal(frames[0][0], FRAMES[0])
        assert np.array_equal(again.resolve("h5://run_a/frames/38"), FRAMES[38])
        with pytest.raises(Damaged):
            again.resolve("h5://run_a/frames/13")


def test_a_store_open_for_reading_records_nothing(store: playhead.Store) -> None:
    record(store)
    from playhead import replays

    with playhead.open(store.path, mode="r") as reading:
        assert len(reading.runs["run_a"].episodes) == 3
        with pytest.raises(ReadOnly):
            replays.new_reel(reading._home, "run_a")
        with pytest.raises(ReadOnly):
            reading.compact()


def _act(path: Path, run_id: str) -> None:
    with playhead.open(path) as store, store.attach(run_id) as run:
        for _ in range(3):
            play(run.new_reel(facts={"env_id": "Toy-v0", "actor": os.getpid()}), 10)


def test_actors_have_reels_of_their_own(store: playhead.Store) -> None:
    with store.run("p", "n", run_id="run_a", environment=False) as run:
        actors = [
            multiprocessing.get_context("spawn").Process(target=_act, args=(store.path, "run_a")) for _ in range(2)
        ]
        for actor in actors:
            actor.start()
        for _ in range(3):
            play(run.new_reel(facts={"env_id": "Toy-v0"}), 10)
        for actor in actors:
            actor.join()
            assert actor.exitcode == 0
    episodes = store.runs["run_a"].episodes
    assert len(episodes) == 9
    begins = [episode.created_ts_ns for episode in episodes]
    assert begins == sorted(begins)
    assert len({episode.id for episode in episodes}) == 9
    assert store.sql("SELECT count(*) AS n FROM steps").to_pylist() == [{"n": 90}]
    assert_catalogue_agrees_with_folders(store.path)


def test_threads_may_read_while_one_plays(store: playhead.Store) -> None:
    problems: list[BaseException] = []
    with store.run("p", "n", run_id="run_a", environment=False) as run:
        reel = run.new_reel(config=ReplayConfig(interval=0.02, segment_bytes=30_000))
        done = threading.Event()

        def read() -> None:
            try:
                while not done.is_set():
                    for episode in store.runs["run_a"].episodes[-2:]:
                        rows = episode["observation"].values[:, 0]
                        assert np.array_equal(rows, episode.meta["first_row"] + np.arange(len(rows)))
            except BaseException as problem:  # noqa: BLE001
                problems.append(problem)

        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        for _ in range(60):
            play(reel, 30)
        done.set()
        for reader in readers:
            reader.join()
    assert problems == []
    assert (store.path / "replay" / "run_a" / "0001.h5").exists()


def test_a_store_that_moved_still_resolves(store: playhead.Store, tmp_path: Path) -> None:
    record(store)
    store.close()
    shutil.move(store.path, tmp_path / "elsewhere")
    with playhead.open(tmp_path / "elsewhere") as moved:
        assert np.array_equal(moved.resolve("h5://run_a/frames/12"), FRAMES[12])
        assert len(moved.runs["run_a"].episodes) == 3
