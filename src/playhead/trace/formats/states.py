"""A state as JSON, and back, to the last bit.

What JSON has itself is written as it is: objects whose keys are texts, lists, texts, booleans, null, finite numbers,
whole numbers of 64 bits. All else is an object with one key that begins with `$`:

    {"$array": {"dtype": "<f8", "shape": [2, 3], "data": [0.0, …]}}    numbers in the order of the shape; with
                                                                       "order": "F" the first index runs fastest,
                                                                       [1, 0, 2] the last of these axes
    {"$array": {"dtype": "<c16", "shape": [4], "base64": "…"}}         where numbers would not be exact: NaN, complex, …
    {"$scalar": {"dtype": "<f4", "data": 0.5}}                         a number of NumPy
    {"$float": "NaN"}                                                  also "Infinity", "-Infinity", or the bits of
                                                                       another NaN, "0x7ff8000000000001"
    {"$complex": [1.0, -0.0]}   {"$int": "0x1fffffffffffffffff"}       a whole number of more than 64 bits
    {"$tuple": […]}   {"$bytes": "base64"}   {"$text": "base64"}       a text that is not Unicode
    {"$dict": [[key, value], …]}                                       keys that are numbers, or begin with `$`
"""

from __future__ import annotations

import base64
import math
import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.lanes.keyframes import memory, tree

_MARK = "$"
_DTYPE = re.compile(r"[<>|][biufcSUmMV]\d{1,9}(\[\d*\w+\])?")
_NUMBERS = "biuf"
_WIDEST = 8  # bytes of a number that Python's own hold exactly
_LEAST, _MOST = -(1 << 63), (1 << 64) - 1
_NAMED = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_DOUBLE = struct.Struct(">d")


class Unreadable(Exception):
    """The JSON is not that of a state; the message says what was found."""


# -- to JSON --------------------------------------------------------------------------------------------------------


def to_json(value: Any) -> Any:
    """Give a state, as `tree.unpack` gives it, as JSON."""
    if value is None or value is True or value is False:
        return value
    match value:
        case np.ndarray():
            return {"$array": _array(value)}
        case np.generic():
            return {"$scalar": _scalar(value)}
        case float():
            return _float(value)
        case int():
            return value if _LEAST <= value <= _MOST else {"$int": hex(value)}
        case str():
            return value if _is_unicode(value) else {"$text": _base64(value.encode("utf-8", "surrogatepass"))}
        case dict():
            if all(isinstance(key, str) and not key.startswith(_MARK) and _is_unicode(key) for key in value):
                return {key: to_json(item) for key, item in value.items()}
            return {"$dict": [[to_json(key), to_json(item)] for key, item in value.items()]}
        case list():
            return [to_json(item) for item in value]
        case tuple():
            return {"$tuple": [to_json(item) for item in value]}
        case bytes():
            return {"$bytes": _base64(value)}
        case complex():
            return {"$complex": [_float(value.real), _float(value.imag)]}
    raise TypeError(f"tree.unpack gives no {type(value)}")


