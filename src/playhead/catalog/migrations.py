"""How an older catalogue becomes a current one.

A new database is made from `schema` and is current at once. An older one is brought forward by the functions in
`STEPS`, in order, each in one transaction together with the record that it was applied. A name that is recorded but
unknown here was written by a later Playhead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, insert, select, text
from sqlalchemy.exc import OperationalError

from playhead import clock
from playhead.catalog import schema
from playhead.errors import StoreTooNew


def ground(connection: Connection) -> None:
    """Make the tables of the first format."""
    schema.metadata.create_all(connection)
    for name, query in schema.VIEWS.items():
        connection.execute(text(f"CREATE VIEW IF NOT EXISTS {name} AS {query}"))


STEPS: tuple[Callable[[Connection], None], ...] = (ground,)


def pending(connection: Connection, steps: Sequence[Callable[[Connection], None]] = STEPS) -> list[str]:
    """List the names of the steps that a database still needs. Writes nothing.

    Raises:
        StoreTooNew: The database has steps that are unknown here.
    """
    done = _recorded(connection)
    unknown = done - {step.__name__ for step in steps}
    if unknown:
        raise StoreTooNew(
            f"the catalogue was written by a later version of Playhead (it has {', '.join(sorted(unknown))}). "
            "Upgrade with: pip install --upgrade playhead"
        )
    return [step.__name__ for step in steps if step.__name__ not in done]


def apply(connection: Connection, name: str, steps: Sequence[Callable[[Connection], None]] = STEPS) -> None:
    """Apply one step and record it. Call it within one transaction."""
    step = next(step for step in steps if step.__name__ == name)
    step(connection)
    connection.execute(insert(schema.migrations).values(name=name, applied_at=clock.now()))


def _recorded(connection: Connection) -> set[str]:
    try:
        return set(connection.execute(select(schema.migrations.c.name)).scalars())
    except OperationalError as error:
        if "no such table" in str(error.orig):
            return set()
        raise
