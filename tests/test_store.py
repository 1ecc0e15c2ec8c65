"""Opening, refusing, moving and sharing a store."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import playhead
from playhead import filesystem, opening
from playhead.catalog import readonly
from playhead.catalog.files import files_of
from playhead.errors import (
    BadQuery,
    Closed,
    Damaged,
    NotAStore,
    NotFound,
    QueryStopped,
    ReadOnly,
    StoreLocked,
    StoreTooNew,
)
from playhead.layout import Layout


def record(store: playhead.Store, name: str = "n", points: int = 3, **options: object) -> str:
    with store.run("p", name, environment=False, **options) as run:  # type: ignore[arg-type]
        for value in range(points):
            run.log({"loss": float(value)})
    return run.id


def test_a_store_is_made_on_first_use_and_found_again(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "deep" / "store") as store:
        run_id = record(store)
    with playhead.open(tmp_path / "deep" / "store") as store:
        assert [run.id for run in store.runs] == [run_id]


def test_a_folder_that_is_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(NotAStore, match=r"thesis\.tex"):
        playhead.open(tmp_path)
    assert os.listdir(tmp_path) == ["thesis.tex"]


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(NotAStore, match="is a file"):
        playhead.open(tmp_path / "x")


def test_a_runicorn_root_is_refused_with_the_command_that_takes_it_over(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    with pytest.raises(NotAStore, match="playhead migrate runicorn"):
        playhead.open(tmp_path)


def test_reading_a_store_that_is_not_there_is_refused_and_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(NotAStore, match="no store at"):
        playhead.open(tmp_path / "none", mode="r")
    assert not (tmp_path / "none").exists()


def test_an_unknown_mode_is_refused(tmp_path: Path) -> None:
    with pytest.raises(playhead.WrongType, match="mode is 'a' or 'r'"):
        playhead.open(tmp_path / "s", mode="w")


def test_a_newer_format_is_refused_with_the_version_it_needs(tmp_path: Path) -> None:
    playhead.open(tmp_path / "s").close()
    marker = tmp_path / "s" / "playhead.json"
    marker.write_text(json.dumps(json.loads(marker.read_text()) | {"format": 99, "needs": "7.1.0"}))
    for mode in ("a", "r"):
        with pytest.raises(StoreTooNew, match=r"format 99.*playhead 7\.1\.0"):
            playhead.open(tmp_path / "s", mode=mode)


def test_a_newer_catalogue_is_refused(tmp_path: Path) -> None:
    playhead.open(tmp_path / "s").close()
    with sqlite3.connect(tmp_path / "s" / "playhead.db") as connection:
        connection.execute("INSERT INTO migrations VALUES ('from_the_future', 0)")
    connection.close()
    with pytest.raises(StoreTooNew, match="from_the_future"):
        playhead.open(tmp_path / "s")


def test_a_store_works_after_it_was_moved_and_after_it_was_copied(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "a") as store:
        run_id = record(store)
    shutil.copytree(tmp_path / "a", tmp_path / "copy")
    (tmp_path / "a").rename(tmp_path / "moved")
    for place in ("moved", "copy"):
        with playhead.open(tmp_path / place) as store:
            assert store.runs[run_id].path.is_relative_to(tmp_path / place)
            assert store.runs[run_id]["loss"].values.tolist() == [0, 1, 2]
            record(store)


def test_reading_changes_no_file(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "s") as store:
        record(store)
    before = {path: path.read_bytes() for path in (tmp_path / "s").rglob("*") if path.is_file()}
    with playhead.open(tmp_path / "s", mode="r") as store:
        assert len(store.runs) == 1
        with pytest.raises(ReadOnly, match="mode='a'"):
            store.run("p", "n")
        with pytest.raises(ReadOnly):
            store.runs[0].tag("x")
        with pytest.raises(ReadOnly):
            store.runs[0].delete()
    assert {path: path.read_bytes() for path in before} == before
    added = {path.name for path in (tmp_path / "s").rglob("*") if path.is_file()} - {path.name for path in before}
    assert added <= {"playhead.db-shm", "playhead.db-wal"}  # SQLite's own, by which readers and writers agree


READ_ONLY_SCRIPT = """
import sys, playhead
try:
    playhead.open(sys.argv[1])
except playhead.ReadOnly as error:
    assert "mode='r'" in str(error), error
else:
    raise SystemExit("opened a read-only medium for writing")
with playhead.open(sys.argv[1], mode="r") as store:
    print(store.mode, [len(run["loss"]) for run in store.runs])
