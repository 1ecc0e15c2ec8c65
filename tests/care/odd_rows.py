"""Odd values in every column of the catalogue of a store, and what every command makes of them."""

from __future__ import annotations

import contextlib
import shutil
import signal
import sqlite3
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

import playhead
from playhead.care import verify
from playhead.catalog import schema
from playhead.cli import program
from playhead.errors import PlayheadError
from tests.care import everything

LIMIT = 30  # seconds a case
ODD: tuple[Any, ...] = (None, "q", "x{", "[5]", '{"a": 5}', b"\xff", b"", 2**63 - 1, -(2**63), 1.5, float("inf"), "")


@dataclass(frozen=True, slots=True)
class Case:
    """One column of one table in which each row has an odd value, or the first row if only one can have it."""

    table: str
    column: str
    value: Any

    def __str__(self) -> str:
        return f"{self.table}.{self.column} = {self.value!r}"

    def plant(self, path: Path) -> bool:
        """Put it in, past all constraints but those of an index; return whether anything is other than before."""
        with contextlib.closing(sqlite3.connect(path / "playhead.db")) as connection:
            before = connection.execute(f'SELECT * FROM "{self.table}"').fetchall()
            _let_null(connection, self.table)
        with contextlib.closing(sqlite3.connect(path / "playhead.db", isolation_level=None)) as connection:
            connection.execute("PRAGMA ignore_check_constraints=ON")
            one = f'"{self.column}" IS (SELECT "{self.column}" FROM "{self.table}" ORDER BY 1 LIMIT 1)'
            for where in ("1", one):
                with contextlib.suppress(sqlite3.IntegrityError):
                    connection.execute(f'UPDATE "{self.table}" SET "{self.column}" = ? WHERE {where}', [self.value])
                    break
            found = connection.execute(f'SELECT * FROM "{self.table}"').fetchall()
        with contextlib.closing(sqlite3.connect(path / "playhead.db")) as connection:
            _let_null(connection, self.table, back=True)
        return found != before


def _let_null(connection: sqlite3.Connection, table: str, *, back: bool = False) -> None:
    """Change what the file says of a table, as anybody can who edits it: no column has to have a value."""
    old, new = (" NOT NULL", " /*****/") if not back else (" /*****/", " NOT NULL")
    connection.execute("PRAGMA writable_schema=ON")
    connection.execute("UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = ?", (old, new, table))
    (version,) = connection.execute("PRAGMA schema_version").fetchone()
    connection.execute(f"PRAGMA schema_version={version + 1}")
    connection.commit()


def cases() -> list[Case]:
    """List what is tried: each column of each table, with each value."""
    return [
        Case(table.name, column.name, value)
        for table in schema.metadata.tables.values()
        for column in table.columns
        for value in ODD
    ]


def make(path: Path) -> None:
    """Make a store with a row in every table."""
    everything.make(path)
    with playhead.open(path) as store:
        with store.run("pong", "old", run_id="run_d", config={"a": {"b": [1, None]}}, tags=["x"]) as run:
            run.log({"loss": 1.0, "n": 3}, step=1, stage="train")
        with store.run("pong", "old", run_id="run_e", environment=False) as run:
            run.log({"loss": 2.0}, step=1)
            reel = run.new_reel()
            reel.close()
        store.runs["run_e"].delete("not needed")
        list(store.artifacts)


class Problem(AssertionError):
    """A command that ended otherwise than with an answer or an error of ours."""


