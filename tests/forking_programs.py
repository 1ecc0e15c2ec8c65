"""Programs that fork while other threads are at work; run by `test_forks`.

`python forking_programs.py folder name …` runs one after the other, and prints what they found as JSON.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import json
import os
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import playhead
from playhead import disk, forks
from playhead.capture.programs import output_of
from playhead.catalog.database import driver_rows

HUNG = -1
# A query that asks SQLite for memory all the time, and so holds a mutex of it.
BUSY = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) SELECT count(DISTINCT hex(i)) FROM n"
)


def child(work: Callable[[], object], seconds: float = 5) -> int:
    """Fork a child that does something; return its exit code, or that it hung."""
    return end_of(forked(work), seconds)


def forked(work: Callable[[], object]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
    except playhead.PlayheadError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        os._exit(1)
    os._exit(0)


def end_of(pid: int, seconds: float = 5) -> int:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return HUNG


def begin(work: Callable[..., object], *given: Any) -> threading.Thread:
    thread = threading.Thread(target=work, args=given, daemon=True)
    thread.start()
    return thread


def made(folder: Path) -> playhead.Store:
    store = playhead.open(folder / "store")
    with store.run("p", "first", run_id="first", environment=False) as run:
        run.log({"x": 1.0})
    return store


def use_sqlite() -> None:
    sqlite3.connect(":memory:").execute("CREATE TABLE t (x)")


def queries(folder: Path) -> Any:
    """Children use SQLite, and the store, while threads of the parent ask it."""
    store = made(folder)

    def ask() -> None:
        while True:
            store.sql(BUSY.format(3000))

    def look() -> None:
        use_sqlite()
        assert store.runs["first"]["x"].values.tolist() == [1.0]

    store.sql("SELECT 1")
    look()
    for _ in range(4):
        begin(ask)
    return [child(look, 2) for _ in range(8)]


def recorders(folder: Path) -> Any:
    """Children record into the run that the parent records flat out."""
    store = made(folder)
    run = store.run("p", "r", run_id="r", environment=False)

    def record() -> None:
        while True:
            run.log({"x": 1.0})
            run.flush()

    def attach() -> None:
        with playhead.open(folder / "store") as own, own.attach("r") as part:
            part.log({"child": 1.0})

    begin(record)
    codes = [child(attach, 10) for _ in range(5)]
    return [codes, len(store.runs["r"]["child"])]


def a_write(folder: Path) -> Any:
    """A fork in the middle of another thread's transaction."""
    store = made(folder)
    database, begun = store._home.database, threading.Event()

    def change() -> None:
        with database.write():
            begun.set()
            time.sleep(0.3)

    def write() -> None:
        with playhead.open(folder / "store") as own, own._home.database.patient(1), own._home.database.write():
            pass

    begin(change)
    begun.wait()
    return child(write)


def an_end(folder: Path) -> Any:
    """The parent closes the store, and a child goes on with it."""
    store = made(folder)
    told, tell = os.pipe()

    def record() -> None:
        with playhead.open(folder / "store") as own:
            with own.run("p", "child", run_id="child", environment=False) as run:
                run.log({"x": 1.0})
            os.read(told, 1)
            for number in range(10):
                with own.run("p", "child", run_id=f"child{number}", environment=False) as run:
                    run.log({"x": 1.0})

    pid = forked(record)
    while len(store.runs) < 2:
        time.sleep(0.01)
    store.close()
    left = sorted(path.name for path in (folder / "store").glob("playhead.db*"))
    os.write(tell, b"x")
    with playhead.open(folder / "store") as other:
        for number in range(10):
            with other.run("p", "other", run_id=f"other{number}", environment=False) as run:
                run.log({"x": 1.0})
    code = end_of(pid, 10)
    with playhead.open(folder / "store", mode="r") as again:
        return [left, code, len(again.runs)]


