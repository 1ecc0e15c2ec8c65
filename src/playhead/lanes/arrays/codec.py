"""Rows in and out of bytes: the codecs that HDF5 files are sealed with."""

from __future__ import annotations

import contextlib
import threading
import zlib
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from playhead.errors import WrongType

ZSTD, GZIP, LZF, NONE = "zstd", "gzip", "lzf", "none"
SHUFFLED = "gzip+shuffle"  # what small numbers are always sealed with: every HDF5 library reads it
CODECS = (ZSTD, GZIP, LZF, NONE)

ZSTD_FILTER = 32015

_local = threading.local()
_numbers = count()


class Malformed(Exception):
    """The bytes are not what the codec made."""


def check(codec: str | None) -> str:
    """Take the name of a codec; None is no compression.

    Raises:
        WrongType: There is no such codec.
    """
    name = NONE if codec is None else codec
    if name not in CODECS:
        raise WrongType(f"no codec {codec!r}; there is: {', '.join(CODECS[:-1])} and None")
    return name


# The fastest level, tuned on frames of six games: 7-byte matches through a table that stays in the processor's nearest
# cache. Faster there than level 1 as it comes, and no larger.
_IMAGES = {"window_log": 19, "hash_log": 12, "chain_log": 12, "search_log": 1, "min_match": 7, "target_length": 0}
IMAGE_BYTES = 4096  # a row of bytes of this size is taken for an image


def compress(data: Any, level: int, *, images: bool = False) -> bytes:
    """Compress contiguous bytes with Zstandard, as the journal holds them; other threads go on meanwhile.

    Args:
        data: The bytes.
        level: 1 to 19.
        images: They are images, one behind the other.
    """
    compressors: dict[tuple[int, bool], zstandard.ZstdCompressor] = _local.__dict__.setdefault("compressors", {})
    key = level, images and level == 1
    if key not in compressors:
        if key[1]:
            tuned = zstandard.ZstdCompressionParameters(strategy=zstandard.STRATEGY_FAST, **_IMAGES)
            compressors[key] = zstandard.ZstdCompressor(compression_params=tuned)
        else:
            compressors[key] = zstandard.ZstdCompressor(level=level)
    return compressors[key].compress(data)


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
    try:
        size = zstandard.frame_content_size(data)
        if not 0 <= size <= most:
            raise Malformed(f"a frame of {size} bytes")
        out = bytearray(size)
    except zstandard.ZstdError as error:
        raise Malformed(str(error)) from error
    expand(data, memoryview(out))
    return bytes(out)


def encode(codec: str, rows: NDArray[Any], level: int) -> bytes:
    """Give the bytes of a whole chunk as an HDF5 file holds them; those that LZF cannot shorten stay as they are."""
    data = np.ascontiguousarray(rows)
    match codec:
        case "zstd":
            images = data.dtype.itemsize == 1 and data.nbytes >= IMAGE_BYTES * len(data)
            return compress(data.reshape(-1).view(np.uint8), level, images=images)
        case "gzip":
            return zlib.compress(data.tobytes(), level)
        case "gzip+shuffle":
            return zlib.compress(_shuffled(data), level)
        case "lzf":
            return _lzf(data.tobytes())
    return data.tobytes()


def decode(codec: str, data: Any, out: NDArray[Any], chunk_bytes: int) -> None:
    """Fill an array with the first rows of a chunk.

    Args:
        codec: What made the bytes.
        data: The bytes of the chunk.
        out: Contiguous; as many rows as are wanted.
        chunk_bytes: Of the whole chunk in memory.

    Raises:
        Malformed: The bytes are not those of such a chunk.
    """
    flat: Any = memoryview(out.reshape(-1).view(np.uint8).data)
    if codec == ZSTD:
        expand(data, flat)
        return
    try:
        match codec:
            case "gzip":
                found = zlib.decompress(data)
            case "gzip+shuffle":
                found = _unshuffled(zlib.decompress(data), out.dtype.itemsize)
            case "lzf" if len(data) != chunk_bytes:
                found = _unlzf(bytes(data), chunk_bytes)
            case _:
                found = bytes(data)
    except (zlib.error, ValueError, OSError) as error:
        raise Malformed(str(error)) from error
    if len(found) != chunk_bytes:
        raise Malformed(f"{len(found)} bytes where {chunk_bytes} were due")
    flat[:] = found[: len(flat)]


def _shuffled(rows: NDArray[Any]) -> bytes:
    """Put the first byte of all values first, then the second of all: HDF5's shuffle filter."""
    return rows.reshape(-1).view(np.uint8).reshape(-1, rows.dtype.itemsize).T.tobytes()


def _unshuffled(data: bytes, itemsize: int) -> bytes:
    return np.frombuffer(data, np.uint8).reshape(itemsize, -1).T.tobytes()


# Only the HDF5 library has LZF: a file in memory encodes and decodes for us.


def _lzf(data: bytes) -> bytes:
    with _memory(len(data)) as dataset:
        dataset[:] = np.frombuffer(data, np.uint8)
        skipped, chunk = dataset.id.read_direct_chunk((0,))
        return data if skipped else bytes(chunk)


def _unlzf(data: bytes, size: int) -> bytes:
    with _memory(size) as dataset:
        dataset.id.write_direct_chunk((0,), data)
        whole: bytes = dataset[:].tobytes()
        return whole


@contextlib.contextmanager
def _memory(size: int) -> Iterator[Any]:
    import h5py

    # A name of its own: two files of one name cannot be open at once, also in memory.
    with h5py.File(f"chunk {next(_numbers)}", "w", driver="core", backing_store=False) as file:
        yield file.create_dataset("chunk", shape=(size,), chunks=(size,), dtype=np.uint8, compression="lzf")
