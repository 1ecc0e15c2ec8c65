"""The last sign of life of a run whose recorder is gone, from what it left.

Lines and records carry their own stamps, and those count: a copy changes the times of files. The times of files count
only while a claim of the run is there that was not copied along with its store. Then the claim itself is a heartbeat,
and a tape whose samples have times of another clock still says when it was last written.
"""

from __future__ import annotations

import contextlib
import os
import re
import struct
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from itertools import count, takewhile
from pathlib import Path

from playhead import claims, clock, disk, journal, strictjson
from playhead.claims import EDITING
from playhead.errors import PlayheadError, foreseen
from playhead.layout import EpisodeFolder, Layout, ReelFiles, RunFolder, inside, reel_id_of, tape_beside
from playhead.tape import DECLARATION, HEAD, SAMPLES

_WINDOWS = (1 << 14, 1 << 20)  # bytes at the end of a text
_EVENT = re.compile(rb'\{"ts":(\d{1,10})\.(\d{9}),')
_LOGGED = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}[+-]\d\d:\d\d(?::\d\d)?) \| ")
_HEAD_BYTES = 4 << 20  # of a tape, in which its signals are declared

# Where the stamps of a record are, by lane: it begins with the number of its samples (u32); the bytes before the first
# stamp (i64), and those from each to the next.
_STAMPS = {"vectors": (4, 8), "video": (16, 28)}
_COUNT, _STAMP = struct.Struct("<I"), struct.Struct("<q")

_LATEST = 1 << 62  # SQLite has 64 bits, and a store of a stranger any numbers
_SLACK_NS = clock.SECOND  # that the clock of a file system may be behind


def last_ns(layout: Layout, run_id: str, run_dir: str, indexed_ns: int, episodes: str) -> int:
    """Return the stamp of the last sign of life of a run; what cannot be read says nothing.

    Args:
        layout: The store.
        run_id: The run.
        run_dir: Its folder, relative to the store.
        indexed_ns: The newest stamp of the run that is in the catalogue.
        episodes: Its newest episodes in datasets, as a JSON list of folder, begin and duration.
    """
    found = [indexed_ns]
    with _tolerating(layout.root):
        folder = layout.run_at(run_dir)
        beats = beats_ns(layout, run_id)
        found += beats
        is_here = bool(beats)
        for source in _sources(layout, run_id, folder, episodes, is_here=is_here):
            with _tolerating(folder.path):
                found += source()
    return max(stamp for stamp in (*found, 0) if stamp < _LATEST)


def beats_ns(layout: Layout, run_id: str) -> list[int]:
    """List when those who record a run, or did until they died, last touched their claims; none in a copy."""
    beats = []
    for claim in claims.of_run(layout, run_id):
        if claim.part != EDITING and not claim.is_copied():
            with contextlib.suppress(OSError):  # it ended just now
                beats.append(os.stat(claim.path).st_mtime_ns)
    return beats


@contextlib.contextmanager
def _tolerating(path: Path) -> Iterator[None]:
    with contextlib.suppress(PlayheadError, OSError), foreseen(path):
        yield


def _sources(
    layout: Layout, run_id: str, folder: RunFolder, episodes: str, *, is_here: bool
) -> Iterator[Callable[[], list[int]]]:
    """Yield functions, each of which reads the stamps that one file or tape of a run has at its end."""
    for part in folder.parts():
        yield partial(_of_events, folder.events(part))
    yield partial(_of_log, folder.logs)
    for reel in _reels(layout, run_id):
        yield partial(_of_reel, reel.journal)
    for path in layout.traces(run_id).files().values():
        yield partial(_of_trace, tape_beside(path), is_here=is_here)
    for said, *times in strictjson.decode(episodes):
        yield partial(_of_episode, layout, said, times, is_here=is_here)


def _of_events(path: Path) -> list[int]:
    """Read the stamp of the last whole line of an event file."""
    line = _last_line(path, _EVENT, is_whole=True)
    return [] if line is None else [int(line[1] + line[2])]


def _of_log(path: Path) -> list[int]:
    """Read the stamp of the last line of a text log."""
    line = _last_line(path, _LOGGED)
    return [] if line is None else [round(datetime.fromisoformat(line[1].decode()).timestamp() * clock.SECOND)]


