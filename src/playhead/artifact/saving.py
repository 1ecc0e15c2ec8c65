"""Saving a version: contents, then files, manifest and metadata, and last the one file that makes it count."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter

from playhead import clock, disk, typed
from playhead.artifact import index, recalling, references
from playhead.artifact.draft import Artifact
from playhead.artifact.recalling import Recalled
from playhead.artifact.version import ArtifactVersion
from playhead.catalog import known_files
from playhead.catalog.known_files import Stamp
from playhead.errors import Damaged, Empty
from playhead.home import Home
from playhead.lanes.files import entries, manifest, sharing
from playhead.lanes.files.entries import FileEntry
from playhead.lanes.files.intake import Intake
from playhead.lanes.files.manifest import Reference
from playhead.lanes.files.pool import Pool
from playhead.lanes.files.sources import Source
from playhead.lanes.files.tree import Tree, is_in
from playhead.lanes.files.versions import LATEST, Metadata, VersionEntry, Versions
from playhead.layout import ArtifactFolder, VersionFolder, check_alias, several
from playhead.progress import watching


@dataclass(frozen=True, slots=True)
class _Held:
    """What a new version holds.

    Attributes:
        manifest: The SHA-256 of its manifest.
        size: Bytes of its files and references.
        files: How many files there are.
        references: How many references there are.
        learned: Files that were read, and may be known by their stamps from now on.
        unsure: Files that may look the same after they are written again.
    """

    manifest: str
    size: int
    files: int
    references: int
    learned: Sequence[tuple[Stamp, str]] = ()
    unsure: Collection[str] = ()


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
    home.check_writable("save artifacts")
    words = [check_alias(alias) for alias in several(aliases, "aliases")]
    tree = draft.gather()
    if not len(tree) and not draft.references:
        raise Empty(f"the artifact {draft.name!r} has no files and no references; add some before it is saved")
    completed = tuple(references.completed(reference, home.layout) for reference in draft.references)
    folder = home.layout.artifacts.artifact(draft.type, draft.name)
    home.layout.check_holds(folder.path)
    home.layout.check_holds(home.layout.artifacts.pool.lock)
    disk.make_folders(folder.path)
    home.layout.check_holds(folder.versions)
    looks = tree.looks() if len(tree) >= sharing.LEAST else {}
    pool = Pool(home.layout.artifacts.pool)
    with pool.saving(), contextlib.ExitStack() as undo:
        staged = VersionFolder(disk.temporary_beside(folder.version(0).path))
        undo.callback(_discard, staged)
        disk.make_folder(staged.path)
        known = recalling.recall(home, folder, looks) if looks else None
        is_known = known is not None and known.is_all and not completed
        if known is not None and is_known:
            held = _repeated(known, staged)
        else:
            held = _taken(home, pool, staged, tree, completed, known, f"Saving {draft.name}", progress)
        with disk.locked(folder.lock, make=True):
            if known is not None:
                known.share(pool, staged)
            versions, entry = _commit(folder, staged, draft, held, run_id, parents, words)
        undo.pop_all()
    home.backlog.do(("artifact", folder.type, folder.name), partial(index.put, home, folder))
    with home.backlog.tolerating(None):  # without this, more is read at the next save
        if held.learned:
            with home.database.write() as connection:
                known_files.remember(connection, held.learned)
        if looks and not is_known:
            recalling.remember(home, folder, entry.version, held.manifest, looks, held.unsure)
    return ArtifactVersion(home, folder, versions, entry)


def _repeated(known: Recalled, staged: VersionFolder) -> _Held:
    """Hold all that an earlier version holds."""
    known.repeat_manifest(staged)
    facts = known.facts
    return _Held(str(facts.manifest_digest), facts.size_bytes, facts.num_files, facts.num_references)


def _taken(
    home: Home,
    pool: Pool,
    staged: VersionFolder,
    tree: Tree,
    referred: tuple[Reference, ...],
    known: Recalled | None,
    title: str,
    progress: bool | None,
) -> _Held:
    """Bring in all files, but for those of folders that an earlier version has, and write the manifest."""
    shared = () if known is None else known.folders
    sources = tree.sources(without=shared)
    kept = [] if known is None else [*known.files()]
    taken: list[FileEntry] = []
    with watching(title, sum(source.stamp.size for source in sources), progress) as watch:
        intake = Intake(pool, staged.files, _known(home, sources), watch)
        if "" not in shared:
            disk.make_folder(staged.files)
            around = {place.rpartition("/")[0] for place in shared}
            taken = intake.take(sources, around.union(place for place in tree.empty if not is_in(place, shared)))
    executables = {*intake.executables, *(() if known is None else known.executables())}
    size = sum(entry.size for entry in taken) + sum(entries.size_of(lines) for _, lines in kept)
    # Files whose paths begin alike follow one another, so that a folder is in order as a whole.
    new = zip((entry.path for entry in taken), ([lines] for lines in entries.spelled(taken)), strict=True)
    files = [lines for _, each in sorted([*kept, *new], key=itemgetter(0)) for lines in each]
    data = manifest.compose(files, size, referred, clock.now(), tree.empty, sorted(executables))
    disk.replace(staged.manifest, data, named=False)
    digest = hashlib.sha256(data).hexdigest()
    size += sum(reference.size or 0 for reference in referred)
    return _Held(digest, size, len(files), len(referred), intake.learned, intake.unsure)


def _known(home: Home, sources: Sequence[Source]) -> dict[Stamp, str]:
    with home.backlog.tolerating(None), home.database.read() as connection:
        return known_files.find(connection, [source.stamp for source in sources])
    return {}


def _commit(
    folder: ArtifactFolder,
    staged: VersionFolder,
    draft: Artifact,
    held: _Held,
    run_id: str | None,
    parents: Sequence[str],
    aliases: Sequence[str],
) -> tuple[Versions, VersionEntry]:
    """Give the version its number and its place, then its line in `versions.json`; the lock is held."""
    versions = Versions.load(folder)
    # A folder that is not listed is what a crash left; its number is not given again.
    number = max(versions.highest, *folder.numbers(taken=True), 0) + 1
    if number > typed.LAST_VERSION:
        raise Damaged(
            folder.versions, "numbers that come one after the other", f"v{number - 1}", "Run: playhead repair"
        )
    now = clock.now()
    metadata = Metadata(
        name=folder.name,
        type=folder.type,
        version=number,
        created_at=now,
        updated_at=now,
        created_by_run=run_id,
        size_bytes=held.size,
        num_files=held.files,
        num_references=held.references,
        metadata=draft.metadata,
        description=draft.description,
        tags=tuple(draft.tags),
        aliases=(LATEST, *aliases),
        parent_artifacts=tuple(parents),
        manifest_digest=held.manifest,
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
