"""The artifacts of a store."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import NoneType
from typing import Any

from playhead import disk, layout
from playhead.artifact import TYPES, Artifact, ArtifactVersion, index, lists, saving
from playhead.catalog.artifacts import Listed
from playhead.errors import BadRef, Exists, NotFound, WrongType
from playhead.home import Home
from playhead.lanes.files.versions import DELETED, LATEST, VersionEntry, Versions
from playhead.layout import ArtifactFolder, RunFolder
from playhead.paths import GivenPath, as_path

_REF = re.compile(r"(?:(?P<type>[^/:]+)/)?(?P<name>[^/:]+):(?P<which>.+)", re.DOTALL)
_NUMBER = re.compile(r"v([0-9]{1,10})")

Paths = GivenPath | Sequence[GivenPath]


class Artifacts:
    """The artifacts of a store; `store.artifacts`.

        store.artifacts["policy:latest"]                # a version, by number or alias
        store.artifacts["model/policy:v3"]              # where types share a name
        store.artifacts.versions("policy")              # all versions that are not deleted, in order
        store.artifacts.named("best")                   # of all artifacts, the version with this alias
        for row in store.artifacts: print(row.type, row.name, row.latest)
        store.artifacts.save("policy", "model.pt")      # without a run

    Args:
        home: The store.
    """

    def __init__(self, home: Home) -> None:
        self._home = home

    def __getitem__(self, ref: str) -> ArtifactVersion:
        """Look a version up: `policy:v3`, `policy:latest`, `model/policy:best`.

        Raises:
            BadRef: The text names no version.
            NotFound: There is none; the message lists what exists.
        """
        found = _REF.fullmatch(ref) if isinstance(ref, str) else None
        if found is None:
            raise _bad(ref)
        folder = self._folder(found["type"], found["name"])
        versions = Versions.load(folder)
        entry = _entry(folder, versions, found["which"], ref)
        if not folder.version(entry.version).path.is_dir():
            raise NotFound(f"the version {folder.name}:v{entry.version} was purged")
        return ArtifactVersion(self._home, folder, versions, entry)

    def __contains__(self, ref: object) -> bool:
        try:
            return isinstance(ref, str) and self[ref] is not None
        except (NotFound, BadRef):
            return False

    def __iter__(self) -> Iterator[Listed]:
        return iter(self.list())

    def __len__(self) -> int:
        return len(self.list())

    def list(self, type: str | None = None) -> Sequence[Listed]:
        """List artifacts by type and name, each with its latest version.

        Args:
            type: Only those of this type.
        """
        return index.listing(self._home, type)

    def versions(self, name: str, type: str | None = None, *, deleted: bool = False) -> Sequence[ArtifactVersion]:
        """List the versions of an artifact, in order.

        Args:
            name: The artifact, or `type/name`.
            type: Its type, where types share the name.
            deleted: Also those that are deleted and can be restored.

        Raises:
            NotFound: There is none of this name.
        """
        name = str(name)
        if type is None and "/" in name:
            type, _, name = name.partition("/")
        folder = self._folder(type, name)
        versions = Versions.load(folder)
        found = [
            ArtifactVersion(self._home, folder, versions, entry)
            for entry in versions.entries
            if folder.version(entry.version).path.is_dir()
        ]
        return [version for version in found if deleted or not version.is_deleted]

    def named(self, alias: str, type: str | None = None) -> Sequence[ArtifactVersion]:
        """List the versions that a word names, of all artifacts: `store.artifacts.named("best")`.

        Args:
            alias: The word; `latest` for the newest version of each artifact.
            type: Only artifacts of this type.
        """
        found = (f"{row.type}/{row.name}:v{row.version}" for row in index.named(self._home, alias, type))
        return [self[ref] for ref in found if ref in self]

    def save(
        self,
        artifact: Artifact | str,
        paths: Paths | None = None,
        *,
        type: str = "model",
        aliases: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        tags: Iterable[str] = (),
        exclude: Iterable[str] = (),
        progress: bool | None = None,
    ) -> ArtifactVersion:
        """Save a version that no run made; the arguments are those of `run.log_artifact`."""
        draft = drafted(artifact, paths, type=type, metadata=metadata, tags=tags, exclude=exclude)
        version = saving.save(self._home, draft, aliases=aliases, progress=progress)
        draft.saved = version
        return version

    def _folder(self, type: str | None, name: str) -> ArtifactFolder:
        place = self._home.layout.artifacts
        if type is not None:
            folder = place.artifact(type, name)
            if folder.versions.exists():
                return folder
        else:
            # In the order in which other programs look, then what they may have made by mistake.
            for one in dict.fromkeys([*TYPES, *place.types()]):
                folder = place.artifact(one, name)
                if folder.versions.exists():
                    return folder
        there = (f"{row.type}/{row.name}" for row in self.list())
        raise NotFound.among("artifact", f"{type}/{name}" if type else name, there)

    def __repr__(self) -> str:
        rows = self.list()
        shown = ", ".join(f"{row.type}/{row.name}:v{row.latest}" for row in rows[:10] if row.latest is not None)
        more = f" and {len(rows) - 10} more" if len(rows) > 10 else ""
        return f"<Artifacts of {self._home.layout.root}: {shown or 'none yet; save one by .save(name, path)'}{more}>"


def _bad(ref: object) -> BadRef:
    return BadRef(f"{ref!r} names no version of an artifact; write 'policy:latest', 'policy:v3' or 'model/policy:v3'")


def _entry(folder: ArtifactFolder, versions: Versions, which: str, ref: str) -> VersionEntry:
    entries = {
        entry.version: entry
        for entry in versions.entries
        if entry.status != DELETED and not folder.version(entry.version).deleted.exists()
    }
    number = _NUMBER.fullmatch(which)
    if number is not None:
        if not int(number[1]):
            raise BadRef(f"{folder.name}:{which} names no version; the first one is v1")
        found = versions.get(int(number[1]))
        if found is None and versions.aliases.get(which) in entries:
            return entries[versions.aliases[which]]  # other programs name versions so, too
        if found is None:
            raise NotFound.among(f"version of {folder.name}", which, (f"v{one}" for one in entries))
        return found
    if which == LATEST and entries:
        return entries[max(entries)]
    named = {alias: one for alias, one in versions.aliases.items() if one in entries}
    if which not in named and not {"/", ":"}.isdisjoint(which):
        raise _bad(ref)  # only other programs give such words
    if which not in named:
        raise NotFound.among(f"alias of {folder.name}", which, named, hint="A version is named by v1, v2, …")
    return entries[named[which]]


def drafted(
    artifact: Artifact | str,
    paths: Paths | None = None,
    *,
    type: str = "model",
    metadata: Mapping[str, Any] | None = None,
    tags: Iterable[str] = (),
    exclude: Iterable[str] = (),
) -> Artifact:
    """Give an artifact with all that is to be saved in it.

    Args:
        artifact: One that was made before, or a name.
        paths: A file, a folder, whose files go to the top, or several of both; of several, folders keep their names.
        type: The type, where a name is given.
        metadata: Values of your own.
        tags: Words to find it by.
        exclude: Patterns of what is left out of folders.
    """
    if isinstance(artifact, Artifact) and artifact.saved is not None:
        raise Exists(f"the artifact {artifact.name!r} is saved as {artifact.saved.ref}; make a new Artifact")
    draft = artifact if isinstance(artifact, Artifact) else Artifact(artifact, type)
    if not isinstance(artifact, Artifact) and paths is None:
        raise WrongType(f"say what to save in {artifact!r}: a file, a folder, or several of them")
    if isinstance(paths, (bytes, Mapping)) or not isinstance(paths, (str, os.PathLike, Iterable, NoneType)):
        raise WrongType(
            f"an artifact is made of a file, a folder or several of them, not of {paths.__class__.__name__}; "
            "write it into a file first, and give the path of that"
        )
    if isinstance(paths, (str, os.PathLike)):
        draft.add(paths, exclude=exclude)
    else:
        for path in map(as_path, () if paths is None else paths):
            if os.path.isdir(path):
                draft.add_dir(path, os.path.basename(os.path.abspath(path)), exclude=exclude)
            else:
                draft.add_file(path)
    draft.add_metadata(metadata)
    draft.add_tags(*layout.several(tags, "tags"))
    return draft


def log(home: Home, folder: RunFolder, run_id: str, draft: Artifact, **options: Any) -> ArtifactVersion:
    """Save a version that a run made, and note it in the run's folder."""
    with disk.locked(folder.path):
        used = lists.complete(home, folder, folder.artifacts_used, run_id)
    parents = [f"{entry.get('type')}/{entry['name']}:v{entry.get('version')}" for entry in used]
    version = saving.save(home, draft, run_id=run_id, parents=parents, **options)
    entry = _described(version, len(draft.references))
    with disk.locked(folder.path):
        lists.add(home, folder, folder.artifacts_created, run_id, entry)
    draft.saved = version
    return version


