"""How an older catalogue becomes a current one.

A new database is made from `schema` and is current at once. An older one is brought forward by the functions in
`STEPS`, in order, each in one transaction together with the record that it was applied. A name that is recorded but
unknown here was written by a later Playhead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from sqlalchemy import Connection, Table, insert, inspect, text

from playhead import clock
from playhead.catalog import schema
from playhead.catalog.typed_rows import OddRow
from playhead.errors import StoreTooNew

Step = Callable[[Connection], None]

FIRST = "ground"  # the tables of format 1, before any step


def add_episode_folders(connection: Connection) -> None:
    """Make room for what lies in datasets."""
    schema.episode_folders.create(connection)


def add_replay(connection: Connection) -> None:
    """Make room for the steps and episodes of agents."""
    for table in MADE[add_replay]:
        table.create(connection)
    for view in ("episodes", "steps"):
        connection.execute(text(f"CREATE VIEW {view} AS {schema.VIEWS[view]}"))


def add_artifacts(connection: Connection) -> None:
    """Make room for artifacts, and for what is known of files that were saved."""
    for table in MADE[add_artifacts]:
        table.create(connection)


def add_known_folders(connection: Connection) -> None:
    """Make room for how folders looked that were saved."""
    schema.known_folders.create(connection)


def keep_digits_of_infos(connection: Connection) -> None:
    """Let numbers in the infos of `steps` be those that were recorded."""
    connection.execute(text("DROP VIEW steps"))
    connection.execute(text(f"CREATE VIEW steps AS {schema.VIEWS['steps']}"))


STEPS: tuple[Step, ...] = (
    add_episode_folders,
    add_replay,
    add_artifacts,
    add_known_folders,
    keep_digits_of_infos,
)


# The tables that each step makes.
MADE: dict[Step, tuple[Table, ...]] = {
    add_episode_folders: (schema.episode_folders,),
    add_replay: (
        schema.reels,
        schema.reel_agents,
        schema.replay_episodes,
        schema.info_shapes,
        schema.replay_steps,
    ),
    add_artifacts: (schema.artifacts, schema.artifact_versions, schema.artifact_uses, schema.known_files),
    add_known_folders: (schema.known_folders,),
}


def is_new(connection: Connection) -> bool:
    """Tell whether the database has no tables yet."""
    return not inspect(connection).has_table(schema.migrations.name)


def create(connection: Connection, steps: Sequence[Step] = STEPS) -> None:
    """Make the tables of the current version, and record that no step is needed."""
    schema.metadata.create_all(connection)
    for name, query in schema.VIEWS.items():
        connection.execute(text(f"CREATE VIEW {name} AS {query}"))
    for name in (FIRST, *(step.__name__ for step in steps)):
        _record(connection, name)


def pending(connection: Connection, steps: Sequence[Step] = STEPS) -> list[Step]:
    """List the steps that a database still needs. Writes nothing.

    Raises:
        StoreTooNew: The database has steps that are unknown here.
        OddRow: If no version leaves such a list of steps.
    """
    done = set(connection.exec_driver_sql("SELECT name FROM migrations").scalars())
    names = [FIRST, *(step.__name__ for step in steps)]
    odd = next((name for name in done if not isinstance(name, str)), None)
    if odd is not None or None in done:
        raise OddRow(f"{odd!r:.60} as a name in migrations")
    unknown = done - {*names}
    if unknown:
        raise StoreTooNew(
            f"the catalogue was written by a later version of Playhead (it has {', '.join(sorted(unknown))}). "
            "Upgrade with: pip install --upgrade playhead"
        )
    if done != {*names[: len(done)]} or not done:
        missing = next(name for name in names if name not in done)
        raise OddRow(f"migrations without {missing}")
    return [step for step in steps if step.__name__ not in done]


def at_odds(tables: Iterable[str], needed: Sequence[Step]) -> Iterator[str]:
    """Yield what is there without the step that makes it, or is missing though its step was applied, in words.

    Args:
        tables: The names of the tables that are there.
        needed: The steps that were not applied.
    """
    later = {table.name for step in needed for table in MADE.get(step, ())}
    there = {*tables}
    for name in sorted({*schema.metadata.tables} & (there & later | {*schema.metadata.tables} - there - later)):
        yield f"the table {name}, which migrations do not name" if name in there else f"no table {name}"


def apply(connection: Connection, step: Step) -> None:
    """Apply one step and record it. Call it within a transaction, so that both happen or neither."""
    step(connection)
    _record(connection, step.__name__)


def _record(connection: Connection, name: str) -> None:
    connection.execute(insert(schema.migrations), {"name": name, "applied_at": clock.now()})
