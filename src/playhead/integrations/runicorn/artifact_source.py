"""One version of an artifact of Runicorn, as its folder says it is. Reading only; no link is followed.

- `<root>/artifacts/<type>/<name>/versions.json`, `v<N>/metadata.json`, `v<N>/manifest.json`, `v<N>/files/…`, up to 0.5
- `<root>/artifacts/.dedup/<ab>/<sha256>`, where contents lie once, if the program was told so
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from playhead import facts, strictjson, typed
from playhead.artifact import TYPES
from playhead.artifact.references import check_uri
from playhead.errors import BadName, BadRef, Damaged
from playhead.integrations.incoming import Refused
from playhead.lanes.files.entries import FileEntry
from playhead.lanes.files.manifest import Manifest, Reference
from playhead.lanes.files.pool import Pool
from playhead.lanes.files.versions import DELETED, LATEST, READY, Metadata, VersionEntry, Versions
from playhead.layout import (
    ArtifactFolder,
    ArtifactsFolder,
    VersionFolder,
    check_artifact_name,
    check_label,
    check_member,
    check_run_id,
)

# On Python 3.11 Runicorn calls the folder after the enumeration: `ArtifactType.MODEL`.
_MISTAKEN = "ArtifactType."
_LONGEST = 2048  # bytes of a path within an artifact; a whole one has 4096 on Linux


@dataclass(frozen=True, slots=True)
class VersionCandidate:
    """A folder where Runicorn would have a version of an artifact.

    Attributes:
        path: The folder.
        type: The type of the artifact, in Playhead's words.
        number: The version.
        listed: All versions of the artifact; none where that cannot be read.
        problem: Why it cannot be taken over, where that is plain to see.
    """

    path: Path
    type: str
    number: int
    listed: Versions
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class SourceVersion:
    """A version to take over.

    Attributes:
        type: Its type.
        name: Its artifact.
        metadata: What it is.
        manifest: What it holds.
        files: For each file of the manifest where its content may lie.
        deleted: What says that it is deleted; None where it is not.
        aliases: The words that name it.
    """

    type: str
    name: str
    metadata: Metadata
    manifest: Manifest
    files: Mapping[str, list[Path]]
    deleted: dict[str, Any] | None
    aliases: list[str]

    @property
    def number(self) -> int:
        """Its number."""
        return self.metadata.version


def candidates(folder: Path) -> Iterator[VersionCandidate]:
    """Walk over the versions of one artifact: those that are listed, and folders that are not."""
    artifact = ArtifactFolder(folder)
    type, problem = _type(artifact.type), None
    try:
        listed = _listed(artifact)
    except Refused as error:
        listed, problem = Versions(artifact.name, type), str(error)
    for number in sorted({*artifact.numbers(), *(entry.version for entry in listed.entries)}):
        path = artifact.version(number).path
        if problem is None and listed.get(number) is None:
            yield VersionCandidate(path, type, number, listed, "versions.json does not list it: its saving was stopped")
        else:
            yield VersionCandidate(path, type, number, listed, problem)


def _type(folder: str) -> str:
    word = folder.removeprefix(_MISTAKEN).lower()
    return word if folder.startswith(_MISTAKEN) and word in TYPES else folder


def _listed(artifact: ArtifactFolder) -> Versions:
    if not _is_plain_file(artifact.versions):
        raise Refused("it has no versions.json, so nobody knows which versions count")
    try:
        found = Versions.load(artifact)
    except (Damaged, OverflowError) as error:
        raise Refused(str(error)) from error
    numbers = [entry.version for entry in found.entries]
    if not all(type(number) is int and 0 < number < 2**31 for number in numbers) or len({*numbers}) < len(numbers):
        raise Refused("its versions.json does not number versions 1, 2, …")
    return found


def read(candidate: VersionCandidate) -> SourceVersion:
    """Read what a version is and holds; no file of it is looked into.

    Raises:
        Refused: It is not whole, or cannot be stored; the message says why.
        BadName: One of its names cannot be.
    """
    if candidate.problem is not None:
        raise Refused(candidate.problem)
    folder = VersionFolder(candidate.path)
    for path in (folder.metadata, folder.manifest):
        if not _is_plain_file(path):
            raise Refused(f"there is no file {path.name}")
    entry = candidate.listed.get(candidate.number)
    if entry is None or entry.status not in (READY, DELETED):
        raise Refused(f"its status is {entry and entry.status!r}: it was not saved to its end")
    name = check_artifact_name(candidate.path.parent.name)
    pool = Pool(ArtifactsFolder(candidate.path.parents[2]).pool)
    try:
        said = Metadata.load(folder, candidate.listed.digest(candidate.number))
        manifest = _manifest(folder, said.manifest_digest, pool)
    except Damaged as error:
        raise Refused(str(error)) from error
    return SourceVersion(
        type=check_artifact_name(candidate.type),
        name=name,
        metadata=_metadata(candidate, entry, name, said, manifest),
        manifest=manifest,
        files={entry.path: _places(pool, folder, entry) for entry in manifest.files},
        deleted=_deleted(folder, entry),
        aliases=_aliases(candidate),
    )


def _manifest(folder: VersionFolder, expected: object, pool: Pool) -> Manifest:
    """Read the manifest; its digest is that of the text, whose lines end otherwise on Windows."""
    data = folder.manifest.read_bytes()
    given = {hashlib.sha256(text).hexdigest() for text in (data, data.replace(b"\r\n", b"\n"))}
    if expected is not None and expected not in given:
        raise Refused("its manifest.json is not the one whose digest its metadata.json has")
    found = Manifest.load(folder, None)
    if not found.files and not found.references:
        raise Refused("there is nothing in it")
    files = tuple(sorted((_entry(folder, entry, pool) for entry in found.files), key=lambda entry: entry.path))
    _refuse_clashes([entry.path for entry in files], found.folders)
    references = tuple(map(_reference, found.references))
    return replace(found, files=files, references=references, created_at=typed.finite(found.created_at) or 0.0)


def _entry(folder: VersionFolder, entry: FileEntry, pool: Pool) -> FileEntry:
    if not isinstance(entry.digest, str) or type(entry.size) is not int or entry.size < 0:
        raise Refused(f"its manifest.json gives {entry.path} the size {entry.size!r} and the digest {entry.digest!r}")
    pool.path(entry.sha256)  # refuses what is no digest
    path = entry.path.replace("\\", "/")  # as Windows has them
    if path == entry.path or not _is_plain_file(folder.files / check_member(path)):
        path = entry.path
    return replace(entry, path=path, modified_at=typed.finite(entry.modified_at))


def _reference(found: Reference) -> Reference:
    try:
        uri = check_uri(found.uri)
    except BadRef as error:
        raise Refused(str(error)) from error
    size = found.size if type(found.size) is int and found.size >= 0 else None
    checksum = found.checksum if isinstance(found.checksum, str) else None
    return Reference(uri, checksum, size, strictjson.plain(found.metadata) if isinstance(found.metadata, dict) else {})


def _refuse_clashes(paths: list[str], empty: Iterable[str]) -> None:
    """Refuse files that would lie in one place, or one within another."""
    folders = {path[:end] for path in (*paths, *empty) for end, char in enumerate(path) if char == "/"}
    if len({*paths}) < len(paths) or {*folders, *empty} & {*paths}:
        raise Refused("its manifest.json names two files for one place")
    if any(len(path.encode()) > _LONGEST for path in (*paths, *empty)):
        raise Refused(f"its manifest.json names a file by more than {_LONGEST} bytes")


def _metadata(
    candidate: VersionCandidate, entry: VersionEntry, name: str, said: Metadata, manifest: Manifest
) -> Metadata:
    """Give what a version is, in the forms that every version has here; who wrote it may have been anybody."""
    created = typed.finite(said.created_at) or typed.finite(entry.created_at)
    created = os.stat(candidate.path).st_mtime if created is None else created
    return Metadata(
        name=name,
        type=candidate.type,
        version=candidate.number,
        created_at=created,
        updated_at=typed.finite(said.updated_at) or created,
        created_by_run=_run_id(said.created_by_run),
        created_by_user=None if said.created_by_user is None else strictjson.plain(str(said.created_by_user)),
        size_bytes=manifest.size,
        num_files=len(manifest.files),
        num_references=len(manifest.references),
        metadata=strictjson.plain(said.metadata) if isinstance(said.metadata, dict) else {},
        description=strictjson.plain(str(said.description or "")),
        tags=tuple(sorted({tag for tag in said.tags if _is_sound(check_label, tag, "tag")})),
        aliases=said.aliases,
        parent_artifacts=said.parent_artifacts,
        status=READY,
    )


def _aliases(candidate: VersionCandidate) -> list[str]:
    """List the words for a version, also those that Playhead would not give: they are looked up all the same."""
    named = (alias for alias, number in candidate.listed.aliases.items() if number == candidate.number)
    return [strictjson.plain(alias) for alias in named if alias and alias != LATEST]


def _is_sound(check: Any, *arguments: str) -> bool:
    try:
        check(*arguments)
    except BadName:
        return False
    return True


def _run_id(given: object) -> str | None:
    return given if isinstance(given, str) and _is_sound(check_run_id, given) else None


def _deleted(folder: VersionFolder, entry: VersionEntry) -> dict[str, Any] | None:
    if not _is_plain_file(folder.deleted):
        return {} if entry.status == DELETED else None
    try:
        return dict(strictjson.plain(facts.load(folder.deleted)))
    except Damaged:
        return {}  # that it is there says enough


def _places(pool: Pool, folder: VersionFolder, entry: FileEntry) -> list[Path]:
    """Give the plain files that may hold the content of a file."""
    return [place for place in (pool.path(entry.sha256), folder.files / entry.path) if _is_plain_file(place)]


def _is_plain_file(path: Path) -> bool:
    """Tell whether there is a file, and no link on the way to it."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode) and os.path.realpath(path) == os.fspath(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
