"""What a BLOB of MOSAIC says: JSON, in which arrays are encoded or nested lists. Nothing here is ever unpickled."""

from __future__ import annotations

import base64
import binascii
import math
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playhead import strictjson

OBSERVATIONS, FRAMES, ACTIONS = "observations", "frames", "actions"
PICTURE = "rgb"  # of a render payload

_MARK = "__type__"
_DTYPE = re.compile(r"[<>=|]?(bool|u?int(8|16|32|64)|float(16|32|64)|complex(64|128)|[biufc][1-9][0-9]?)")
_KEY = re.compile(r"[A-Za-z0-9_-]{1,60}")
_DEEPEST = 16
_MOST_NAME = 100


class Unreadable(Exception):
    """The bytes are not what MOSAIC writes."""


class Value(NamedTuple):
    """One array of a step.

    Attributes:
        array: It.
        is_listed: It was nested lists or a number, which do not say what type it had.
    """

    array: NDArray[Any]
    is_listed: bool


Values = dict[str, Value]


def decode(blob: object) -> Any:
    """Read a BLOB; arrays that are encoded in it become arrays, tuples tuples.

    Raises:
        Unreadable: It is no JSON, or an array in it is not as it says.
    """
    if not isinstance(blob, (bytes, str)):
        raise Unreadable(f"a {type(blob).__name__} where JSON was expected")
    marked = _MARK.encode() in blob if isinstance(blob, bytes) else _MARK in blob
    try:
        found = strictjson.decode(blob)
        return _restored(found, 0) if marked else found
    except (strictjson.JSONDecodeError, TypeError, ValueError, KeyError, OverflowError, binascii.Error) as error:
        raise Unreadable(str(error)) from error


def _restored(value: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        raise ValueError("nested too deep")
    if isinstance(value, list):
        return [_restored(item, depth + 1) for item in value] if _needs_care(value) else value
    if not isinstance(value, dict):
        return value
    match value.get(_MARK):
        case "ndarray":
            return _array(value)
        case "tuple":
            return tuple(_restored(item, depth + 1) for item in value["data"])
        case "float":
            return float(value["value"])
    return {key: _restored(item, depth + 1) for key, item in value.items()}


def _needs_care(value: list[Any]) -> bool:
    """Tell whether there is anything but numbers in a list; most are large, and plain."""
    return any(_needs_care(item) if isinstance(item, list) else isinstance(item, dict) for item in value)


def _array(value: dict[str, Any]) -> NDArray[Any]:
    if not _DTYPE.fullmatch(str(value["dtype"])):
        raise ValueError(f"an array of {str(value['dtype'])[:40]!r}")
    dtype, shape = np.dtype(value["dtype"]), tuple(int(size) for size in value["shape"])
    if value.get("encoding") != "base64":
        return np.array(value["data"], dtype).reshape(shape)
    data = base64.b64decode(value["data"], validate=True)
    if min(shape, default=1) < 0 or len(data) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{len(data)} bytes for an array {dtype}{list(shape)}")
    return np.frombuffer(data, dtype).reshape(shape)


class Field(NamedTuple):
    """What one column of a step holds.

    Attributes:
        values: Its arrays by name.
        rest: What else is in it, as the database may keep it; None where that is nothing.
    """

    values: Values
    rest: Any


_NOTHING = Field({}, None)


def read(column: str, content: object) -> Field:
    """Take the content of a column apart."""
    if content is None:
        return _NOTHING
    match column:
        case "observation":
            return _observed(content)
        case "render_payload":
            return _pictured(content)
        case "action":
            return Field(_collected(ACTIONS, content), content)
    return Field({}, content)


def _observed(content: object) -> Field:
    try:
        found = _collected(OBSERVATIONS, decode(content))
    except Unreadable:
        return Field({}, content)
    return Field(found, None if found else content)


def _pictured(content: object) -> Field:
    """Take the frame out of a render payload; what else is in it stays."""
    try:
        payload = decode(content)
    except Unreadable:
        return Field({}, content)
    found = _collected(FRAMES, payload.get(PICTURE)) if isinstance(payload, dict) else {}
    if FRAMES not in found or found[FRAMES].array.ndim not in (2, 3):
        return Field({}, content)
    raw = strictjson.decode(content)  # type: ignore[arg-type]  # `decode` saw that it is
    rest = {key: value for key, value in raw.items() if key != PICTURE}
    data = strictjson.encode(strictjson.plain(rest))
    return Field(found, (data if rest else None) if strictjson.decode(data) == rest else content)


def _collected(name: str, value: Any) -> Values:
    found: Values = {}
    return found if _collect(name, value, found) else {}


def _collect(name: str, value: Any, into: Values) -> bool:
    """Take a value apart into arrays; tell whether all of it is arrays."""
    if len(name) > _MOST_NAME:
        return False
    if isinstance(value, (dict, tuple)):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        return bool(value) and all(
            _KEY.fullmatch(str(key)) is not None and _collect(f"{name}.{key}", part, into) for key, part in parts
        )
    is_listed = isinstance(value, (bool, int, float, list))
    array = _listed(value) if is_listed else value
    if not isinstance(array, np.ndarray) or not array.size:
        return False
    into[name] = Value(array, is_listed)
    return True


def _listed(value: Any) -> NDArray[Any] | None:
    """Give numbers in lists as an array; None where no array holds them as they are."""
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError):  # lists of different lengths
        return None
    if array.dtype.kind not in "biuf":
        return None
    is_rounded = array.dtype.kind == "f" and np.abs(array).max(initial=0, where=np.isfinite(array)) >= 1 << 53
    return None if is_rounded and not _same_lists(value, array.tolist()) else array


def equal(value: Value, stored: NDArray[Any]) -> bool:
    """Tell whether a row of a replay holds exactly what a step had; NaN is NaN."""
    given = value.array
    if not value.is_listed and given.dtype.newbyteorder("<") != stored.dtype:
        return False
    has_nan = given.dtype.kind in "fc" and stored.dtype.kind in "fc"
    return bool(np.array_equal(given, stored, equal_nan=has_nan))


def _same_lists(given: Any, found: Any) -> bool:
    if given == found:
        return True
    if isinstance(given, (list, tuple)) and isinstance(found, list):
        return len(given) == len(found) and all(map(_same_lists, given, found))
    return isinstance(given, float) and isinstance(found, float) and math.isnan(given) and math.isnan(found)
