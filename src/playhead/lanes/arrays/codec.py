"""Rows in and out of bytes: the codecs that HDF5 files are sealed with."""

from __future__ import annotations

import contextlib
import math
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.errors import WrongType
from playhead.zstd import Malformed, compress, compress_all, compress_images, expand, expand_all

__all__ = ["Malformed", "check", "compress", "decode", "encode", "encode_all", "expand", "expand_all"]

ZSTD, GZIP, LZF, NONE = "zstd", "gzip", "lzf", "none"
SHUFFLED = "gzip+shuffle"  # what small numbers are always sealed with: every HDF5 library reads it
CODECS = (ZSTD, GZIP, LZF, NONE)

ZSTD_FILTER = 32015
_USUAL_LEVELS = {GZIP: 4}  # what h5py means by `compression="gzip"`

_numbers = count()


def check(codec: str | None) -> str:
    """Take the name of a codec; None is no compression.

    Raises:
        WrongType: There is no such codec.
    """
    name = NONE if codec is None else codec
    if name not in CODECS:
        raise WrongType(f"no codec {codec!r}; there is: {', '.join(CODECS[:-1])} and None")
    return name


def level_of(codec: str | None) -> int:
    """Return the level that a codec has unless another one is asked for."""
    return _USUAL_LEVELS.get(check(codec), 1)


IMAGE_BYTES = 4096  # a row of this size is taken for an image
_MOST_STACKED = 16  # an axis of at most so many may be a stack of images
_COLOURS = 3  # of which there are as many, are none
_NEAR = 16  # bytes; a repetition at a shorter distance is slow to read back


def encode(codec: str, rows: NDArray[Any], level: int) -> bytes:
    """Give the bytes of a whole chunk as an HDF5 file holds them; those that LZF cannot shorten stay as they are."""
    data = np.ascontiguousarray(rows)
    match codec:
        case "zstd":
            return encode_all([data], level)[0]
        case "gzip":
            return zlib.compress(data.tobytes(), level)
        case "gzip+shuffle":
            return zlib.compress(_shuffled(data), level)
        case "lzf":
            return _lzf(data.tobytes())
    return data.tobytes()


def encode_all(chunks: Sequence[NDArray[Any]], level: int) -> list[bytes]:
    """Give what `encode` gives for each of several chunks with Zstandard, all of which are compressed in one go."""
    flat = [np.ascontiguousarray(rows).reshape(-1).view(np.uint8) for rows in chunks]
    distances = [_distances(rows.shape[1:], rows.dtype.itemsize) for rows in chunks]
    images = [place for place, likely in enumerate(distances) if likely]
    others = [place for place, likely in enumerate(distances) if not likely]
    packed = compress_images([flat[place] for place in images], level, [distances[place] for place in images])
    packed += compress_all([flat[place] for place in others], level)
    found = dict(zip(images + others, packed, strict=True))
    return [found[place] for place in range(len(chunks))]


@lru_cache
def _distances(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Say how many bytes back an image most likely has what it has here, the likeliest first; none if it is no image.

    That is in the image before it: at the same place, or, in a stack of images, one further on in it, which may be its
    first axis or its last. Else it is one line up, two lines, or a pixel to the left.
    """
    image = math.prod(shape) * itemsize
    if image < IMAGE_BYTES:
        return ()
    pixel = itemsize * (shape[-1] if len(shape) > 2 and shape[-1] <= _MOST_STACKED else 1)
    line = math.prod(shape[1:] if pixel > itemsize else shape[-1:]) * itemsize
    plane = math.prod(shape[1:]) * itemsize
    likely = [image]
    if len(shape) > 2 and shape[0] <= _MOST_STACKED:
        likely = [image - plane, image, plane]
    elif pixel > itemsize and shape[-1] != _COLOURS:
        likely += [image - itemsize]
    likely += [line, 2 * line, pixel * -(-_NEAR // pixel), pixel]
    return tuple(dict.fromkeys(distance for distance in likely if distance > 0))


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
                found = _inflated(data, chunk_bytes)
            case "gzip+shuffle":
                found = _unshuffled(_inflated(data, chunk_bytes), out.dtype.itemsize)
            case "lzf" if len(data) != chunk_bytes:
                found = _unlzf(bytes(data), chunk_bytes)
            case _:
                found = bytes(data)
    except (zlib.error, ValueError, OSError) as error:
        raise Malformed(str(error)) from error
    if len(found) != chunk_bytes:
        raise Malformed(f"{len(found)} bytes where {chunk_bytes} were due")
    flat[:] = found[: len(flat)]


def _inflated(data: Any, size: int) -> bytes:
    """Expand what zlib made, but no further than to so many bytes: a few may stand for more than the memory holds.

    Raises:
        Malformed: They stand for more.
        zlib.error: They are something else, or not all of it.
    """
    stream = zlib.decompressobj()
    found = stream.decompress(data, size + 1)
    if len(found) > size:
        raise Malformed(f"more than the {size} bytes that were due")
    if not stream.eof:
        raise zlib.error("its end is missing")
    return found


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