"""


def on_read_only_medium(folder: Path) -> str:
    """Run the script in a mount namespace where the folder is mounted read-only; root cannot write there either."""
    command = f"mount --bind {folder} {folder} && mount -o remount,bind,ro {folder} && exec {sys.executable} -c "
    result = subprocess.run(
        ["unshare", "--mount", "sh", "-c", command + '"$0" "$1"', READ_ONLY_SCRIPT, str(folder)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


needs_mounts = pytest.mark.skipif(
    subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode != 0,
    reason="this machine lets nobody mount: the read-only media cannot be made",
)


@needs_mounts
def test_a_read_only_medium_is_read(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "s") as store:
        record(store)
    assert on_read_only_medium(tmp_path / "s") == "r [3]"


@needs_mounts
def test_a_read_only_medium_without_a_catalogue_is_read_from_the_folders(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "s") as store:
        record(store)
    (tmp_path / "s" / "playhead.db").unlink()
    assert on_read_only_medium(tmp_path / "s") == "r [3]"


@needs_mounts
def test_a_read_only_medium_with_a_log_left_by_a_crash_is_read_whole(tmp_path: Path) -> None:
    script = (
        "import playhead, os, sys\n"
        "run = playhead.open(sys.argv[1]).run('p', 'n', environment=False)\n"
        "for value in range(5): run.log({'loss': value})\n"
        "run.flush()\n"
        "run.log({'loss': 5})\n"  # in the file, not in the catalogue
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "s")], check=False)
    assert (tmp_path / "s" / "playhead.db-wal").stat().st_size > 0
    assert on_read_only_medium(tmp_path / "s") == "r [6]"


def test_a_damaged_catalogue_names_the_command_that_mends_it(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "s") as store:
        record(store)
    (tmp_path / "s" / "playhead.db").write_bytes(b"not a database" * 1000)
    for mode in ("a", "r"):
        with pytest.raises(Damaged, match="playhead rebuild"):
            playhead.open(tmp_path / "s", mode=mode)
    assert opening.rebuild(tmp_path / "s") == []
    with playhead.open(tmp_path / "s") as store:
        assert store.runs[0]["loss"].values.tolist() == [0, 1, 2]


def test_damage_in_the_middle_of_the_catalogue_is_named_too(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "s") as store:
        record(store, points=5000)
    path = tmp_path / "s" / "playhead.db"
    data = bytearray(path.read_bytes())
    data[8192:-4096] = os.urandom(len(data) - 8192 - 4096)
    path.write_bytes(data)
    with pytest.raises(Damaged, match="playhead rebuild"), playhead.open(tmp_path / "s") as store:
        store.runs[0]["loss"]


def test_a_catalogue_with_other_tables_is_named_too(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "s") as store:
        record(store)
    with sqlite3.connect(tmp_path / "s" / "playhead.db") as connection:
        connection.execute("ALTER TABLE runs RENAME COLUMN tags TO labels")
    connection.close()
    with pytest.raises(Damaged, match="playhead rebuild"):
        playhead.open(tmp_path / "s")
    assert opening.rebuild(tmp_path / "s") == []


def test_a_deleted_catalogue_is_made_anew_by_opening(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "s") as store:
        record(store)
    (tmp_path / "s" / "playhead.db").unlink()
    with playhead.open(tmp_path / "s") as store:
        assert store.runs[0]["loss"].values.tolist() == [0, 1, 2]


def test_a_folder_deleted_under_a_store_gives_an_error_that_says_so(tmp_path: Path) -> None:
    store = playhead.open(tmp_path / "s")
    shutil.rmtree(tmp_path / "s")
    with pytest.raises(NotAStore, match="deleted while it was open"):
        store.run("p", "n")


def test_after_close_every_call_says_closed(store: playhead.Store) -> None:
    store.close()
    store.close()
    for call in (lambda: store.runs, lambda: store.run("p", "n"), lambda: store.sql("SELECT 1"), store.info):
        with pytest.raises(Closed):
            call()


def test_rebuilding_while_a_run_is_recorded_is_refused(store: playhead.Store) -> None:
    with store.run("p", "n", environment=False), pytest.raises(StoreLocked, match="being recorded"):
        opening.rebuild(store.path)


def log_in_process(path: Path, number: int) -> None:
    with playhead.open(path) as store, store.run("p", f"n{number}", environment=False) as run:
        for value in range(300):
            run.log({"loss": value, "acc": -value})
            if value % 100 == 0:
                run.flush()


def test_eight_processes_record_at_once(tmp_path: Path) -> None:
    """They also make the store at once, and none ever sees a locked database."""
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=log_in_process, args=(tmp_path / "s", number)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 8
    with playhead.open(tmp_path / "s") as store:
        assert [len(run["loss"]) for run in store.runs] == [300] * 8


def test_the_store_around_the_current_folder_is_located(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLAYHEAD_STORE", raising=False)
    playhead.open(tmp_path / "s").close()
    (tmp_path / "s" / "p").mkdir()
    monkeypatch.chdir(tmp_path / "s" / "p")
    assert opening.locate() == tmp_path / "s"
    monkeypatch.chdir(tmp_path)
    assert opening.locate() == tmp_path / "store"
    monkeypatch.setenv("PLAYHEAD_STORE", "elsewhere")
    assert opening.locate() == Path("elsewhere")
    assert opening.locate("given") == Path("given")


MOUNTS = """/dev/vda / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
tmpfs /home/ada/fast tmpfs rw 0 0
//nas/x /mnt/with\\040space cifs rw 0 0
me@host: /mnt/ssh fuse.sshfs rw 0 0
default /mnt/weka wekafs rw 0 0
tag /mnt/vm virtiofs rw 0 0
panfs://p /mnt/panfs panfs rw 0 0
C:\\134 /mnt/c 9p rw 0 0
x /mnt/new neverheardoffs rw 0 0
/dev/sda1 /mnt/usb exfat rw 0 0
/dev/sdb1 /mnt/stick fuseblk rw 0 0
tank/home /mnt/zfs zfs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "network"),
    [
        ("/data/s", False),
        ("/home/ada/s", True),
        ("/home/ada/fast/s", False),
        ("/mnt/with space/s", True),
        ("/mnt/ssh", True),
        ("/mnt/weka/s", True),
        ("/mnt/vm/s", True),
        ("/mnt/panfs/s", True),
        ("/mnt/c/s", True),
        ("/mnt/new/s", True),
        ("/mnt/usb/s", False),
        ("/mnt/stick/s", False),
        ("/mnt/zfs/s", False),
    ],
)
def test_a_network_file_system_is_told_from_a_local_one(path: str, network: bool) -> None:
    assert filesystem.is_network(Path(path), MOUNTS) is network


