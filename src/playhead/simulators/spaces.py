"""Spaces as JSON, and structured values put together again from the arrays of a recording.

Each leaf of a space is one array: `observations` where the space is a leaf itself, else `observations.camera` for a key
of a Dict and `observations.0.x` for a place in a Tuple. What `describe` gives names them, so nobody needs to guess.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from playhead import strictjson
from playhead.errors import NotFound, WrongType

if TYPE_CHECKING:
    from gymnasium import Space

OBSERVATIONS, ACTIONS, FRAMES = "observations", "actions", "frames"

_MOST_BOUNDS = 1024  # numbers of a bound that are spelled out
_MOST_NAME = 128
_MOST_DEPTH = 32
_MOST_SIDES = 16
_DTYPES = {"bool", *(np.dtype(code).name for code in np.typecodes["AllInteger"] + np.typecodes["Float"])}
_ODD = re.compile(r"[^A-Za-z0-9_-]")


def describe(space: Space[Any], name: str = OBSERVATIONS) -> dict[str, Any]:
    """Describe a space as JSON; each leaf says under which name its array is recorded.

    Args:
        space: Box, Discrete, MultiDiscrete, MultiBinary or Text, or a Dict or Tuple of such, at any depth.
        name: The name of the array, or what the names of the arrays begin with.

    Raises:
        WrongType: Values of the space have no fixed shape, or no name.
    """
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        parts = {_key(key, name): describe(part, f"{name}.{part_of(key)}") for key, part in space.spaces.items()}
        return {"type": "Dict", "spaces": parts}
    if isinstance(space, spaces.Tuple):
        return {"type": "Tuple", "spaces": [describe(part, f"{name}.{i}") for i, part in enumerate(space.spaces)]}
    return _describe_leaf(space) | {"array": _short(name) if _size(space) else None}


def _describe_leaf(space: Space[Any]) -> dict[str, Any]:
    from gymnasium import spaces

    if isinstance(space, spaces.Box):
        facts: dict[str, Any] = {"type": "Box", "shape": list(space.shape), "dtype": str(space.dtype)}
        return facts | {"low": _bound(space.low), "high": _bound(space.high)}
    if isinstance(space, spaces.Discrete):
        return {"type": "Discrete", "n": int(space.n), "start": int(space.start), "dtype": str(space.dtype)}
    if isinstance(space, spaces.MultiDiscrete):
        facts = {"type": "MultiDiscrete", "shape": list(space.nvec.shape), "dtype": str(space.dtype)}
        return facts | {"nvec": space.nvec.tolist(), "start": space.start.tolist()}
    if isinstance(space, spaces.MultiBinary):
        return {"type": "MultiBinary", "shape": list(space.shape), "dtype": str(space.dtype)}
    if isinstance(space, spaces.Text):
        facts = {"type": "Text", "min_length": space.min_length, "max_length": space.max_length}
        return facts | {"charset": strictjson.plain(space.characters)}
    raise WrongType(
        f"values of a {type(space).__name__} space cannot be recorded: they have no fixed shape. Wrap the environment "
        "in gymnasium.wrappers.TransformObservation or TransformAction, so that it takes and gives Box, Discrete, "
        "MultiDiscrete, MultiBinary, Text, or a Dict or Tuple of these"
    )


def _size(space: Space[Any]) -> int:
    return int(np.prod(space.shape, dtype=np.int64)) if space.shape is not None else 1


def _bound(bound: NDArray[Any]) -> Any:
    least, most = (bound.min(), bound.max()) if bound.size else (0, 0)
    if least == most:
        return strictjson.plain(least)
    if bound.size <= _MOST_BOUNDS:
        return strictjson.plain(bound)
    return {"from": strictjson.plain(least), "to": strictjson.plain(most)}


def _key(key: object, name: str) -> str:
    if not isinstance(key, str):
        raise WrongType(f"{name} has the key {key!r}, a {type(key).__name__}: keys of a Dict that is recorded are text")
    return key


def part_of(key: str) -> str:
    """Spell a key as a part of a name: no two keys alike, and no dot within."""
    return _ODD.sub(lambda odd: "".join(f":{byte:02X}" for byte in odd[0].encode("utf-8", "surrogatepass")), str(key))


def _short(name: str) -> str:
    return name if len(name) <= _MOST_NAME else f"{name[:110]}:{zlib.crc32(name.encode()):08x}"


def is_description(found: Any, depth: int = _MOST_DEPTH) -> bool:
    """Tell whether what a file says of a space is such that values of it can be taken apart and put together.

    Args:
        found: What the file says, which may be anything.
        depth: How many spaces may lie within one another.
    """
    if not isinstance(found, Mapping) or not depth:
        return False
    parts = found.get("spaces")
    match found.get("type"):
        case "Dict":
            return isinstance(parts, Mapping) and all(is_description(part, depth - 1) for part in parts.values())
        case "Tuple":
            return isinstance(parts, list) and all(is_description(part, depth - 1) for part in parts)
        case "Text":
            return parts is None and isinstance(found.get("array"), str)
        case "Box" | "Discrete" | "MultiDiscrete" | "MultiBinary" as kind:
            array = found.get("array")
            is_stored = isinstance(array, str) or ("array" in found and array is None and _is_empty(found.get("shape")))
            return parts is None and is_stored and _is_dtype(found.get("dtype")) and (kind != "Discrete" or bool(array))
    return False


def _is_empty(shape: Any) -> bool:
    is_shape = isinstance(shape, list) and all(type(side) is int and 0 <= side < 1 << 31 for side in shape)
    return is_shape and len(shape) <= _MOST_SIDES and 0 in shape


def _is_dtype(dtype: Any) -> bool:
    return isinstance(dtype, str) and dtype in _DTYPES


def leaves(description: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Walk over the leaves of a description."""
    parts = description.get("spaces")
    if parts is None:
        yield description
    else:
        for part in parts.values() if isinstance(parts, Mapping) else parts:
            yield from leaves(part)


