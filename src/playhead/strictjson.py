"""JSON that any parser reads: no bare NaN, no lost precision, one way to turn Python values into it.

NaN and the infinities become the strings in `SPECIAL`, since strict JSON has no word for them and the fast encoders
write `null` without a word.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Mapping
from typing import Any

import orjson

SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

JSONDecodeError = json.JSONDecodeError


def encode(value: Any, *, indent: bool = False) -> bytes:
    """Encode a value that `plain` gave."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE if indent else 0
    try:
        return orjson.dumps(value, option=options)
    except TypeError:  # an integer past 64 bits: the slow encoder knows no limit
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2 if indent else None)
        return (text + "\n" if indent else text).encode()


def decode(data: bytes | str) -> Any:
    """Decode JSON; the bare NaN and Infinity of other programs are understood.

    Raises:
        JSONDecodeError: The text is not JSON.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            return json.loads(data)
        except JSONDecodeError:
            raise
        except (ValueError, RecursionError) as error:  # not UTF-8, a number of thousands of digits, nested too deep
            raise JSONDecodeError(str(error), repr(data[:80]), 0) from error


def plain(value: Any) -> Any:
    """Turn a value into dicts, lists, text, numbers, booleans and None.

    NumPy and torch scalars become numbers, arrays lists, dataclasses and namespaces dicts; what has no such form (a
    device, a class) becomes its text, because a config is for people to read.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return special(float(value))
    if isinstance(value, Mapping):
        return {plain(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain({field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        return plain(value.tolist())
    if hasattr(value, "__dict__") and type(value).__name__.endswith("Namespace"):
        return plain(vars(value))
    return str(value)


def is_json(value: Any) -> bool:
    """Tell whether a value is text, a number, a boolean, or lists and dicts of them: what comes back as it was."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_json(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(is_json, value))
    return isinstance(value, (str, int, float, bool))


def special(number: float) -> float | str:
    """Give a float as it is, or the string that stands for it."""
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def restore(value: Any) -> Any:
    """Turn the strings of `SPECIAL` back into floats, at any depth."""
    if isinstance(value, str):
        return SPECIAL.get(value, value)
    if isinstance(value, dict):
        return {key: restore(item) for key, item in value.items()}
    if isinstance(value, list):
        return [restore(item) for item in value]
    return value
