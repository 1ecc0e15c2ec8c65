"""Artifacts in the catalogue.

A list looks at the time, size and inode of every `versions.json`, and reads those that are not as they were. So an
index that a crash left behind, or that another program knows nothing of, mends itself.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from playhead import facts, strictjson, typed
from playhead.catalog import artifacts as catalog
from playhead.catalog.artifacts import ArtifactFacts, Listed, Use, VersionFacts
from playhead.errors import Damaged, foreseen
from playhead.home import Home
from playhead.lanes.files.documents import RESTORE, unsealed
from playhead.lanes.files.versions import DELETED, Metadata, VersionEntry, Versions
from playhead.layout import ArtifactFolder, RunFolder

_MOMENTS = "used_at", "created_at"  # of what a run used, and of what it made

Facts = tuple[ArtifactFacts, Sequence[VersionFacts]]

_NOTHING: Mapping[int, VersionFacts] = MappingProxyType({})


def put(home: Home, folder: ArtifactFolder) -> None:
    """Bring the catalogue up to date with one artifact."""
    with home.database.read() as connection:
        known = catalog.versions(connection, folder.type, folder.name)
    found = _facts(folder, _stamp(folder.versions), known)
    with home.database.write() as connection:
        catalog.put(connection, [found])


def refresh(home: Home) -> list[Facts]:
    """Bring the catalogue up to date with all artifacts.

    Returns:
        What changed, where the store is open for reading and the catalogue stays as it is.
    """
    with home.database.read() as connection:
        known = catalog.stamps(connection)
    there: dict[catalog.Key, str] = {}
    changed: list[Facts] = []
    for type, name, path in home.layout.artifacts.lists():
        stamp = _stamp(path)
        if stamp:
            there[type, name] = stamp
            if known.get((type, name)) != stamp:
                changed.append(_read(home, home.layout.artifacts.at(type, name), stamp))
    gone = known.keys() - there.keys()
    if home.database.mode != "a":
        return changed
    if changed or gone:
        with home.database.write() as connection:
            catalog.put(connection, changed)
            catalog.remove(connection, gone)
    return []


def is_behind(home: Home) -> bool:
    """Return whether the files of artifacts say something else than the catalogue, which stays as it is.

    Files of a copy are others than those that were indexed, so what they say is compared.
    """
    with home.database.read() as connection:
        known = catalog.stamps(connection)
        there = {(type, name): _stamp(path) for type, name, path in home.layout.artifacts.lists()}
        if known.keys() != {key for key, stamp in there.items() if stamp}:
            return True
        for (type, name), stamp in there.items():
            if stamp and stamp != known[type, name]:
                _, found = _read(home, home.layout.artifacts.at(type, name), stamp)
                if {one.version: one for one in found} != catalog.versions(connection, type, name):
                    return True
    return False


def _read(home: Home, folder: ArtifactFolder, stamp: str) -> Facts:
    """Read an artifact; of one whose list is damaged, keep what is known: `repair` makes the list of it."""
    found = _facts(folder, stamp)
    if found[0].problem is None:
        return found
    with home.database.read() as connection:
        return found[0], [*catalog.versions(connection, folder.type, folder.name).values()]


def _stamp(versions: str | os.PathLike[str]) -> str:
    try:
        found = os.stat(versions)
    except FileNotFoundError:
        return ""
    except OSError:  # who reads it says what is wrong
        return "unknown"
    return f"{found.st_mtime_ns}:{found.st_size}:{found.st_ino}"


def _facts(folder: ArtifactFolder, stamp: str, known: Mapping[int, VersionFacts] = _NOTHING) -> Facts:
    """Read what the files of an artifact say; of versions that are known, which never change, only what may."""
    try:
        with foreseen(folder.path):
            versions = Versions.load(folder)
    except Damaged as problem:
        return ArtifactFacts(folder.type, folder.name, None, 0.0, 0.0, stamp, str(problem)), [*known.values()]
    found = [_version(folder, versions, entry, known.get(entry.version)) for entry in versions.entries]
    latest = max((one.version for one in found if one.status != DELETED), default=None)
    return (
        ArtifactFacts(folder.type, folder.name, latest, versions.created_at, versions.updated_at, stamp),
        found,
    )


def _version(
    folder: ArtifactFolder, versions: Versions, entry: VersionEntry, known: VersionFacts | None
) -> VersionFacts:
    place = folder.version(entry.version)
    status = DELETED if place.deleted.exists() else entry.status
    aliases = strictjson.encode(entry.aliases).decode()
    is_purged = status == DELETED and not place.metadata.exists()  # then no file says what was known
    if known is not None and known.created_at == entry.created_at and not is_purged:
        return replace(known, status=status, aliases=aliases)
    try:
        with foreseen(place.path):
            about = Metadata.load(place, versions.digest(entry.version))
        tags, description, references = about.tags, about.description, about.num_references
    except Damaged:
        tags, description, references = (), "", 0  # listed all the same; whoever opens it hears what is wrong
    return VersionFacts(
        type=folder.type,
        name=folder.name,
        version=entry.version,
        created_at=entry.created_at,
        created_by_run=entry.created_by_run,
        size_bytes=entry.size_bytes,
        num_files=entry.num_files,
        num_references=references,
        status=status,
        aliases=aliases,
        tags=strictjson.encode(tags).decode(),
        description=description,
    )


def listing(home: Home, type: str | None = None) -> list[Listed]:
    """List the artifacts of a store, each with its latest version, by type and name."""
    overlay = {(facts.type, facts.name): _listed(facts, versions) for facts, versions in refresh(home)}
    with home.database.read() as connection:
        rows = {(row.type, row.name): row for row in catalog.listing(connection, type)}
    rows |= {key: row for key, row in overlay.items() if type in (None, row.type)}
    return [rows[key] for key in sorted(rows)]


def named(home: Home, alias: str, type: str | None = None) -> list[VersionFacts]:
    """List the versions of a store that an alias names, by type and name."""
    overlay = {(facts.type, facts.name): versions for facts, versions in refresh(home)}
    with home.database.read() as connection:
        found = [one for one in catalog.named(connection, alias) if (one.type, one.name) not in overlay]
    found += [one for versions in overlay.values() for one in versions if alias in strictjson.decode(one.aliases)]
    chosen = (one for one in found if type in (None, one.type) and one.status != DELETED)
    return sorted(chosen, key=lambda one: (one.type, one.name, one.version))


def _listed(facts: ArtifactFacts, versions: Sequence[VersionFacts]) -> Listed:
    latest = next((one for one in versions if one.version == facts.latest), None)
    return Listed(
        facts.type,
        facts.name,
        facts.latest,
        sum(one.status != DELETED for one in versions),
        facts.created_at,
        facts.updated_at,
        facts.problem,
        *((None,) * 5 if latest is None else (getattr(latest, name) for name in Listed._fields[7:])),
    )


def makers(home: Home) -> list[Use]:
    """List every version with the run that made it."""
    changed = refresh(home)
    with home.database.read() as connection:
        found = catalog.makers(connection)
    others = {(facts.type, facts.name) for facts, _ in changed}
    found = [one for one in found if (one.type, one.name) not in others]
    return found + [
        Use(one.created_by_run, one.type, one.name, one.version, one.created_at)
        for _, versions in changed
        for one in versions
        if one.created_by_run is not None
    ]


def users(home: Home) -> list[Use]:
    """List every version with each run that used it."""
    with home.database.read() as connection:
        return catalog.users(connection)


def used_by(folder: RunFolder) -> list[dict[str, object]]:
    """Read which versions a run used, in order.

    Raises:
        Damaged: The file is not what was written.
    """
    return entries(folder, folder.artifacts_used)


def made_by(folder: RunFolder) -> list[dict[str, object]]:
    """Read which versions a run made, in order.

    Raises:
        Damaged: The file is not what was written.
    """
    return entries(folder, folder.artifacts_created)


def entries(folder: RunFolder, path: Path) -> list[dict[str, object]]:
    """Read one of the two lists of a run.

    Raises:
        Damaged: The file is not what was written.
    """
    try:
        found = unsealed(path, facts.load(path)).get("artifacts", [])
    except Damaged as error:
        raise Damaged(error.path, error.expected, error.found, RESTORE) from error
    if not isinstance(found, list) or not all(isinstance(entry, dict) and "name" in entry for entry in found):
        raise Damaged(path, "a list of artifacts", "something else", RESTORE)
    own, other = _MOMENTS if path == folder.artifacts_used else reversed(_MOMENTS)
    if any(other in entry and own not in entry for entry in found):
        raise Damaged(path, f"versions, each with {own}", f"one with {other}, as the other list has it", RESTORE)
    return found


def put_uses(home: Home, key: int, folder: RunFolder, *, keep: bool = True) -> None:
    """Bring the catalogue up to date with what a run used.

    Args:
        home: The store.
        key: The run.
        folder: The run's folder.
        keep: Keep what the catalogue knows besides.

    Raises:
        Damaged: The list of the run cannot be read.
    """
    try:
        rows = [
            (
                typed.text(entry["type"]),
                typed.text(entry["name"]),
                typed.version(entry["version"]),
                typed.moment(entry.get("used_at", 0)),
            )
            for entry in used_by(folder)
        ]
    except (KeyError, TypeError) as error:
        raise Damaged(folder.artifacts_used, "names, types, versions and times", repr(error)) from error
    with home.database.write() as connection:
        catalog.put_uses(connection, key, rows, keep=keep)
