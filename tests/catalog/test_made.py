"""A catalogue from a stranger: what Playhead does not make in one is refused by name before anything is read."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import playhead
from playhead.care import verify
from playhead.care.repairing import Repair
from playhead.catalog import glance, made
from playhead.catalog.database import Database, driver_rows
from playhead.errors import BadQuery, Damaged, StoreTooNew
from playhead.layout import Layout
from playhead.table import Table
from playhead.table.building import append

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"
GOLDEN = Path(__file__).parent.parent / "golden"

PLANTED = {
    "the trigger t on points": "CREATE TRIGGER t AFTER INSERT ON points BEGIN"
    " UPDATE points SET value = value + 1 WHERE series = NEW.series AND ts_ns = NEW.ts_ns; END",
    "the view runs": f"PRAGMA legacy_alter_table=ON; ALTER TABLE runs RENAME TO r; CREATE VIEW runs AS {ENDLESS} i AS key,"
    " i AS id, 'p' AS project, 'n' AS name, i AS created_at, NULL AS deleted_at FROM n",
    "the view migrations": f"DROP TABLE migrations; CREATE VIEW migrations AS {ENDLESS} 'ground' AS name FROM n",
    "the view metrics, which was made in another way": f"DROP VIEW metrics; CREATE VIEW metrics AS {ENDLESS} i FROM n",
    "the table json_each": "CREATE TABLE json_each (value)",
    "the table media, which was made in another way": "DROP TABLE media; CREATE TABLE media (run, part, ts_ns, step,"
    " kind, key, path, caption DEFAULT (printf('%900000000d', 1)))",
    "the index once on series": "CREATE UNIQUE INDEX once ON series (run)",
    "the index slow on points": "CREATE INDEX slow ON points (printf('%9999d', value))",
    "the index idx_runs_name on runs, which was made in another way": "DROP INDEX idx_runs_name;"
    " CREATE INDEX idx_runs_name ON runs (name) WHERE name > 'm'",
}


@contextlib.contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """End what never ends: a query in C hears no Ctrl-C, but the alarm kills."""
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with playhead.open(tmp_path / "store") as store, store.run("p", "n", run_id="a", environment=False) as run:
        for value in range(5):
            run.log({"loss": value})
    return tmp_path / "store"


def plant(path: Path, sql: str) -> None:
    with contextlib.closing(sqlite3.connect(path / "playhead.db")) as connection:
        connection.executescript(sql)


def values(path: Path, run_id: str) -> list[float]:
    with playhead.open(path) as store:
        return np.asarray(store.runs[run_id]["loss"].values).tolist()


@pytest.mark.parametrize("name", PLANTED)
def test_what_somebody_planted_is_refused_by_name_and_a_rebuild_puts_it_right(path: Path, name: str) -> None:
    plant(path, PLANTED[name])
    said = "migrations" if name == "the view migrations" else name
    with at_most(20):
        for mode in ("a", "r"):
            with pytest.raises(Damaged, match=rf"playhead.db is damaged: .*{said}.*Run: playhead rebuild --store"):
                playhead.open(path, mode=mode)
        for full in (False, True):
            assert any(said in str(finding) and finding.severity == "damage" for finding in verify(path, full=full))
        playhead.rebuild(path)
        assert list(verify(path, full=True)) == []
        with playhead.open(path) as store, store.run("p", "n", run_id="b", environment=False) as run:
            for value in range(5):
                run.log({"loss": value})
        assert values(path, "a") == values(path, "b") == [0, 1, 2, 3, 4]


def test_a_repair_puts_it_right_too(path: Path) -> None:
    plant(path, PLANTED["the view runs"])
    with at_most(20):
        assert list(Repair(Layout(path)).mend(verify(path, full=True)))
        assert values(path, "a") == [0, 1, 2, 3, 4]


def test_several_are_counted(path: Path) -> None:
    plant(path, f"{PLANTED['the trigger t on points']}; CREATE TABLE u (x)")
    with pytest.raises(Damaged, match="the trigger t on points and 1 other thing"):
        playhead.open(path)


def test_nothing_is_planted_in_a_store_that_playhead_made(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path / "playhead.db")) as connection:
        listed = connection.execute(made.LISTED).fetchall()
    assert made.digest(listed) == made.DIGEST, "say this digest in catalog/made.py: opening is quick by it"
    assert all(made.is_known(made.Made(*row)) for row in listed)  # also where it is not


def test_statistics_and_an_index_of_the_users_own_are_no_harm(path: Path) -> None:
    plant(path, 'CREATE INDEX mine ON runs (hostname, "platform" DESC); ANALYZE')
    assert values(path, "a") == [0, 1, 2, 3, 4]
    (finding,) = verify(path, full=True)
    assert (finding.severity, "the index mine on runs" in finding.found) == ("note", True)


def test_an_older_catalogue_with_a_trigger_is_not_brought_up_to_date(tmp_path: Path) -> None:
    path = Path(shutil.copytree(GOLDEN / "store-v3", tmp_path / "store"))
    plant(path, "CREATE TRIGGER t AFTER INSERT ON migrations BEGIN DELETE FROM runs; END")
    with pytest.raises(Damaged, match="the trigger t on migrations"):
        playhead.open(path)
    with contextlib.closing(sqlite3.connect(path / "playhead.db")) as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone()[0]


def test_a_later_catalogue_is_told_from_a_planted_one(path: Path) -> None:
    plant(path, "CREATE TABLE later (x); INSERT INTO migrations VALUES ('add_later', 0)")
    with pytest.raises(StoreTooNew, match="add_later"):
        playhead.open(path)


def test_columns_in_another_order_and_quotes_make_no_other_table() -> None:
    one = "CREATE TABLE t (\n\ta INTEGER, \n\t\"b\" TEXT DEFAULT 'a  b', \n\tPRIMARY KEY (a, b)\n) WITHOUT ROWID"
    assert made.normal(one) == made.normal(
        "CREATE TABLE t (a INTEGER,PRIMARY KEY (a, b), b text DEFAULT 'a  b') without rowid"
    )
    for other in (one.replace("a  b", "a b"), one.replace(" WITHOUT ROWID", ""), one.replace("(a, b)", "(b, a)")):
        assert made.normal(one) != made.normal(other)


@pytest.mark.parametrize(
    ("bare", "quoted"),
    [
        ("CREATE VIEW v AS SELECT x IS NULL", 'CREATE VIEW v AS SELECT x IS "NULL"'),
        ("CREATE VIEW v AS SELECT json(true)", 'CREATE VIEW v AS SELECT json("true")'),
        ("CREATE TABLE t (step INTEGER NOT NULL)", 'CREATE TABLE t (step INTEGER "NOT" "NULL")'),
        ("CREATE TABLE t (a INTEGER PRIMARY KEY)", 'CREATE TABLE t (a "INTEGER" PRIMARY KEY)'),
        ("CREATE VIEW v AS SELECT 'a'", "CREATE VIEW v AS SELECT a"),
        ("CREATE VIEW v AS SELECT k", "CREATE VIEW v AS SELECT \N{KELVIN SIGN}"),
    ],
)
def test_quotes_of_a_keyword_make_another_statement(bare: str, quoted: str) -> None:
    assert made.normal(bare) != made.normal(quoted)
    assert made.normal(bare) == made.normal(bare.lower())


@pytest.mark.parametrize(
    ("kind", "name", "old", "new"),
    [
        ("view", "metrics", "SELECT runs.id", 'SELECT runs.id IS "NULL", runs.id'),
        ("view", "steps", "s.shape IS NULL", 's.shape IS "NULL"'),
        ("table", "points", "step INTEGER NOT NULL", 'step INTEGER "NOT" "NULL"'),
        ("table", "runs", "id TEXT NOT NULL", 'id TEXT "NOT" "NULL"'),
    ],
)
def test_a_keyword_in_quotes_is_found(path: Path, kind: str, name: str, old: str, new: str) -> None:
    with contextlib.closing(sqlite3.connect(path / "playhead.db")) as connection:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = ?", (old, new, name))
        assert connection.execute("SELECT changes()").fetchone() == (1,)
        connection.commit()
    for mode in ("a", "r"):
        with pytest.raises(Damaged, match=f"the {kind} {name}, which was made in another way"):
            playhead.open(path, mode=mode)
    assert any(f"the {kind} {name}" in str(finding) for finding in verify(path))
    playhead.rebuild(path)
    assert list(verify(path, full=True)) == []


def test_a_shell_that_completes_a_word_does_not_wait_for_it(path: Path) -> None:
    plant(path, PLANTED["the view runs"])
    with at_most(20):
        assert glance.runs(path / "playhead.db", "a") == []


def test_one_function_of_a_query_cannot_take_long(path: Path) -> None:
    with playhead.open(path) as store, at_most(20):
        with pytest.raises(BadQuery, match="a text or blob of more than 64 MiB"):
            store.sql("SELECT randomblob(1000000000)", timeout=3)
        too_long = store.sql("SELECT printf('%1000000000d', 1) AS text", timeout=3)
        assert too_long.to_pylist() == [{"text": None}]  # SQLite's answer for a text that it may not make
        assert store.sql("SELECT length(zeroblob(60000000)) AS n").to_pylist() == [{"n": 60_000_000}]


def test_ctrl_c_ends_a_query_of_our_own(path: Path) -> None:
    database = Database(path / "playhead.db", "r")
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with at_most(20), pytest.raises(KeyboardInterrupt), database.read() as connection:
        driver_rows(connection, f"{ENDLESS} count(*) FROM n")
    timer.join()
    database.close()


PLANTED_IN_A_TABLE = {
    "the view runs": f"ALTER TABLE runs RENAME TO r; CREATE VIEW runs AS {ENDLESS} i AS id FROM n",
    "the view v": "CREATE VIEW v AS SELECT 1",
    "the trigger t on runs": "CREATE TRIGGER t AFTER INSERT ON runs BEGIN UPDATE runs SET num_steps = 0; END",
    "the index once on runs": "CREATE UNIQUE INDEX once ON runs (first_step_idx)",
    "the index slow on runs": "CREATE INDEX slow ON runs (printf('%9999d', id))",
    "the index idx_runs_len on runs": "DROP INDEX idx_runs_len; CREATE INDEX idx_runs_len ON runs (num_steps) WHERE id",
    "the table f": "CREATE VIRTUAL TABLE f USING fts5(x)",
    "the table playhead_blocks": "ALTER TABLE playhead_blocks ADD COLUMN more",
    "the table runs": "ALTER TABLE runs ADD COLUMN more TEXT CHECK (more > 0)",
}


@pytest.mark.parametrize("name", PLANTED_IN_A_TABLE)
def test_what_is_planted_in_the_database_of_a_table_is_refused_before_anything_is_written(
    tmp_path: Path, name: str
) -> None:
    rows = np.zeros(10, [("step_index", "u4"), ("x", "f4")])
    with playhead.open(tmp_path / "store") as store:
        assert len(store.tables.build("t", rows)) == 10
        held = store.tables["t"]
    folder = tmp_path / "store" / "tables" / "t"
    plant_in(folder / "metadata.db", PLANTED_IN_A_TABLE[name])
    before = (folder / "steps.npy").read_bytes()
    with playhead.open(tmp_path / "store") as store, at_most(20):
        with pytest.raises(Damaged, match=rf"metadata\.db is damaged: .*found {name}[ .].*Build the table again"):
            store.tables["t"]
        for add in (lambda: held.append(rows), lambda: append(folder, rows)):
            with pytest.raises(Damaged, match=name):
                add()
    assert (folder / "steps.npy").read_bytes() == before
    for full in (False, True):
        assert any(f"found {name}" in str(one) or name in one.found for one in verify(tmp_path / "store", full=full))


def plant_in(file: Path, sql: str) -> None:
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.executescript(sql)


def test_statistics_and_an_index_of_the_users_own_are_no_harm_in_a_table(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "store") as store:
        store.tables.build("t", np.zeros(10, [("step_index", "u4"), ("x", "f4")]))
        plant_in(tmp_path / "store/tables/t/metadata.db", "CREATE INDEX mine ON runs (num_steps, id DESC); ANALYZE")
        assert len(store.tables["t"]) == 10
    assert [one for one in verify(tmp_path / "store", full=True) if not one.is_harmless] == []


def test_what_another_program_has_beside_the_runs_of_its_table_is_no_harm(tmp_path: Path) -> None:
    np.save(tmp_path / "steps.npy", np.zeros(10, [("run_id", "u4"), ("board", "u8")]))
    plant_in(
        tmp_path / "metadata.db",
        "CREATE TABLE runs (id INTEGER PRIMARY KEY, seed BIGINT UNIQUE, num_steps INTEGER DEFAULT 0 CHECK (id >= 0));"
        "CREATE TABLE session (meta_key TEXT PRIMARY KEY, meta_value TEXT); CREATE VIEW best AS SELECT * FROM runs;"
        "CREATE INDEX idx_runs_score ON runs (seed) WHERE seed > 3; INSERT INTO runs VALUES (0, 5, 10)",
    )
    assert len(Table.open(tmp_path)) == 10
    plant_in(tmp_path / "metadata.db", PLANTED_IN_A_TABLE["the view runs"])
    with pytest.raises(Damaged, match="the view runs"):
        Table.open(tmp_path)


MIGRATIONS = {
    "1 row of migrations with an odd name": "INSERT INTO migrations VALUES (x'ff', 0)",
    "migrations without ground": "DELETE FROM migrations",
    "migrations without add_replay": "DELETE FROM migrations WHERE name = 'add_replay'",
    "the table known_folders, which migrations do not name": "DELETE FROM migrations WHERE name IN"
    " ('add_known_folders', 'keep_digits_of_infos')",
    "no table media": "DROP TABLE media",
}


@pytest.mark.parametrize("said", MIGRATIONS)
def test_a_list_of_migrations_that_no_version_leaves_is_damage(path: Path, said: str) -> None:
    plant(path, MIGRATIONS[said])
    for mode in ("a", "r"):
        with pytest.raises(Damaged, match=rf"playhead.db is damaged: .*{said}.*Run: playhead rebuild --store"):
            playhead.open(path, mode=mode)
    assert any(said in finding.found and finding.severity == "damage" for finding in verify(path))
    playhead.rebuild(path)
    assert values(path, "a") == [0, 1, 2, 3, 4]
    assert list(verify(path, full=True)) == []


ODD_ROWS = {
    "tags": ("UPDATE runs SET tags = 'x{'", lambda run: run.tags),
    "config": ("UPDATE runs SET config = '[5]'", lambda run: run.config),
    "metric_count": ("UPDATE runs SET metric_count = 'q'", lambda run: run.points),
    "last_step": ("UPDATE series SET last_step = x'ff'", lambda run: run.metrics_summary()),
    "value": ("UPDATE points SET value = 'q'", lambda run: run["loss"].values),
}


@pytest.mark.parametrize("column", ODD_ROWS)
def test_an_odd_value_in_a_row_is_damage_that_names_its_column(path: Path, column: str) -> None:
    sql, read = ODD_ROWS[column]
    plant(path, sql)
    with (
        playhead.open(path) as store,
        pytest.raises(Damaged, match=rf"playhead.db is damaged: .* with an odd {column}.*Run: playhead rebuild"),
    ):
        read(store.runs["a"])
    assert any(f"with an odd {column}" in finding.found for finding in verify(path, full=True))
    playhead.rebuild(path)
    assert list(verify(path, full=True)) == []


def test_an_odd_info_of_a_step_is_damage(path: Path) -> None:
    with playhead.open(path) as store, store.run("p", "n", run_id="b", environment=False) as run:
        reel = run.new_reel()
        for step in range(3):
            reel.step({"observations": np.arange(3.0)}, 1.0, step == 2, False)
        reel.close()
    plant(path, "UPDATE replay_steps SET shape = NULL, info = 'x{'")
    with playhead.open(path) as store:
        for read in (lambda: store.step_of("h5://b/observations/1"), lambda: store.recent_steps("b", arrays=False)):
            with pytest.raises(Damaged, match=r"with an odd info.*Run: playhead rebuild"):
                read()
    playhead.rebuild(path)
    with playhead.open(path) as store:
        assert store.step_of("h5://b/observations/1")["info"] == {}
