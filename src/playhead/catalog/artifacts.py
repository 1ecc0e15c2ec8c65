"""Artifacts in the catalogue: which there are, their versions, and which runs made and used them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, bindparam, delete, func, select, true
from sqlalchemy.dialects.sqlite import insert

from playhead.catalog.schema import artifact_uses, artifact_versions, artifacts, runs
from playhead.catalog.typed_rows import row_of, rows_of

Key = tuple[str, str]
UseOfRun = tuple[str, str, int, float]


@dataclass(frozen=True, slots=True)
class ArtifactFacts:
    """What the folder of an artifact says. One field a column."""

    type: str
    name: str
    latest: int | None
    created_at: float
    updated_at: float
    stamp: str
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """What the folder of a version says. One field a column; aliases and tags are JSON."""

    type: str
    name: str
    version: int
    created_at: float
    created_by_run: str | None
    size_bytes: int
    num_files: int
    num_references: int
    status: str
    aliases: str
    tags: str
    description: str


class Listed(NamedTuple):
    """An artifact in a list, with its latest version."""

    type: str
    name: str
    latest: int | None
    versions: int
    created_at: float
    updated_at: float
    problem: str | None
    size_bytes: int | None
    num_files: int | None
    created_by_run: str | None
    aliases: str | None
    tags: str | None


class Use(NamedTuple):
    """A run that made or used a version."""

    run_id: str
    type: str
    name: str
    version: int
    at: float


def stamps(connection: Connection) -> dict[Key, str]:
    """Give the stamps of the folders as they were indexed."""
    rows = connection.execute(select(artifacts.c.type, artifacts.c.name, artifacts.c.stamp))
    return {(type, name): stamp for type, name, stamp in rows}


def put(connection: Connection, found: Iterable[tuple[ArtifactFacts, Sequence[VersionFacts]]]) -> None:
    """Add artifacts, or bring their rows up to date."""
    found = list(found)
    if not found:
        return
    remove(connection, [(facts.type, facts.name) for facts, _ in found])
    connection.execute(insert(artifacts), [_row(facts) for facts, _ in found])
    rows = [_row(version) for _, versions in found for version in versions]
    if rows:
        connection.execute(insert(artifact_versions), rows)


def _row(facts: ArtifactFacts | VersionFacts) -> dict[str, object]:
    """Give the columns of a row; `asdict` would copy each value, at several times the price."""
    return {name: getattr(facts, name) for name in facts.__slots__}


def remove(connection: Connection, gone: Iterable[Key]) -> None:
    """Forget artifacts whose folders are gone."""
    rows = [{"of_type": type, "of_name": name} for type, name in gone]
    if not rows:
        return
    for table in (artifacts, artifact_versions):
        where = (table.c.type == bindparam("of_type")) & (table.c.name == bindparam("of_name"))
        connection.execute(delete(table).where(where), rows)


def listing(connection: Connection, type: str | None = None) -> list[Listed]:
    """List artifacts by type and name; those of which all versions were deleted have no latest one."""
    latest = artifact_versions.alias()
    counted = (
        select(func.count())
        .where(artifact_versions.c.type == artifacts.c.type, artifact_versions.c.name == artifacts.c.name)
        .where(artifact_versions.c.status != "deleted")
        .scalar_subquery()
    )
    query = (
        select(
            *(artifacts.c[name] for name in ("type", "name", "latest")),
            counted,
            *(artifacts.c[name] for name in ("created_at", "updated_at", "problem")),
            *(latest.c[name] for name in ("size_bytes", "num_files", "created_by_run", "aliases", "tags")),
        )
        .outerjoin(
            latest,
            and_(
                latest.c.type == artifacts.c.type,
                latest.c.name == artifacts.c.name,
                latest.c.version == artifacts.c.latest,
            ),
        )
        .order_by(artifacts.c.type, artifacts.c.name)
    )
    if type is not None:
        query = query.where(artifacts.c.type == type)
    return rows_of(Listed, connection.execute(query))


def versions(connection: Connection, type: str, name: str) -> dict[int, VersionFacts]:
    """Give what is known of the versions of an artifact, by number."""
    table = artifact_versions
    rows = connection.execute(select(table).where((table.c.type == type) & (table.c.name == name)))
    return {row.version: row_of(VersionFacts, row) for row in rows}


def named(connection: Connection, alias: str) -> list[VersionFacts]:
    """List the versions that an alias names."""
    table = artifact_versions
    words = func.json_each(table.c.aliases).table_valued("value")
    query = select(table).join(words, true()).where(words.c.value == alias)
    return rows_of(VersionFacts, connection.execute(query))


def makers(connection: Connection) -> list[Use]:
    """List every version with the run that made it, where one did."""
    columns = ("created_by_run", "type", "name", "version", "created_at")
    query = select(*(artifact_versions.c[name] for name in columns))
    return rows_of(Use, connection.execute(query.where(artifact_versions.c.created_by_run.is_not(None))))


def made_by_runs(connection: Connection) -> dict[str, int]:
    """Count the versions that are not deleted by the run that made them."""
    maker, status = artifact_versions.c.created_by_run, artifact_versions.c.status
    query = select(maker, func.count()).where(maker.is_not(None), status != "deleted").group_by(maker)
    return {row[0]: row[1] for row in connection.execute(query)}


def users(connection: Connection) -> list[Use]:
    """List every version with each run that used it."""
    columns = (artifact_uses.c[name] for name in ("type", "name", "version", "used_at"))
    query = select(runs.c.id, *columns).join(runs, runs.c.key == artifact_uses.c.run)
    return rows_of(Use, connection.execute(query))


def used_by(connection: Connection, run_id: str) -> list[dict[str, Any]]:
    """Return the versions that a run used, in order, each as the list of the run says it."""
    uses, about = artifact_uses.c, artifact_versions.c
    columns = ("name", "type", "version", "used_at", "size_bytes", "num_files")
    query = (
        select(*(uses[name] for name in columns[:4]), *(about[name] for name in columns[4:]))
        .join(runs, runs.c.key == uses.run)
        .outerjoin(
            artifact_versions,
            and_(about.type == uses.type, about.name == uses.name, about.version == uses.version),
        )
        .where(runs.c.id == run_id)
        .order_by(uses.used_at)
    )
    return [dict(zip(columns, row, strict=True)) for row in connection.execute(query)]


def made_by(connection: Connection, run_id: str) -> list[dict[str, Any]]:
    """Return the versions that a run made, in order, each as the list of the run says it."""
    columns = ("name", "type", "version", "created_at", "size_bytes", "num_files", "num_references")
    table = artifact_versions.c
    query = select(*(table[name] for name in columns)).where(table.created_by_run == run_id).order_by(table.created_at)
    return [dict(zip(columns, row, strict=True)) for row in connection.execute(query)]


def put_uses(connection: Connection, run: int, uses: Iterable[UseOfRun], *, keep: bool = False) -> None:
    """Say which versions a run used.

    Args:
        connection: The catalogue.
        run: The key of the run.
        uses: Type, name and number of each version, and when it was used; of several for one version the first counts.
        keep: Also keep what was said before of other versions.
    """
    if not keep:
        connection.execute(delete(artifact_uses).where(artifact_uses.c.run == run))
    rows = {
        (type, name, version): {"run": run, "type": type, "name": name, "version": version, "used_at": at}
        for type, name, version, at in reversed([*uses])
    }
    if rows:
        put = insert(artifact_uses)
        of_use = [artifact_uses.c[name] for name in ("run", "type", "name", "version")]
        put = put.on_conflict_do_update(index_elements=of_use, set_={"used_at": put.excluded.used_at})
        connection.execute(put, [*rows.values()])
