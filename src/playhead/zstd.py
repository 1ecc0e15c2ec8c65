"""Zstandard: bytes made small, and large again; each thread has its own contexts, which are costly to make."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from playhead.native import repeats

_local = threading.local()


class Malformed(Exception):
    """The bytes are not what the codec made."""


# The fastest level, tuned on frames of six games: 7-byte matches through a table that stays in the processor's nearest
# cache. Faster there than level 1 as it comes, and no larger.
_IMAGES = {"window_log": 19, "hash_log": 12, "chain_log": 12, "search_log": 1, "min_match": 7, "target_length": 0}


def compress(data: Any, level: int) -> bytes:
    """Compress contiguous bytes with Zstandard, as the journal holds them; other threads go on meanwhile.

    Args:
        data: The bytes.
        level: 1 to 19.
    """
    return _compressor(level).compress(data)


def compress_all(buffers: Sequence[Any], level: int) -> list[bytes]:
    """Compress several buffers, each by itself, in one go: a busy thread is asked for the interpreter only once.

    Args:
        buffers: Each contiguous bytes.
        level: 1 to 19.

    Returns:
        What `compress` gives for each.
    """
    return _compress_all(_compressor(level), buffers)


def compress_images(
    buffers: Sequence[NDArray[np.uint8]], level: int, distances: Sequence[tuple[int, ...]]
) -> list[bytes]:
    """Compress several buffers of images that follow one another, each by itself, in one go.

    Args:
        buffers: Each contiguous bytes.
        level: 1 to 19; 1 takes what images repeat of one another, more looks further, too, and takes what is smaller.
        distances: For each buffer, how many bytes back repetitions are likely, the likeliest first.

    Returns:
        For each, a frame of Zstandard.
    """
    found = repeats.pack(buffers, distances)
    rest = [place for place, packed in enumerate(found) if packed is None or level > 1]
    usual = _compress_all(_compressor(level, images=True), [buffers[place] for place in rest])
    for place, packed in zip(rest, usual, strict=True):
        found[place] = min(found[place] or packed, packed, key=len)
    return [packed for packed in found if packed is not None]


def _compress_all(compressor: zstandard.ZstdCompressor, buffers: Sequence[Any]) -> list[bytes]:
    if len(buffers) < 2 or not hasattr(compressor, "multi_compress_to_buffer") or not all(map(len, buffers)):
        return [compressor.compress(data) for data in buffers]
    found = compressor.multi_compress_to_buffer(list(buffers), threads=0)
    return [found[place].tobytes() for place in range(len(buffers))]


def _compressor(level: int, *, images: bool = False) -> zstandard.ZstdCompressor:
    compressors: dict[tuple[int, bool], zstandard.ZstdCompressor] = _local.__dict__.setdefault("compressors", {})
    key = level, images and level == 1
    if key not in compressors:
        if key[1]:
            tuned = zstandard.ZstdCompressionParameters(strategy=zstandard.STRATEGY_FAST, **_IMAGES)
            compressors[key] = zstandard.ZstdCompressor(compression_params=tuned)
        else:
            compressors[key] = zstandard.ZstdCompressor(level=level)
    return compressors[key]


def expand(data: Any, out: memoryview) -> None:
    """Decompress Zstandard's bytes into memory of just their size.

    Raises:
        Malformed: They are something else, or of another size.
    """
    if not hasattr(_local, "decompressor"):
        _local.decompressor = zstandard.ZstdDecompressor()
    try:
        with _local.decompressor.stream_reader(data) as reader:
            size = reader.readinto(out)
    except zstandard.ZstdError as error:
        raise Malformed(str(error)) from error
    if size != len(out):
        raise Malformed(f"{size} bytes where {len(out)} were due")


def expand_all(data: bytes, most: int) -> bytes:
    """Decompress a frame that says how large it is, up to a limit.

    Raises:
        Malformed: It does not, or is larger.
    """
    if not hasattr(_local, "decompressor"):
        _local.decompressor = zstandard.ZstdDecompressor()
    try:
        size = zstandard.frame_content_size(data)
        if not 0 <= size <= most:
            raise Malformed(f"a frame of {size} bytes")
        return bytes(_local.decompressor.decompress(data))
    except zstandard.ZstdError as error:
        raise Malformed(str(error)) from error
