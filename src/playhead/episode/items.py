"""Static items as JSON, with bytes as other programs of this format write them."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import Any

from playhead import strictjson
from playhead.errors import Damaged, WrongType

_BYTES = "__bytes_b64__"  # a dict of this one key stands for bytes


def as_json(value: Any, what: str) -> Any:
    """Return a value as it is written.

    Args:
        value: Text, a number, a boolean, bytes, or lists and dicts of them.
        what: What it is, for the message.

    Raises:
        WrongType: It is something else, or would be read as something else.
    """
    spelled = _spelled(value, what, 0)
    if not strictjson.is_json(spelled):
        raise WrongType(
            f"{what} must be JSON-serializable: text, numbers, booleans, bytes, and lists and dicts of them, "
            f"not {type(value).__name__}; turn arrays into lists with .tolist()"
        )
    return strictjson.plain(spelled)


def _spelled(value: Any, what: str, depth: int) -> Any:
    if isinstance(value, (bytes, bytearray)):
        return {_BYTES: base64.b64encode(value).decode()}
    if depth > strictjson.DEEPEST:
        return value  # refused as such
    if isinstance(value, dict):
        if set(value) == {_BYTES}:
            raise WrongType(f"{what} holds a dict with the one key {_BYTES!r}, which stands for bytes; give the bytes")
        return {key: _spelled(item, what, depth + 1) for key, item in value.items()}
    return [_spelled(item, what, depth + 1) for item in value] if isinstance(value, list) else value


def from_json(path: Path | str, value: Any) -> Any:
    """Return the value that was written: numbers that are not finite, and bytes.

    Args:
        path: The file that holds it.
        value: What its JSON says.

    Raises:
        Damaged: Bytes are spelled in another way.
    """
    if isinstance(value, dict):
        if set(value) == {_BYTES}:
            return _decoded(path, value[_BYTES])
        return {key: from_json(path, item) for key, item in value.items()}
    if isinstance(value, list):
        return [from_json(path, item) for item in value]
    return strictjson.restore(value)


def _decoded(path: Path | str, text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise Damaged(path, "bytes in base 64", str(error)) from error
