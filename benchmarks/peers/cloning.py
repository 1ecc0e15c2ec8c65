"""Many runs from a few: rows of a peer's SQLite database copied under new run ids.

Making 10,000 runs through a peer's interface takes from minutes to hours and is not what listing measures.
"""

import contextlib
import random
import sqlite3
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

TEMPLATES = 50


@dataclass(frozen=True)
class RunTable:
    """A table whose rows belong to runs.

    Attributes:
        name: The table.
        run_column: The column that holds the run's id.
        renamed: Text columns that must differ between runs; a suffix is put after them.
        generated: Columns the database fills in itself.
        jittered: Numbers that should differ between runs.
    """

    name: str
    run_column: str
    renamed: tuple[str, ...] = ()
    generated: tuple[str, ...] = ()
    jittered: tuple[str, ...] = ()


def template_count(runs: int) -> int:
    """Say how many runs are to be made through the peer's own interface."""
    return min(runs, TEMPLATES)


@contextlib.contextmanager
def connected(database: Path) -> Iterator[sqlite3.Connection]:
    """Open a database, commit at the end, close it."""
    connection = sqlite3.connect(database)
    try:
        with connection:
            yield connection
    finally:
        connection.close()


def clone_runs(database: Path, tables: Sequence[RunTable], runs: int) -> None:
    """Copy the runs that ``tables[0]`` lists, in turn, until there are ``runs`` of them."""
    generator = random.Random(0)
    with connected(database) as connection:
        first = tables[0]
        templates = [row[0] for row in connection.execute(f"SELECT DISTINCT {first.run_column} FROM {first.name}")]
        missing = range(runs - len(templates))
        clones = {uuid.UUID(int=generator.getrandbits(128)).hex: templates[i % len(templates)] for i in missing}
        for table in tables:
            _clone_rows(connection, table, clones, generator)
        connection.execute("ANALYZE")


def _clone_rows(
    connection: sqlite3.Connection, table: RunTable, clones: dict[str, str], generator: random.Random
) -> None:
    names = [row[1] for row in connection.execute(f"PRAGMA table_info({table.name})")]
    columns = [name for name in names if name not in table.generated]
    selected = ", ".join(columns)
    rows = connection.execute(f"SELECT {table.run_column}, {selected} FROM {table.name}").fetchall()
    by_template: dict[str, list[tuple[object, ...]]] = {}
    for template, *values in rows:
        by_template.setdefault(template, []).append(tuple(values))

    def copy(clone: str, values: tuple[object, ...]) -> list[object]:
        changed = dict(zip(columns, values, strict=True))
        changed[table.run_column] = clone
        for column in table.renamed:
            if changed[column] is not None:
                changed[column] = f"{changed[column]}-{clone}"
        for column in table.jittered:
            changed[column] = _jittered(changed[column], generator)
        return list(changed.values())

    marks = ", ".join("?" * len(columns))
    copies = (copy(clone, row) for clone, template in clones.items() for row in by_template.get(template, ()))
    connection.executemany(f"INSERT INTO {table.name} ({selected}) VALUES ({marks})", copies)


def _jittered(number: object, generator: random.Random) -> object:
    return number + generator.randrange(1_000_000) if isinstance(number, int) else number + generator.random()  # type: ignore[operator]
