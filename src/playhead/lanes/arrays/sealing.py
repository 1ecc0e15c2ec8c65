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

from playhead import clock, disk, strictjson
from playhead.errors import Damaged, NotFound
from playhead.journal.segment import path_of, segments_in
from playhead.lanes.arrays import codec, rows
from playhead.lanes.arrays.kind import FINALS, PREFIXES, STEPS, ArrayKind
from playhead.lanes.arrays.live import Following, LivePart
from playhead.lanes.arrays.parts import COLUMNS, Part
from playhead.lanes.arrays.pieces import fill
from playhead.lanes.arrays.reel import Reel, Span
from playhead.lanes.arrays.sealed import SealedWriter
from playhead.layout import ReelFiles

CONTRACT = "1.0"  # the form of the file that other programs know


def make_empty(files: ReelFiles) -> None:
    """Make the file of a reel that has nothing yet; one that is there stays."""
    disk.make_folders(files.folder)
    if files.file.exists():
        return
    writer = SealedWriter(files.file)
    try:
        _describe(writer, files.id, 0, 0)
        nothing = dict.fromkeys((STEPS, FINALS, PREFIXES), 0)
        writer.finish(_head(nothing, nothing, [], [], [], {}, [], 0))
    except BaseException:
        writer.discard()
        raise
    disk.sync_folder(files.folder)


def seal(files: ReelFiles, *, before: int | None = None) -> None:
    """Seal the journal of a reel, segment by segment, and remove what is sealed.

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
    problems: list[Damaged] = []
    try:
        for part in following.poll():
            if before is not None and part.segment >= before:
                break
            problems += _seal_segment(files, following, part)
    finally:
        following.close()
    if problems:
        raise problems[0]
    if before is None:
        disk.remove_tree(files.journal)
        disk.sync_folder(files.folder)


def _seal_segment(files: ReelFiles, following: Following, part: LivePart) -> list[Damaged]:
    """Seal one segment and remove it; give what is wrong with it instead."""
    damage = following.damage_of(part.segment)
    if damage:
        return damage
    with_steps = any(part.lengths.values()) or part.notes
    if with_steps:
        reel = Reel(files, live=False)
        try:
            sealed = [known for known in reel.parts if any(known.lengths.values())]
            if not any(known.bases == part.bases and known.lengths == part.lengths for known in sealed):
                _add_part(files, sealed, part)
        except Damaged as problem:  # a record of the segment, found while it was copied
            return [problem]
        finally:
            reel.close()
    disk.remove(path_of(files.journal, part.segment))
    return []


def _add_part(files: ReelFiles, sealed: Sequence[Part], part: LivePart) -> None:
    if not sealed:
        write_part(files.file, files.id, part)
        disk.sync_folder(files.folder)
        return
    disk.make_folders(files.parts)
    if sealed[0].path == files.file:  # the one file so far becomes the first of several
        disk.link(files.file, files.part(0))
    write_part(files.part(len(sealed)), files.id, part)
    disk.sync_folder(files.parts)
    _write_view(files, len(sealed) + 1)
    disk.sync_folder(files.folder)


def write_part(target: Path, reel_id: str, part: LivePart) -> None:
    """Seal what a segment holds into a file."""
    compression = codec.check(part.settings.get("codec"))
    writer = SealedWriter(target, part.settings.get("level", 1))
    try:
        for kind in part.kinds.values():
            _copy_array(writer, kind, part, compression)
        span = part.span()
        steps = part.rows(span.start, span.stop)
        _put_steps(writer, steps, part)
        starts, lengths = _episodes(steps["episode"])
        _put_episodes(writer, reel_id, starts, lengths, part.notes)
        _link_same(writer, part.facts)
        _describe(writer, reel_id, len(steps), len(starts))
        always = int(np.bitwise_and.reduce(steps["has"])) if len(steps) else 0
        kinds = list(part.kinds.values())
        writer.finish(_head(part.bases, part.lengths, kinds, part.groups, part.agents, part.facts, part.notes, always))
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
        if missing is None or not missing.all():
            made.write_rows(place, out)


def _put_steps(writer: SealedWriter, steps: NDArray[Any], part: LivePart) -> None:
    done = steps["flags"] != 0
    writer.put("rewards", steps["reward"].astype("<f4"))
    writer.put("dones", done)
    for field, path in COLUMNS.items():
        writer.put(path, np.ascontiguousarray(steps[field]))
    writer.put("steps/terminated", steps["flags"] & rows.TERMINATED != 0)
    writer.put("steps/truncated", steps["flags"] & rows.TRUNCATED != 0)
    writer.file["steps/has"].attrs["groups"] = part.groups
    writer.file["steps/agent"].attrs["names"] = part.agents
    span = part.span()
    infos = part.infos(span.start, span.stop)
    width = max(map(len, infos), default=0) or 1
    writer.put("steps/info", np.array(infos, f"S{width}"), compression=codec.GZIP)


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


# -- several parts ----------------------------------------------------------------------------------------------------


def _write_view(files: ReelFiles, count: int) -> None:
    """Write the small file through which other programs see all parts as one."""
    import h5py

    opened = [h5py.File(files.part(number), "r") for number in range(count)]
    writer = SealedWriter(files.file)
    try:
        lengths = [int(file.attrs["total_steps"]) for file in opened]
        names = [files.part(number).relative_to(files.folder).as_posix() for number in range(count)]
        for path in _dataset_paths(opened):
            _join(writer, path, opened, names)
        numbers = np.concatenate([file["steps/episode"][:] for file in opened])
        starts, counts = _episodes(numbers)
        writer.put("episodes/starts", starts)
        writer.put("episodes/lengths", counts)
        _describe(writer, files.id, sum(lengths), len(starts))
        writer.finish({"parts": list(range(count))})
    except BaseException:
        writer.discard()
        raise
    finally:
        for file in opened:
            file.close()


def _dataset_paths(opened: Sequence[Any]) -> list[str]:
    import h5py

    found: dict[str, None] = {}

    def note(path: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and path not in ("episodes/starts", "episodes/lengths"):
            found[path] = None

    for file in opened:
        file.visititems(note)
        for name, item in file.items():  # the second name of an array is not visited
            note(name, item)
    return list(found)


def _join(writer: SealedWriter, path: str, opened: Sequence[Any], names: Sequence[str]) -> None:
    import h5py

    is_a_step = not path.startswith("episodes/")
    having = [file[path] for file in opened if path in file]
    lengths = [
        int(file.attrs["total_steps"]) if is_a_step else len(file[path]) if path in file else 0 for file in opened
    ]
    dtype = max((dataset.dtype for dataset in having), key=lambda dtype: dtype.itemsize)
    layout = h5py.VirtualLayout((sum(lengths), *having[0].shape[1:]), dtype)
    at = 0
    for file, name, length in zip(opened, names, lengths, strict=True):
        if path in file and length:
            layout[at : at + length] = h5py.VirtualSource(name, path, file[path].shape, dtype=file[path].dtype)
        at += length
    made = writer.file.create_virtual_dataset(path, layout)
    for key, value in having[0].attrs.items():
        made.attrs[key] = value


def leftovers(files: ReelFiles) -> bool:
    """Tell whether something of a reel waits to be sealed."""
    try:
        return bool(segments_in(files.journal))
    except NotFound:
        return False


__all__ = ["Span", "episode_id", "leftovers", "make_empty", "seal", "write_part"]
