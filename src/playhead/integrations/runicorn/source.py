"""One run of Runicorn, as its folder says it is. Reading only: nothing here changes the source or follows a link."""

from __future__ import annotations

import hashlib
import os
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playhead import clock, facts, strictjson
from playhead.claims import SILENT_SECONDS
from playhead.errors import Damaged
from playhead.integrations.runicorn.roots import Candidate
from playhead.lanes.files.documents import unsealed
from playhead.layout import RunFolder, check_name, check_run_id

_NAMES = RunFolder(Path())
META, STATUS, DELETED = _NAMES.meta.name, _NAMES.status.name, _NAMES.deleted.name
_LINEAGE = (_NAMES.artifacts_created.name, _NAMES.artifacts_used.name)
# Files that Playhead reads, which must hold a JSON object.
OWN_FILES = (META, STATUS, DELETED, _NAMES.summary.name, _NAMES.environment.name, *_LINEAGE)
# What cannot be read is kept, under a name that nobody reads.
REJECTED = ".rejected.txt"

_DEFAULT = "default"
_EVENTS = re.compile(r"events(-\d+)?\.jsonl")

# What Runicorn takes a status for; any other word is an ending that its author called by a name of their own.
_STATUS_WORDS = {
    "running": "running",
    "failed": "failed", "error": "failed", "crashed": "failed",
    "interrupted": "interrupted", "killed": "interrupted", "cancelled": "interrupted", "aborted": "interrupted",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SourceRun:
    """A run to take over.

    Attributes:
        folder: Where it is.
        id: Its id, which is the name of the folder.
        project: Its project.
        name: Its name.
        deleted: It is in the recycle bin.
        documents: The JSON objects at the top of its folder, by file name.
        files: All plain files, relative to the folder.
        damaged: Files that Playhead would read, but cannot: not the JSON object, or not the name, that it expects.
        left_out: Links and other things that are not plain files.
    """

    folder: RunFolder
    id: str
    project: str
    name: str
    deleted: bool
    documents: dict[str, dict[str, Any]]
    files: list[str]
    damaged: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    @property
    def meta(self) -> dict[str, Any]:
        """What `meta.json` says; empty where it says nothing."""
        return self.documents.get(META, {})

    @property
    def status(self) -> str:
        """The status in Playhead's words; without a `status.json` Runicorn takes a run for finished."""
        word = str(self.documents.get(STATUS, {}).get("status", "")).strip().lower()
        return _STATUS_WORDS.get(word, "finished")

    @property
    def parts(self) -> list[int]:
        """The numbers of the event files."""
        return _parts(self.folder, self.files)


def read(candidate: Candidate) -> SourceRun:
    """Read the JSON files of a run, and list the others.

    Raises:
        BadName: Its id, project or name cannot be stored.
        OSError: A file cannot be read.
    """
    files, left_out = _contents(candidate.path)
    folder = RunFolder(candidate.path)
    documents, damaged = _documents(folder.path, files)
    events = {folder.events(part).name for part in _parts(folder, files)}
    damaged += [name for name in files if _EVENTS.fullmatch(name) and name not in events]
    given_id = documents.get(META, {}).get("id")
    if given_id is not None:
        check_run_id(given_id)  # a copied folder goes by its own name; one that was tampered with is not taken at all
    place = _place(candidate, documents)
    return SourceRun(
        folder=folder,
        id=check_run_id(candidate.path.name),
        project=check_name(place[0] if place else _DEFAULT, "project"),
        name=check_name("/".join(place[1:]) or _DEFAULT, "run name"),
        deleted=candidate.recycled or DELETED in (*files, *left_out),
        documents=documents,
        files=files,
        damaged=damaged,
        left_out=left_out,
    )


def _parts(folder: RunFolder, files: list[str]) -> list[int]:
    return sorted({part for part in folder.parts() if 0 < part < 2**31 and folder.events(part).name in files})


def _contents(folder: Path) -> tuple[list[str], list[str]]:
    """List the plain files below a folder, and what is there besides; locks are neither, nor are old checksums."""
    files, left_out, pending = [], [], [folder]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                path = os.path.relpath(entry.path, folder)
                if entry.is_dir(follow_symlinks=False) and not _is_taken(path):
                    pending.append(Path(entry))
                elif not entry.is_file(follow_symlinks=False):
                    left_out.append(path)
                elif not entry.name.endswith(".lock") and path != _NAMES.checksums.name:
                    files.append(path)
    return sorted(files), sorted(left_out)


def _is_taken(name: str) -> bool:
    """Tell whether a run has a file of this name, so that it cannot have a folder."""
    return name in OWN_FILES or name.endswith(REJECTED) or _EVENTS.fullmatch(name) is not None


def _documents(folder: Path, files: list[str]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    documents, damaged = {}, []
    for name in files:
        if os.path.dirname(name) or not (name.endswith(".json") or name == DELETED):
            continue
        data = (folder / name).read_bytes()
        content = {} if name == DELETED and not data else _json_object(data, name)  # that it exists says enough
        if content is not None and (name not in _LINEAGE or _is_lineage(folder / name, content)):
            documents[name] = content
        elif name in OWN_FILES:
            damaged.append(name)
    return documents, damaged


def _is_lineage(path: Path, content: dict[str, Any]) -> bool:
    """Tell whether a file says which versions of artifacts a run made or used, as the catalogue will read it."""
    try:
        entries = unsealed(path, dict(content)).get("artifacts", [])
    except Damaged:
        return False
    return isinstance(entries, list) and all(
        isinstance(entry, dict)
        and isinstance(entry.get("name"), str)
        and isinstance(entry.get("type"), str)
        and type(entry.get("version")) is int
        and isinstance(entry.get("used_at", 0), (int, float))
        for entry in entries
    )


def _json_object(data: bytes, name: str) -> dict[str, Any] | None:
    try:
        content = _storable(strictjson.plain(strictjson.decode(data), words=name not in facts.SHARED))
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _storable(value: Any) -> Any:
    """Turn integers past 64 bits into text: neither the catalogue nor other readers of JSON can hold them."""
    if isinstance(value, dict):
        return {key: _storable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_storable(item) for item in value]
    return str(value) if type(value) is int and not -(2**63) <= value < 2**63 else value


def _place(candidate: Candidate, documents: dict[str, dict[str, Any]]) -> tuple[str, ...]:
    """Find what names the project and the run: as Runicorn does, the files before the folders."""
    meta = documents.get(META, {})
    project, name = meta.get("project"), meta.get("name")
    if isinstance(project, str) and isinstance(name, str) and project and name:
        return project, name
    for path in (meta.get("path"), documents.get(DELETED, {}).get("original_path")):
        if isinstance(path, str) and path.strip("/"):
            return tuple(path.strip("/").split("/"))
    return candidate.place


def fingerprint(run: SourceRun) -> str:
    """Give a text that changes when the run does: of JSON the content counts, of all else (images, logs) the size."""
    digest = hashlib.sha256()
    for name in run.files:
        path = run.folder.path / name
        digest.update(f"{len(os.fsencode(name))} {os.stat(path).st_size} ".encode() + os.fsencode(name))
        if name.endswith((".json", ".jsonl")) or name == DELETED:
            with path.open("rb") as file:
                for block in iter(lambda file=file: file.read(1 << 20), b""):  # type: ignore[misc]
                    digest.update(block)
    return digest.hexdigest()


def recorder_of(run: SourceRun) -> str | None:
    """Say who still records a run, as far as can be told from here; None where nobody does."""
    if run.status != "running":
        return None
    pid, hostname = run.meta.get("pid"), run.meta.get("hostname")
    if isinstance(pid, int) and hostname in (None, socket.gethostname()):
        return f"process {pid} on this machine" if _is_alive(pid) else None
    silent = clock.now() - max(_moments_of_change(run), default=0.0)
    if silent < SILENT_SECONDS:
        return f"a process on {hostname or 'some machine'}, which changed its files {max(0, round(silent))} s ago"
    return None


def _moments_of_change(run: SourceRun) -> Iterator[float]:
    return (os.stat(run.folder.path / name).st_mtime for name in run.files)


def _is_alive(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True
