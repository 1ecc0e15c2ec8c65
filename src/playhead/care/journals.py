"""Journals under the lens: of reels and of episodes that are not sealed yet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from playhead import tape
from playhead.care.finding import DAMAGE, NOTE, WARNING, Finding
from playhead.errors import NotFound
from playhead.journal import JournalReader
from playhead.journal.segment import path_of


def look(lane: str, folder: Path, mend: str, *, full: bool) -> Iterator[Finding]:
    """Look for what cannot be read in a journal.

    Args:
        lane: Whose it is.
        folder: The journal.
        mend: What makes files of it.
        full: Check every byte; else only the heads of records.
    """
    is_recorded = tape.is_recorded(folder)
    try:
        with JournalReader(folder) as reader:
            for _ in reader.poll_positions(verify=full):
                pass
    except NotFound:
        return  # sealed since
    for hole in reader.damage:
        found = f"bytes {hole.start} to {hole.stop}: {hole.reason}" if hole.start < hole.stop else hole.reason
        yield Finding(DAMAGE, lane, hole.path, "whole records", found, mend)
    path = path_of(folder, reader.segment)
    size = path.stat().st_size if path.exists() else 0
    if is_recorded:
        yield Finding(NOTE, lane, folder, "a recording", "one in progress")
    elif reader.offset < size:
        found = f"{size - reader.offset} bytes behind it: cut short by a crash, or damaged"
        yield Finding(WARNING, lane, path, f"an end at byte {reader.offset}, behind the last whole record", found, mend)
