"""CRC32C, which the older run files carry."""

from __future__ import annotations

import importlib
from typing import Any

from playhead.errors import MissingExtra


def crc32c(data: bytes, before: int = 0) -> int:
    """Compute the checksum of bytes, or go on from that of the bytes before them.

    Raises:
        MissingExtra: No library for it is installed.
    """
    return int(_library().extend(before, data))


def _library() -> Any:
    try:
        return importlib.import_module("google_crc32c")
    except ImportError as error:
        raise MissingExtra("google-crc32c", "games") from error
