"""A query by ref gives what a look at every step gives, and looks at the steps of one episode."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import playhead
from playhead.catalog import refs_in_sql

Parameters = tuple[Any, ...] | dict[str, Any]
EPISODES, STEPS = 30, 40


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[playhead.Store]:
    with playhead.open(tmp_path_factory.mktemp("refs") / "store") as store:
        for run_id in ("run_a", "run_b"):
            with store.run("p", "n", run_id=run_id, environment=False) as run:
                reel = run.new_reel()
                for _ in range(EPISODES):
                    reel.begin()
                    for step in range(STEPS):
                        arrays: dict[str, Any] = {"observations": np.full(2, reel.row, np.float32), "actions": step % 5}
                        if step % 4 != 3:
                            arrays["frames"] = np.full((2, 2, 3), reel.row % 256, np.uint8)
                        reel.step(arrays, float(step), step == STEPS - 1, False)
                    reel.end("terminated")
        yield store


def looked_at(store: playhead.Store, sql: str, parameters: Parameters) -> tuple[list[Any], list[Any], int]:
    """Return the rows of a query, those without its being narrowed, and how much less work SQLite had."""
    work: list[int] = []
    rows: list[list[Any]] = []
    for is_narrowed in (True, False):
        connection = sqlite3.connect(store.path / "playhead.db")
        ticks = 0

        def tick() -> int:
            nonlocal ticks
            ticks += 1
            return 0

        connection.set_progress_handler(tick, 100)
        asked = refs_in_sql.narrowed(connection, sql) if is_narrowed else sql
        rows.append(connection.execute(asked, parameters).fetchall())
        work.append(ticks)
        connection.close()
    return rows[0], rows[1], work[1] // max(1, work[0])


@pytest.mark.parametrize(
    ("sql", "parameters", "count"),
    [
        ("SELECT * FROM steps WHERE frame_ref = 'h5://run_b/frames/401'", (), 1),
        ("SELECT * FROM steps WHERE frame_ref == ?", ("h5://run_b/frames/401",), 1),
        ("select row from steps where FRAME_REF=:ref;", {"ref": "h5://run_a/frames/0"}, 1),
        ("SELECT row FROM steps WHERE obs_ref = @ref", {"ref": "h5://run_a/observations/43"}, 1),
        ("SELECT s.row FROM steps AS s WHERE reward > ? AND s.frame_ref = ? LIMIT 9", (0, "h5://run_a/frames/1"), 1),
        ("SELECT row FROM steps s WHERE s.obs_ref IN (?, 'h5://run_b/observations/1199')", ("h5://run_a/observations/3",), 2),
        ("SELECT row FROM steps WHERE frame_ref = 'h5://run_a/frames/5' OR obs_ref = 'h5://run_a/observations/7'", (), 2),
        ("SELECT row FROM steps WHERE frame_ref = ?2 AND reward >= ?1", (1.5, "h5://run_a/frames/44"), 1),
        ("SELECT row, '?' AS \"frame_ref = ?\" FROM steps WHERE /* frame_ref = ? */ obs_ref = ?", ("h5://run_a/observations/9",), 1),
    ],
)  # fmt: skip
def test_a_query_by_ref_looks_at_one_episode(
    store: playhead.Store, sql: str, parameters: Parameters, count: int
) -> None:
    found, expected, saved = looked_at(store, sql, parameters)
    assert found == expected
    assert len(found) == count
    assert saved >= 10
    assert store.sql(sql, parameters).num_rows == count


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT row FROM steps WHERE frame_ref = 'h5://run_b/frames/3'",  # no frame was recorded there
        "SELECT row FROM steps WHERE frame_ref = 'h5://run_b/frames/9223372036854775808'",
        "SELECT row FROM steps WHERE frame_ref = 'h5://run_c/frames/1'",
        "SELECT row FROM steps WHERE frame_ref = 'h5://run_a/observations/1'",
        "SELECT row FROM steps WHERE obs_ref = 'no ref'",
        "SELECT row FROM steps WHERE obs_ref IN ()",
        "SELECT row FROM steps WHERE NOT (frame_ref = 'h5://run_a/frames/3')",
        "SELECT row FROM steps WHERE reward < 3 AND frame_ref = 'h5://run_a/frames/1' || '2'",
        "SELECT row FROM steps WHERE 1 = (reward < 3 AND frame_ref = 'h5://run_a/frames/1')",
        "SELECT row FROM steps WHERE reward BETWEEN 0 AND frame_ref = 'h5://run_a/frames/1'",
        "SELECT count(*) FROM steps WHERE (frame_ref = 'h5://run_a/frames/3') = 0",
        "SELECT frame_ref = 'h5://run_a/frames/1' AS same FROM steps WHERE row < 3 ORDER BY 1",
        "SELECT row FROM steps WHERE frame_ref = 'h5://run_a/frames/1' COLLATE NOCASE",
        "SELECT row FROM (SELECT row, 'x' AS episode_id, frame_ref FROM steps) WHERE frame_ref = 'h5://run_a/frames/1'",
        "WITH steps AS (SELECT 1 AS row, 'x' AS frame_ref) SELECT row FROM steps WHERE frame_ref = 'x'",
        "SELECT a.row FROM steps AS a JOIN steps AS b USING (row) WHERE a.frame_ref = 'h5://run_a/frames/1' AND b.row = 1",
        "SELECT row FROM steps WHERE frame_ref = 'h5://run_a/frames/1' UNION SELECT 5",
        "SELECT row FROM steps AS t WHERE t.frame_ref = 'h5://run_a/frames/1' GROUP BY t.row HAVING count(*) = 1",
        "EXPLAIN QUERY PLAN SELECT row FROM steps WHERE frame_ref = 'h5://run_a/frames/1'",
    ],
)
def test_any_other_query_gives_what_it_gave(store: playhead.Store, sql: str) -> None:
    found, expected, _ = looked_at(store, sql, ())
    assert found == expected


def test_parameters_are_those_that_sqlite_numbers(store: playhead.Store) -> None:
    sql = "SELECT ?, ?3, ?, row FROM steps WHERE obs_ref = ? AND row > ?"
    found, expected, saved = looked_at(store, sql, ("a", "b", "c", "d", "h5://run_a/observations/9", 3))
    assert found == expected == [("a", "c", "d", 9)]
    assert saved >= 10


def test_the_plan_of_a_query_by_ref_scans_nothing(store: playhead.Store) -> None:
    connection = sqlite3.connect(store.path / "playhead.db")
    asked = refs_in_sql.narrowed(connection, "SELECT row FROM steps WHERE frame_ref = 'h5://run_b/frames/401'")
    plan = [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {asked}")]
    assert not [line for line in plan if line.startswith("SCAN")], plan
    connection.close()
