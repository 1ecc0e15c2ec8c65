"""Databases of MOSAIC, taken over value by value."""

from __future__ import annotations

import json
import math
import shutil
import sqlite3
from pathlib import Path

import h5py
import numpy as np
import pytest

import playhead
from playhead.errors import Damaged, NotFound, StoreLocked, WrongType
from playhead.integrations import mosaic
from playhead.integrations.mosaic import rest
from tests.integrations.mosaic_database import MosaicDatabase, blob, encoded, everything, picture_of, replay_file

GOLDEN = Path(__file__).parents[3] / "shared" / "golden" / "mosaic"
DROPPED = ("observation", "render_payload", "frame_ref", "obs_ref")


@pytest.fixture
def database(tmp_path: Path) -> MosaicDatabase:
    (tmp_path / "source").mkdir()
    return MosaicDatabase(tmp_path / "source" / "telemetry.sqlite")


@pytest.fixture
def store(tmp_path: Path) -> playhead.Store:
    with playhead.open(tmp_path / "store") as opened:
        yield opened


def rows_of(store: playhead.Store, run_id: str) -> list[dict]:
    return list(rest.rows_in(store.runs[run_id].path / rest.FOLDER / rest.STEPS))


@pytest.mark.skipif(not GOLDEN.exists(), reason="the samples are not here")
class TestGolden:
    def test_every_value_of_the_samples_comes_out(self, store: playhead.Store, tmp_path: Path) -> None:
        source = shutil.copytree(GOLDEN, tmp_path / "golden")
        report = mosaic.migrate(source / "telemetry.sqlite", store)
        assert (report.imported, report.steps, report.arrays, report.kept, report.dangling) == (3, 49, 48, 0, 0)
        for episode in store.runs["run_old"].episodes:  # one encoded, one of nested lists
            wanted = np.arange(48).reshape(1, 4, 4, 3) + np.arange(12).reshape(12, 1, 1, 1)
            assert episode["observation"].values.dtype == np.uint8
            assert np.array_equal(episode["observation"].values, wanted)
            assert np.array_equal(episode["frame"].values, wanted)
            assert (episode.length, episode.how) == (12, "terminated")
        with sqlite3.connect(source / "telemetry.sqlite") as known:
            given = known.execute(
                "SELECT reward, action, info FROM steps WHERE run_id = 'run_old' ORDER BY rowid"
            ).fetchall()
        for number, episode in enumerate(store.runs["run_old"].episodes):
            found = zip(episode["reward"].values, episode["action"].values, episode.infos, strict=True)
            mine = given[12 * number : 12 * number + 12]
            assert list(found) == [(reward, action, json.loads(info)) for reward, action, info in mine]

    def test_replay_files_are_adopted_as_they_are(self, store: playhead.Store) -> None:
        mosaic.migrate(GOLDEN / "telemetry.sqlite", store, replay_dir=GOLDEN / "replay")
        for name in ("run_disc", "run_cont"):
            assert (store.path / "replay" / f"{name}.h5").read_bytes() == (GOLDEN / f"replay/{name}.h5").read_bytes()
        assert [episode.length for episode in store.runs["run_disc"].episodes] == [25, 35]
        frame = store.resolve("h5://run_disc/frames/24")
        assert (frame.shape, frame[24 % 42].max()) == ((42, 40, 3), 96)
        actions = store.runs["run_cont"].episodes[0]["action"].values
        assert np.allclose(actions[:, 0], np.arange(30) / 30)
        assert [row["frame_ref"] for row in rows_of(store, "run_disc")][:2] == [
            "h5://run_disc/frames/0",
            "h5://run_disc/frames/1",
        ]

    def test_a_file_without_episodes_has_those_of_the_database(self, store: playhead.Store, tmp_path: Path) -> None:
        source = shutil.copytree(GOLDEN, tmp_path / "golden")
        for path in (source / "replay" / "run_disc.h5", source / "replay"):
            path.chmod(0o755)
        with h5py.File(source / "replay" / "run_disc.h5", "a") as file:
            del file["episodes"]  # as its sink leaves it
        mosaic.migrate(source / "telemetry.sqlite", store)
        episodes = store.runs["run_disc"].episodes
        assert [(one.length, one.how) for one in episodes] == [(25, "terminated"), (35, "closed")]
        assert episodes[0].static["episode_id"] == "run_disc-ep0000"
        assert episodes[0]["reward"].values.tolist() == [step / 2 for step in range(25)]
        assert [values.max() for values in episodes[1]["observation"].values] == list(range(25, 60))
        assert np.array_equal(store.resolve("h5://run_disc/frames/25"), episodes[1]["frame"].values[0])

    def test_compacting_the_samples_keeps_all_but_the_arrays(self, store: playhead.Store, tmp_path: Path) -> None:
        source = shutil.copytree(GOLDEN, tmp_path / "golden") / "telemetry.sqlite"
        source.chmod(0o644)
        with sqlite3.connect(source) as known:
            before = everything(known, *DROPPED)
        mosaic.migrate(source, store, compact=True)
        with sqlite3.connect(source) as known:
            assert everything(known, *DROPPED) == before
            refs = known.execute("SELECT frame_ref, obs_ref, step_index FROM steps WHERE run_id = 'run_old'").fetchall()
        for frame, observation, index in refs:
            assert np.array_equal(store.resolve(frame), np.arange(48).reshape(4, 4, 3) + index)
            assert np.array_equal(store.resolve(observation), np.arange(48).reshape(4, 4, 3) + index)


