"""JSON that any parser reads: no bare NaN, no lost precision, one way to turn Python values into it.

NaN and the infinities become the strings in `SPECIAL`, since strict JSON has no word for them and the fast encoders
write `null` without a word.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
from collections.abc import Mapping
from typing import Any

import orjson

from playhead.errors import WrongType

SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
NOT_FINITE = "not_finite"  # in an event with nulls: which of them stand for what
_Places = dict[str, list[list[str | int]]]
_PLACES = f"${NOT_FINITE}"  # in a file with nulls: where they are, by what they stand for

DEEPEST = 254  # lists and dicts within each other: what orjson writes, and what walks get to the end of

JSONDecodeError = json.JSONDecodeError

# orjson makes a float of an integer past 64 bits. Such a one has 20 digits, or a sign and 19, behind what a value can
# follow: looked for in a text where all of these are alike, which costs a fraction of what an expression does.
_ALIKE = bytes.maketrans(b"-123456789[: \t\n\r", b"0" * 10 + b"," * 6)
_LONG_INTEGER = b"," + b"0" * 20
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def encode(value: Any, *, indent: bool = False) -> bytes:
    """Encode a value that `plain` gave.

    Raises:
        WrongType: An integer has more digits than Python reads again.
    """
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE if indent else 0
    try:
        return orjson.dumps(value, option=options)
    except TypeError:  # an integer past 64 bits: the slow encoder knows no limit but that of digits
        pass
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2 if indent else None)
    except ValueError as error:
        raise WrongType(f"this cannot be written as JSON: {error}; give so long a number as text") from error
    return (text + "\n" if indent else text).encode()


def items(values: Mapping[str, Any] | None, what: str) -> dict[str, Any]:
    """Return values by name as a dict; of None an empty one.

    Raises:
        WrongType: They are something else.
    """
    if values is not None and not isinstance(values, Mapping):
        raise WrongType(f"{what} are a mapping of names to values, not {type(values).__name__}")
    return dict(values or {})


def decode(data: bytes | str) -> Any:
    """Decode JSON; integers are exact, however long, and the bare NaN and Infinity of other programs are understood.

    A lone surrogate, which other programs escape, comes as the text of its escape.

    Raises:
        JSONDecodeError: The text is not JSON, or nested deeper than `DEEPEST`.
    """
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        return _decoded_slowly(data)
    raw = data.encode() if isinstance(data, str) else bytes(data)
    if _LONG_INTEGER in (b"," + raw).translate(_ALIKE):
        return _decoded_slowly(data)
    if raw.count(b"[") + raw.count(b"{") > DEEPEST and not _is_written(found):
        _check_depth(found, data)
    return found


def _is_written(value: Any) -> bool:
    """Tell whether orjson writes a value: it does so to 254 levels, and looks at all of it quicker than a walk."""
    try:
        orjson.dumps(value)
    except TypeError:
        return False
    return True


def _check_depth(value: Any, data: bytes | str) -> None:
    level = [value]
    for _ in range(DEEPEST + 1):
        inner = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, (dict, list))]
        level = [item for items in inner for item in items]
        if not level:
            return
    raise JSONDecodeError(f"lists and objects are nested deeper than {DEEPEST}", repr(data[:80]), 0)


def _decoded_slowly(data: bytes | str) -> Any:
    try:
        raw = data if isinstance(data, str) else bytes(data)
        text = raw if isinstance(raw, str) else raw.decode(json.detect_encoding(raw), "surrogatepass")
        found = json.loads(text)
        _check_depth(found, data)
        return _as_utf8(found) if _SURROGATE.search(text) else found
    except JSONDecodeError:
        raise
    except (ValueError, RecursionError) as error:  # not UTF-8, a number of thousands of digits, nested too deep
        raise JSONDecodeError(str(error), repr(data[:80]), 0) from error


def _as_utf8(value: Any) -> Any:
    """Spell out lone surrogates, as `plain` does: other encoders write them, and no file or database can hold them."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_as_utf8(key): _as_utf8(item) for key, item in value.items()}
    return [_as_utf8(item) for item in value] if isinstance(value, list) else value


def plain(value: Any, *, words: bool = True, depth: int = 0) -> Any:
    """Turn a value into dicts, lists, text, numbers, booleans and None.

    NumPy and torch scalars become numbers, arrays lists, dataclasses and namespaces dicts; what has no such form (a
    device, a class) becomes its text, because a config is for people to read.

    Args:
        value: The value.
        words: Whether NaN and the infinities become the strings in `SPECIAL`; else they stay, for `with_nulls`.
        depth: How many lists and dicts it lies in.

    Raises:
        WrongType: It is nested deeper than `DEEPEST`, or holds itself.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return special(float(value)) if words else float(value)
    if isinstance(value, Mapping):
        if depth >= DEEPEST:
            raise _too_deep()
        return {plain(str(key)): plain(item, words=words, depth=depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        if depth >= DEEPEST:
            raise _too_deep()
        return [plain(item, words=words, depth=depth + 1) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        held = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return plain(held, words=words, depth=depth)
    if isinstance(value, os.PathLike):
        return plain(os.fspath(value))
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        found = value.tolist()
        if type(found) is type(value):
            return _plain_wide(value, words=words)
        return plain(found, words=words, depth=depth)
    if hasattr(value, "__dict__") and type(value).__name__.endswith("Namespace"):
        return plain(vars(value), words=words, depth=depth)
    return plain(str(value))


def _plain_wide(value: Any, *, words: bool) -> Any:
    """Turn a number for which Python has no type, NumPy's longdouble, into the nearest float, or else into its text."""
    if value.dtype.kind != "f":
        return str(value)
    number = float(value)
    if math.isinf(number) and value != number:
        return str(value)
    return special(number) if words else number


