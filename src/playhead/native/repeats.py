"""Images that follow one another, made small by what they repeat: Zstandard's frames from sequences found in C.

`repeats.c` says how. Zstandard's own functions do the writing. They are taken from the library that the `zstandard`
package is made of, else from the system's; where neither has them in a version that is known to be right, `pack` gives
nothing, and everything is compressed as usual.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from playhead.native import library

MOST_BYTES = 1 << 26  # of a chunk: a reader need not keep more of it at hand than readers do by themselves
_VERSIONS = range(10506, 10600)  # of Zstandard: sequences in blocks of our own are right there
_BYTES_A_SEQUENCE = 32  # where there are fewer to a sequence, too little is repeated

# By their numbers in zstd.h: the fastest way to write sequences down, in blocks as they are given, each of which is
# checked and may use a distance again for less.
_SETTINGS = {
    100: 1,  # level
    101: 26,  # window: MOST_BYTES
    102: 6,  # tables that are never looked at, as small as they may be
    103: 6,
    107: 1,  # strategy
    1008: 1,  # blocks end where we say
    1009: 1,  # sequences are checked
    1016: 1,  # distances are looked for among the last three
}


class _Zstd(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("compress_sequences", "decompress", "is_error")),
        *((name, ctypes.c_void_p) for name in ("compressing", "decompressing", "sequences")),
        ("most_sequences", ctypes.c_size_t),
        ("copy", ctypes.c_void_p),
        ("seen", ctypes.c_uint32 * 4096),
    )


class _Chunk(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("distances", ctypes.c_void_p),
        ("count", ctypes.c_size_t),
        ("packed", ctypes.c_size_t),
    )


class Repeats:
    """What one thread packs with: contexts of Zstandard, and memory that is used again."""

    def __init__(self, zstd: ctypes.CDLL, pack: ctypes.CDLL) -> None:
        self._zstd, self._library = zstd, pack
        self._with = _Zstd()
        for name, function in (
            ("compress_sequences", zstd.ZSTD_compressSequences),
            ("decompress", zstd.ZSTD_decompressDCtx),
            ("is_error", zstd.ZSTD_isError),
        ):
            setattr(self._with, name, ctypes.cast(function, ctypes.c_void_p))
        self._with.compressing = zstd.ZSTD_createCCtx()
        self._with.decompressing = zstd.ZSTD_createDCtx()
        self.usable = bool(self._with.compressing and self._with.decompressing) and not any(
            zstd.ZSTD_isError(zstd.ZSTD_CCtx_setParameter(self._with.compressing, number, value))
            for number, value in _SETTINGS.items()
        )
        self._sequences, self._copy, self._out = _nothing(), _nothing(), _nothing()

    def __del__(self) -> None:
        self._zstd.ZSTD_freeCCtx(self._with.compressing)
        self._zstd.ZSTD_freeDCtx(self._with.decompressing)

    def pack(self, buffers: Sequence[NDArray[np.uint8]], distances: Sequence[tuple[int, ...]]) -> list[bytes | None]:
        """Compress buffers, each by itself; None where Zstandard alone does it better.

        Args:
            buffers: Contiguous bytes.
            distances: For each, how far back repetitions are likely, the likeliest first.
        """
        sizes = [len(data) for data in buffers]
        if not self.usable or not sizes or max(sizes) > MOST_BYTES:
            return [None] * len(buffers)
        self._make_room(max(sizes), sum(sizes))
        known = {each: np.array(each, np.uint32) for each in set(distances)}
        chunks = (_Chunk * len(buffers))(
            *(
                _Chunk(data.ctypes.data, len(data), known[each].ctypes.data, len(each), 0)
                for data, each in zip(buffers, distances, strict=True)
            )
        )
        self._library.playhead_pack(
            ctypes.byref(self._with), chunks, len(chunks), self._out.ctypes.data, len(self._out)
        )
        return list(self._packed(chunks))

    def _packed(self, chunks: ctypes.Array[_Chunk]) -> Iterator[bytes | None]:
        at = 0
        for chunk in chunks:
            yield self._out[at : at + chunk.packed].tobytes() if chunk.packed else None
            at += chunk.packed

    def _make_room(self, largest: int, together: int) -> None:
        if len(self._copy) < largest:
            self._copy = np.empty(largest, np.uint8)
            self._sequences = np.empty((largest // _BYTES_A_SEQUENCE + 64) * 16, np.uint8)
            self._with.copy = self._copy.ctypes.data
            self._with.sequences = self._sequences.ctypes.data
            self._with.most_sequences = len(self._sequences) // 16
        if len(self._out) < (room := together + together // 128 + 1024):
            self._out = np.empty(room, np.uint8)


def _nothing() -> NDArray[np.uint8]:
    return np.empty(0, np.uint8)


_local = threading.local()


def missing() -> str | None:
    """Say what is missing for it to be used, and what to do; None where nothing is."""
    if library is None:
        return (
            "was not compiled, and images are packed larger: install a C compiler (on Debian: apt-get install gcc "
            "libc6-dev), then Playhead again"
        )
    if zstandard is None:
        return (
            "finds no Zstandard 1.5.6 or later, and images are packed larger: "
            "pip install --force-reinstall --only-binary :all: zstandard"
        )
    return None


def pack(buffers: Sequence[NDArray[np.uint8]], distances: Sequence[tuple[int, ...]]) -> list[bytes | None]:
    """Compress buffers, each by itself, in one go, while other threads go on; None where Zstandard alone is better.

    Args:
        buffers: Contiguous bytes.
        distances: For each, how far back repetitions are likely, the likeliest first.
    """
    if library is None or zstandard is None:
        return [None] * len(buffers)
    if not hasattr(_local, "repeats"):
        _local.repeats = Repeats(zstandard, library)
    found: list[bytes | None] = _local.repeats.pack(buffers, distances)
    return found


def _zstandard() -> ctypes.CDLL | None:
    """Find Zstandard's functions."""
    for path in _libraries():
        try:
            zstd = ctypes.CDLL(path)
            version = zstd.ZSTD_versionNumber()
        except (OSError, AttributeError):  # it cannot be loaded, or keeps its functions to itself
            continue
        if version not in _VERSIONS:
            continue
        zstd.ZSTD_createCCtx.restype = zstd.ZSTD_createDCtx.restype = ctypes.c_void_p
        zstd.ZSTD_freeCCtx.argtypes = zstd.ZSTD_freeDCtx.argtypes = [ctypes.c_void_p]
        zstd.ZSTD_CCtx_setParameter.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
        zstd.ZSTD_CCtx_setParameter.restype = ctypes.c_size_t
        zstd.ZSTD_isError.argtypes = [ctypes.c_size_t]
        return zstd
    return None


def _libraries() -> Iterator[str]:
    package = find_spec("zstandard")
    for folder in package.submodule_search_locations or () if package else ():
        yield from map(str, sorted(Path(folder).glob("_cffi*.so")))
    yield "libzstd.so.1"


zstandard = _zstandard()
if library is not None:
    library.playhead_pack.restype = None
    library.playhead_pack.argtypes = [
        *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t),
        *(ctypes.c_void_p, ctypes.c_size_t),
    ]
