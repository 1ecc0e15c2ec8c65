"""The list of the versions of an artifact, made anew from all that says what was in it.

The folders of versions say most. Which were purged, and which words name which, they do not: that is in the catalogue,
and the numbers also in what is left of the list, so that none is given twice.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from typing import Any

from playhead import clock, owner, strictjson, typed
from playhead.care.ground import Ground
from playhead.errors import Damaged, Misplaced
from playhead.lanes.files.documents import content_of
from playhead.lanes.files.manifest import Manifest
from playhead.lanes.files.versions import DELETED, LATEST, Metadata, VersionEntry, Versions
from playhead.layout import ArtifactFolder, Layout

_NUMBER = re.compile(rb'"version":\s*([1-9][0-9]{0,9})\b')


def relist(layout: Layout, folder: ArtifactFolder) -> Versions:
    """Say which versions of an artifact there are and were; its lock is held.

    Raises:
        Damaged: A version cannot be read.
    """
    known = _in_catalogue(layout, folder)
    entries: dict[int, VersionEntry] = {
        number: _purged(number, known.get(number, {})) for number in {*known, *_numbers_left(folder)}
    }
    digests: dict[str, str] = {}
    aliases: dict[str, int] = {}
    for number in folder.numbers():
        place = folder.version(number)
        about = Metadata.load(place, None)
        if about.version != number:
            raise Misplaced(
                place.metadata, f"that of version {number}", f"that of version {about.version}", owner.REMEDY
            )
        Manifest.load(place, about.manifest_digest)
        status = DELETED if place.deleted.exists() else about.status
        sizes = about.size_bytes, about.num_files
        entries[number] = VersionEntry(number, about.created_at, about.created_by_run, *sizes, status)
        digests[f"v{number}"] = hashlib.sha256(content_of(place.metadata)).hexdigest()
        words = _words(known[number]) if number in known else None
        aliases |= dict.fromkeys(about.aliases if words is None else words, number)
    aliases.pop(LATEST, None)
    times = [entry.created_at for entry in entries.values() if entry.created_at] or [0.0]
    listed = tuple(entries[number] for number in sorted(entries))
    return Versions(folder.name, folder.type, listed, {}, min(times), max(times), digests).named(aliases, clock.now())


def _in_catalogue(layout: Layout, folder: ArtifactFolder) -> dict[int, dict[str, Any]]:
    """Give the rows of the catalogue, where it can be read; as everything, it may be damaged."""
    with contextlib.suppress(Damaged), Ground(layout) as ground:
        rows = [] if ground.catalogue is None else ground.catalogue.versions(folder.type, folder.name)
        return {row["version"]: row for row in rows if type(row["version"]) is int and row["version"] > 0}
    return {}


def _numbers_left(folder: ArtifactFolder) -> set[int]:
    """Find the numbers in a list that can no longer be understood as a whole."""
    try:
        return {int(number) for number in _NUMBER.findall(content_of(folder.versions))}
    except Damaged:
        return set()


def _purged(number: int, row: dict[str, Any]) -> VersionEntry:
    try:
        run = typed.maybe(typed.text)(row["created_by_run"])
        sizes = typed.whole(row["size_bytes"]), typed.whole(row["num_files"])
        return VersionEntry(number, typed.moment(row["created_at"]), run, *sizes, DELETED)
    except (KeyError, TypeError):
        return VersionEntry(number, 0.0, None, 0, 0, DELETED)


def _words(row: dict[str, Any]) -> tuple[str, ...] | None:
    """Give the words that named a version, as the catalogue says; None where it cannot."""
    try:
        return typed.texts(strictjson.decode(typed.text(row["aliases"])))
    except (TypeError, strictjson.JSONDecodeError):
        return None
