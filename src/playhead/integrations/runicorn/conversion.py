"""From a run of Runicorn to a run folder of a store, in a place where nobody looks yet."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playhead import clock, disk, facts, strictjson, typed
from playhead.claims import PROCESS_NOT_FOUND
from playhead.integrations import incoming
from playhead.integrations.runicorn import lines
from playhead.integrations.runicorn.source import DELETED, META, REJECTED, STATUS, SourceRun
from playhead.layout import RunFolder

ORIGIN = "imported_from"
DIGEST = "digest"
REJECTED_EVENTS = f"events{REJECTED}"

# Places on the machine of the recording, which mean nothing in a store that moves.
_PLACES = ("storage_dir", "workspace_root")
_BUFFER = 1 << 20


@dataclass(slots=True)
class Converted:
    """What converting a run came to.

    Attributes:
        points: Metric values in the source.
        rejected: Lines that are not events.
        last_ns: The newest stamp; 0 without events.
    """

    points: int = 0
    rejected: int = 0
    last_ns: int = 0


def build(source: SourceRun, target: RunFolder, digest: str) -> Converted:
    """Write the folder of a run, and wait until it is on the medium.

    Args:
        source: The run.
        target: The folder, which does not exist yet.
        digest: The fingerprint of the source, by which a later migration sees whether it has changed.
    """
    disk.make_folder(target.path)
    _copy_files(source, target)
    done = Converted()
    for part in source.parts:
        _convert_events(source.folder.events(part), target, part, done)
    documents = source.documents | {
        META: _meta(source, digest),
        STATUS: _status(source, done.last_ns),
    }
    if source.deleted:
        documents[DELETED] = _deleted(source)
    for name, content in documents.items():
        facts.write(target.path / name, content, durable=False)
    incoming.sync_tree(target.path)
    return done


def _copy_files(source: SourceRun, target: RunFolder) -> None:
    events = {source.folder.events(part).name for part in source.parts}
    for name in source.files:
        if name in source.documents or name in events:
            continue
        path = target.path / (name + REJECTED if name in source.damaged else name)
        disk.make_folders(path.parent, durable=False)
        disk.copy(source.folder.path / name, path, durable=False)


def _convert_events(source: Path, target: RunFolder, part: int, done: Converted) -> None:
    with (
        contextlib.closing(disk.Appender(target.events(part))) as kept,
        contextlib.closing(_Rejects(target.path / REJECTED_EVENTS)) as rejects,
    ):
        for batch in _batches(source):
            good = []
            for line in batch:
                event = lines.convert(line)
                if event is None:
                    rejects.add(line)
                    continue
                good.append(event.text)
                done.points += event.points
                done.last_ns = max(done.last_ns, event.ts_ns)
            kept.append(b"".join(good))
        done.rejected += rejects.count


class _Rejects:
    """Lines that are not events, kept for people to look at; the file is made with the first."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: disk.Appender | None = None
        self.count = 0

    def add(self, line: bytes) -> None:
        if self._file is None:
            self._file = disk.Appender(self._path)
        self._file.append(line.rstrip(b"\n") + b"\n")
        self.count += 1

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _batches(path: Path) -> Iterator[list[bytes]]:
    """Read lines that are not blank, about a buffer of them at a time."""
    with path.open("rb") as file:
        while found := file.readlines(_BUFFER):
            yield [line for line in found if line.strip()]


def _meta(source: SourceRun, digest: str) -> dict[str, Any]:
    given = dict(source.meta)
    origin = {name: given.pop(name) for name in (*_PLACES, ORIGIN) if name in given}
    if given.get("id", source.id) != source.id:
        origin["id"] = given["id"]
    if not _is_process_number(given.get("pid", 1)):
        origin["pid"] = given.pop("pid")
    return {
        **given,
        "id": source.id,
        "project": source.project,
        "name": source.name,
        "created_at": _created_at(source),
        "config": _config(source),
        "tags": _tags(given.get("tags")),
        "notes": str(given.get("notes") or ""),
        ORIGIN: {**origin, "program": "runicorn", "folder": strictjson.plain(str(source.folder.path)), DIGEST: digest},
    }


def _created_at(source: SourceRun) -> float:
    created = typed.finite(source.meta.get("created_at"))
    if created is None:
        created = typed.finite(source.documents.get(STATUS, {}).get("started_at"))
    return os.stat(source.folder.path).st_mtime if created is None else created


def _config(source: SourceRun) -> dict[str, Any]:
    """Find the parameters: what `log_config` was given lies in `assets.json`, in up to two mappings."""
    own = source.meta.get("config")
    if isinstance(own, dict):
        return own
    logged = source.documents.get("assets.json", {}).get("config")
    given = [logged.get("args"), logged.get("extra")] if isinstance(logged, dict) else []
    return {name: value for part in given if isinstance(part, dict) for name, value in part.items()}


def _tags(given: object) -> list[str]:
    tags: Iterable[object] = given if isinstance(given, list) else [given] if isinstance(given, str) else []
    return sorted({str(tag) for tag in tags})


def _status(source: SourceRun, last_ns: int) -> dict[str, Any]:
    given = source.documents.get(STATUS, {})
    if source.status != "running":
        return given | {"status": source.status}
    ended = max(last_ns / clock.SECOND, typed.finite(given.get("started_at")) or _created_at(source))
    return given | {"status": "failed", "ended_at": ended, "exit_reason": PROCESS_NOT_FOUND}


def _deleted(source: SourceRun) -> dict[str, Any]:
    given = source.documents.get(DELETED, {})
    if typed.finite(given.get("deleted_at")) is not None:
        return given
    marker = source.folder.deleted if DELETED in source.files else source.folder.path
    return given | {"deleted_at": os.stat(marker).st_mtime}


def _is_process_number(value: object) -> bool:
    return isinstance(value, int) and 0 < value < 2**31