def complete_made(home: Home, folder: RunFolder, run_id: str) -> None:
    """Note in the folder of a run that died the versions that it had made and not noted yet."""
    made = [use._asdict() for use in index.makers(home) if use.run_id == run_id]
    with disk.locked(folder.path):
        for use in lists.missing(index.made_by(folder), made):
            with contextlib.suppress(NotFound):  # purged since
                version = Artifacts(home)[lists.spelled([use])]
                entry = _described(version, version.facts.num_references)
                lists.add(home, folder, folder.artifacts_created, run_id, entry)


def _described(version: ArtifactVersion, references: int) -> dict[str, Any]:
    return {
        "name": version.name,
        "type": version.type,
        "version": version.version,
        "created_at": version.created_at,
        "size_bytes": version.size,
        "num_files": version.num_files,
        "num_references": references,
    }


def usable(home: Home, ref: str) -> ArtifactVersion:
    """Look a version up that a run may use; otherwise as `Artifacts`.

    Raises:
        NotFound: There is none, or it is deleted.
    """
    version = Artifacts(home)[ref]
    if version.is_deleted:
        again = f"store.artifacts[{version.ref!r}].restore()"
        raise NotFound(f"the version {version.ref} is deleted, and no run may use it; take it back by {again}")
    return version


def use(home: Home, folder: RunFolder, run_id: str, key: int, version: ArtifactVersion, at: float) -> None:
    """Note in a run's folder, and in the catalogue, that it used a version."""
    entry = {
        "name": version.name,
        "type": version.type,
        "version": version.version,
        "used_at": at,
        "size_bytes": version.size,
        "num_files": version.num_files,
    }
    with disk.locked(folder.path):
        if lists.add(home, folder, folder.artifacts_used, run_id, entry):
            home.backlog.do(("uses", key), partial(index.put_uses, home, key, folder))
