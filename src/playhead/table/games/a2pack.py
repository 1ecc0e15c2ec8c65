"""`.a2pack`: many run files in one, with an index before them and a footer behind."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from playhead.table.games import a2run, a2run2
from playhead.table.games.checksum import crc32c
from playhead.table.games.rows import Known, Place, Rows

MAGIC = b"A2PACK\0\0"
_VERSION = 1
_HEAD = struct.Struct("<8sIIQI")
_FOOT = struct.Struct("<QIIQI4x")
_ENTRY: np.dtype[Any] = np.dtype(
    [
        ("offset", "<u8"),
        ("length", "<u4"),
        ("kind", "<u2"),
        ("flags", "<u2"),
        ("crc", "<u4"),
        ("reserved", "<u4"),
        ("pad", "V8"),
    ]
)
_DECODERS = {1: a2run.decode, 2: a2run2.decode}
_AT_ONCE = 1 << 18  # rows


def read(path: Path, dtype: np.dtype[Any], branches: str) -> Iterator[tuple[Rows, list[Known]]]:
    """Give the games of a pack, many at a time; see `playhead.table.games.read`."""
    with open(path, "rb") as file:
        index = _index(file, path)
        rows: list[Rows] = []
        runs: list[Known] = []
        count = 0
        for number, entry in enumerate(index):
            more, run = _run(file, Place(path, int(entry["offset"]), number), entry, dtype, branches)
            if runs and count + len(more) > _AT_ONCE:
                yield np.concatenate(rows), runs
                rows, runs, count = [], [], 0
            rows.append(more)
            runs.append(run)
            count += len(more)
        if runs:
            yield np.concatenate(rows), runs


def _run(file: BinaryIO, place: Place, entry: NDArray[Any], dtype: np.dtype[Any], branches: str) -> tuple[Rows, Known]:
    file.seek(place.first)
    data = file.read(int(entry["length"]))
    kind, due = int(entry["kind"]), int(entry["crc"])
    if kind not in _DECODERS:
        raise place.damaged("a run of kind 1 or 2", f"kind {kind}")
    if due and crc32c(data) != due:
        raise place.damaged(f"{len(data):,} bytes with the CRC32C {due:08x}", f"{crc32c(data):08x}", 0)
    return _DECODERS[kind](data, place, dtype, branches)


def _index(file: BinaryIO, path: Path) -> NDArray[Any]:
    """Read the index, and check all but the runs."""
    place, size = Place(path), file.seek(0, 2)
    if size < _HEAD.size + _FOOT.size:
        raise place.damaged(f"at least {_HEAD.size + _FOOT.size} bytes", f"the end at {size}")
    file.seek(0)
    head = file.read(_HEAD.size)
    magic, version, _, count, head_sum = _HEAD.unpack(head)
    place.check_kind((magic, version), (MAGIC, _VERSION), at=8)
    if crc32c(head[:24]) != head_sum:
        raise place.damaged(f"a header with the CRC32C {head_sum:08x}", f"{crc32c(head[:24]):08x}", 0)
    foot_at, first = size - _FOOT.size, _HEAD.size + count * _ENTRY.itemsize
    if first > foot_at:
        raise place.damaged(f"an index of {count:,} runs", f"{size:,} bytes in all", 16)
    written = file.read(count * _ENTRY.itemsize)
    file.seek(foot_at)
    foot = file.read(_FOOT.size)
    data_end, index_sum, _, stats_at, foot_sum = _FOOT.unpack(foot)
    if crc32c(foot[:24]) != foot_sum:
        raise place.damaged(f"a footer with the CRC32C {foot_sum:08x}", f"{crc32c(foot[:24]):08x}", foot_at)
    if crc32c(written) != index_sum:
        raise place.damaged(f"an index with the CRC32C {index_sum:08x}", f"{crc32c(written):08x}", _HEAD.size)
    index = np.frombuffer(written, _ENTRY)
    _check_entries(index, place, first, data_end)
    _check_end(file, place, data_end if count else stats_at or foot_at, stats_at, foot_at)
    return index


def _check_entries(index: NDArray[Any], place: Place, first: int, data_end: int) -> None:
    """See that runs lie behind the index, end where the data ends, and share no bytes."""
    if not len(index):
        return
    order = np.argsort(index["offset"], kind="stable")
    starts, lengths = index["offset"][order], index["length"][order].astype(np.uint64)
    stops = starts + lengths
    befores = np.concatenate([np.array([first], np.uint64), stops[:-1]])
    is_wrong = (starts < befores) | (stops < starts)
    if is_wrong.any():
        number = int(order[np.argmax(is_wrong)])
        expected = f"run {number:,} behind the index and the run before it"
        raise place.damaged(
            expected, f"it begins at {index['offset'][number]:,}", _HEAD.size + number * _ENTRY.itemsize
        )
    if int(stops[-1]) != data_end:
        raise place.damaged(f"runs up to {data_end:,}, as the footer says", f"the last ends at {stops[-1]:,}")


def _check_end(file: BinaryIO, place: Place, data_end: int, stats_at: int, foot_at: int) -> None:
    """See that nothing but statistics lies between the runs and the footer; what they say is not needed."""
    end = data_end
    if stats_at:
        if not data_end <= stats_at <= foot_at - 4:
            expected = f"statistics between {data_end:,} and the footer"
            raise place.damaged(expected, f"{stats_at:,}", foot_at + 16)
        file.seek(stats_at)
        end = stats_at + 4 + int.from_bytes(file.read(4), "little")
    if end != foot_at:
        raise place.damaged(f"the footer at {end:,}, behind the data", f"it is at {foot_at:,}")
