"""The info of a step as JSON: quickly where it is plain, and never at the price of an exception."""

from __future__ import annotations

import dataclasses
import os
import reprlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson

from playhead import strictjson

MOST_BYTES = 64 << 10
_DEEPEST = 20
_LEAST = 2  # bytes of a value, with the one that parts it from the next
_SHORT = 200
_MOST_BITS = 14_000  # of an integer; Python writes 4,300 digits, and no more

_short = reprlib.Repr()
_short.maxother = _SHORT


class Packer:
    """Turns infos into JSON, and remembers whether they are large."""

    __slots__ = ("_is_heavy",)

    def __init__(self) -> None:
        self._is_heavy = False

    def pack(self, info: Any) -> bytes:
        """Give an info as JSON, nothing for an empty one.

        NaN and the infinities become texts, as `strictjson` has it. What has no such form, or is too large, is there
        as the beginning and the end of its `repr`.
        """
        if not info:
            return b""
        if self._is_heavy:
            return pack_with_care(info)
        try:
            data = orjson.dumps(info, option=orjson.OPT_SERIALIZE_NUMPY)
        except TypeError:
            return pack_with_care(info)
        if len(data) > MOST_BYTES:
            self._is_heavy = True
            return pack_with_care(info)
        return pack_with_care(info) if b"null" in data else data  # which may have been NaN


def pack_with_care(info: Any) -> bytes:
    """Give any info as JSON."""
    if not isinstance(info, Mapping):
        info = {"info": info}
    kept = {strictjson.plain(str(key)): _kept_or_shortened(value) for key, value in info.items()}
    data = strictjson.encode(kept)
    if len(data) <= MOST_BYTES:
        return data
    sizes = {key: len(strictjson.encode(value)) for key, value in kept.items()}
    originals = {strictjson.plain(str(key)): value for key, value in info.items()}
    excess = len(data) - MOST_BYTES
    for key in sorted(sizes, key=sizes.__getitem__, reverse=True):
        if excess <= 0:
            break
        kept[key] = _shortened(originals[key])
        excess -= sizes[key] - len(strictjson.encode(kept[key]))
    data = strictjson.encode(kept)
    return data if len(data) <= MOST_BYTES else strictjson.encode({"info": _shortened(info)})


def _shortened(value: Any) -> str:
    return str(strictjson.plain(_short.repr_instance(value, 1)))


class _TooLong(Exception):
    """A value takes more bytes than there is room for, as one may that holds itself."""


class _Room:
    """The bytes that are left for the parts of a value."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = MOST_BYTES

    def take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise _TooLong


def _kept_or_shortened(value: Any) -> Any:
    try:
        return _kept(value, 0, _Room())
    except _TooLong:
        return _shortened(value)


def _kept(value: Any, depth: int, room: _Room) -> Any:
    room.take(_LEAST)
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        digits = hex(value)
        return digits if len(digits) <= _SHORT else f"{digits[: _SHORT // 2]}...{digits[-_SHORT // 2 :]}"
    if value is None or isinstance(value, (bool, int, float, str)):
        return strictjson.plain(value)
    if depth == _DEEPEST or _bytes_of(value) > MOST_BYTES:
        text = _shortened(value)
        room.take(len(text))
        return text
    if isinstance(value, np.generic) or (hasattr(value, "tolist") and hasattr(value, "dtype")):
        found = value.tolist()
        return _kept(found, depth + 1, room) if type(found) is not type(value) else strictjson.plain(value)
    if isinstance(value, Mapping):
        return {strictjson.plain(str(key)): _kept(item, depth + 1, room) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_kept(item, depth + 1, room) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _kept(getattr(value, field.name), depth + 1, room) for field in dataclasses.fields(value)}
    return strictjson.plain(os.fspath(value)) if isinstance(value, os.PathLike) else _shortened(value)


def _bytes_of(value: Any) -> int:
    if isinstance(value, (list, tuple, set, frozenset, Mapping)):
        return len(value)
    size = getattr(value, "nbytes", 0)
    return size if isinstance(size, int) else 0


def split(infos: Any, count: int) -> list[dict[str, Any]]:
    """Give the info of each sub-environment from those of a vector environment.

    Args:
        infos: Arrays by name, beside each under `_name` which sub-environments have it; what has no such mask is of
            all. A list of infos will do, too.
        count: How many sub-environments there are.
    """
    if isinstance(infos, (list, tuple)):
        return [dict(info) for info in infos]
    parts: list[dict[str, Any]] = [{} for _ in range(count)]
    for key, values in infos.items():
        if isinstance(key, str) and key[:1] == "_" and key[1:] in infos:
            continue
        mask = infos.get(f"_{key}")
        each = _each(values, count)
        for number, part in enumerate(parts):
            if mask is None or mask[number]:
                part[key] = each[number]
    return parts


def _each(values: Any, count: int) -> Any:
    if isinstance(values, dict):
        return split(values, count)
    if isinstance(values, np.ndarray) and values.shape[:1] == (count,):
        return values.tolist() if values.ndim == 1 and values.dtype.kind in "biuf" else values
    return values if isinstance(values, (list, tuple)) and len(values) == count else [values] * count