def is_plain(value: Any) -> bool:
    """Tell whether JSON has a value as it is, without any of the marks; so do other programs read it."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_unicode(key) and is_plain(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(is_plain, value))
    if isinstance(value, (np.generic, tuple)):
        return False
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return _LEAST <= value <= _MOST
    return value is None or (isinstance(value, str) and _is_unicode(value))


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _float(value: float) -> Any:
    if math.isfinite(value):
        return value
    bits = _DOUBLE.pack(value)
    return {"$float": next((name for name, one in _NAMED.items() if _DOUBLE.pack(one) == bits), f"0x{bits.hex()}")}


def _array(array: NDArray[Any]) -> dict[str, Any]:
    axes = memory.axes_of(array)
    said = {"dtype": array.dtype.str, "shape": list(array.shape)}
    if axes is not None:
        said["order"] = "F" if memory.is_reversed(axes, array.shape) else list(axes)
        array = array.transpose(axes)
    if _is_exact_as_numbers(array):
        return {**said, "data": array.ravel().tolist()}
    return {**said, "base64": _base64(array.tobytes())}


def _scalar(value: np.generic) -> dict[str, Any]:
    array = np.asarray(value)
    said = {"dtype": array.dtype.str}
    if _is_exact_as_numbers(array):
        return {**said, "data": array.item()}
    return {**said, "base64": _base64(array.tobytes())}


def _is_exact_as_numbers(array: NDArray[Any]) -> bool:
    dtype = array.dtype
    if dtype.kind not in _NUMBERS or dtype.itemsize > _WIDEST:
        return False
    if dtype.kind == "b":
        return bool((array.view(np.uint8) <= 1).all())  # memory can hold other bytes, and they would not come back
    return dtype.kind != "f" or bool(np.isfinite(array).all())


# -- and back -------------------------------------------------------------------------------------------------------


def from_json(value: Any) -> Any:
    """Give the state that `to_json` made this of.

    Raises:
        Unreadable: It made no such thing.
    """
    try:
        return _read(value, 0)
    except (TypeError, ValueError, ArithmeticError, MemoryError, struct.error) as error:
        raise Unreadable(f"a state with something else in it ({error})") from error


def _read(value: Any, depth: int) -> Any:
    if depth > tree.DEEPEST:
        raise Unreadable(f"a state of more than {tree.DEEPEST} levels")
    if isinstance(value, list):
        return [_read(item, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    mark = next((key for key in value if key.startswith(_MARK)), None)
    if mark is None:
        return {key: _read(item, depth + 1) for key, item in value.items()}
    if len(value) != 1 or mark not in _READERS:
        raise Unreadable(f"an object with the key {mark!r}, which means nothing here")
    return _READERS[mark](value[mark], depth)


def _read_tuple(items: Any, depth: int) -> tuple[Any, ...]:
    return tuple(_read(item, depth + 1) for item in _listed(items))


def _read_dict(pairs: Any, depth: int) -> dict[Any, Any]:
    found = {_read(key, depth + 1): _read(item, depth + 1) for key, item in map(_listed, _listed(pairs))}
    if len(found) != len(pairs):
        raise ValueError("a key twice")
    return found


def _read_float(text: Any, _: int) -> float:
    if text in _NAMED:
        return _NAMED[text]
    (value,) = _DOUBLE.unpack(bytes.fromhex(str(text).removeprefix("0x")))
    return float(value)


def _read_complex(parts: Any, depth: int) -> complex:
    real, imaginary = (_read(part, depth + 1) for part in _listed(parts))
    return complex(float(real), float(imaginary))


def _read_array(said: Any, _: int) -> NDArray[Any]:
    dtype = _dtype(said)
    shape = tuple(_listed(said.get("shape")))
    if not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError("no shape")
    elements = _elements(said, dtype, math.prod(shape))
    match said.get("order", "C"):
        case [*axes]:
            order = memory.check_axes(axes, len(shape))
            return np.ndarray(shape, dtype, elements, 0, memory.strides(dtype.itemsize, shape, order))
        case "F":
            return elements.reshape(shape, order="F")
    return elements.reshape(shape)


def _read_scalar(said: Any, _: int) -> Any:
    return _elements(said, _dtype(said), 1)[0]


def _dtype(said: Any) -> np.dtype[Any]:
    text = said["dtype"] if isinstance(said, dict) and "dtype" in said else None
    if not isinstance(text, str) or not _DTYPE.fullmatch(text):
        raise ValueError(f"no dtype: {text!r}")
    return np.dtype(text)


def _elements(said: dict[str, Any], dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    if "base64" in said:
        found = np.frombuffer(_bytes(said["base64"]), dtype).copy()
    else:
        given = said.get("data")
        listed = given if isinstance(given, list) else [given]
        kinds: tuple[type, ...] = {"b": (bool,), "f": (int, float)}.get(dtype.kind, (int,))
        if dtype.kind not in _NUMBERS or not all(type(one) in kinds for one in listed):
            raise ValueError(f"no numbers of {dtype}")
        with np.errstate(over="raise"):
            found = np.array(listed, dtype)
    if len(found) != count:
        raise ValueError(f"{len(found)} elements where {count} were due")
    return found


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("no list")
    return value


def _bytes(text: Any) -> bytes:
    return base64.b64decode(text, validate=True)


_READERS: dict[str, Callable[[Any, int], Any]] = {
    "$array": _read_array,
    "$scalar": _read_scalar,
    "$float": _read_float,
    "$complex": _read_complex,
    "$int": lambda text, _: int(text, 16),
    "$tuple": _read_tuple,
    "$bytes": lambda text, _: _bytes(text),
    "$text": lambda text, _: _bytes(text).decode("utf-8", "surrogatepass"),
    "$dict": _read_dict,
}