def parts(description: Mapping[str, Any], value: Any) -> dict[str, Any]:
    """Take a value of a space apart, by the names of its arrays.

    Args:
        description: What `describe` gave.
        value: What an environment gave.
    """
    match description["type"]:
        case "Dict":
            pairs = [(part, value[key]) for key, part in description["spaces"].items()]
        case "Tuple":
            pairs = list(zip(description["spaces"], value, strict=True))
        case _:
            return {} if description["array"] is None else {description["array"]: value}
    found: dict[str, Any] = {}
    for part, held in pairs:
        found |= parts(part, held)
    return found


def restore(description: Mapping[str, Any], values: Any) -> Any:
    """Put a value of a space together.

    Args:
        description: What `describe` gave.
        values: The rows of its arrays, by the name of the array (`observations.camera`) or of the part (`camera`), as
            `Transition` has them; for a space without parts, the row itself will do.

    Returns:
        The value as the environment gave it: arrays, numbers and texts in dicts and tuples.

    Raises:
        NotFound: An array is missing.
    """
    names = [leaf["array"] for leaf in leaves(description) if leaf["array"] is not None]
    if not isinstance(values, Mapping):
        values = dict.fromkeys(names, values)
    elif not set(names) <= values.keys():
        values = {name: values[part] for name in names if (part := name.partition(".")[2]) in values} or values
    return _restore(description, values)


def _restore(description: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    match description["type"]:
        case "Dict":
            return {key: _restore(part, values) for key, part in description["spaces"].items()}
        case "Tuple":
            return tuple(_restore(part, values) for part in description["spaces"])
    name = description["array"]
    if name is None:
        return np.zeros(description["shape"], description["dtype"])
    if name not in values:
        raise NotFound.among("array", name, sorted(values))
    value = values[name]
    match description["type"]:
        case "Text":
            value = value.item() if isinstance(value, (np.ndarray, np.generic)) else value
            return value.decode() if isinstance(value, bytes) else str(value)
        case "Discrete":
            return np.dtype(description["dtype"]).type(value)
    return np.asarray(value)
