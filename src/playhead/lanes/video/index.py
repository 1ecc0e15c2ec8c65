"""The index of frames: a Parquet file with the time of each, and what the video must be for these times.

`frames.parquet` has one field, `ts_ns`. Beside it, in the file's metadata, `playhead.video` says as JSON how frames are
encoded, by how much they differ from what was appended, and the checksums of the video; `playhead.video.crc32` is the
checksum of that text. Other readers see a plain index.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from playhead import disk, strictjson
from playhead.errors import Damaged, StoreTooNew
from playhead.lanes.video.encoder import Loss
from playhead.lanes.video.encoding import Encoding
from playhead.lanes.video.pictures import Shape
from playhead.owner import Fields

VERSION = 1
STAMPS = "ts_ns"

_MARK = b"playhead.video"
_KEY, _CHECK = b"playhead.video", b"playhead.video.crc32"
_TIMELINE = "ts."  # before the name of a clock, in indexes of the third generation of Positronic
_PREFERRED = "ts.recorded"
_UNREADABLE = (pa.ArrowException, OSError, ValueError, KeyError, MemoryError)


@dataclass(frozen=True)
class VideoFile:
    """Checksums of an MP4, such that every byte of it is covered by one.

    Attributes:
        size: Of the file.
        packets: Where the packets begin and end.
        rest: CRC-32 of everything else.
        gops: The first frame of each GOP, and the CRC-32 of its packets.
    """

    size: int
    packets: tuple[int, int]
    rest: int
    gops: list[tuple[int, int]]


@dataclass(frozen=True)
class Facts:
    """What the index knows of a video of ours.

    Attributes:
        encoding: How frames were encoded.
        shape: Of a frame.
        loss: The mean squared error, the largest difference and the number of frames that were measured; None where
            nothing was lost.
        video: The file's checksums.
    """

    encoding: Encoding
    shape: Shape
    loss: tuple[float, int, int] | None
    video: VideoFile

    def to_json(self) -> dict[str, Any]:
        """Give the facts in a form that JSON holds."""
        loss = None
        if self.loss is not None:
            squared, largest, frames = self.loss
            loss = {"psnr_db": psnr(squared), "mean_squared": squared, "max": largest, "frames": frames}
        video = {**vars(self.video)}
        return {"encoding": self.encoding.facts(), "shape": self.shape, "loss": loss, "video": video}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Facts:
        """Take the facts that `to_json` gave."""
        loss, video = data["loss"], data["video"]
        gops = [(first, check) for first, check in video["gops"]]
        start, stop = video["packets"]
        return cls(
            Encoding.from_facts(data["encoding"]),
            tuple(data["shape"]),
            None if loss is None else (loss["mean_squared"], loss["max"], loss["frames"]),
            VideoFile(video["size"], (start, stop), video["rest"], gops),
        )


def psnr(squared: float) -> float | None:
    """Give a mean squared error of 8-bit values in decibels; None where there is none."""
    return round(10 * math.log10(255**2 / squared), 3) if squared else None


def mean_loss(losses: list[Loss]) -> tuple[float, int, int] | None:
    """Sum up what was measured."""
    if not losses:
        return None
    squared = sum(loss.squared for loss in losses) / len(losses)
    return squared, max(loss.largest for loss in losses), len(losses)


@dataclass(frozen=True)
class FrameIndex:
    """An index that was read.

    Attributes:
        stamps: The time of each frame.
        facts: What it says of the video; None where another program wrote it.
        owner: Whose it is; None if the index does not say.
    """

    stamps: NDArray[np.int64]
    facts: Facts | None
    owner: Fields | None = None


def write(draft: disk.Draft, stamps: NDArray[np.int64], facts: Facts | None, owner: Fields | None = None) -> None:
    """Write an index; the caller commits it.

    Args:
        draft: The new file.
        stamps: The time of each frame.
        facts: What to say of the video; None where there is none.
        owner: Whose it is.
    """
    about: dict[str, Any] = {"version": VERSION, "rows": len(stamps), "stamps": zlib.crc32(_bytes(stamps))}
    if owner is not None:
        about["owner"] = dict(owner)
    if facts is not None:
        about |= facts.to_json()
    text = strictjson.encode(about)
    schema = pa.schema([(STAMPS, pa.int64())])
    # The type needs no Arrow schema to be read back; without one, readers show our metadata as that of the schema.
    with pq.ParquetWriter(draft, schema, write_page_checksum=True, use_dictionary=False, store_schema=False) as writer:
        writer.write_table(pa.table([pa.array(stamps)], schema=schema))
        writer.add_key_value_metadata({_KEY: text, _CHECK: b"%08x" % zlib.crc32(text)})


def read(path: Path) -> FrameIndex:
    """Read an index.

    Raises:
        Damaged: It is not what was written.
        StoreTooNew: A later version wrote it.
        FileNotFoundError: It is not there.
    """
    with open(disk.open_to_read(path), "rb") as opened:
        data = opened.read()
    try:
        file = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        metadata = file.metadata.metadata or {}
        name = _stamps_among(file.schema_arrow.names)
        found = None if name is None else file.read([name])[name]
        stamps = None if found is None or found.null_count else found.cast(pa.int64()).to_numpy()
    except _UNREADABLE as error:
        raise Damaged(path, "an index of frames in Parquet", f"{type(error).__name__}: {error}") from error
    if stamps is None:
        raise Damaged(path, f"a field {STAMPS} without gaps", f"fields {file.schema_arrow.names}")
    stamps = np.ascontiguousarray(stamps, np.int64)
    stamps.flags.writeable = False
    about = _about(path, metadata, data)
    if about is None:
        if (stamps[1:] < stamps[:-1]).any():
            raise Damaged(path, "times in order", "times that go back")
        return FrameIndex(stamps, None)
    found_check = zlib.crc32(_bytes(stamps))
    if (about["rows"], about["stamps"]) != (len(stamps), found_check):
        expected = f"{about['rows']} times with checksum {about['stamps']:08x}"
        raise Damaged(path, expected, f"{len(stamps)} with {found_check:08x}")
    return FrameIndex(stamps, Facts.from_json(about) if "video" in about else None, about.get("owner"))


def _stamps_among(names: list[str]) -> str | None:
    if STAMPS in names:
        return STAMPS
    timelines = [name for name in names if name.startswith(_TIMELINE)]
    return _PREFERRED if _PREFERRED in timelines else next(iter(timelines), None)


def _about(path: Path, metadata: dict[bytes, bytes], data: bytes) -> dict[str, Any] | None:
    text, check = metadata.get(_KEY), metadata.get(_CHECK)
    if text is None and check is None and _MARK not in data:
        return None
    # Parquet has no checksum for its own metadata. The mark is there twice, so no flipped bit makes the index look like
    # that of another program, which would be believed.
    if text is None or check is None or check != b"%08x" % zlib.crc32(text):
        raise Damaged(path, "a description of the video with its checksum", "one that does not fit")
    about: dict[str, Any] = strictjson.decode(text)
    if about["version"] > VERSION:
        raise StoreTooNew(f"{path} has version {about['version']}; this program reads up to {VERSION}. Update playhead")
    return about


def _bytes(stamps: NDArray[np.int64]) -> bytes:
    return stamps.astype("<i8", copy=False).tobytes()
