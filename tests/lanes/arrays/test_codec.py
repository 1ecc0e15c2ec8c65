"""Codecs: what comes out is what went in, or an error; and never more than was asked for."""

from __future__ import annotations

import subprocess
import sys
import zlib

import numpy as np
import pytest

from playhead.lanes.arrays import codec

ROWS = np.arange(60, dtype=np.int32).reshape(20, 3)


@pytest.mark.parametrize("name", [*codec.CODECS, codec.SHUFFLED])
@pytest.mark.parametrize("count", [1, 7, 20])
def test_the_first_rows_come_back(name: str, count: int) -> None:
    out = np.empty((count, 3), np.int32)
    codec.decode(name, codec.encode(name, ROWS, 1), out, ROWS.nbytes)
    assert np.array_equal(out, ROWS[:count])


@pytest.mark.parametrize("name", [codec.GZIP, codec.SHUFFLED])
@pytest.mark.parametrize("found", [0, 1, ROWS.nbytes - 4, ROWS.nbytes + 4, 10 * ROWS.nbytes])
def test_another_size_is_refused(name: str, found: int) -> None:
    with pytest.raises(codec.Malformed):
        codec.decode(name, zlib.compress(bytes(found)), np.empty_like(ROWS), ROWS.nbytes)


@pytest.mark.parametrize("name", [codec.GZIP, codec.SHUFFLED])
def test_a_chunk_that_is_cut_off_is_refused(name: str) -> None:
    data = codec.encode(name, ROWS, 1)
    for stop in range(len(data)):
        with pytest.raises(codec.Malformed):
            codec.decode(name, data[:stop], np.empty_like(ROWS), ROWS.nbytes)


@pytest.mark.parametrize("name", [codec.GZIP, codec.SHUFFLED, codec.ZSTD])
def test_a_few_bytes_that_stand_for_many_do_not_fill_the_memory(name: str) -> None:
    """Was a bug: all of a chunk was expanded before its size was looked at."""
    many = 1 << 28
    script = f"""
import resource, zlib
import numpy as np, zstandard
from playhead.lanes.arrays import codec
pack = zstandard.ZstdCompressor().compressobj() if {name!r} == "zstd" else zlib.compressobj(1)
block = bytes(1 << 20)
bomb = b"".join(pack.compress(block) for _ in range({many} >> 20)) + pack.flush()
room = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    codec.decode({name!r}, bomb, np.empty(100, np.int32), 400)
except codec.Malformed:
    pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - room)
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert int(said) * 1024 < many // 8
