"""The bytes of a trace in JSON: `.gz` by its name, strict, and laid out so that a line is a keyframe."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from playhead import disk, strictjson
from playhead.errors import BadName, Damaged, NotFound, WrongType
from playhead.trace.formats.fields import STEP_NAMES

MOST_BYTES = 1 << 30  # of the JSON; what is larger belongs into a `.trace`

_GZIP = b"\x1f\x8b"
_LEVEL = 6
_IN_A_ROW = 16  # numbers in one line
_DEEPEST = 3  # levels that are laid out; a train output has its keyframes in the third
_REMEDY = "Restore it from a copy"


def is_json(path: Path) -> bool:
    """Tell whether a file is called as one of JSON."""
    return path.name.endswith((".json", ".json.gz"))


def load(path: Path) -> Any:
    """Read JSON, compressed where the file is called `.gz`.

    Raises:
        NotFound: There is no such file.
        Damaged: It is cut short, or no JSON.
    """
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= MOST_BYTES else b""
    except FileNotFoundError as error:
        raise NotFound(f"no trace {path}") from error
    if size > MOST_BYTES:
        raise Damaged(path, f"a trace in JSON of at most {MOST_BYTES:,} bytes", f"{size:,}")
    if path.suffix == ".gz":
        data = _expanded(path, data)
    elif data.startswith(_GZIP):
        raise Damaged(path, "JSON", "gzip", f"Call it {path.name}.gz")
    try:
        return strictjson.decode(data)
    except strictjson.JSONDecodeError as error:
        raise Damaged(path, "JSON", f"{len(data):,} bytes of something else ({error})"[:300], _REMEDY) from error


def _expanded(path: Path, data: bytes) -> bytes:
    if not data.startswith(_GZIP):
        raise Damaged(path, "gzip, as its name says", f"something else, which begins with {data[:12]!r}")
    parts: list[bytes] = []
    room = MOST_BYTES
    while data:  # a file may have several members
        stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            parts.append(stream.decompress(data, room + 1))
        except zlib.error as error:
            raise Damaged(path, "gzip", str(error), _REMEDY) from error
        room -= len(parts[-1])
        if room < 0:
            raise Damaged(path, f"a trace in JSON of at most {MOST_BYTES:,} bytes", "more")
        if not stream.eof:
            raise Damaged(path, "a whole gzip file", f"one that ends after {len(b''.join(parts)):,} bytes", _REMEDY)
        data = stream.unused_data
    return b"".join(parts)


def save(path: Path, document: Mapping[str, Any]) -> None:
    """Write JSON, whole or not at all; the same document gives the same bytes.

    Raises:
        BadName: The file is not called `.json` or `.json.gz`.
        WrongType: It would be too large to be read again.
    """
    if not is_json(path):
        raise BadName(f"{path.name!r} is no name for a trace in JSON: call it .json or .json.gz")
    data = laid_out(document)
    if len(data) > MOST_BYTES:
        raise WrongType(f"the trace has {len(data):,} bytes as JSON, which holds {MOST_BYTES:,}; write a .trace")
    disk.save(path, gzip.compress(data, _LEVEL, mtime=0) if path.suffix == ".gz" else data)


def laid_out(document: Mapping[str, Any]) -> bytes:
    """Give the bytes of an object: a line for each key, for each keyframe in a list, and for a row of numbers.

    So a difference shows what changed, and a longer trace only adds lines.
    """
    return _spread(document, 0) + b"\n"


def _spread(value: Any, depth: int) -> bytes:
    lines: Iterator[bytes]
    if isinstance(value, dict) and _is_spread(value, depth):
        lines = (strictjson.encode(name) + b": " + _spread(item, depth + 1) for name, item in value.items())
        opened, closed = b"{", b"}"
    elif isinstance(value, list) and _has_objects(value) and depth <= _DEEPEST:
        lines = (_spread(item, depth + 1) if isinstance(item, dict) else strictjson.encode(item) for item in value)
        opened, closed = b"[", b"]"
    elif isinstance(value, list) and len(value) > _IN_A_ROW:
        lines, opened, closed = _rows(value), b"[", b"]"
    else:
        return strictjson.encode(value)
    indent = b"\n" + b"  " * depth
    return opened + indent + b"  " + (b"," + indent + b"  ").join(lines) + indent + closed


def _is_spread(value: dict[str, Any], depth: int) -> bool:
    if depth == 0:
        return True
    if depth >= _DEEPEST or any(isinstance(value.get(name), int) for name in STEP_NAMES):
        return False
    return any(
        _has_objects(item) or (isinstance(item, dict) and _is_spread(item, depth + 1)) for item in value.values()
    )


def _has_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], (dict, list))


def _rows(values: list[Any]) -> Iterator[bytes]:
    for start in range(0, len(values), _IN_A_ROW):
        yield strictjson.encode(values[start : start + _IN_A_ROW])[1:-1]
