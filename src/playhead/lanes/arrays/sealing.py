"""From the journal of a reel to its HDF5 files: at the end, on going on after a crash, and as segments fill up.

What there is to seal and what is sealed can be told at any moment from the files alone: a segment whose first step is
in a sealed part was sealed and is only to be removed. So sealing may die anywhere and is simply done again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import clock, disk, owner, strictjson
from playhead.errors import Damaged, NotFound
from playhead.journal.segment import path_of
from playhead.lanes.arrays import codec, rows
from playhead.lanes.arrays.head import COLUMNS, FLAGS, INFO
from playhead.lanes.arrays.kind import AXES, GROUPS, STEPS, ArrayKind
from playhead.lanes.arrays.live import Following, LivePart
from playhead.lanes.arrays.parts import Part, SealedPart
from playhead.lanes.arrays.pieces import fill
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.sealed import OURS, SealedFile, SealedWriter, opened
from playhead.lanes.arrays.spans import find_spans
from playhead.layout import ReelFiles

_LONG = 1024  # bytes of an info
_FEW_AGENTS = 4000  # of which an attribute holds 16 bytes each

CONTRACT = "1.0"  # the form of the file that other programs know


def make_empty(files: ReelFiles) -> None:
    """Make the file of a reel that has nothing yet; one that is there stays."""
    disk.make_folders(files.folder)
    if files.file.exists():
        return
    writer = SealedWriter(files.file)
    try:
        _describe(writer, files.id, 0, 0)
        nothing = dict.fromkeys(AXES, 0)
        head = _head(nothing, nothing, [], list(GROUPS), [], {}, [], 0)
        writer.finish(head | {owner.FIELD: files.owner(0, whole=True)})
    except BaseException:
        writer.discard()
        raise
    disk.sync_folder(files.folder)


def seal(files: ReelFiles, *, before: int | None = None) -> None:
    """Seal the journal of a reel, a part for each segment, and remove what is sealed.

    Args:
        files: The reel; nobody records it, or only segments that are complete are sealed.
        before: Only segments below this one; without it all, and the journal goes.

    Raises:
        Damaged: A segment has a hole. It stays as it is and can be read; all others are sealed.
    """
    try:
        following = Following(files.journal)
    except NotFound:
        return
    reel = Reel(files, live=False)
    try:
        found = [part for part in following.poll() if before is None or part.segment < before]
        for part in found:
            part.check_owner(files)
        problems = _seal_all(files, reel, following, found)
    finally:
        following.close()
        reel.close()
    if problems:
        raise problems[0]
    if before is None:
        disk.remove_tree(files.journal)
        disk.sync_folder(files.folder)


def _seal_all(files: ReelFiles, reel: Reel, following: Following, found: Sequence[LivePart]) -> list[Damaged]:
    """Seal segments and remove them; give what is wrong with those that stay."""
    sealed = [part for part in reel.parts if _holds_anything(part)]
    problems: list[Damaged] = []
    due: list[LivePart] = []
    done: list[LivePart] = []
    for part in found:
        if damage := [*following.damage_of(part.segment), *part.losses()]:
            problems += damage
        elif _is_sealed(part, sealed) or not _holds_anything(part):
            done.append(part)
        else:
            due.append(part)
    problems += _write_parts(files, sealed, due, done)
    for part in done:
        disk.remove(path_of(files.journal, part.segment))
    return problems


def _is_sealed(part: LivePart, sealed: Sequence[Part]) -> bool:
    return any((known.bases, known.lengths, known.notes) == (part.bases, part.lengths, part.notes) for known in sealed)


def _holds_anything(part: Part) -> bool:
    return bool(any(part.lengths.values()) or part.notes)


def _write_parts(
    files: ReelFiles, sealed: Sequence[Part], due: Sequence[LivePart], done: list[LivePart]
) -> list[Damaged]:
    """Write segments into files, and then the view that shows them; those that are on the medium are `done`."""
    problems: list[Damaged] = []
    is_one = not sealed and len(due) == 1
    if due and not is_one:
        disk.make_folders(files.parts)
        if sealed and sealed[0].path == files.file:  # the one file so far becomes the first of several
            _make_first_part(files)
    written: list[LivePart] = []
    for part in due:
        number = len(sealed) + len(written)
        try:
            write_part(files.file if is_one else files.part(number), files, number, part)
            written.append(part)
        except Damaged as problem:  # a record of the segment, found while it was copied
            problems.append(problem)
    if written and not is_one:
        disk.sync_folder(files.parts)
        write_view(files, len(sealed) + len(written))
    if written:
        disk.sync_folder(files.folder)
    done += written
    return problems


def _make_first_part(files: ReelFiles) -> None:
    """Let what is the whole reel so far also be its first part, as a file that says so.

    Under the name of the view it would otherwise be taken for all of the reel.
    """
    file = SealedFile(files.file)
    if owner.FIELD in file.head:
        file.copy(files.part(0), {owner.FIELD: files.owner(0)})
    else:  # an earlier version's, of which nobody has checked whose it is
        disk.link(files.file, files.part(0))


def write_part(target: Path, files: ReelFiles, number: int, part: LivePart) -> None:
    """Seal what a segment holds into a file, the part of this number."""
    compression = codec.check(part.settings.get("codec"))
    writer = SealedWriter(target, part.settings.get("level", 1))
    try:
        for kind in part.kinds.values():
            _copy_array(writer, kind, part, compression)
        span = part.span()
        steps = part.rows(span.start, span.stop)
        infos = _put_steps(writer, steps, part)
        starts, lengths = _episodes(steps["episode"])
        _put_episodes(writer, files.id, starts, lengths, part.notes)
        _link_same(writer, part.facts)
        _describe(writer, files.id, len(steps), len(starts))
        always = int(np.bitwise_and.reduce(steps["has"])) if len(steps) else 0
        kinds = list(part.kinds.values())
        head = _head(part.bases, part.lengths, kinds, part.groups, part.agents, part.facts, part.notes, always)
        said = files.owner(number, whole=target == files.file)
        writer.finish(head | {"infos": infos, owner.FIELD: said})
    except BaseException:
        writer.discard()
        raise


def _head(
    bases: dict[str, int],
    lengths: dict[str, int],
    kinds: Sequence[ArrayKind],
    groups: list[str],
    agents: list[str],
    facts: dict[str, Any],
    notes: list[dict[str, Any]],
    always: int,
) -> dict[str, Any]:
    return {
        "bases": bases,
        "lengths": lengths,
        "arrays": [kind.to_json() for kind in kinds],
        "groups": groups,
        "agents": agents,
        "facts": facts,
        "notes": notes,
        "always": always,
    }


def _copy_array(writer: SealedWriter, kind: ArrayKind, part: LivePart, compression: str) -> None:
    span = part.span(kind.axis)
    if not kind.row_bytes:  # rows without values have no chunks
        writer.file.create_dataset(kind.path, (len(span), *kind.shape), kind.dtype)
        return
    made = writer.dataset(kind.path, kind.dtype, kind.shape, rows=len(span), chunk=kind.chunk, compression=compression)
    if kind.stack > 1:
        writer.file[kind.path].attrs["stack"] = kind.stack
    for place in range(0, len(span), kind.chunk):
        start = span.start + place
        stop = min(start + kind.chunk, span.stop)
        whole = part.whole_chunk(kind, start) if compression == codec.ZSTD else None
        if whole is not None:
            made.write(place, whole)
            continue
        out = np.empty((stop - start, *kind.shape), np.dtype(kind.dtype))
        missing = fill(out, start, part.pieces(kind, start, stop))
        if missing is not None:
            named = missing if kind.axis == STEPS else missing & part.noted(kind, start, stop)
            part.refuse_lost(kind, start, stop, named)
        if missing is None or not missing.all():
            made.write_rows(place, out)


def _put_steps(writer: SealedWriter, steps: NDArray[Any], part: LivePart) -> dict[str, str]:
    """Write what is known of steps besides their arrays; give the infos that are too long to lie among the others."""
    done = steps["flags"] != 0
    with np.errstate(over="ignore"):  # the whole value lies in `steps/rewards`
        writer.put("rewards", steps["reward"].astype("<f4"))
    writer.put("dones", done)
    for field, path in COLUMNS.items():
        writer.put(path, np.ascontiguousarray(steps[field]))
    for path, flag in zip(FLAGS, (rows.TERMINATED, rows.TRUNCATED), strict=True):
        writer.put(path, steps["flags"] & flag != 0)
    writer.file["steps/has"].attrs["groups"] = part.groups
    _put_agents(writer, part.agents)
    span = part.span()
    infos = part.infos(span.start, span.stop)
    long = _long_infos(infos)
    short = [b"" if place in long else info for place, info in enumerate(infos)] if long else infos
    writer.put_texts(INFO, short)
    return {str(span.start + place): info.decode() for place, info in long.items()}


def _put_agents(writer: SealedWriter, names: list[str]) -> None:
    """Write the names of agents: into an attribute, which HDF5 gives 64 KiB, or into a dataset where they are many."""
    if len(names) <= _FEW_AGENTS:
        writer.file["steps/agent"].attrs["names"] = names
    else:
        writer.put_texts(_AGENTS, [name.encode() for name in names])


def _long_infos(infos: Sequence[bytes]) -> dict[int, bytes]:
    """Find the few infos that are much longer than the others: all would take as much as the longest."""
    long = {place: info for place, info in enumerate(infos) if len(info) > _LONG}
    return long if len(long) <= len(infos) // 50 + 1 else {}


def _episodes(numbers: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give where episodes start, and how many steps each has."""
    if not len(numbers):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    starts = np.flatnonzero(np.r_[True, numbers[1:] != numbers[:-1]]).astype(np.int64)
    return starts, np.diff(np.r_[starts, len(numbers)]).astype(np.int64)