def test_all_but_arrays_is_kept_value_by_value(database: MosaicDatabase, store: playhead.Store) -> None:
    database.episode("run_a-ep0000", 3, worker_id="w1", episode_seed=7)
    database.step("run_a-ep0001", 0, reward=math.pi, info=b"\xff\x00", render_hint=b"\x80", action="left", time_step=5)
    before = database.everything("observation", "render_payload")
    mosaic.migrate(database.close(), store)
    kept = rows_of(store, "run_a")
    wanted = [name for name in kept[0] if not name.startswith("playhead_") and name not in DROPPED[:2]]
    assert [tuple(row[name] for name in wanted) for row in kept] == before[:4]
    assert [json.loads(row["render_payload"]) for row in kept[:3]] == [{"mode": "rgb_array", "game_id": "Game-v1"}] * 3
    (rollup,) = rest.rows_in(store.runs["run_a"].path / rest.FOLDER / rest.EPISODES)
    assert tuple(rollup.values()) == before[4]


def test_a_run_is_named_by_its_game_and_has_its_returns_as_a_metric(
    database: MosaicDatabase, store: playhead.Store
) -> None:
    database.episode("run_a-ep0000", 3)
    database.episode("run_a-ep0001", 3)
    database.insert("run_status", {"run_id": "run_a", "status": "archived"})
    mosaic.migrate(database.close(), store)
    run = store.runs["run_a"]
    assert (run.project, run.name, run.status, run.tags) == ("mosaic", "Game-v1", "finished", ["archived"])
    assert run["episode/return"].values.tolist() == [1.5, 1.5]
    episode = run.episodes[1]
    assert (episode.static["episode_id"], episode.static["env_id"]) == ("run_a-ep0001", "Game-v1")
    assert np.diff(episode["reward"].timestamps).tolist() == [125_000_000] * 2


def test_what_was_deleted_in_mosaic_is_in_the_bin(database: MosaicDatabase, store: playhead.Store) -> None:
    database.episode("run_a-ep0000", 2)
    database.insert("run_status", {"run_id": "run_a", "status": "deleted", "deleted_at": "2026-04-01T00:00:00+00:00"})
    mosaic.migrate(database.close(), store)
    assert [run.id for run in store.runs] == []
    assert [run.id for run in store.runs.deleted] == ["run_a"]