class Trial:
    """All commands on copies of one store."""

    def __init__(self, store: Path, work: Path) -> None:
        self._store, self._path, self._runner = store, work / "store", CliRunner()
        self._due = self._dump(store)
        self.times: dict[str, float] = {}

    def run(self, case: Case) -> list[str] | None:
        """Try one case; return what went wrong, or None if no row can have this value."""
        shutil.rmtree(self._path, ignore_errors=True)
        shutil.copytree(self._store, self._path, symlinks=True)
        if not case.plant(self._path):
            return None
        found: list[str] = []
        signal.signal(signal.SIGALRM, _too_long)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, step in self._steps():
                began = time.monotonic()
                signal.alarm(LIMIT)
                try:
                    step()
                except PlayheadError as error:
                    if "playhead.db" not in str(error) and "rebuild" in name:
                        found.append(f"{case}: {name}: {error}")
                except Exception as error:  # noqa: BLE001  # each command is tried, whatever the others do
                    found.append(f"{case}: {name}: {_shown(error)}")
                finally:
                    signal.alarm(0)
                self.times[name] = self.times.get(name, 0) + time.monotonic() - began
        return found

    def _steps(self) -> Iterator[tuple[str, Callable[[], object]]]:
        for words in (("verify",), ("ls",), ("ls", "--json"), ("ls", "--deleted"), ("show", "run_a")):
            yield " ".join(words), lambda words=words: self._command(*words)
        yield "read", lambda: self._read("r")
        for words in _COMMANDS:
            yield " ".join(words), lambda words=words: self._command(*words)
        yield "read and write", lambda: self._read("a")
        yield "record", self._record
        yield "verify after it", lambda: list(verify(self._path))
        yield "verify --full", lambda: list(verify(self._path, full=True))
        yield "rebuild", lambda: self._command("rebuild")
        yield "read after rebuild", self._check_rebuilt

    def _command(self, *words: str) -> None:
        result = self._runner.invoke(program, [*words, "--store", str(self._path)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise Problem(_shown(result.exception))

    def _read(self, mode: str) -> None:
        with playhead.open(self._path, mode=mode) as store:
            problems: list[str] = []
            for number, read in enumerate(_readers(store)):
                try:
                    read()
                except PlayheadError:
                    continue
                except Exception as error:  # noqa: BLE001
                    problems.append(f"reader {number}: {_shown(error)}")
            if problems:
                raise Problem("; ".join(dict.fromkeys(problems)))

    def _record(self) -> None:
        with playhead.open(self._path) as store:
            with store.run("pong", "new", run_id="run_n", environment=False) as run:
                run.log({"loss": 1.0})
            with store.run("pong", "dqn", run_id="run_b", resume=True, environment=False) as run:
                run.log({"loss": 0.25})
            with store.dataset("teleop").new_episode(uid="new") as episode:
                episode.append("joint", 1.0, 1)

    def _check_rebuilt(self) -> None:
        found = self._dump(self._path)
        for run in [key for key in self._due if found.get(key) != self._due[key]]:
            raise Problem(f"{run} after the rebuild: {found.get(run)!r}, and not {self._due[run]!r}")
        damage = [finding for finding in verify(self._path) if finding.cure == "rebuild"]
        if damage:
            raise Problem(f"after the rebuild: {damage}")

    def _dump(self, path: Path) -> dict[str, Any]:
        with playhead.open(path, mode="r") as store:
            found: dict[str, Any] = {}
            for run in [*store.runs, *store.runs.deleted]:
                if run.id not in ("run_b", "run_n"):
                    found[run.id] = (run.config, run.tags, run.best, run.points, run.status)
            found["artifacts"] = [row.name for row in store.artifacts]
            return found


_COMMANDS = (
    *(("ls", "--where", "config.lr < 3 and metric.loss < 5"), ("show", "run_a", "--json"), ("show", "run_e")),
    *(
        ("diff", "run_a", "run_b"),
        ("artifact", "ls"),
        ("artifact", "show", "policy:v1"),
        ("artifact", "lineage", "policy:v1"),
    ),
    *(("du",), ("info",), ("gc", "--dry-run"), ("trace", "ls"), ("table", "ls")),
    *(("sql", "SELECT * FROM steps"), ("sql", "SELECT * FROM episodes"), ("sql", "SELECT * FROM metrics LIMIT 5")),
    *(("sql", f"SELECT * FROM {name} LIMIT 5") for name in ("experiments", "media", "artifact_versions", "run_values")),
    ("optimize",),
    ("tag", "run_a", "new"),
)


def _readers(store: playhead.Store) -> Iterator[Callable[[], object]]:
    yield lambda: repr((store, store._repr_html_() if hasattr(store, "_repr_html_") else 0))
    runs: list[Any] = []
    yield lambda: runs.extend([*store.runs, *store.runs.deleted])
    yield lambda: runs.extend(store.runs[name] for name in ("run_a", "run_b", "run_c", "run_d"))
    yield lambda: list(store.runs(where="metric.loss < 3", order="-best"))
    yield lambda: store.runs[-1]
    for run in runs:
        yield lambda run=run: repr(run)
        yield lambda run=run: run._repr_html_()
        for name in (
            *("config", "tags", "notes", "best", "best_step", "points", "duration", "status", "media", "episodes"),
            *("artifacts_created", "artifacts_used", "environment", "path", "traces", "created_at", "deleted_at"),
        ):
            yield lambda run=run, name=name: repr(getattr(run, name))
        yield lambda run=run: run.metrics()
        yield lambda run=run: [(run[name].values, run[name].timestamps, run[name].steps) for name in run]
        yield lambda run=run: run.summary()
        yield lambda run=run: [(one.path, one.step, one.caption) for one in run.media]
        yield lambda run=run: [(one.static, list(one)) for one in run.episodes]
    yield lambda: [(episode.static, len(episode)) for name in store.datasets for episode in store.dataset(name)]
    yield lambda: store.dataset("teleop").by_uid("uid0")["joint"].values
    yield lambda: store.step_of("h5://run_a/frames/24")
    yield lambda: store.resolve("h5://run_a/frames/24")
    for number in range(2):
        yield lambda number=number: store.episode(f"run_a-ep000{number}")["observations"].values
    yield lambda: [one.metadata for row in store.artifacts for one in store.artifacts.versions(row.name)]
    yield lambda: store.artifacts["policy:best"].lineage().to_json()
    yield lambda: list(store.tables)
    for name in schema.metadata.tables:
        yield lambda name=name: store.sql(f"SELECT * FROM {name}")
    for name in schema.VIEWS:
        yield lambda name=name: store.sql(f"SELECT * FROM {name}").to_pylist()


def _shown(error: BaseException) -> str:
    if isinstance(error, Problem):
        return str(error)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "playhead" in frame.filename]
    where = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[:-4:-1])
    return f"{type(error).__name__}: {error} ({where})"[:400]


def _too_long(_signal: int, _frame: Any) -> None:
    raise Problem(f"took over {LIMIT} s")