def test_on_a_network_file_system_the_catalogue_has_no_write_ahead_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filesystem, "is_network", lambda _path: True)
    with playhead.open(tmp_path / "s") as store:
        run_id = record(store)
        assert store.sql("SELECT count(*) AS n FROM points").to_pylist() == [{"n": 3}]
        assert store.info()["network"] is True
    assert not (tmp_path / "s" / "playhead.db-wal").exists()
    connection = sqlite3.connect(tmp_path / "s" / "playhead.db")
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    connection.close()
    with playhead.open(tmp_path / "s") as store:
        assert store.runs[run_id].points == 3


def test_a_catalogue_that_came_to_a_network_file_system_gives_its_write_ahead_log_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with playhead.open(tmp_path / "s") as store:
        record(store)
    monkeypatch.setattr(filesystem, "is_network", lambda _path: True)
    with playhead.open(tmp_path / "s") as store:
        record(store)
        assert store.sql("SELECT count(*) AS n FROM points").to_pylist() == [{"n": 6}]
        assert not (tmp_path / "s" / "playhead.db-wal").exists()


def test_the_catalogue_has_the_settings_that_it_should(store: playhead.Store) -> None:
    with store._home.database.read() as connection:
        values = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "temp_store", "mmap_size", "cache_size")
        }
    assert values == {
        "journal_mode": "wal", "synchronous": 1, "foreign_keys": 1, "temp_store": 2,
        "mmap_size": 268435456, "cache_size": -10000,
    }  # fmt: skip


def test_sql_gives_an_arrow_table(store: playhead.Store) -> None:
    run_id = record(store)
    query = "SELECT metric_name, metric_value, step FROM metrics WHERE experiment_id = :run ORDER BY step"
    rows = store.sql(query, {"run": run_id}).to_pylist()
    assert rows[0] == {"metric_name": "loss", "metric_value": 0.0, "step": 1}
    assert store.sql("SELECT id, best_metric_value FROM experiments").num_rows == 1
    assert store.sql("SELECT 1 AS a WHERE 0").column_names == ["a"]


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM runs",
        "INSERT INTO run_tags VALUES (1, 'x')",
        "UPDATE runs SET name = 'x'",
        "ATTACH DATABASE '/tmp/x.db' AS x",
        "CREATE TABLE x (y)",
        "CREATE TEMP TABLE x (y)",
        "DROP TABLE runs",
        "PRAGMA journal_mode=DELETE",
        "PRAGMA query_only=OFF",
        "VACUUM INTO '/tmp/x.db'",
        "SELECT load_extension('x')",
        "BEGIN IMMEDIATE",
    ],
)
def test_sql_refuses_all_but_reading(store: playhead.Store, query: str) -> None:
    record(store)
    with pytest.raises(BadQuery):
        store.sql(query)
    assert len(store.runs) == 1