def _put_episodes(
    writer: SealedWriter,
    reel_id: str,
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    notes: list[dict[str, Any]],
) -> None:
    writer.put("episodes/starts", starts)
    writer.put("episodes/lengths", lengths)
    numbers = sorted({note["begin"] for note in notes if "begin" in note})
    ids = [episode_id(reel_id, number).encode() for number in numbers] or [b""]
    writer.put("episodes/ids", np.array(ids)[: len(numbers)], compression=codec.GZIP)
    noted = [strictjson.encode(note) for note in notes] or [b""]
    writer.put("episodes/notes", np.array(noted)[: len(notes)], compression=codec.GZIP)


def episode_id(reel_id: str, number: int) -> str:
    """Spell the id of an episode."""
    return f"{reel_id}-ep{number:04}"


def _link_same(writer: SealedWriter, facts: dict[str, Any]) -> None:
    """Let an array that is stored under another name be found under its own too."""
    for name, other in facts.get("same", {}).items():
        for folder in ("", "episodes/final/"):
            if folder + other in writer.file and folder + name not in writer.file:
                writer.file[folder + name] = writer.file[folder + other]


def _describe(writer: SealedWriter, reel_id: str, steps: int, episodes: int) -> None:
    attributes = writer.file.attrs
    attributes["run_id"] = reel_id
    attributes["total_steps"] = steps
    attributes["total_episodes"] = max(1, episodes)
    attributes["created_at"] = clock.local(clock.now_ns()).replace(tzinfo=None).isoformat()
    attributes["version"] = CONTRACT
    attributes[OURS] = 1