def test_episodes_that_differ_or_overlap_lie_in_several_reels(database: MosaicDatabase, store: playhead.Store) -> None:
    for index in range(3):  # two workers at once
        database.step("run_a-ep0000", index, observation=blob([index, 0.5]), worker_id="w0")
        database.step("run_a-ep0001", index, observation=blob([index, 1]), worker_id="w1")
    database.step("run_a-ep0002", 0, observation=blob(encoded(np.zeros((2, 2), np.float32))))
    report = mosaic.migrate(database.close(), store)
    assert (report.imported, report.arrays, report.kept) == (1, 7, 0)
    episodes = {episode.static["episode_id"]: episode for episode in store.runs["run_a"].episodes}
    assert episodes["run_a-ep0000"]["observation"].values.tolist() == [[0, 0.5], [1, 0.5], [2, 0.5]]
    assert episodes["run_a-ep0001"]["observation"].values.tolist() == [[0, 1], [1, 1], [2, 1]]
    assert episodes["run_a-ep0002"]["observation"].values.dtype == np.float32
    assert len({episode.meta["reel"] for episode in episodes.values()}) == 3
    assert np.diff(episodes["run_a-ep0001"]["reward"].timestamps).tolist() == [250_000_000] * 2


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (3, np.int64(3)),
        (True, np.bool_(True)),
        (0.1, np.float64(0.1)),
        ({"__type__": "float", "value": "nan"}, np.float64(np.nan)),
        ([[0, 255], [1, 2]], np.array([[0, 255], [1, 2]], np.uint8)),
        ([0, 256], np.array([0, 256], np.int64)),
        ([2**63, 2], np.array([2.0**63, 2.0])),
        (encoded(np.array([1, -2], ">i2")), np.array([1, -2], "<i2")),
        (encoded(np.array([1 + 2j], np.complex64)), np.array([1 + 2j], np.complex64)),
        ({"__type__": "ndarray", "dtype": "int16", "shape": [2], "data": [1, 2]}, np.array([1, 2], np.int16)),
    ],
)
def test_each_kind_of_array_keeps_its_values(
    given: object, wanted: np.ndarray, database: MosaicDatabase, store: playhead.Store
) -> None:
    database.step("run_a-ep0000", 0, observation=blob(given))
    assert mosaic.migrate(database.close(), store).arrays == 1
    found = store.runs["run_a"].episodes[0]["observation"].values[0]
    assert found.dtype == wanted.dtype
    assert np.array_equal(found, wanted, equal_nan=wanted.dtype.kind in "fc")


def test_structured_observations_are_several_arrays(database: MosaicDatabase, store: playhead.Store) -> None:
    pair = {"__type__": "tuple", "data": [1, [2.5]]}
    for index in range(2):
        given = {"camera": encoded(picture_of(index)), "pair": pair}
        database.step("run_a-ep0000", index, observation=blob(given))
    mosaic.migrate(database.close(), store)
    episode = store.runs["run_a"].episodes[0]
    assert np.array_equal(episode["observation.camera"].values[1], picture_of(1))
    assert episode["observation.pair.1"].values.tolist() == [[2.5], [2.5]]


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94\x8c\x06system\x94\x93\x94.",  # a pickle
        b"not JSON",
        b'"a text"',
        b"[]",
        b"[[1], [2, 3]]",
        b"[1e400, 9007199254740993, 0.5]",
        b"[" * 5000,
        blob({"a b": 1}),
        blob({"__type__": "ndarray", "dtype": "object", "shape": [1], "encoding": "base64", "data": "AAAAAAAAAAA="}),
        blob({"__type__": "ndarray", "dtype": "uint8", "shape": [1 << 40], "encoding": "base64", "data": "AAAA"}),
        blob({"__type__": "ndarray", "dtype": "uint8", "shape": [-1, -3], "encoding": "base64", "data": "AAAA"}),
        blob({"__type__": "ndarray", "dtype": "uint8", "shape": [3], "encoding": "base64", "data": "A*AA"}),
        blob({"__type__": "ndarray", "dtype": "uint8"}),
        "a text in a BLOB column",
        12,
    ],
)
def test_what_is_no_array_is_kept_as_it_is_and_never_run(
    content: object, database: MosaicDatabase, store: playhead.Store
) -> None:
    database.step("run_a-ep0000", 0, render_payload=content)
    database.step("run_a-ep0000", 1, observation=blob([1, 2]))
    report = mosaic.migrate(database.close(), store)
    assert (report.arrays, report.kept, report.is_complete) == (1, 1, True)
    kept = rows_of(store, "run_a")
    assert kept[0]["render_payload"] == content


