"""What a power cut takes out of the middle of a journal.

A kill leaves whole records and a torn last one. A power cut may also leave blocks that were never written, with whole
records behind them: they read as zeros, or the file ends early. Nothing behind the last sync was promised, so the
journal ends there. Any other damage is of the medium; it stays, for a person to see.
"""

from __future__ import annotations

from pathlib import Path

from playhead import disk
from playhead.errors import NotFound
from playhead.journal.reader import Damage, JournalReader
from playhead.journal.segment import FRAME_SIZE, HEADER_SIZE, MARK, length_of, path_of, segments_in
from playhead.journal.writer import LOCK_FILE

_SECTOR = 512  # what a disk writes as a whole


def cut_lost(folder: Path) -> Damage | None:
    """End a journal that nobody writes where a power cut took something out of it.

    Returns:
        What was found there; None where nothing is lost, the medium is damaged, or somebody writes the journal.
    """
    try:
        lock = disk.Appender(folder / LOCK_FILE)
    except (BlockingIOError, FileNotFoundError):
        return None
    try:
        found = _first_damage(folder)
        if found is None or not is_lost(found):
            return None
        for number in reversed(segments_in(folder)):
            path = path_of(folder, number)
            if path > found.path or (path == found.path and not found.start):
                disk.remove(path)
        if found.start:
            disk.truncate(found.path, found.start)
        disk.sync_folder(folder)
        return found
    except NotFound:
        return None
    finally:
        lock.close()


def _first_damage(folder: Path) -> Damage | None:
    with JournalReader(folder) as reader:
        for _ in reader.poll_positions():
            pass
        if reader.damage:
            return reader.damage[0]
        last = path_of(folder, reader.segment)
        size = last.stat().st_size if last.exists() else 0
        if reader.offset == 0 and size > HEADER_SIZE:
            return Damage(last, 0, size, "it has no header")
        return None


def is_lost(damage: Damage) -> bool:
    """Tell whether damage is what a power cut leaves: bytes that were never written."""
    if not damage.path.exists() or damage.start == damage.stop:
        return True
    data = damage.path.read_bytes()[: damage.stop]
    if damage.stop - damage.start < FRAME_SIZE:
        return True  # the file ends within the head of a record
    end = damage.start + FRAME_SIZE + length_of(data, damage.start)
    is_short = data.startswith(MARK, damage.start) and end > damage.path.stat().st_size
    start = damage.start - damage.start % _SECTOR
    sectors = (data[max(at, damage.start) : at + _SECTOR] for at in range(start, damage.stop, _SECTOR))
    return is_short or any(len(sector) >= FRAME_SIZE and not any(sector) for sector in sectors)