def a_long_query(folder: Path) -> Any:
    """Forks in the middle of a query that takes long, and of a transaction that does."""
    forks.LONG_SECONDS, forks.MOST_SECONDS = 0.2, 0.5
    store = made(folder)
    database = store._home.database

    def ask() -> None:
        store.sql(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(hex(i)) FROM n", timeout=9
        )

    def hold() -> None:
        with database.read() as connection:
            driver_rows(connection, "SELECT count(*) FROM runs")
            threading.Event().wait()

    store.sql("SELECT 1")
    found = []
    for work in (ask, hold):
        begin(work)
        time.sleep(0.1)
        for act in (*[use_sqlite] * 4, lambda: playhead.open(folder / "store")):
            started = time.monotonic()
            code = child(act, 2)
            found.append([code, time.monotonic() - started])
    return found


def itself(folder: Path) -> Any:
    """Forks of a thread that is itself in the middle of a transaction, and of one that SQLite called."""
    store = made(folder)
    database, found = store._home.database, []
    started = time.monotonic()
    with database.write() as connection:
        found.append(child(lambda: playhead.open(folder / "store")))
        driver_rows(connection, "PRAGMA user_version")
        with database.read():  # within it, and another thread forks
            fork = begin(lambda: found.append(child(use_sqlite)))
            time.sleep(0.1)
            with database.read() as other:
                driver_rows(other, "SELECT count(*) FROM runs")
    fork.join()
    with database.read() as connection:
        driver = connection.connection.dbapi_connection
        assert driver is not None
        driver.create_function("fork", 0, lambda: found.append(child(lambda: None)))  # type: ignore[attr-defined]
        driver_rows(connection, "SELECT fork()")
    return [found, time.monotonic() - started, len(store.runs)]


def modules(folder: Path) -> Any:
    """A child loads a module that the background of the parent is loading."""
    loading, on = threading.Event(), threading.Event()

    class Slow(importlib.abc.MetaPathFinder):
        def find_spec(self, name: str, *_: object) -> None:
            if name == "playhead.capture.packages":
                loading.set()
                on.wait()

    def load() -> None:
        import playhead.capture.environment  # noqa: F401

    sys.meta_path.insert(0, Slow())
    with playhead.open(folder / "store") as store, store.run("p", "r"):
        loading.wait()
        threading.Timer(0.3, on.set).start()
        return child(load, 2)


def programs(_folder: Path) -> Any:
    """The background starts programs while children are forked that live on."""
    took, is_over = [], threading.Event()

    def ask() -> None:
        while not is_over.is_set():
            started = time.monotonic()
            output_of(["true"], seconds=10, limit=100)
            took.append(time.monotonic() - started)

    asking, children = begin(ask), []
    for number in range(16):
        until = time.monotonic() + 0.01 + number % 7 / 1000
        while time.monotonic() < until:
            pass
        children.append(forked(lambda: time.sleep(0.6)))
    is_over.set()
    asking.join()
    for pid in children:
        end_of(pid)
    return max(took)


def locks(folder: Path) -> Any:
    """A lock of the disk that another thread holds at a fork is given back; a child does not give that of its parent."""
    begun, on = threading.Event(), threading.Event()

    def hold() -> None:
        with disk.locked(folder):
            begun.set()
            on.wait()

    holding = begin(hold)
    begun.wait()
    pid = forked(lambda: time.sleep(60))
    on.set()
    holding.join()
    with disk.locked(folder, wait=False) as mine:
        found = [mine]
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with contextlib.ExitStack() as held:
        held.enter_context(disk.locked(folder))
        child(held.close)
        with disk.locked(folder, wait=False) as mine:
            found.append(mine)
    return found


if __name__ == "__main__":
    found = {}
    for name in sys.argv[2:]:
        (place := Path(sys.argv[1], name)).mkdir()
        found[name] = globals()[name](place)
    print(json.dumps(found), flush=True)
    os._exit(0)  # threads are still at work
