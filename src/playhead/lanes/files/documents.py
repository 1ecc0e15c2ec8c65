"""The JSON files that say what an artifact is: read, and sealed with a digest of their own."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playhead import disk, facts, strictjson
from playhead.errors import Damaged

RESTORE = "Restore it from a copy of the store, or run: playhead repair"
_SEAL = "digest"


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Add the digest of a JSON object to it."""
    return {**content, _SEAL: _digest_of_content(content)}


def unsealed(path: Path, content: dict[str, Any]) -> dict[str, Any]:
    """Take the digest of a JSON object off it; one that another program wrote has none.

    Raises:
        Damaged: The digest is that of another content.
    """
    seal = content.pop(_SEAL, None)
    if seal is not None and seal != _digest_of_content(content):
        raise Damaged(path, "the content whose digest it has", "another", RESTORE)
    return content


def is_sealed(path: Path) -> bool:
    """Return whether there is a JSON object with a digest of its own; what it is of is not looked at."""
    return _SEAL in facts.load(path)


def _digest_of_content(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(strictjson.encode(content)).hexdigest()


def content_of(path: Path) -> bytes:
    """Read a file of a version.

    Raises:
        Damaged: It is not there, or no file.
    """
    try:
        with open(disk.open_to_read(path), "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        raise Damaged(path, "a file of a version of an artifact", "no file", RESTORE) from None


def decoded(path: Path, data: bytes) -> dict[str, Any]:
    """Understand a file of a version.

    Raises:
        Damaged: It is no JSON object.
    """
    try:
        content = strictjson.decode(data)
    except strictjson.JSONDecodeError as error:
        raise Damaged(path, "JSON", str(error), RESTORE) from error
    if not isinstance(content, dict):
        raise Damaged(path, "a JSON object", type(content).__name__, RESTORE)
    return content
