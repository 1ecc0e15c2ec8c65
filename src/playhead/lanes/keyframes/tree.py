"""A state as bytes, and back, to the last bit.

A state is a tree of dicts, lists, tuples, numbers, texts, bytes, None and NumPy arrays. What recomputing a history
depends on is kept: the order of a dict's keys and of an array's memory (sums depend on both), −0.0, the payload of a
NaN, integers of any size, and whether a number was Python's or NumPy's. A value is a letter and its content; lengths
are u32, little-endian.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import xxhash

from playhead.errors import Damaged, WrongType
from playhead.lanes.keyframes import memory
from playhead.lanes.keyframes.memory import Axes

DEEPEST = 100
HASH_BYTES = 16

_U32 = struct.Struct("<I")
_DOUBLE = struct.Struct("<cd")
_COMPLEX = struct.Struct("<cdd")
_SIZED = struct.Struct("<cI")
LENGTH_BYTES = _SIZED.size  # the letter and the length of a value that has one
_ARRAY = struct.Struct("<cBBB")  # letter, order, length of the dtype's text, dimensions
_C, _F, _OTHER = 0, 1, 2  # orders: the last index runs fastest, the first, or the axes are told behind the shape
_MOST = 0xFFFFFFFF
_KINDS = "biufcSUmMV"
_SHORT, _PLAIN = 32, b"ifTFNcsb"  # values of few bytes that nobody can change
_SHAPES = [struct.Struct(f"<{dimensions}Q") for dimensions in range(65)]  # NumPy has no more
_DTYPE = re.compile(rb"[<>|][biufcSUmMV][0-9]{1,10}(\[[0-9]{0,10}[a-zA-Z]{1,2}\])?")
MALFORMED = (IndexError, ValueError, TypeError, struct.error, OverflowError, MemoryError)
_WHAT = "a state is made of dicts, lists, tuples, numbers, texts, bytes, None and NumPy arrays"


def pack(state: Any) -> bytes:
    """Give the bytes of a state.

    Raises:
        WrongType: Something in it has no such form; the message says where.
    """
    out: list[bytes] = []
    _pack(state, out.append, [])
    return b"".join(out)


def digest(data: bytes) -> bytes:
    """Give the hash of a packed state."""
    return xxhash.xxh3_128_digest(data)


def _pack(value: Any, put: Any, at: list[Any]) -> None:
    kind = type(value)
    if kind is np.ndarray:
        _pack_array(b"a", value, put, at)
    elif kind is float:
        put(_DOUBLE.pack(b"f", value))
    elif kind is bool:
        put(b"T" if value else b"F")
    elif kind is int:
        size = (value.bit_length() >> 3) + 1
        put(_SIZED.pack(b"i", size) + value.to_bytes(size, "little", signed=True))
    elif kind is str:
        _pack_text(value, put, at)
    elif value is None:
        put(b"N")
    elif kind is dict:
        _check_depth(at)
        put(_SIZED.pack(b"d", len(value)))
        for key, item in value.items():
            if type(key) is str and len(key) <= _SHORT:
                put(_short_text(key))
            else:
                _pack_key(key, put, at)
            at.append(key)
            _pack(item, put, at)
            at.pop()
    elif kind is list or kind is tuple:
        _check_depth(at)
        put(_SIZED.pack(b"l" if kind is list else b"t", len(value)))
        for place, item in enumerate(value):
            at.append(place)
            _pack(item, put, at)
            at.pop()
    elif isinstance(value, np.generic):
        if isinstance(value, (np.str_, np.bytes_)) and not np.asarray(value)[()] == value:
            raise WrongType(f"{_place(at)} is a NumPy text that ends with NUL, which NumPy forgets; pass Python's own")
        _pack_array(b"g", np.asarray(value), put, at)
    elif kind is bytes:
        put(_SIZED.pack(b"b", _length(value, at)) + value)
    elif kind is complex:
        put(_COMPLEX.pack(b"c", value.real, value.imag))
    else:
        raise WrongType(f"{_place(at)} is a {kind.__module__}.{kind.__qualname__}: {_WHAT}{_advice(value)}")


def _pack_text(value: str, put: Any, at: list[Any]) -> None:
    data = value.encode("utf-8", "surrogatepass")
    put(_SIZED.pack(b"s", _length(data, at)) + data)


def _pack_key(key: Any, put: Any, at: list[Any]) -> None:
    if type(key) not in (str, int):
        raise WrongType(f"{_place(at)} has the key {key!r}: keys of a state are texts or whole numbers")
    _pack(key, put, at)


@lru_cache(maxsize=1024)
def _short_text(key: str) -> bytes:
    out: list[bytes] = []
    _pack_text(key, out.append, [])
    return b"".join(out)


def _pack_array(letter: bytes, array: np.ndarray[Any, Any], put: Any, at: list[Any]) -> None:
    axes = None if array.ndim < 2 else memory.axes_of(array)
    order = _C if axes is None else _F if memory.is_reversed(axes, array.shape) else _OTHER
    head = _array_head(letter, order, array.dtype, array.shape)
    if head is None:
        raise WrongType(
            f"{_place(at)} is an array of {array.dtype}, which has no bytes of its own; numbers and texts have"
        )
    put(head)
    if axes is None:
        put(array.tobytes())
    else:
        put((bytes(axes) if order == _OTHER else b"") + array.transpose(axes).tobytes())


@lru_cache(maxsize=256)
def _array_head(letter: bytes, order: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes | None:
    """Give what is said of an array; None where its dtype is none of a state."""
    text = _text_of(dtype)
    if text is None:
        return None
    return _ARRAY.pack(letter, order, len(text), len(shape)) + text + _SHAPES[len(shape)].pack(*shape)


def _check_depth(at: list[Any]) -> None:
    if len(at) >= DEEPEST:
        raise WrongType(f"{_place(at)} lies {DEEPEST} levels deep, the most that a state has; does it contain itself?")


def _length(data: bytes, at: list[Any]) -> int:
    if len(data) > _MOST:
        raise WrongType(f"{_place(at)} has {len(data):,} bytes; at most {_MOST:,} fit, an array of uint8 holds more")
    return len(data)


def _place(at: list[Any]) -> str:
    return "the state" + "".join(f"[{key!r}]" for key in at)


def _advice(value: Any) -> str:
    if hasattr(value, "detach") and hasattr(value, "numpy"):
        return "; pass tensor.detach().cpu().numpy()"
    return "; pass dict(value)" if isinstance(value, Mapping) else ""


def unpack(data: bytes | memoryview) -> Any:
    """Give the state of which these are the bytes; its arrays are its own and can be written to.

    Raises:
        Damaged: They are not those of one state.
    """
    if type(data) is bytes and 0 < len(data) <= _SHORT and data[0] in _PLAIN:
        return _unpack_plain(data)  # an action, a number: often one that was seen before
    return _unpack_whole(memoryview(data), True)


def look(data: bytes | memoryview) -> Any:
    """Give the state of which these are the bytes, with arrays that lie in them and cannot be written to.

    Raises:
        Damaged: They are not those of one state.
    """
    return _unpack_whole(memoryview(data), False)


def _unpack_whole(view: memoryview, own: bool) -> Any:
    try:
        value, end = read(view, 0, 0, own)
    except MALFORMED as error:
        raise Damaged("a state", "what `pack` gave", f"bytes that end or differ ({error})") from error
    if end != len(view):
        raise Damaged("a state", f"{end} bytes", f"{len(view)}")
    return value


@lru_cache(maxsize=4096)
def _unpack_plain(data: bytes) -> Any:
    return _unpack_whole(memoryview(data), True)


def read(view: memoryview, at: int, depth: int, own: bool) -> tuple[Any, int]:
    """Read the value at a place; give it and where it ends. What is wrong raises one of `MALFORMED`.

    Args:
        view: The bytes.
        at: The place.
        depth: How many levels are above it.
        own: Whether arrays are copies.
    """
    if depth > DEEPEST:
        raise ValueError("too deep")
    letter = view[at]
    match letter:
        case 0x61 | 0x67:  # a, g
            return _read_array(view, at, own)
        case 0x66:  # f
            return _DOUBLE.unpack_from(view, at)[1], at + _DOUBLE.size
        case 0x54 | 0x46:  # T, F
            return letter == 0x54, at + 1
        case 0x4E:  # N
            return None, at + 1
        case 0x63:  # c
            _, real, imaginary = _COMPLEX.unpack_from(view, at)
            return complex(real, imaginary), at + _COMPLEX.size
    size = length_at(view, at)
    at += LENGTH_BYTES
    match letter:
        case 0x64:  # d
            found = {}
            for _ in range(size):
                key, at = read(view, at, depth + 1, own)
                found[key], at = read(view, at, depth + 1, own)
            if len(found) != size:
                raise ValueError("a key twice")
            return found, at
        case 0x6C | 0x74:  # l, t
            items = []
            for _ in range(size):
                item, at = read(view, at, depth + 1, own)
                items.append(item)
            return (items if letter == 0x6C else tuple(items)), at
    content = bytes(view[at : at + size])
    if len(content) != size:
        raise ValueError("the end")
    match letter:
        case 0x69:  # i
            return int.from_bytes(content, "little", signed=True), at + size
        case 0x73:  # s
            return content.decode("utf-8", "surrogatepass"), at + size
        case 0x62:  # b
            return content, at + size
    raise ValueError(f"no letter {letter}")


def length_at(view: memoryview, at: int) -> int:
    """Read the length behind the letter of a value."""
    return int(_U32.unpack_from(view, at + 1)[0])


def _text_of(dtype: np.dtype[Any]) -> bytes | None:
    """Give the name of a dtype; None where it is none of a state."""
    if dtype.kind not in _KINDS or dtype.hasobject or dtype.itemsize == 0 or dtype.names:
        return None
    return dtype.str.encode()


@lru_cache(maxsize=256)
def _dtype_of(text: bytes) -> np.dtype[Any]:
    """Give the dtype that a text names; NumPy itself understands more, some of it as Python."""
    if not _DTYPE.fullmatch(text):
        raise ValueError("no dtype of a state")
    dtype = np.dtype(text.decode("ascii"))
    if not dtype.itemsize:
        raise ValueError("a dtype without bytes")
    return dtype


def array_head(view: memoryview, at: int) -> tuple[np.dtype[Any], tuple[int, ...], Axes | None, int, int]:
    """Read what is said of an array: its dtype, shape and order of axes, and where its elements begin and end."""
    _, order, text_size, dimensions = _ARRAY.unpack_from(view, at)
    at += _ARRAY.size
    dtype = _dtype_of(bytes(view[at : at + text_size]))
    if order > _OTHER:
        raise ValueError("no order of an array")
    at += text_size
    shape = _SHAPES[dimensions].unpack_from(view, at)
    at += 8 * dimensions
    axes: Axes | None = None
    if order == _F:
        axes = tuple(range(dimensions))[::-1]
    elif order == _OTHER:
        axes = memory.check_axes(list(view[at : at + dimensions]), dimensions)
        at += dimensions
    end = at + math.prod(shape) * dtype.itemsize
    if end > len(view):
        raise ValueError("the end")
    return dtype, shape, axes, at, end


def _read_array(view: memoryview, at: int, own: bool) -> tuple[Any, int]:
    is_array = view[at] == 0x61
    dtype, shape, axes, at, end = array_head(view, at)
    array = np.frombuffer(view, dtype, (end - at) // dtype.itemsize, at)
    if axes is not None:
        array = np.ndarray(shape, dtype, array, 0, memory.strides(dtype.itemsize, shape, axes))
    elif len(shape) != 1:
        array = array.reshape(shape)
    if own:
        array = array.copy("K")
    return (array if is_array else array[()]), end