def test_an_odd_step_of_an_episode_keeps_its_blob(database: MosaicDatabase, store: playhead.Store) -> None:
    for index, value in enumerate([[1, 2], [1, 2, 3], [3, 4]]):
        database.step("run_a-ep0000", index, observation=blob(value))
    report = mosaic.migrate(database.close(), store)
    assert (report.arrays, report.kept) == (2, 1)
    assert [row["observation"] for row in rows_of(store, "run_a")] == [None, b"[1,2,3]", None]
    assert store.runs["run_a"].episodes[0]["observation"].values.tolist() == [[1, 2], [3, 4]]


def test_of_a_step_that_is_there_twice_the_first_counts_and_both_are_kept(
    database: MosaicDatabase, store: playhead.Store
) -> None:
    database.step("run_a-ep0000", 0, observation=blob([1]))
    database.step("run_a-ep0000", 0, observation=blob([2]))
    mosaic.migrate(database.close(), store)
    assert store.runs["run_a"].episodes[0]["observation"].values.tolist() == [[1]]
    assert [row["observation"] for row in rows_of(store, "run_a")] == [None, b"[2]"]


def test_agents_of_an_episode_stay_apart(database: MosaicDatabase, store: playhead.Store) -> None:
    for index in range(4):
        database.step("run_a-ep0000", index, agent_id=("red", "blue")[index % 2], observation=blob([index, 0]))
    mosaic.migrate(database.close(), store)
    episode = store.runs["run_a"].episodes[0]
    assert episode["blue.observation"].values.tolist() == [[1, 0], [3, 0]]


def test_a_ref_without_its_file_is_told_of(database: MosaicDatabase, store: playhead.Store) -> None:
    database.step("run_a-ep0000", 0, frame_ref="h5://run_a/frames/0")
    report = mosaic.migrate(database.close(), store)
    assert (report.dangling, report.imported) == (1, 1)
    assert "1 step with a ref to a replay file that is not there." in str(report)
    assert store.runs["run_a"].episodes[0]["reward"].values.tolist() == [0]


def filed(database: MosaicDatabase, episodes: dict[str, list[int]]) -> None:
    """Write a replay file of ten steps, and a database that says which of them belong to which episode."""
    folder = database.path.parent / "replay"
    folder.mkdir()
    replay_file(folder / "run_a.h5", 10)
    for episode, places in episodes.items():
        for index, place in enumerate(places):
            is_last = index == len(places) - 1
            database.step(episode, index, frame_ref=f"h5://run_a/frames/{place}", truncated=int(is_last), game_id="G-1")


def test_a_replay_file_that_leads_to_another_is_not_adopted(database: MosaicDatabase, store: playhead.Store) -> None:
    """Was a bug: the page then showed whatever file a stranger had named."""
    filed(database, {})
    folder = database.path.parent / "replay"
    (folder.parent / "key.txt").write_bytes(b"top secret" * 4)
    with h5py.File(folder / "run_b.h5", "w") as file:
        file["rewards"] = np.zeros(4)
        file.create_dataset("frames", (4, 10), np.uint8, external=[(str(folder.parent / "key.txt"), 0, 40)])
    report = mosaic.migrate(database.close(), store)
    assert report.files == 1
    assert "run_b.h5" in str(report)
    assert "frames in the file itself" in str(report)
    assert not (store.path / "replay" / "run_b.h5").exists()


