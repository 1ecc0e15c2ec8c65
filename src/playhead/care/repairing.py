"""What can be mended is: written anew from what says the same, or moved aside. Nothing is ever deleted.

What is damaged goes to the quarantine. After a crash in between, the next repair goes on.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playhead import checksums, claims, disk, facts, opening, strictjson, tape
from playhead.care import finding as findings
from playhead.care import lineage, relisting
from playhead.care.finding import Finding
from playhead.care.ground import Ground
from playhead.catalog import known_folders
from playhead.catalog.database import Database
from playhead.errors import Damaged, PlayheadError, StoreLocked
from playhead.lanes.files import sharing
from playhead.lanes.files.manifest import Manifest
from playhead.lanes.files.pool import Pool, is_whole
from playhead.lanes.files.versions import Metadata
from playhead.layout import TABLES, ArtifactFolder, EpisodeFolder, Layout, ReelFiles, RunFolder, TableFolder
from playhead.quarantine import Quarantine

_HIDDEN_FRAMES = ".frames.parquet"


@dataclass(frozen=True, slots=True)
class Deed:
    """What was done about a finding, or why nothing was.

    Attributes:
        path: The file or folder that it is about.
        done: What was done; empty where nothing was.
        left: Why nothing was done; empty where something was.
    """

    path: Path
    done: str = ""
    left: str = ""

    def described(self) -> dict[str, Any]:
        """Give it with stable keys, for JSON."""
        return {"path": str(self.path), "done": self.done, "left": self.left}


@dataclass(slots=True)
class Repair:
    """One repair of a store.

    Args:
        layout: The store.
    """

    layout: Layout
    _aside: Quarantine = field(init=False)

    def __post_init__(self) -> None:
        self._aside = Quarantine(self.layout)

    def mend(self, found: Iterable[Finding]) -> Iterator[Deed]:
        """Mend what can be mended; the catalogue comes last, when files are as they will be.

        Args:
            found: What a check found.

        Yields:
            What was done about each; nothing for what is harmless.
        """
        wrong = [finding for finding in found if not finding.is_harmless or finding.cure == findings.SIGN]
        last = [finding for finding in wrong if finding.cure == findings.REBUILD]
        seen: set[tuple[str, Path]] = set()
        for finding in wrong:
            if finding.cure != findings.REBUILD and (finding.cure, finding.path) not in seen:
                seen.add((finding.cure, finding.path))
                yield self._mended(finding)
        if last or self._aside.moved:
            path = self.layout.database
            yield self._tried(path, lambda: self._rebuild(last))

    def _mended(self, finding: Finding) -> Deed:
        cures = {
            findings.QUARANTINE: self._set_aside,
            findings.EPISODE: self._set_episode_aside,
            findings.INDEX: self._write_index,
            findings.VIEW: self._write_view,
            findings.RUN_FACTS: self._write_run_facts,
            findings.LINEAGE: self._write_lineage,
            findings.TABLE: self._write_manifest,
            findings.VERSIONS: self._write_versions,
            findings.FILES: self._write_files,
            findings.BLOB: self._restore_content,
            findings.SIGN: self._sign,
        }
        if finding.cure not in cures:
            return Deed(finding.path, left=finding.mend or "nothing here says the same; restore it from a copy")

        def cure() -> str:
            self.layout.check_holds(finding.path)
            return cures[finding.cure](finding)

        return self._tried(finding.path, cure)

    def _tried(self, path: Path, do: Any) -> Deed:
        try:
            return Deed(path, done=do())
        except (PlayheadError, OSError) as error:
            return Deed(path, left=str(error))
        except Exception as error:  # noqa: BLE001  one repair that fails in a way nobody foresaw must not end all others
            return Deed(path, left=f"its repair ended with {type(error).__name__}: {error}")

    # -- quarantine ---------------------------------------------------------------------------------------------------

    def _quarantine(self, path: Path, why: Finding, *, copy: bool = False) -> str:
        """Move a file or folder aside, or a copy of it; one that is gone is fine."""
        return self._aside.put(path, why.expected, why.found, copy=copy)

    def _set_aside(self, finding: Finding) -> str:
        """Move what is damaged aside; a video goes with its index, of which one is nothing without the other."""
        path = finding.path
        done = self._quarantine(path, finding)
        stem = path.name.removesuffix(_HIDDEN_FRAMES).removesuffix(".mp4")
        for other in (path.with_name(f"{stem}.mp4"), path.with_name(f"{stem}{_HIDDEN_FRAMES}")):
            if path.name.endswith((".mp4", _HIDDEN_FRAMES)) and other != path and other.exists():
                self._quarantine(other, finding)
        return done

    def _set_episode_aside(self, finding: Finding) -> str:
        """Move an episode away of which nothing says which one it is; its number is not used again."""
        folder = EpisodeFolder(os.fspath(finding.path.parent))
        with contextlib.ExitStack() as held:
            if (lock := tape.hold(folder.tape, folder.path)) is not None:
                held.enter_context(contextlib.closing(lock))
            done = self._quarantine(folder.path, finding)
            if folder.is_numbered():
                disk.make_folders(folder.tombstone)
        return done

    # -- what other files say as well -------------------------------------------------------------------------------

    def _rebuild(self, found: list[Finding]) -> str:
        """Make the catalogue anew, with a copy of the old one aside."""
        live = claims.live(self.layout)
        if live:
            raise StoreLocked(f"the run {live[0].run_id} is being recorded; repair the catalogue when it has ended")
        why = (
            found[0] if found else Finding("note", "catalogue", self.layout.database, "the files as they are", "others")
        )
        for suffix in ("", "-wal"):
            path = self.layout.database.with_name(self.layout.database.name + suffix)
            if path.exists() and path.stat().st_size:
                self._quarantine(path, why, copy=True)
        problems = opening.rebuild(self.layout.root)
        left = f"; {len(problems)} runs could not be read: {problems[0]}" if problems else ""
        return f"made anew from the folders{left}"

    def _write_index(self, finding: Finding) -> str:
        folder = self.layout.replay
        with disk.locked(folder.path):
            if folder.index.exists():
                self._quarantine(folder.index, finding, copy=True)
            facts.write(folder.index, {reel_id: folder.reel(reel_id).file.name for reel_id in folder.reels()})
        return "written anew from the files that are there"

    def _write_view(self, finding: Finding) -> str:
        from playhead.lanes.arrays import sealing

        files = ReelFiles(self.layout.replay.path, finding.path.stem)
        self._quarantine(finding.path, finding, copy=True)
        sealing.write_view(files, len(files.next_parts()) - 1)
        disk.sync_folder(files.folder)
        return "written anew from the parts"

    def _write_run_facts(self, finding: Finding) -> str:
        """Write `meta.json` or `status.json` as the catalogue knows it."""
        folder = RunFolder(finding.path.parent)
        with Ground(self.layout) as ground:
            known = None if ground.catalogue is None else ground.catalogue.run(folder.path.name)
        if known is None:
            raise Damaged(finding.path, finding.expected, finding.found, "The catalogue does not know the run either")
        with disk.locked(folder.path):
            self._quarantine(finding.path, finding, copy=True)
            said = _meta_of(known) if finding.path == folder.meta else _status_of(known)
            data = strictjson.encode(said, indent=True)
            checksums.expect(folder, finding.path, data)
            disk.replace(finding.path, data)
        return "written anew from the catalogue; what that does not know is in the copy"

    def _write_lineage(self, finding: Finding) -> str:
        folder = RunFolder(finding.path.parent)
        with Ground(self.layout) as ground, disk.locked(folder.path):
            if finding.path.exists():
                self._quarantine(finding.path, finding, copy=True)
            lineage.write(ground, folder, finding.path)
        return "written again from the catalogue"

    def _write_manifest(self, finding: Finding) -> str:
        from playhead.catalog.tables import TableIndex
        from playhead.table.writing import write_manifest

        folder = TableFolder(finding.path.parent)
        index = TableIndex(folder.database)
        state = index.state()
        if state is None:
            raise Damaged(folder.database, "a table of Playhead", "that of another program")
        self._quarantine(finding.path, finding, copy=True)
        write_manifest(folder, state, index)
        return "written anew from metadata.db"

    def _sign(self, finding: Finding) -> str:
        """Let a trace or a table say the name that somebody gave it."""
        if self.layout.relative(finding.path).split("/")[0] == TABLES:
            from playhead.table import writing

            writing.sign_again(finding.path)
        else:
            from playhead import run_seals, traces

            with run_seals.renaming(self.layout, finding.path):
                traces.sign_again(finding.path)
        return "it says its new name"

    # -- artifacts ----------------------------------------------------------------------------------------------------

    def _write_versions(self, finding: Finding) -> str:
        """Write which versions there are as their own files say."""
        folder = ArtifactFolder(finding.path.parent)
        with disk.locked(folder.lock, make=True):
            versions = relisting.relist(self.layout, folder)
            self._quarantine(finding.path, finding, copy=True)
            disk.replace(folder.versions, versions.encode())
        return "written anew from the versions; aliases as the catalogue knows them, or as each was saved"

    def _write_files(self, finding: Finding) -> str:
        """Make a folder of a version anew from its manifest and the pool; a link that leads elsewhere goes aside."""
        version, place = self.layout.artifacts.place_of(finding.path)
        pool, artifact = Pool(self.layout.artifacts.pool), ArtifactFolder(version.path.parent)
        with pool.saving(), disk.locked(artifact.lock, make=True):
            manifest = Manifest.load(version, Metadata.load(version, None).manifest_digest)
            hidden = disk.temporary_beside(version.path)
            missing = sharing.fill(pool, hidden, manifest, place)
            self._quarantine(finding.path, finding)
            disk.rename(hidden, finding.path)
            disk.sync_folder(finding.path.parent)
        left = f"; of {len(missing)} files the content is not there, such as {missing[0]}" if missing else ""
        return f"made anew from the pool{left}"

    def _forget_folders(self) -> None:
        """Let the next save look files up in the pool one by one: of some that look as they did, it has no content."""
        if self.layout.database.exists():
            with contextlib.closing(Database(self.layout.database, "a")) as database:
                # One that cannot be read is made anew, and then knows of no folder.
                with contextlib.suppress(Damaged):
                    database.is_current()  # which refuses one of a stranger, with triggers
                    with database.write() as connection:
                        known_folders.clear(connection)

    def _restore_content(self, finding: Finding) -> str:
        """Move a content that is not what its name says aside; bring it back from a file that is whole."""
        self._forget_folders()
        pool = Pool(self.layout.artifacts.pool)
        with pool.removing() as is_alone:
            if not is_alone:
                raise StoreLocked("somebody is saving artifacts; repair them later")
            digest = self._digest_of(finding)
            blob = pool.path(digest)
            if not is_whole(blob, digest):
                self._quarantine(blob, finding)
            whole = next((path for path in self._copies(digest) if is_whole(path, digest)), None)
            source = blob if blob.exists() else whole
            if source is None:
                return (
                    "moved aside; no file of this store holds the content: restore it from elsewhere, or save it again"
                )
            if not blob.exists():
                disk.make_folders(blob.parent)
                disk.link(source, blob)
            for path in self._copies(digest):
                if not is_whole(path, digest):
                    self._quarantine(path, finding)
                    disk.make_folders(path.parent)
                    disk.link(blob, path)
        return f"brought back from {source}"

    def _digest_of(self, finding: Finding) -> str:
        pool = self.layout.artifacts.pool
        if finding.path.parent.parent == pool.path and pool.is_blob(finding.path.name):
            return finding.path.name
        for path, digest in self._held():
            if path == finding.path:
                return digest
        raise Damaged(finding.path, "a file of a version", "none that a manifest names")

    def _copies(self, digest: str) -> list[Path]:
        return [path for path, held in self._held() if held == digest]

    def _held(self) -> Iterator[tuple[Path, str]]:
        """Walk over the files of all versions with the digest of each; those that others share are theirs."""
        from playhead.artifact import walking

        for found in walking.versions(self.layout):
            if not isinstance(found, Damaged):
                own = functools.cache(lambda place, folder=found.folder: sharing.home_of(folder, place) == folder)
                with contextlib.suppress(Damaged):
                    for entry in found.load()[1].files:
                        if own(entry.path.rpartition("/")[0]):
                            yield found.folder.files / entry.path, entry.sha256


def _meta_of(known: dict[str, Any]) -> dict[str, Any]:
    said = {
        name: known[name] for name in ("id", "project", "name", "created_at", "pid", "platform", "hostname", "notes")
    }
    lists = {name: strictjson.decode(known[name]) for name in ("tags", "config")}
    return said | {"python": known["python_version"]} | lists


def _status_of(known: dict[str, Any]) -> dict[str, Any]:
    said = {name: known[name] for name in ("status", "started_at", "ended_at", "exit_reason")}
    return {name: value for name, value in {"id": known["id"], **said}.items() if value is not None}
