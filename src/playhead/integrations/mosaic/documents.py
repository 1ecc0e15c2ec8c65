"""The files that make a folder a run: what it is, how it ended, and the return of each episode as a metric."""

from __future__ import annotations

import os
from collections.abc import Iterator

from playhead import clock, disk, facts, strictjson
from playhead.integrations.mosaic.source import SourceRun, stamp_of
from playhead.layout import RunFolder
from playhead.signal import keys

PROGRAM = "mosaic"
ORIGIN, DIGEST = "imported_from", "digest"


def write(run: SourceRun, folder: RunFolder) -> None:
    """Write the JSON files that make a folder a run, and its metrics."""
    stamps = [stamp for one in run.stretches for stamp in (stamp_of(one.began), stamp_of(one.ended)) if stamp]
    if not stamps and run.file is not None:
        stamps = [os.stat(run.file).st_mtime_ns]
    began, ended = (min(stamps) / clock.SECOND, max(stamps) / clock.SECOND) if stamps else (clock.now(), clock.now())
    meta = {
        "id": run.id,
        "project": PROGRAM,
        "name": run.name,
        "created_at": began,
        "config": {},
        "tags": ["archived"] if run.status.get("status") == "archived" else [],
        "notes": "",
        ORIGIN: {"program": PROGRAM, DIGEST: run.fingerprint()},
    }
    status = {"id": run.id, "status": "finished", "started_at": began, "ended_at": ended}
    facts.write(folder.status, status, durable=False)
    if run.status.get("status") == "deleted":
        deleted = stamp_of(run.status.get("deleted_at"))
        at = ended if deleted is None else deleted / clock.SECOND
        facts.write(folder.deleted, {"deleted_at": at, "reason": "deleted in MOSAIC"}, durable=False)
    lines = b"".join(_metrics(run))
    if lines:
        disk.replace(folder.events(), lines, durable=False)
    facts.write(folder.meta, meta, durable=False)


def _metrics(run: SourceRun) -> Iterator[bytes]:
    """Give return and length of each episode as metrics, a line each."""
    last = 0
    for number, rollup in enumerate(run.rollups):
        values = {"episode/return": rollup.get("total_reward"), "episode/length": rollup.get("steps")}
        found = {name: strictjson.plain(v) for name, v in values.items() if isinstance(v, (int, float))}
        if not found:
            continue
        noted = stamp_of(rollup.get("timestamp")) or 0
        last = max(noted if noted <= keys.MOST else 0, last + 1)  # as it was noted, it stays in mosaic/episodes.parquet
        data = strictjson.encode({**found, "global_step": number})
        yield b'{"ts":%d.%09d,"type":"metrics","data":%b}\n' % (*divmod(last, clock.SECOND), data)
