"""Names of versions, and their end: each change is one replacement of `versions.json`, under the artifact's lock."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import replace

from playhead import clock, disk, facts, strictjson
from playhead.artifact import index, recalling, walking
from playhead.errors import Damaged, NotFound, WrongType
from playhead.home import Home
from playhead.lanes.files import sharing
from playhead.lanes.files.manifest import Manifest
from playhead.lanes.files.pool import Pool
from playhead.lanes.files.versions import DELETED, LATEST, READY, Metadata, VersionEntry, Versions
from playhead.layout import ArtifactFolder, check_alias

Change = Callable[[Versions, VersionEntry], Versions]


def name(home: Home, folder: ArtifactFolder, number: int, aliases: Iterable[str]) -> Versions:
    """Let words name a version, instead of those that they named before.

    Raises:
        WrongType: The version is deleted, or the word is `latest`.
    """
    words = _words(aliases)

    def change(versions: Versions, entry: VersionEntry) -> Versions:
        if entry.status == DELETED:
            raise WrongType(f"{folder.name}:v{number} is deleted; restore it before it gets a name")
        return versions.named({**versions.aliases, **dict.fromkeys(words, number)}, clock.now())

    return _change(home, folder, number, change)


def unname(home: Home, folder: ArtifactFolder, number: int, aliases: Iterable[str]) -> Versions:
    """Take words away from a version."""
    words = _words(aliases)

    def change(versions: Versions, _entry: VersionEntry) -> Versions:
        kept = {word: named for word, named in versions.aliases.items() if named != number or word not in words}
        return versions.named(kept, clock.now())

    return _change(home, folder, number, change)


def _words(aliases: Iterable[str]) -> list[str]:
    words = [check_alias(alias) for alias in aliases]
    if LATEST in words:
        raise WrongType("'latest' always names the newest version that is not deleted; choose another word")
    return words


def delete(home: Home, folder: ArtifactFolder, number: int, reason: str = "") -> Versions:
    """Delete a version, so that it can be restored."""
    marker = {
        "deleted_at": clock.now(),
        "deleted_by": "user",
        "version": number,
        "artifact_name": folder.name,
        "reason": strictjson.plain(reason),
    }

    def mark() -> None:
        with contextlib.suppress(FileNotFoundError):  # purged before
            facts.write(folder.version(number).deleted, marker)

    return _change(home, folder, number, lambda found, entry: _with_status(found, entry, DELETED), then=mark)


def restore(home: Home, folder: ArtifactFolder, number: int) -> Versions:
    """Take a deleted version back.

    Raises:
        NotFound: It was purged.
    """
    place = folder.version(number)
    if not place.path.is_dir():
        raise NotFound(f"{folder.name}:v{number} was purged, and cannot be restored")
    return _change(
        home,
        folder,
        number,
        lambda found, entry: _with_status(found, entry, READY),
        then=lambda: disk.remove(place.deleted),
    )


def _with_status(versions: Versions, entry: VersionEntry, status: str) -> Versions:
    entries = tuple(replace(one, status=status) if one.version == entry.version else one for one in versions.entries)
    return replace(versions, entries=entries).named(versions.aliases, clock.now())


def purge(home: Home, folder: ArtifactFolder, number: int) -> int:
    """Remove a version for good, with the contents that it alone held; its number is never given again.

    Returns:
        How many bytes the pool lost; 0 where somebody saves for long, and `playhead gc` does the rest later.
    """
    place = folder.version(number)
    try:
        held = {entry.sha256 for entry in Manifest.load(place, Metadata.load(place, None).manifest_digest).files}
    except Damaged:
        held = set()  # left to the collection of all garbage
    gone = disk.temporary_beside(place.path)
    heirs: dict[str, int] = {}

    def go() -> None:
        heirs.update(sharing.pass_on(folder, number))
        with contextlib.suppress(FileNotFoundError):
            disk.rename(place.path, gone)  # out of sight in one step, then away at leisure
            disk.sync_folder(gone.parent)  # else a power cut brings it back without what was in it

    _change(home, folder, number, _without, then=go)
    recalling.hand_on(home, folder, number, heirs)
    with contextlib.suppress(FileNotFoundError):
        disk.remove_tree(gone)
    return _collect(home, held)


def _without(versions: Versions, entry: VersionEntry) -> Versions:
    digests = {key: digest for key, digest in versions.digests.items() if key != f"v{entry.version}"}
    return _with_status(replace(versions, digests=digests), entry, DELETED)


def _collect(home: Home, digests: set[str]) -> int:
    pool = Pool(home.layout.artifacts.pool)
    freed = 0
    with pool.removing() as is_alone:
        if not is_alone or not digests:
            return 0
        try:
            digests = digests - walking.referenced(home.layout)
        except Damaged:
            return 0  # who holds what is not known: nothing goes
        for digest in sorted(digests):
            with contextlib.suppress(FileNotFoundError):
                size = pool.path(digest).stat().st_size
                pool.remove(digest)
                freed += size
    return freed


def _change(
    home: Home, folder: ArtifactFolder, number: int, change: Change, then: Callable[[], None] = lambda: None
) -> Versions:
    """Change what `versions.json` says of a version, and do something more before others may change it."""
    home.check_writable()
    home.layout.check_holds(folder.version(number).metadata)
    with disk.locked(folder.lock, make=True):
        versions = Versions.load(folder)
        entry = versions.get(number)
        if entry is None:
            raise NotFound.among(
                f"version of {folder.name}", f"v{number}", (f"v{one.version}" for one in versions.entries)
            )
        changed = change(versions, entry)
        disk.replace(folder.versions, changed.encode())
        then()
    index.put(home, folder)
    return changed
