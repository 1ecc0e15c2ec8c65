"""What people write themselves: a row of SQLite a value, in WAL mode, and a JSON file of the configuration a run.

The safest way sets `synchronous` to `FULL`. Its check is SQLite's `PRAGMA integrity_check`.
"""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from benchmarks.peers.adapter import Session
from benchmarks.peers.keepers import contract
from benchmarks.peers.keepers.contract import Answer, key


def start(folder: Path, name: str, *, safest: bool) -> Session:
    database = sqlite3.connect(folder / "metrics.db")
    database.execute("PRAGMA journal_mode=WAL")
    database.execute(f"PRAGMA synchronous={'FULL' if safest else 'NORMAL'}")
    database.execute("CREATE TABLE IF NOT EXISTS metrics (run TEXT, name TEXT, step INTEGER, value REAL)")
    (folder / f"{name}.json").write_text(json.dumps(contract.config(name)))

    def log(values: dict[str, float], *, step: int) -> None:
        rows = [(name, what, step, value) for what, value in values.items()]
        with database:
            database.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?)", rows)

    return Session(log, database.close)


def read(folder: Path) -> Answer:
    found: Answer = {}
    with closing(sqlite3.connect(f"file:{folder}/metrics.db?mode=rw", uri=True)) as database:
        for name, what, step, value in database.execute("SELECT run, name, step, value FROM metrics"):
            found[key(name, what, step)] = value
    for path in folder.glob("*.json"):
        found |= {key(path.stem, "config", what): given for what, given in json.loads(path.read_text()).items()}
    return found


def data(folder: Path) -> list[Path]:
    return [folder / "metrics.db", *kinds(folder)["configuration"]]


def kinds(folder: Path) -> Mapping[str, list[Path]]:
    return {"configuration": [folder / f"{name}.json" for name in ("a", "b")]}


def check(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "metrics.db")) as database:
        found = [text for (text,) in database.execute("PRAGMA integrity_check")]
    return [] if found == ["ok"] else found
