"""Every store that was ever written opens, and a migration happens whole or not at all."""

from __future__ import annotations

import math
import shutil
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect, text

import playhead
from playhead.catalog import migrations, schema
from playhead.catalog.database import Database
from tests.dump import assert_catalogue_agrees_with_folders

GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.fixture(params=sorted(path.name for path in GOLDEN.glob("store-*")))
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copytree(GOLDEN / request.param, tmp_path / "store"))


def golden_has_episodes(golden: Path) -> bool:
    return (golden / "episodes").exists()


def test_the_episodes_of_every_version_open(golden: Path) -> None:
    if not golden_has_episodes(golden):
        pytest.skip("a version before episodes")
    with playhead.open(golden) as store:
        episode = store.dataset("robot").by_uid("golden-episode")
        assert "golden-episode" in [found.uid for found in store.runs["golden"].episodes]
        assert episode["joint"].values[3].tolist() == [3, 4, 5]
        assert episode["label"].time[2500] == ("l2", 2001)
        assert [int(frame.min()) for frame in episode["cam"].values] == [20 * number for number in range(10)]
        assert store.resolve("ep://robot/golden-episode/cam/4").max() == 80


def test_the_replays_of_every_version_open(golden: Path) -> None:
    if not (golden / "replay").exists():
        pytest.skip("a version before replays")
    with playhead.open(golden) as store:
        played = [store.episode(f"golden-ep000{number}") for number in range(2)]
        for seed, episode in enumerate(played):
            stacks = episode["observation"].values
            expected = [[100 * seed + max(0, number - 1), 100 * seed + number] for number in range(20)]
            assert stacks.shape == (20, 2, 4, 4)
            assert stacks[:, :, 0, 0].tolist() == expected
            assert episode["frame"].values[:, 0, 0, 0].tolist() == list(range(0, 20, 2))
            assert episode["action"].values.tolist() == [number % 3 for number in range(20)]
            assert episode["reward"].values.tolist() == [number / 2 for number in range(20)]
            assert [info["lives"] for info in episode.infos] == list(range(20))
            assert episode.final["observation"][:, 0, 0].tolist() == [100 * seed + 19, 100 * seed + 20]
            assert (episode.static, episode.how) == ({"env_id": "Golden-v0", "seed": seed}, "terminated")
        assert store.resolve("h5://golden/frames/24").max() == 4
        assert store.step_of("h5://golden/frames/24")["episode_id"] == "golden-ep0001"
        assert store.sql("SELECT sum(reward) AS total FROM steps").to_pylist() == [{"total": 190.0}]
    assert_catalogue_agrees_with_folders(golden)


def test_a_store_of_every_version_opens(golden: Path) -> None:
    with playhead.open(golden) as store:
        run = store.runs["golden"]
        assert (run.project, run.name, run.config, run.tags, run.status) == (
            "p",
            "my/run",
            {"lr": 0.1},
            ["a", "b"],
            "finished",
        )
        values = run["loss"].values.tolist()
        assert (values[0], math.isnan(values[1]), values[2]) == (1.0, True, 0.25)
        assert (run.best, run.best_step) == (0.25, 3)
        assert "hello" in run.logs()
        assert run.media[0].path.exists()
        assert [run.id for run in store.runs.deleted] == ["gone"]
        with store.run("p", "my/run", run_id="golden", resume=True) as again:
            again.log({"loss": 0.125})
        assert again["loss"].steps.tolist() == [1, 2, 3, 4]
    assert_catalogue_agrees_with_folders(golden)


def test_a_store_of_every_version_is_read_without_a_change(golden: Path) -> None:
    before = {path: path.read_bytes() for path in golden.rglob("*") if path.is_file() and path.suffix != ".db-shm"}
    with playhead.open(golden, mode="r") as store:
        assert [run.id for run in store.runs] == ["golden"]
        has_episode = golden_has_episodes(golden)
        assert store.sql("SELECT count(*) AS n FROM episode_folders").to_pylist() == [{"n": int(has_episode)}]
    assert {path: path.read_bytes() for path in before} == before


def test_a_store_of_every_version_has_the_tables_of_a_new_one(golden: Path, tmp_path: Path) -> None:
    def shape(path: Path) -> list[tuple[str, str]]:
        with sqlite3.connect(path) as connection:
            rows = connection.execute(
                "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
            ).fetchall()
        connection.close()
        return rows

    playhead.open(golden).close()
    playhead.open(tmp_path / "new").close()
    assert shape(golden / "playhead.db") == shape(tmp_path / "new" / "playhead.db")


def add_colour(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE runs ADD COLUMN colour TEXT"))


def fail(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE runs ADD COLUMN half TEXT"))
    raise OSError("the disk went away")


def columns(database: Database) -> set[str]:
    with database.read() as connection:
        return {column["name"] for column in inspect(connection).get_columns("runs")}


def test_steps_are_applied_once_and_recorded(golden: Path) -> None:
    database = Database(golden / "playhead.db")
    with database.read() as connection:
        assert migrations.pending(connection, (*migrations.STEPS, add_colour))[-1] is add_colour
    with database.write() as connection:
        for step in migrations.pending(connection, (*migrations.STEPS, add_colour)):
            migrations.apply(connection, step)
    assert "colour" in columns(database)
    with database.read() as connection:
        assert add_colour not in migrations.pending(connection, (*migrations.STEPS, add_colour))
        with pytest.raises(playhead.StoreTooNew, match="add_colour"):
            migrations.pending(connection, migrations.STEPS)
    database.close()


def test_a_step_that_fails_leaves_the_database_as_it_was(golden: Path) -> None:
    database = Database(golden / "playhead.db")
    before = columns(database)
    with pytest.raises(OSError, match="went away"), database.write() as connection:
        migrations.apply(connection, fail)
    assert columns(database) == before
    with database.read() as connection:
        assert migrations.pending(connection, (*migrations.STEPS, fail))[-1] is fail
    database.close()


def test_a_new_database_needs_no_step(tmp_path: Path) -> None:
    database = Database(tmp_path / "new.db")
    with database.read() as connection:
        assert migrations.is_new(connection)
    with database.write() as connection:
        migrations.create(connection, (add_colour,))
    with database.read() as connection:
        assert not migrations.is_new(connection)
        assert migrations.pending(connection, (add_colour,)) == []
        application = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    assert application == []
    assert set(schema.metadata.tables) >= {"runs", "points", "migrations"}
    database.close()