def _last_line(path: Path, begin: re.Pattern[bytes], *, is_whole: bool = False) -> re.Match[bytes] | None:
    """Find the last line of a text that begins so."""
    try:
        fd = disk.open_to_read(path)
    except FileNotFoundError:
        return None
    try:
        size = os.fstat(fd).st_size
        for window in _WINDOWS:
            start = max(0, size - window)
            lines = os.pread(fd, size - start, start).split(b"\n")
            lines = lines[1 if start else 0 : -1 if is_whole else None]
            found = next((match for line in reversed(lines) if (match := begin.match(line))), None)
            if found is not None or start == 0:
                return found
        return None
    finally:
        os.close(fd)


def _reels(layout: Layout, run_id: str) -> Iterator[ReelFiles]:
    return takewhile(ReelFiles.exist, (layout.replay.reel(reel_id_of(run_id, number)) for number in count()))


def _of_reel(folder: Path) -> list[int]:
    """Read the stamp of the last step in the journal of a reel."""
    if not folder.is_dir():
        return []
    from playhead.lanes.arrays import rows  # loaded where there are some: it needs NumPy

    def stamps(what: int, number: int, payload: memoryview) -> list[int]:
        if (what, number) != (SAMPLES, 0):
            return []
        block = rows.unpack(payload)
        noted = [note["ns"] for note in block.notes if isinstance(note.get("ns"), int)]
        return [*block.rows["ts_ns"][-1:].tolist(), *noted]

    return _newest(folder, stamps)


def _of_trace(folder: Path, *, is_here: bool) -> list[int]:
    """Read the stamp of the last step on the tape of a trace."""
    if not folder.is_dir():
        return []
    from playhead.lanes.keyframes.blocks import Block  # loaded where there are some: they need NumPy
    from playhead.lanes.keyframes.taped import STEPS

    def stamps(what: int, number: int, payload: memoryview) -> list[int]:
        if (what, number) != (SAMPLES, STEPS):
            return []
        last: list[int] = Block.unpack(bytes(payload), folder).stamps[-1:].tolist()
        return last

    return _of_tape(folder, stamps, is_here=is_here)


def _of_episode(layout: Layout, said: str, times: list[int | None], *, is_here: bool) -> list[int]:
    """Tell when an episode of a dataset was last recorded; one that ended ran for as long as its samples."""
    folder = EpisodeFolder(str(layout.root / inside(said, layout.root)))
    layout.check_holds(Path(folder.meta))
    if not folder.tape.is_dir():
        created, duration = (time or 0 for time in times)
        return [max(created, min(created + duration, os.stat(folder.meta).st_mtime_ns))]
    lanes = _lanes(folder.tape)

    def stamps(what: int, number: int, payload: memoryview) -> list[int]:
        if what != SAMPLES or number not in lanes:
            return []
        before, each = lanes[number]
        (samples,) = _COUNT.unpack_from(payload)
        return [_STAMP.unpack_from(payload, before + (samples - 1) * each)[0]] if samples else []

    return [times[0] or 0, *_of_tape(folder.tape, stamps, is_here=is_here)]


def _lanes(folder: Path) -> dict[int, tuple[int, int]]:
    """Return where the stamps of the signals on a tape are, by their numbers."""
    found: dict[int, tuple[int, int]] = {}
    with journal.JournalReader(folder) as reader:
        for position, payload in takewhile(lambda record: record[0].offset < _HEAD_BYTES, reader.poll()):
            what, number = HEAD.unpack_from(payload)
            if what == DECLARATION and position.segment == 0:
                lane = strictjson.decode(payload[HEAD.size :])["lane"]
                if lane in _STAMPS:
                    found[number] = _STAMPS[lane]
    return found


_Stamps = Callable[[int, int, memoryview], list[int]]


def _of_tape(folder: Path, stamps: _Stamps, *, is_here: bool) -> list[int]:
    """Read the newest stamps of a tape whose caller may have given times of any clock: none is of after it was written.

    Args:
        folder: The tape.
        stamps: Reads those of a record.
        is_here: The times of files count.
    """
    written = max((os.stat(path).st_mtime_ns for path in folder.glob("*.seg")), default=0)
    found = [stamp for stamp in _newest(folder, stamps) if stamp <= written + _SLACK_NS]
    return [*found, written] if is_here else found


def _newest(folder: Path, stamps: _Stamps) -> list[int]:
    """Read the stamps of the last records of a journal, of as many as it takes to find any."""
    for records in journal.newest(folder):
        found: list[int] = []
        for record in records:
            what, number = HEAD.unpack_from(record)
            found += stamps(what, number, memoryview(record)[HEAD.size :])
        if found:
            return found
    return []