def test_a_replay_file_has_the_episodes_of_the_database(database: MosaicDatabase, store: playhead.Store) -> None:
    filed(database, {"run_a-ep0000": [0, 1, 2], "run_a-ep0001": [3, 4, 5, 6], "run_a-ep0002": [7, 8]})
    mosaic.migrate(database.close(), store)
    episodes = store.runs["run_a"].episodes
    assert [one.length for one in episodes] == [3, 4, 2, 1]
    assert [one.how for one in episodes] == ["truncated", "truncated", "truncated", "closed"]
    names = [one.static.get("episode_id") for one in episodes]
    assert names == ["run_a-ep0000", "run_a-ep0001", "run_a-ep0002", None]
    assert episodes[1].static["game_id"] == "G-1"
    assert episodes[1]["reward"].values.tolist() == [1.5, 2.0, 2.5, 3.0]
    assert np.array_equal(episodes[1]["frame"].values, [picture_of(place) for place in range(3, 7)])
    assert np.array_equal(store.resolve("h5://run_a/frames/5"), picture_of(5))
    found = store.sql("SELECT episode_id, step_index, frame_ref FROM steps WHERE run_id = 'run_a' ORDER BY frame_ref")
    assert [(row["step_index"], row["frame_ref"]) for row in found.to_pylist()][3:5] == [
        (0, "h5://run_a/frames/3"),
        (1, "h5://run_a/frames/4"),
    ]
    with playhead.ReplayReader(store.path / "replay" / "run_a.h5") as reader:
        assert (reader.num_episodes, reader.get_episode(1)["start_step"]) == (4, 3)
    before = [one.length for one in episodes]
    store.close()
    playhead.rebuild(store.path)
    with playhead.open(store.path) as again:
        assert [one.length for one in again.runs["run_a"].episodes] == before


def test_episodes_that_lie_mixed_in_a_file_stay_as_the_file_has_them(
    database: MosaicDatabase, store: playhead.Store
) -> None:
    filed(
        database, {"run_a-ep0000": [0, 2, 4], "run_a-ep0001": [1, 3, 5], "run_a-ep0002": [6, 7], "run_a-ep0003": [9, 8]}
    )
    report = mosaic.migrate(database.close(), store)
    assert report.is_complete
    assert [one.length for one in store.runs["run_a"].episodes] == [6, 2, 2]
    assert store.runs["run_a"].episodes[1].static["episode_id"] == "run_a-ep0002"


def test_purging_a_run_leaves_nothing_of_its_file(database: MosaicDatabase, store: playhead.Store) -> None:
    filed(database, {"run_a-ep0000": [0, 1, 2]})
    mosaic.migrate(database.close(), store)
    assert (store.path / "replay" / "run_a" / "episodes.json").exists()
    store.runs["run_a"].delete()
    store.runs.deleted["run_a"].purge()
    assert not list((store.path / "replay").glob("run_a*"))


def test_steps_in_a_replay_file_are_not_doubled(database: MosaicDatabase, store: playhead.Store) -> None:
    folder = database.path.parent / "replay"
    folder.mkdir()
    replay_file(folder / "run_a.h5", 4)
    for index in range(4):
        database.step("run_a-ep0000", index, frame_ref=f"h5://run_a/frames/{index}")
    database.episode("run_a-ep0001", 2)
    report = mosaic.migrate(database.close(), store)
    assert (report.files, report.dangling) == (1, 0)
    assert [episode.length for episode in store.runs["run_a"].episodes] == [4, 2]
    assert np.array_equal(store.resolve("h5://run_a/frames/3"), picture_of(3))
    assert np.array_equal(store.resolve("h5://run_a.1/frames/1"), picture_of(1))


def test_a_run_without_an_id_goes_by_those_of_its_episodes(database: MosaicDatabase, store: playhead.Store) -> None:
    database.step("run_a-ep0000", 0, run_id=None)
    database.step("alone", 0, run_id=None)
    mosaic.migrate(database.close(), store)
    assert sorted(run.id for run in store.runs) == ["run_a", "telemetry"]


