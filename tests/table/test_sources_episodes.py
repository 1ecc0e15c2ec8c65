"""Tables of episodes: the steps of agents, and signals of robots at the times that are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import playhead
from playhead.errors import BadKey, Empty, NotFound, ReadOnly, WrongType
from playhead.table import Table
from playhead.table.building import append, build
from playhead.wording import counted
from tests.test_replays import FRAMES, play, record

MS = 1_000_000


def teleop(store: playhead.Store, name: str = "teleop", episodes: int = 3, **meta: Any) -> None:
    """Record episodes whose values tell when they are of: `joint` at 100 Hz, `force` at 40 Hz from 50 ms on."""
    for number in range(episodes):
        with store.dataset(name).new_episode(uid=f"uid{number}", **meta) as episode:
            for tick in range(100):
                episode.append("joint", np.array([number, tick], np.float32), tick * 10 * MS)
            for tick in range(38):
                episode.append("force", float(tick), 50 * MS + tick * 25 * MS)
            episode.append("task", "pick", 0)
            for tick in range(3):
                episode.append("map", np.full((64, 64), tick, np.float64), tick * 300 * MS)


def test_the_steps_of_agents(store: playhead.Store, tmp_path: Path) -> None:
    record(store, lengths=(10, 20, 5))
    table = build(store.runs("p"), tmp_path / "table")
    assert [*table.columns][-5:] == ["reward", "terminated", "truncated", "run_id", "step_index"]
    assert {*table.columns} > {"observation", "action", "frame"}
    assert np.array_equal(table["frame"][[3, 11]], FRAMES[[2, 11]])  # what was seen last, where a step has none
    assert np.array_equal(table["observation"][:, 0], np.arange(35))
    assert np.array_equal(table["action"], np.arange(35) % 5)
    assert np.array_equal(table["reward"], np.arange(35) / 4)
    assert np.flatnonzero(table["terminated"]).tolist() == [9, 29, 34]
    assert np.array_equal(table["step_index"], [*range(10), *range(20), *range(5)])
    assert np.array_equal(table["run_id"], np.repeat([0, 1, 2], [10, 20, 5]))
    runs = list(table.runs)
    assert [run["episode_id"] for run in runs] == ["run_a-ep0000", "run_a-ep0001", "run_a-ep0002"]
    assert {run["run_id"] for run in runs} == {"run_a"}
    assert runs[0]["return"] == sum(np.arange(10) / 4)
    assert len(table.filter('return > 20 and run_id = "run_a"')) == 25


def test_what_is_seen_next(store: playhead.Store, tmp_path: Path) -> None:
    record(store, lengths=(10, 20))
    with store.run("p", "n", run_id="run_b", environment=False) as run:
        play(run.new_reel(), 4, end=None)
    table = build(store, tmp_path / "table", columns=["observation", "next.observation", "action"])
    after = table["next.observation"][:, 0]
    assert np.array_equal(after[:9], np.arange(1, 10))
    assert after[9] == 0  # what was recorded as the last one: minus the first row
    assert after[29] == -10
    assert [run["num_steps"] for run in table.runs] == [10, 20, 3]  # nobody knows what came after the last of these
    assert np.array_equal(after[30:], [1, 2, 3])


@pytest.mark.parametrize("more", [[], ["frame"]], ids=["steps", "thinned"])
def test_a_function_sees_what_is_next_as_a_name_does(store: playhead.Store, tmp_path: Path, more: list[str]) -> None:
    """Was a bug: the last row was zero for functions, and left out beside signals that not every step has."""
    record(store, lengths=(10, 20))
    with store.run("p", "n", run_id="run_b", environment=False) as run:
        play(run.new_reel(), 4, end=None)
    with store.run("p", "n", run_id="run_c", environment=False) as run:
        reel = run.new_reel()
        reel.begin()
        for place in range(3):
            reel.step({"observations": np.full(4, place, np.float32)}, 0.0, place == 2, False)
        reel.end("terminated")
    columns = {name: name for name in ["observation", "next.observation", *more]}
    runs = store.runs("p") if not more else [store.runs["run_a"], store.runs["run_b"]]
    named = build(runs, tmp_path / "named", columns=columns)
    made = {"made": lambda at: at["next.observation"], "times": lambda at: at.times}
    table = build(runs, tmp_path / "made", columns=made | columns)
    alone = build(runs, tmp_path / "alone", columns=made, at="observation")
    assert np.array_equal(named["next.observation"], table["made"])
    assert np.array_equal(named["next.observation"], alone["made"])
    by_run = {run["run_id"]: run["num_steps"] for run in named.runs}
    assert by_run == {"run_a": 20, "run_b": 3} | ({} if more else {"run_c": 3})
    assert named["next.observation"][[9, 29], 0].tolist() == [0, -10]
    if not more:  # it terminated, and nobody said what was seen then
        assert named.filter('run_id = "run_c"')["next.observation"][:, 0].tolist() == [1, 2, 0]


def test_what_a_robot_does_after_its_last_sample_is_not_known(store: playhead.Store, tmp_path: Path) -> None:
    teleop(store)
    columns = {"delta": lambda at: at["next.joint"] - at["joint"]}
    table = build(store.dataset("teleop"), tmp_path / "table", at="joint", columns=columns)
    assert [run["num_steps"] for run in table.runs] == [99] * 3
    assert (table["delta"] == [0, 1]).all()
    later = {"odd": lambda at: at["next.joint" if len(at.times) > 1 else "joint"]}
    with pytest.raises(WrongType, match=r"what next\.joint is in the last row is not known"):
        build(store.dataset("teleop"), tmp_path / "odd", at="joint", columns=later)
    with store.dataset("short").new_episode() as episode:
        episode.append("joint", 1.0, 0)
    with pytest.raises(Empty):
        build(store.dataset("short"), tmp_path / "short", at="joint", columns=columns)


@pytest.mark.parametrize("what", ["store", "runs", "run", "episodes", "one", "where"])
def test_what_a_store_has_is_a_source(store: playhead.Store, tmp_path: Path, what: str) -> None:
    record(store, "run_a", (10, 20))
    record(store, "run_b", (5,))
    run = store.runs["run_a"]
    source, expected = {
        "store": (store, 35),
        "runs": (store.runs("p"), 35),
        "run": (run, 30),
        "episodes": (list(run.episodes), 30),
        "one": (store.episode("run_a-ep0001"), 20),
        "where": (store, 5),
    }[what]
    options: dict[str, Any] = {"where": "id = 'run_b'"} if what == "where" else {}
    table = build(source, tmp_path / "table", columns=["action"], **options)
    assert len(table) == expected


def test_where_on_episodes(store: playhead.Store, tmp_path: Path) -> None:
    record(store, lengths=(10, 20, 5))
    table = build(list(store.runs[0].episodes), tmp_path / "table", where="num_steps < 20 and return > 20")
    assert [run["num_steps"] for run in table.runs] == [5]
    assert table["observation"][0, 0] == 30


def test_rows_at_the_samples_of_a_signal(store: playhead.Store, tmp_path: Path) -> None:
    teleop(store)
    table = build(store.dataset("teleop"), tmp_path / "table", at="force")
    assert list(table.columns) == ["force", "joint", "run_id", "step_index"]
    assert set(table.built["left_out"]) == {"task", "map"}
    assert "32,768 bytes" in table.built["left_out"]["map"]
    assert len(table) == 3 * 38
    assert np.array_equal(table["force"][:38], np.arange(38))
    times = 50 + np.arange(38) * 25
    assert np.array_equal(table["joint"][38:76], np.column_stack([np.full(38, 1), np.minimum(times // 10, 99)]))
    assert [run["episode_id"] for run in table.runs] == ["uid0", "uid1", "uid2"]
    assert table.runs[0]["return"] is None


def test_rows_at_a_rate(store: playhead.Store, tmp_path: Path) -> None:
    teleop(store)
    table = build(store.dataset("teleop"), tmp_path / "table", rate=20, columns={"j": "joint", "f": "force"})
    first = table.filter(runs=[0])
    times = 50 + np.arange(len(first)) * 50  # every signal has begun, and one goes on
    assert len(first) == 19
    assert np.array_equal(first["j"][:, 1], np.minimum(times // 10, 99))
    assert np.array_equal(first["f"], np.minimum((times - 50) // 25, 37))
    assert build(store.dataset("teleop"), tmp_path / "map", rate=5, columns=["map"])["map"].shape == (12, 64, 64)


def test_functions_see_the_signals(store: playhead.Store, tmp_path: Path) -> None:
    teleop(store)
    columns = {"sum": lambda at: at["joint"].sum(axis=1) + at["force"].astype(np.float32), "next.joint": "next.joint"}
    table = build(store.dataset("teleop"), tmp_path / "table", at="joint", columns=columns)
    first = table.filter(runs=[0])
    ticks = np.arange(5, 99)  # where force has begun; what comes after the last is not known
    assert np.array_equal(first["sum"], ticks + (ticks * 10 - 50) // 25)
    assert np.array_equal(first["next.joint"][:, 1], ticks + 1)


def test_times_of_their_own_have_to_be_chosen(store: playhead.Store, tmp_path: Path) -> None:
    teleop(store)
    data = store.dataset("teleop")
    with pytest.raises(WrongType, match="rate=20"):
        build(data, tmp_path / "table")
    assert len(build(data, tmp_path / "joint", columns=["joint"])) == 300
    with pytest.raises(WrongType, match="not both"):
        build(data, tmp_path / "table", at="force", rate=20)
    with pytest.raises(BadKey, match="rate"):
        build(data, tmp_path / "table", rate=0)
    with pytest.raises(NotFound, match="no signal 'camera'"):
        build(data, tmp_path / "table", at="camera")
    with pytest.raises(NotFound, match="no signal 'camera'"):
        build(data, tmp_path / "table", columns=["camera"], rate=5)
    with pytest.raises(WrongType, match="numbers"):
        build(data, tmp_path / "table", columns=["task"])
    with pytest.raises(WrongType, match="another name"):
        build(data, tmp_path / "table", columns={"run_id": "joint"})
    with pytest.raises(Empty):
        build(store.dataset("nothing"), tmp_path / "table")


def test_an_episode_that_differs_is_refused_or_skipped(store: playhead.Store, tmp_path: Path) -> None:
    teleop(store, episodes=2)
    with store.dataset("teleop").new_episode(uid="odd") as episode:
        episode.append("joint", np.zeros(3, np.float32), 0)
    with store.dataset("teleop").new_episode(uid="none") as episode:
        episode.append("force", 1.0, 0)
    data = store.dataset("teleop")
    with pytest.raises(WrongType, match=r"odd: joint is float32\[2\] in this table, and float32\[3\] here"):
        build(data, tmp_path / "table", columns=["joint"])
    table = build(data, tmp_path / "table", columns=["joint"], errors="skip")
    assert [one["source"] for one in table.built["skipped"]] == ["odd", "none"]
    assert len(table) == 200


@pytest.fixture
def both(store: playhead.Store) -> playhead.Store:
    """A store with a run that played and recorded, one that only recorded, and episodes of no run."""
    record(store, "run_a", (10, 20))
    with store.run("p", "n", run_id="run_a", resume=True, environment=False) as run:
        recorded_beside(run)
    with store.run("q", "n", run_id="run_b", environment=False) as run:
        recorded_beside(run)
    teleop(store, "other", 1)
    return store


def recorded_beside(run: playhead.RunWriter) -> None:
    with run.new_episode("teleop") as episode:
        for tick in range(7):
            episode.append("joint", np.array([9, tick], np.float32), tick * MS)


@pytest.mark.parametrize("what", ["runs", "run", "episodes", "list", "store"])
def test_of_runs_that_played_and_recorded_one_kind_makes_a_table(
    both: playhead.Store, tmp_path: Path, what: str
) -> None:
    source: Any = {
        "runs": both.runs("p"),
        "run": both.runs["run_a"],
        "episodes": both.runs["run_a"].episodes,
        "list": [both.runs["run_a"], both.runs["run_b"]],
        "store": both,
    }[what]
    others = {"runs": 1, "run": 1, "episodes": 1, "list": 2, "store": 3}[what]
    table = build(source, tmp_path / "table", columns=["action"])
    assert [run["num_steps"] for run in table.runs] == [10, 20]
    assert (table.built["episodes"], table.built["left_out_episodes"]) == ("played", {"recorded": others})
    assert f"without {counted(others, 'recorded episode')}>" in repr(table)
    assert f"{counted(others, 'recorded episode')}" in table._repr_html_()
    chosen = build(source, tmp_path / "chosen", columns=["joint"], at="joint", episodes="recorded")
    assert len(chosen) == {"runs": 7, "run": 7, "episodes": 7, "list": 14, "store": 114}[what]
    assert chosen.built["left_out_episodes"] == {"played": 2}
    with pytest.raises(NotFound, match=r"no signal 'joint'.*episodes='recorded' chooses the others"):
        build(source, tmp_path / "none", columns=["joint"])


def test_the_example_of_the_readme_builds_a_table(both: playhead.Store) -> None:
    table = both.tables.build("pong", both.runs("p"))
    assert len(table) == 30
    assert {*table.columns} > {"observation", "action", "reward"}


def test_a_run_that_only_recorded_has_nothing_to_choose(both: playhead.Store, tmp_path: Path) -> None:
    table = build(both.runs("q"), tmp_path / "table")
    assert len(table) == 7
    assert "left_out_episodes" not in table.built
    with pytest.raises(Empty, match="no played episodes to build of; others: 1"):
        build(both.runs("q"), tmp_path / "none", episodes="played")
    with pytest.raises(Empty):
        build(both.dataset("teleop"), tmp_path / "none", episodes="played")
    with pytest.raises(WrongType, match="'played' or 'recorded', not 'all'"):
        build(both.runs("q"), tmp_path / "none", episodes="all")


def test_datasets_that_are_named_beside_runs_stay(store: playhead.Store, tmp_path: Path) -> None:
    record(store, "run_a", (10,))
    with store.dataset("copied").new_episode() as episode:
        episode.append("action", 3, 1)
    table = build([store.runs("p"), store.dataset("copied")], tmp_path / "table", columns=["reward"], errors="skip")
    assert (len(table), table.built["skipped_count"]) == (10, 1)


def test_rows_are_appended_of_the_kind_that_was_chosen(both: playhead.Store, tmp_path: Path) -> None:
    build(both.runs("p"), tmp_path / "table", columns=["joint"], episodes="recorded")
    grown = append(tmp_path / "table", both.runs("p"))
    assert len(grown) == 14
    assert grown.built["appended"][-1]["left_out_episodes"] == {"played": 2}


def test_signals_that_only_some_episodes_have_are_named(store: playhead.Store, tmp_path: Path) -> None:
    for number in range(3):
        with store.dataset("d").new_episode() as episode:
            episode.append("x", float(number), 1)
            episode.append("text", "a", 1)
            if number == 1:
                episode.append("seldom", 1.0, 1)
    table = build(store.dataset("d"), tmp_path / "table")
    assert {*table.columns} == {"x", "run_id", "step_index"}
    assert {name: why[:9] for name, why in table.built["left_out"].items()} == {
        "text": "its value",
        "seldom": "not every",
    }
    assert repr(table).endswith("without text, seldom>")
    assert "seldom" in (tmp_path / "table/manifest.json").read_text()
    assert "left_out" not in build(store.dataset("d"), tmp_path / "asked", columns=["x"]).built


def test_dropped_episodes_stay_out(store: playhead.Store, tmp_path: Path) -> None:
    with store.run("p", "n", run_id="run_a", environment=False):
        pass
    teleop(store, run_id="run_a")
    store.dataset("teleop").drop("uid1")
    for number, source in enumerate((store, store.runs, store.dataset("teleop"))):
        table = build(source, tmp_path / str(number), columns=["joint"])
        assert [run["episode_id"] for run in table.runs] == ["uid0", "uid2"]
        if number < 2:
            assert table.runs[0]["run_id"] == "run_a"


def test_other_processes_read_the_same(store: playhead.Store, tmp_path: Path) -> None:
    record(store, lengths=(10, 20, 5))
    teleop(store)
    for name, source, options in (("replay", store.runs, {}), ("robot", store.dataset("teleop"), {"rate": 30})):
        build(source, tmp_path / f"{name}1", **options)
        build(source, tmp_path / f"{name}2", workers=2, **options)
        assert (tmp_path / f"{name}1/steps.npy").read_bytes() == (tmp_path / f"{name}2/steps.npy").read_bytes()


def test_append_reads_as_the_table_was_built(store: playhead.Store, tmp_path: Path) -> None:
    teleop(store)
    teleop(store, "more", 1)
    build(store.dataset("teleop"), tmp_path / "table", rate=20, columns={"j": "joint"})
    table = append(tmp_path / "table", store.dataset("more"))
    assert [run["num_steps"] for run in table.runs] == [20] * 4
    with pytest.raises(WrongType, match="j is missing"):
        append(tmp_path / "table", store.dataset("more"), columns=["joint"])


def test_the_tables_of_a_store(store: playhead.Store) -> None:
    record(store)
    assert "none yet" in repr(store.tables)
    assert list(store.tables) == []
    made = store.tables.build("played by dqn", store.runs("p"), columns=["action"])
    assert list(store.tables) == ["played by dqn"]
    assert "played by dqn" in store.tables
    assert "other" not in store.tables
    assert len(store.tables["played by dqn"]) == len(made) == 35
    assert len(store.tables.open("played by dqn", mmap=True)) == 35
    assert "played by dqn" in repr(store.tables)
    assert made.path == store.tables.path("played by dqn")
    with pytest.raises(NotFound, match="played by dqn"):
        store.tables["other"]
    with playhead.open(store.path, mode="r") as reading:
        assert len(reading.tables["played by dqn"]) == 35
        with pytest.raises(ReadOnly):
            reading.tables.build("x", reading.runs)
    assert playhead.Table is Table
