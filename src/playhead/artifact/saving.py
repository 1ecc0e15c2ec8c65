"""Saving a version: contents, then files, manifest and metadata, and last the one file that makes it count."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from playhead import clock, disk
from playhead.artifact import index, references
from playhead.artifact.draft import Artifact
from playhead.artifact.version import ArtifactVersion
from playhead.catalog import known_files
from playhead.catalog.known_files import Stamp
from playhead.errors import Empty, ReadOnly
from playhead.home import Home
from playhead.lanes.files.intake import Intake
from playhead.lanes.files.manifest import LATEST, Manifest, Metadata, VersionEntry, Versions
from playhead.lanes.files.pool import Pool
from playhead.lanes.files.sources import Source
from playhead.layout import ArtifactFolder, VersionFolder, check_alias
from playhead.progress import watching


def save(
    home: Home,
    draft: Artifact,
    *,
    run_id: str | None = None,
    parents: Sequence[str] = (),
    aliases: Iterable[str] = (),
    progress: bool | None = None,
) -> ArtifactVersion:
    """Save an artifact as a new version.

    A crash at any moment leaves the versions that were there, and hidden leftovers that `playhead gc` collects.

    Args:
        home: The store.
        draft: What to save.
        run_id: The run that does.
        parents: The versions it used.
        aliases: Words that name the version from now on.
        progress: Draw a bar; None for where there is a terminal and it takes long.

    Raises:
        Empty: There is nothing in it.
        WrongType: There is something that cannot be saved; the message says why.
        Damaged: A file changed while it was read.
    """
    if home.database.mode != "a":
        raise ReadOnly(f"the store {home.layout.root} is open for reading; open it with mode='a' to save artifacts")
    words = [check_alias(alias) for alias in ([aliases] if isinstance(aliases, str) else aliases)]
    sources, folders = draft.gather()
    if not sources and not draft.references:
        raise Empty(f"the artifact {draft.name!r} has no files and no references; add some before it is saved")
    completed = tuple(references.completed(reference, home.layout) for reference in draft.references)
    folder = home.layout.artifacts.artifact(draft.type, draft.name)
    disk.make_folders(folder.path)
    pool = Pool(home.layout.artifacts.pool)
    with pool.saving(), contextlib.ExitStack() as undo:
        staged = VersionFolder(disk.temporary_beside(folder.version(0).path))
        undo.callback(_discard, staged)
        disk.make_folder(staged.path)
        disk.make_folder(staged.files)
        with watching(f"Saving {draft.name}", sum(source.stamp.size for source in sources), progress) as watch:
            intake = Intake(pool, staged.files, _known(home, sources), watch)
            manifest = Manifest(tuple(intake.take(sources, folders)), completed, clock.now(), tuple(folders))
        data = manifest.encode()
        disk.replace(staged.manifest, data, named=False)
        versions, entry = _commit(folder, staged, draft, manifest, data, run_id, parents, words)
        undo.pop_all()
    index.put(home, folder)
    if intake.learned:
        with home.database.write() as connection:
            known_files.remember(connection, intake.learned)
    return ArtifactVersion(home, folder, versions, entry)


def _known(home: Home, sources: Sequence[Source]) -> dict[Stamp, str]:
    with home.database.read() as connection:
        return known_files.find(connection, [source.stamp for source in sources])


def _commit(
    folder: ArtifactFolder,
    staged: VersionFolder,
    draft: Artifact,
    manifest: Manifest,
    data: bytes,
    run_id: str | None,
    parents: Sequence[str],
    aliases: Sequence[str],
) -> tuple[Versions, VersionEntry]:
    """Give the version its number and its place, then its line in `versions.json`."""
    with disk.locked(folder.lock, make=True):
        versions = Versions.load(folder)
        # A folder that is not listed is what a crash left; its number is not given again.
        number = max(versions.highest, *folder.numbers(), 0) + 1
        now = clock.now()
        metadata = Metadata(
            name=folder.name,
            type=folder.type,
            version=number,
            created_at=now,
            updated_at=now,
            created_by_run=run_id,
            size_bytes=manifest.size,
            num_files=len(manifest.files),
            num_references=len(manifest.references),
            metadata=draft.metadata,
            description=draft.description,
            tags=tuple(draft.tags),
            aliases=(LATEST, *aliases),
            parent_artifacts=tuple(parents),
            manifest_digest=hashlib.sha256(data).hexdigest(),
        )
        described = metadata.encode()
        disk.replace(staged.metadata, described)
        disk.rename(staged.path, folder.version(number).path)
        disk.sync_folder(folder.path)
        entry = VersionEntry(number, now, run_id, metadata.size_bytes, metadata.num_files)
        versions = replace(
            versions,
            entries=(*versions.entries, entry),
            created_at=versions.created_at or now,
            digests={**versions.digests, f"v{number}": hashlib.sha256(described).hexdigest()},
        ).named({**versions.aliases, **dict.fromkeys(aliases, number)}, now)
        disk.replace(folder.versions, versions.encode())
        return versions, versions.entries[-1]


def _discard(staged: VersionFolder) -> None:
    # The first error is the one to report; what cannot be removed now is hidden, and collected later.
    with contextlib.suppress(OSError):
        if staged.path.exists():
            disk.remove_tree(staged.path)