def test_names_and_files_that_cannot_be_are_refused(database: MosaicDatabase, store: playhead.Store) -> None:
    database.step("x-ep0000", 0, run_id="../../evil")
    database.step("run_a-ep0000", 0)
    (database.path.parent / "replay").mkdir()
    (database.path.parent / "replay" / "broken.h5").write_bytes(b"no HDF5")
    (database.path.parent / "replay" / "link.h5").symlink_to("/etc/passwd")
    report = mosaic.migrate(database.close(), store)
    assert sorted(finding.run for finding in report.refused) == ["../../evil", "broken.h5"]
    assert [run.id for run in store.runs] == ["run_a"]
    assert not report.is_complete


def test_a_second_time_skips_and_says_what_changed(database: MosaicDatabase, store: playhead.Store) -> None:
    database.episode("run_a-ep0000", 2)
    first = mosaic.migrate(database.path, store)
    second = mosaic.migrate(database.path, store)
    database.step("run_a-ep0001", 0)
    third = mosaic.migrate(database.close(), store)
    assert [(report.imported, report.present) for report in (first, second, third)] == [(1, 0), (0, 1), (0, 1)]
    assert (second.is_complete, third.is_complete) == (True, False)
    assert "has changed since it was imported" in third.differing[0].reason


def test_a_step_beyond_all_times_is_named_and_the_other_runs_are_taken_over(
    database: MosaicDatabase, store: playhead.Store
) -> None:
    database.episode("run_a-ep0000", 2)
    database.step("run_a-ep0000", 2, timestamp="9999-12-31T00:00:00", observation=blob([1, 2, 3]))
    database.episode("run_b-ep0000", 3)
    database.episode("run_c-ep0000", 2)
    path = database.close()
    surveyed = mosaic.survey(path, store)
    report = mosaic.migrate(path, store)
    for found in (surveyed, report):
        assert (found.imported, found.is_complete) == (2, False)
        (refused,) = found.refused
        assert refused.run == "run_a"
        assert "step 2 of run_a-ep0000" in refused.reason
        assert "9999-12-31" in refused.reason
    assert sorted(run.id for run in store.runs) == ["run_b", "run_c"]


def test_times_that_run_over_their_end_are_named(database: MosaicDatabase, store: playhead.Store) -> None:
    for index in range(2000):  # the last moment there is, again and again: each step is a nanosecond later
        database.step("run_a-ep0000", index, timestamp="2262-04-11T23:47:16.854775", observation=blob([1, 2, 3]))
    database.episode("run_b-ep0000", 3)
    report = mosaic.migrate(database.close(), store)
    (refused,) = report.refused
    assert "step 808 of run_a-ep0000" in refused.reason
    assert [run.id for run in store.runs] == ["run_b"]


def test_an_episode_noted_beyond_all_times_is_taken_over(database: MosaicDatabase, store: playhead.Store) -> None:
    database.episode("run_a-ep0000", 2)
    database.connection.execute("UPDATE episodes SET timestamp = '9999-12-31T00:00:00'")
    database.insert("run_status", {"run_id": "run_a", "status": "deleted", "deleted_at": "9999-12-31T00:00:00"})
    report = mosaic.migrate(database.close(), store)
    assert (report.imported, report.refused) == (1, [])
    assert store.runs.deleted["run_a"]["episode/return"].values.tolist() == [1.5]


def test_a_survey_writes_nothing(database: MosaicDatabase, tmp_path: Path) -> None:
    database.episode("run_a-ep0000", 2)
    report = mosaic.survey(database.close())
    assert (report.imported, report.steps, report.arrays) == (1, 2, 4)
    assert "Would import 1 of 1 run" in str(report)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source"]