def _too_deep() -> WrongType:
    return WrongType(f"lists and dicts are nested deeper than {DEEPEST}, or hold themselves; keep them flatter")


def is_json(value: Any, *, depth: int = 0) -> bool:
    """Tell whether a value is text, a number, a boolean, or lists and dicts of them: what comes back as it was.

    Raises:
        WrongType: It is nested deeper than `DEEPEST`, or holds itself.
    """
    if isinstance(value, dict):
        if depth >= DEEPEST:
            raise _too_deep()
        return all(isinstance(key, str) and is_json(item, depth=depth + 1) for key, item in value.items())
    if isinstance(value, list):
        if depth >= DEEPEST:
            raise _too_deep()
        return all(is_json(item, depth=depth + 1) for item in value)
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


def special_texts(value: Any) -> list[list[str | int]]:
    """Return where a value holds texts that read as NaN or an infinity, for `restore_except`."""
    texts: list[list[str | int]] = []
    _nulled(value, [], {}, texts)
    return texts


def restore_except(value: Any, texts: Any) -> Any:
    """Return what `restore` returns, but with texts where `special_texts` found some.

    Args:
        value: Values with the strings in `SPECIAL`.
        texts: What was said of their places; anything else is passed over.
    """
    found = restore(value)
    for path in texts if isinstance(texts, list) else ():
        if not isinstance(path, list) or not path:
            continue
        holder, was = found, value
        for step in path[:-1]:
            holder, was = _inside(holder, step), _inside(was, step)
        word = _inside(was, path[-1])
        if isinstance(word, str):
            holder[path[-1]] = word
    return found


def nulled(value: Any) -> Any:
    """Put null in the place of NaN and the infinities, at any depth."""
    return _nulled(value, [], {}, [])


def with_nulls(content: Mapping[str, Any]) -> dict[str, Any]:
    """Put null in the place of NaN and the infinities, at any depth, and list under one more key where which were.

    For files that other programs read: to them null is a missing number, and the strings in `SPECIAL` are text. So they
    are to us in a file with that key, also if it lists nothing.

    Args:
        content: Values that `plain` gave, with their NaN and infinities.
    """
    places: _Places = {}
    texts: list[list[str | int]] = []
    found = _nulled(content, [], places, texts)
    if not (places or texts) or _PLACES in content:  # a value of this name is the user's: then words are written
        return dict(plain(content))
    return {**found, _PLACES: places}


def _nulled(value: Any, path: list[str | int], places: _Places, texts: list[list[str | int]]) -> Any:
    if isinstance(value, Mapping):
        return {key: _nulled(item, [*path, key], places, texts) for key, item in value.items()}
    if isinstance(value, list):
        return [_nulled(item, [*path, place], places, texts) for place, item in enumerate(value)]
    if isinstance(value, str) and value in SPECIAL:
        texts.append(path)
    word = special(value) if isinstance(value, float) else None
    if isinstance(word, str):
        places.setdefault(word, []).append(path)
        return None
    return value


def without_nulls(content: dict[str, Any]) -> dict[str, Any]:
    """Put NaN and the infinities where `with_nulls` put null, in place; what was changed since stays.

    In a file without its key, as earlier versions wrote it, the strings in `SPECIAL` are such numbers.
    """
    said = content.get(_PLACES)
    if not isinstance(said, dict) or not said.keys() <= SPECIAL.keys():
        return dict(restore(content))
    if not all(isinstance(paths, list) for paths in said.values()):
        return dict(restore(content))
    places = [(word, path) for word, paths in said.items() for path in paths]
    if not all(isinstance(path, list) and path for _, path in places):
        return dict(restore(content))
    del content[_PLACES]
    for word, path in places:
        holder: Any = content
        for step in path[:-1]:
            holder = _inside(holder, step)
        if _inside(holder, path[-1]) is None:
            holder[path[-1]] = SPECIAL[word]
    return content


def _inside(holder: Any, step: Any) -> Any:
    """Return what a dict or a list holds at one step of a path; False if there is no such step."""
    if isinstance(holder, dict):
        return holder.get(step, False) if isinstance(step, str) else False
    return holder[step] if isinstance(holder, list) and type(step) is int and 0 <= step < len(holder) else False