# -- several parts ----------------------------------------------------------------------------------------------------


def write_view(files: ReelFiles, count: int, *, also: Sequence[int] = ()) -> None:
    """Write the small file through which other programs see all parts as one.

    Args:
        files: The reel.
        count: How many parts it has.
        also: The CRCs of files that are about to take the place of parts.
    """
    parts = [SealedPart(opened(files, number)) for number in range(count)]
    writer = SealedWriter(files.file)
    try:
        kinds = {kind.path: kind for part in parts for kind in part.kinds.values()}
        paths = {path: None for part in parts for path in part.datasets if path not in _OF_A_FILE}
        for path in paths:
            _join(writer, files, path, parts)
            if path in kinds and kinds[path].stack > 1:
                writer.file[path].attrs["stack"] = kinds[path].stack
        for kind in kinds.values():
            if not kind.row_bytes:
                rows_of_all = sum(part.lengths[kind.axis] for part in parts)
                writer.file.create_dataset(kind.path, (rows_of_all, *kind.shape), kind.dtype)
        writer.file["steps/has"].attrs["groups"] = max((part.groups for part in parts), key=len)
        _put_agents(writer, max((part.agents for part in parts), key=len))
        spans = find_spans(parts)
        writer.put("episodes/starts", np.array([span.start for span in spans], np.int64))
        writer.put("episodes/lengths", np.array([span.length for span in spans], np.int64))
        _link_same(writer, parts[-1].facts)
        _describe(writer, files.id, parts[-1].span().stop, len(spans))
        head = {owner.FIELD: files.owner(), "parts": [part.crc for part in parts]}
        writer.finish(head | ({"also": list(also)} if also else {}))
    except BaseException:
        writer.discard()
        raise
    finally:
        for part in parts:
            part.close()


_AGENTS = "steps/agent_names"
_OF_A_FILE = ("episodes/starts", "episodes/lengths", _AGENTS)


def _join(writer: SealedWriter, files: ReelFiles, path: str, parts: Sequence[SealedPart]) -> None:
    import h5py

    having = [part.datasets[path] for part in parts if path in part.datasets]
    axis = next((kind.axis for part in parts for kind in part.kinds.values() if kind.path == path), STEPS)
    is_listed = path.startswith("episodes/") and axis == STEPS  # ids and notes: as many as each file has
    places: list[tuple[SealedPart, int]] = []
    total = 0
    for part in parts:
        first = total if is_listed else part.bases[axis]
        rows_here = part.datasets[path].rows if path in part.datasets else 0
        places.append((part, first))
        total = first + (rows_here if is_listed else part.lengths[axis])
    dtype = max((stored.dtype for stored in having), key=lambda dtype: dtype.itemsize)
    layout = h5py.VirtualLayout((total, *having[0].shape), dtype)
    for part, first in places:
        stored = part.datasets.get(path)
        if stored is not None and stored.rows:
            name = part.path.relative_to(files.folder).as_posix()
            source = h5py.VirtualSource(name, path, (stored.rows, *stored.shape), dtype=stored.dtype)
            layout[first : first + stored.rows] = source
    writer.file.create_virtual_dataset(path, layout)