def test_what_is_no_database_of_mosaic_is_refused(tmp_path: Path, store: playhead.Store) -> None:
    with pytest.raises(NotFound, match=r"telemetry\.sqlite"):
        mosaic.migrate(tmp_path / "nothing.sqlite", store)
    (tmp_path / "text.sqlite").write_text("a text, and no database at all" * 100)
    with pytest.raises(Damaged, match="database of MOSAIC"):
        mosaic.migrate(tmp_path / "text.sqlite", store)
    with sqlite3.connect(tmp_path / "other.sqlite") as other:
        other.execute("CREATE VIEW steps AS SELECT 'x' AS episode_id, 0 AS step_index")
    with pytest.raises(Damaged, match="table `steps`"):
        mosaic.migrate(tmp_path / "other.sqlite", store)
    with pytest.raises(NotFound, match="no folder"):
        mosaic.migrate(tmp_path / "other.sqlite", store, replay_dir=tmp_path / "nowhere")
    assert len(store.runs) == 0


class TestCompacting:
    def test_the_arrays_go_and_all_else_stays(self, database: MosaicDatabase, store: playhead.Store) -> None:
        for number in range(20):
            database.episode(f"run_a-ep{number:04}", 20)
        before = database.everything(*DROPPED)
        report = mosaic.migrate(database.close(), store, compact=True)
        assert report.bytes_after < report.bytes_before
        with sqlite3.connect(database.path) as connection:
            assert everything(connection, *DROPPED) == before
            names = [row[1] for row in connection.execute("PRAGMA table_info(steps)")]
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            (ref,) = connection.execute("SELECT frame_ref FROM steps WHERE step_index = 7 LIMIT 1").fetchone()
        assert set(names).isdisjoint(("observation", "render_payload"))
        assert np.array_equal(store.resolve(ref), picture_of(7))
        again = mosaic.migrate(database.path, store, compact=True)
        assert (again.present, again.is_complete) == (1, True)

    def test_nothing_goes_where_the_store_has_not_all(self, database: MosaicDatabase, store: playhead.Store) -> None:
        database.episode("run_a-ep0000", 2)
        database.step("x-ep0000", 0, run_id="../evil", observation=blob([1]))
        before = database.everything()
        with pytest.raises(WrongType, match=r"is as it was.*1 episodes of runs that were refused"):
            mosaic.migrate(database.path, store, compact=True)
        assert database.everything() == before

    def test_nothing_goes_where_a_value_in_the_store_is_another(
        self, database: MosaicDatabase, store: playhead.Store
    ) -> None:
        database.episode("run_a-ep0000", 2)
        mosaic.migrate(database.path, store)
        database.connection.execute("UPDATE steps SET observation = ? WHERE step_index = 1", (blob([1, 2]),))
        before = database.everything()
        with pytest.raises(WrongType, match="run_a: observations, observation of step 1 of run_a-ep0000, has other"):
            mosaic.migrate(database.path, store, compact=True)
        assert database.everything() == before

    def test_nothing_goes_where_the_copy_of_a_file_was_damaged(
        self, database: MosaicDatabase, store: playhead.Store
    ) -> None:
        database.episode("run_a-ep0000", 2)
        mosaic.migrate(database.path, store)
        file = store.path / "replay" / "run_a.h5"
        data = bytearray(file.read_bytes())
        place = data.find(b"observations")
        assert place > 0
        data[len(data) // 2 :] = bytes(len(data) - len(data) // 2)
        file.write_bytes(data)
        before = database.everything()
        with pytest.raises(WrongType, match="is as it was"):
            mosaic.migrate(database.path, store, compact=True)
        assert database.everything() == before

    def test_while_mosaic_writes_it_is_told_to_be_closed(self, database: MosaicDatabase, store: playhead.Store) -> None:
        database.episode("run_a-ep0000", 2)
        database.connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLocked, match="close MOSAIC"):
            mosaic.migrate(database.path, store, compact=True)
        database.connection.execute("ROLLBACK")
        assert mosaic.migrate(database.path, store, compact=True).bytes_after is not None
