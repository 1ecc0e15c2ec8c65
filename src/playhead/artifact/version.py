"""ArtifactVersion: one version of an artifact, as it was saved."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playhead import markup, strictjson
from playhead.artifact import handing, recalling, references
from playhead.errors import BadName, BadRef, Damaged, NotFound, WrongType
from playhead.home import Home
from playhead.lanes.files import parallel
from playhead.lanes.files.entries import FileEntry
from playhead.lanes.files.manifest import Manifest, Reference
from playhead.lanes.files.pool import Pool
from playhead.lanes.files.versions import DELETED, Metadata, VersionEntry, Versions
from playhead.layout import ArtifactFolder, VersionFolder
from playhead.paths import GivenPath, as_path
from playhead.progress import watching
from playhead.wording import counted

if TYPE_CHECKING:
    from playhead.artifact.comparing import Difference
    from playhead.artifact.lineage import Lineage


def spell(type: str, name: str, version: int) -> str:
    """Spell the address of a version: `model/policy:v3`."""
    return f"{type}/{name}:v{version}"


class ArtifactVersion:
    """One version of an artifact: files that never change, checked whenever they are handed out.

    Given by `store.artifacts["policy:v3"]`, `run.use_artifact("policy:latest")` and `run.log_artifact(…)`.
    """

    def __init__(self, home: Home, folder: ArtifactFolder, versions: Versions, entry: VersionEntry) -> None:
        self._home = home
        self._artifact = folder
        self._versions = versions
        self._entry = entry

    # -- what it is -------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The artifact."""
        return self._artifact.name

    @property
    def type(self) -> str:
        """Its type."""
        return self._artifact.type

    @property
    def version(self) -> int:
        """The number of the version."""
        return self._entry.version

    @property
    def ref(self) -> str:
        """Its address: `model/policy:v3`."""
        return spell(self.type, self.name, self.version)

    @property
    def aliases(self) -> list[str]:
        """The words that named it when it was looked up, `latest` first."""
        return [alias for alias, number in self._versions.aliases.items() if number == self.version]

    @property
    def created_at(self) -> float:
        """When it was saved, in seconds since 1970."""
        return self._entry.created_at

    @property
    def created_by_run(self) -> str | None:
        """The id of the run that saved it."""
        return self._entry.created_by_run

    @property
    def size(self) -> int:
        """Bytes of its files, and of its references where they are known."""
        return self._entry.size_bytes

    @property
    def num_files(self) -> int:
        """How many files it has."""
        return self._entry.num_files

    @property
    def is_deleted(self) -> bool:
        """Whether it is deleted, and can be restored."""
        return self._entry.status == DELETED or self._folder.deleted.exists()

    @property
    def metadata(self) -> dict[str, Any]:
        """The values that were given with it."""
        return dict(strictjson.restore(self.facts.metadata))

    @property
    def description(self) -> str:
        """The text that was given with it."""
        return self.facts.description

    @property
    def tags(self) -> list[str]:
        """Words to find it by."""
        return list(self.facts.tags)

    @property
    def parents(self) -> list[str]:
        """The versions that its run had used when it saved this one."""
        return list(self.facts.parent_artifacts)

    @property
    def files(self) -> list[str]:
        """The paths of its files within it."""
        return [entry.path for entry in self.manifest.files]

    @property
    def references(self) -> list[Reference]:
        """What it holds that lies elsewhere."""
        return list(self.manifest.references)

    @cached_property
    def facts(self) -> Metadata:
        """All of its `metadata.json`.

        Raises:
            Damaged: The file is not what was written.
        """
        found = Metadata.load(self._folder, self._versions.digest(self.version))
        if (found.name, found.type, found.version) != (self.name, self.type, self.version):
            other = spell(found.type, found.name, found.version)
            raise Damaged(self._folder.metadata, f"that of {self.ref}", f"that of {other}")
        return found

    @cached_property
    def manifest(self) -> Manifest:
        """All of its `manifest.json`: its files with sizes and digests, its references.

        Raises:
            Damaged: The file is not what was written.
        """
        return Manifest.load(self._folder, self.facts.manifest_digest)

    # -- what it holds ----------------------------------------------------------------------------------------------

    @property
    def path(self) -> Path:
        """The folder of its files in the store: to look at, not to write to, and not checked; see `download`."""
        return self._folder.files

    def download(
        self,
        target: GivenPath | None = None,
        *,
        link: bool = False,
        overwrite: bool = False,
        progress: bool | None = None,
    ) -> Path:
        """Write its files into a folder. Each is hashed on the way; if one is not what was saved, none is written.

        Args:
            target: The folder, made where it is missing; without it, a new one in the system's temporary folder.
            link: Give the pool's own files instead of copies: no space is used, but who writes to one damages it.
            overwrite: Replace files that are there with another content.
            progress: Draw a bar; None for where there is a terminal and it takes long.

        Returns:
            The folder.

        Raises:
            Damaged: A file, or what a reference leads to, is not what was saved.
            Exists: A file of another content is in the way.
        """
        manifest = self.manifest
        self._check_references()
        made = Path(tempfile.mkdtemp(prefix=f"{self.name}-v{self.version}-")) if target is None else as_path(target)
        total = sum(entry.size for entry in manifest.files)
        with self._forgetting(), watching(f"Writing {self.ref}", total, progress) as watch:
            handing.hand_out(
                self._pool, self._folder, manifest, made.absolute(), link=link, overwrite=overwrite, watch=watch
            )
        return made

    def file(self, path: str) -> Path:
        """Give one file in the store, after it was checked: to read, not to write to.

        Raises:
            NotFound: There is none of this path.
            Damaged: It is not what was saved.
        """
        with self._forgetting():
            return handing.check(self._pool, self._folder, self._find(path))

    def verify(self, *, progress: bool | None = None) -> list[Damaged]:
        """Read all of it, and list what is not as it was saved; nothing is the good answer."""
        try:
            manifest = self.manifest
        except Damaged as problem:
            return [problem]
        with watching(f"Checking {self.ref}", sum(entry.size for entry in manifest.files), progress) as watch:

            def problem_of(entry: FileEntry) -> Damaged | None:
                try:
                    handing.check(self._pool, self._folder, entry, watch)
                except Damaged as problem:
                    return problem
                return None

            found = parallel.each(manifest.files, lambda entry: entry.size, problem_of)
        self._forget(*(problem for problem in found if problem is not None))
        return [problem for problem in (*found, *self._reference_problems()) if problem is not None]

    def check(self, *, progress: bool | None = None) -> None:
        """Read all of it.

        Raises:
            Damaged: Something is not as it was saved.
        """
        problems = self.verify(progress=progress)
        if problems:
            raise problems[0]

    def _forget(self, *problems: Damaged) -> None:
        recalling.forget(self._home, problems)

    @contextlib.contextmanager
    def _forgetting(self) -> Iterator[None]:
        """See to it that files can be saved again, whose contents are found damaged."""
        try:
            yield
        except Damaged as problem:
            self._forget(problem)
            raise

    def _find(self, path: str) -> FileEntry:
        for entry in self.manifest.files:
            if entry.path == path:
                return entry
        raise NotFound.among(f"file in {self.ref}", path, self.files)

    def _reference_problems(self) -> Iterator[Damaged]:
        for reference in self.manifest.references:
            try:
                problem = references.problem_of(reference, self._home.layout)
            except (NotFound, WrongType, BadRef, BadName) as trouble:
                problem = Damaged(reference.uri, "what an artifact refers to", str(trouble))
            if problem is not None:
                yield problem

    def _check_references(self) -> None:
        for problem in self._reference_problems():
            raise problem

    # -- what becomes of it -----------------------------------------------------------------------------------------

    def alias(self, *aliases: str) -> None:
        """Let words name this version; each is taken from the version that has it."""
        from playhead.artifact import changing

        self._changed(changing.name(self._home, self._artifact, self.version, aliases))

    def unalias(self, *aliases: str) -> None:
        """Take words away from it; one that it does not have is fine."""
        from playhead.artifact import changing

        self._changed(changing.unname(self._home, self._artifact, self.version, aliases))

    def delete(self, reason: str = "") -> None:
        """Delete it, so that it can be restored: `latest` and its aliases no longer name it."""
        from playhead.artifact import changing

        self._changed(changing.delete(self._home, self._artifact, self.version, reason))

    def restore(self) -> None:
        """Take it back after `delete`; its aliases are not given back."""
        from playhead.artifact import changing

        self._changed(changing.restore(self._home, self._artifact, self.version))

    def purge(self) -> int:
        """Remove it for good, with the contents that it alone held.

        Returns:
            How many bytes the pool lost.
        """
        from playhead.artifact import changing

        return changing.purge(self._home, self._artifact, self.version)

    def _changed(self, versions: Versions) -> None:
        entry = versions.get(self.version)
        assert entry is not None
        self._versions, self._entry = versions, entry

    def lineage(self, *, depth: int | None = None) -> Lineage:
        """Tell which runs and versions it comes from, and which came from it.

        Args:
            depth: How many steps to go at most.
        """
        from playhead.artifact import lineage

        return lineage.of(self._home, (self.type, self.name, self.version), depth=depth)

    def diff(self, other: ArtifactVersion) -> Difference:
        """Tell what another version has more, less and otherwise."""
        from playhead.artifact import comparing

        return comparing.compare(self, other)

    def summary(self) -> Mapping[str, Any]:
        """Give what a program wants to know of it."""
        return {
            "ref": self.ref,
            "name": self.name,
            "type": self.type,
            "version": self.version,
            "aliases": self.aliases,
            "created_at": self.created_at,
            "created_by_run": self.created_by_run,
            "size_bytes": self.size,
            "num_files": self.num_files,
            "num_references": len(self.references),
            "status": DELETED if self.is_deleted else self._entry.status,
            "metadata": self.metadata,
            "description": self.description,
            "tags": self.tags,
            "parent_artifacts": self.parents,
        }

    @property
    def _folder(self) -> VersionFolder:
        return self._artifact.version(self.version)

    @property
    def _pool(self) -> Pool:
        return Pool(self._home.layout.artifacts.pool)

    def _repr_html_(self) -> str:
        rows = [
            [markup.text(entry.path), markup.soft(f"{entry.size:,} bytes"), markup.soft(entry.sha256[:12])]
            for entry in self.manifest.files[:20]
        ]
        about = [counted(self.num_files, "file"), f"{self.size:,} bytes", *self.aliases, *self.tags]
        return markup.block(
            self.ref, markup.line(*map(markup.soft, about)), markup.facts(self.metadata), markup.table(rows)
        )

    def __repr__(self) -> str:
        words = f" ({', '.join(self.aliases)})" if self.aliases else ""
        return f"<ArtifactVersion {self.ref}{words}, {counted(self.num_files, 'file')}, {self.size:,} bytes>"
