"""What a file of one signal says about itself: JSON in the metadata of Parquet, with a checksum of its own.

Parquet has no checksum for its metadata, so nothing of this text is used before its CRC-32 was compared. Files that
were written before the text had a checksum are read all the same: each field is then checked by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn
from zlib import crc32

import numpy as np

from playhead import disk, strictjson
from playhead.errors import Damaged, StoreTooNew
from playhead.lanes.vectors.kind import TEXT, Kind
from playhead.owner import Fields

VERSION = 2  # 1 had no checksum and no owner

KEY, CHECK = b"playhead.signal", b"playhead.signal.crc32"

_EXPECTED = "a description of the signal with its checksum"
_REMEDY = "Restore it from a copy"
_DTYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", TEXT)
_MOST_AXES = 64  # of NumPy's arrays
_MOST_ITEMS = 1 << 31


@dataclass(frozen=True, slots=True)
class About:
    """What the values of a file are, and what they must be.

    Attributes:
        kind: Their type and shape.
        count: Of samples.
        rows: Of a row group.
        stamps_crc: The CRC-32 of all stamps.
        values_crc: The CRC-32 of all values.
        owner: Whose file it is; None if it stands alone, or was written before files said so.
    """

    kind: Kind
    count: int
    rows: int
    stamps_crc: int
    values_crc: int
    owner: Fields | None = None

    def metadata(self) -> dict[str, bytes]:
        """Return it as metadata of a Parquet file."""
        said: dict[str, Any] = {
            "version": VERSION,
            **self.kind.to_json(),
            "count": self.count,
            "rows": self.rows,
            "stamps_crc": self.stamps_crc,
            "values_crc": self.values_crc,
        }
        if self.owner is not None:
            said["owner"] = dict(self.owner)
        text = strictjson.encode(said)
        return {KEY.decode(): text, CHECK.decode(): b"%08x" % crc32(text)}


def read(path: Path, metadata: dict[bytes, bytes]) -> About | None:
    """Read what a file says about itself.

    Args:
        path: The file, for messages.
        metadata: Of Parquet.

    Returns:
        None if another program wrote the file.

    Raises:
        Damaged: The text is not what was written.
        StoreTooNew: A later version wrote it.
    """
    text, check = metadata.get(KEY), metadata.get(CHECK)
    if text is None and check is None:
        return None
    if text is None or (check is not None and check != b"%08x" % crc32(text)):
        raise Damaged(path, _EXPECTED, "one that does not fit", _REMEDY)
    try:
        said = strictjson.decode(text)
    except strictjson.JSONDecodeError as error:
        raise Damaged(path, "a description of the signal", str(error), _REMEDY) from error
    if not isinstance(said, dict):
        _refuse(path, "description", said)
    version = _number(path, said, "version", 1 << 31)
    if version >= VERSION and check is None:
        raise Damaged(path, _EXPECTED, "none", _REMEDY)
    if version > VERSION:
        raise StoreTooNew(f"{path} has version {version}; this program reads up to {VERSION}. Update playhead")
    owner = said.get("owner")
    if owner is not None and not (isinstance(owner, dict) and all(isinstance(one, str) for one in owner.values())):
        _refuse(path, "owner", owner)
    return About(
        _kind(path, said),
        _number(path, said, "count", 1 << 62),
        max(1, _number(path, said, "rows", 1 << 62)),
        _number(path, said, "stamps_crc", 1 << 32),
        _number(path, said, "values_crc", 1 << 32),
        owner,
    )


def _number(path: Path, said: dict[str, Any], name: str, stop: int) -> int:
    found = said.get(name)
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < stop:
        _refuse(path, name, found)
    return found


def _kind(path: Path, said: dict[str, Any]) -> Kind:
    dtype, shape = said.get("dtype"), said.get("shape")
    if dtype not in _DTYPES:
        _refuse(path, "dtype", dtype)
    if shape is not None and not (isinstance(shape, list) and len(shape) <= _MOST_AXES and all(map(_is_size, shape))):
        _refuse(path, "shape", shape)
    if np.prod([1, *(shape or ())], dtype=float) >= _MOST_ITEMS:
        _refuse(path, "shape", shape)
    return Kind(str(dtype), None if shape is None else tuple(shape))


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_ITEMS


def _refuse(path: disk.StrPath, what: str, found: object) -> NoReturn:
    raise Damaged(path, f"the {what} of a signal", f"{found!r:.80}", _REMEDY)