def test_sql_refuses_two_statements(store: playhead.Store) -> None:
    with pytest.raises((BadQuery, sqlite3.Warning)):
        store.sql("SELECT 1; DELETE FROM runs")


def test_sql_errors_show_the_query(store: playhead.Store) -> None:
    with pytest.raises(BadQuery, match=r"no such table: nowhere.*SELECT \* FROM nowhere"):
        store.sql("SELECT * FROM nowhere")


def test_a_runaway_query_is_stopped(store: playhead.Store) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    with pytest.raises(QueryStopped, match=r"0\.2 s"):
        store.sql(endless, timeout=0.2)


def test_ctrl_c_while_a_query_is_prepared_is_no_mistake_of_the_query(
    store: playhead.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupting(frozenset[int]):
        def __contains__(self, _action: object) -> bool:
            raise KeyboardInterrupt

    monkeypatch.setattr(readonly, "_ALLOWED", Interrupting())
    with pytest.raises(KeyboardInterrupt):
        store.sql("SELECT 1")


def test_a_catalogue_that_was_made_anew_is_not_read_with_the_keys_of_the_old_one(store: playhead.Store) -> None:
    gone, kept = record(store), record(store)
    store.runs[gone].delete()
    store.runs.deleted[gone].purge()  # so that runs have other keys afterwards
    run = store.runs[kept]
    playhead.rebuild(store.path)
    assert list(run) == ["loss"]  # from the old one, in which it has this key
    for call in (lambda: store.runs, lambda: store.run("p", "n"), lambda: store.sql("SELECT id FROM runs")):
        with pytest.raises(NotAStore, match="open the store again"):
            call()
    with playhead.open(store.path) as anew:
        assert [run.id for run in anew.runs] == [kept]


def test_a_run_ends_well_though_its_catalogue_was_made_anew(store: playhead.Store) -> None:
    with (
        pytest.warns(RuntimeWarning, match="made anew while it was open"),
        store.run("p", "n", environment=False) as run,
    ):
        run.log({"loss": 1.0})
        for path in files_of(Layout(store.path).database):
            path.unlink(missing_ok=True)
        playhead.open(store.path).close()
        run.log({"loss": 2.0})
        run.tag("kept")
    with playhead.open(store.path) as anew:
        found = anew.runs[run.id]
        assert (found["loss"].values.tolist(), found.tags, found.status) == ([1, 2], ["kept"], "finished")


def test_where_the_catalogue_was_made_anew_a_run_waits_for_a_connection_that_knows_the_old_one(
    store: playhead.Store,
) -> None:
    database = store._home.database
    taken, let_go = threading.Event(), threading.Event()

    def hold() -> None:
        with contextlib.ExitStack() as held:
            while not taken.is_set():  # the run's thread may have one of its own just now
                held.enter_context(database.read())
                if not database._engine.pool.checkedin():  # type: ignore[attr-defined]
                    taken.set()
            let_go.wait(10)

    with (
        pytest.warns(RuntimeWarning, match="made anew while it was open"),
        store.run("p", "n", environment=False) as run,
    ):
        run.log({"loss": 1.0})
        run.flush()
        for path in files_of(Layout(store.path).database):
            path.unlink(missing_ok=True)
        playhead.open(store.path).close()
        holder = threading.Thread(target=hold)
        holder.start()
        taken.wait(10)
        threading.Timer(0.2, let_go.set).start()
        run.tag("kept")
        assert let_go.is_set()
        holder.join()
        assert run.tags == ["kept"]


def test_sql_columns_of_mixed_types_become_text(store: playhead.Store) -> None:
    assert store.sql("SELECT 1 AS a UNION ALL SELECT 'x'").to_pylist() == [{"a": "1"}, {"a": "x"}]


def test_a_missing_run_lists_what_there_is(store: playhead.Store) -> None:
    run_id = record(store)
    with pytest.raises(NotFound, match=run_id):
        store.runs["nope"]
    with pytest.raises(KeyError):
        store.runs["nope"]


def test_repr_says_what_a_store_is(store: playhead.Store) -> None:
    record(store)
    assert "1 run," in repr(store)
    store.close()
    assert "closed" in repr(store)
