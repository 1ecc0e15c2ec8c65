"""Files that are cut, changed or lie: an error that names the file, the place and the next step, never other rows."""

from __future__ import annotations

import random
import re
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import google_crc32c
import numpy as np
import pytest

from playhead.errors import Damaged, PlayheadError
from playhead.table.games import postcard
from tests.table.games.files import Game, game, put, read, summed

SUFFIXES = [".a2run2", ".a2run", ".a2pack", ".dat"]


@pytest.fixture(params=SUFFIXES)
def whole(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    several = [game(3, seed=1), game(2, seed=2)]
    played = several if request.param in (".a2pack", ".dat") else several[:1]
    return put(tmp_path / f"whole{request.param}", *played)


def test_every_cut_is_noticed(whole: Path) -> None:
    data = whole.read_bytes()
    for length in range(len(data)):
        whole.write_bytes(data[:length])
        with pytest.raises(Damaged, match=rf"{whole.name} is damaged: expected .*, found .*\. Copy it again"):
            read(whole, "compute")


def test_bytes_behind_the_end_are_noticed(whole: Path) -> None:
    data = whole.read_bytes()
    for more in (b"\0", b"\1", b"\0" * 4, bytes(100), data):
        whole.write_bytes(data + more)
        with pytest.raises(Damaged):
            read(whole, "compute")


@pytest.mark.parametrize("whole", SUFFIXES[1:], indirect=True)  # the first has no checksum: other rows may come
def test_every_flip_is_noticed_or_harmless(whole: Path) -> None:
    data = whole.read_bytes()
    rows, runs = read(whole, "compute")
    noticed = 0
    for place in range(len(data)):
        whole.write_bytes(data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :])
        try:
            found, found_runs = read(whole, "compute")
        except Damaged:
            noticed += 1
            continue
        np.testing.assert_array_equal(found, rows)
        assert found_runs == runs
    gaps = 200 if whole.suffix == ".a2pack" else 0  # between runs, in the statistics, and padding behind the footer
    assert noticed >= len(data) - gaps


def test_flips_of_a_file_without_checksum_end_well(tmp_path: Path) -> None:
    path = put(tmp_path / "one.a2run2", game(6))
    data = path.read_bytes()
    for place in range(len(data) * 8):
        path.write_bytes(data[: place // 8] + bytes([data[place // 8] ^ 1 << place % 8]) + data[place // 8 + 1 :])
        try:
            rows, (run,) = read(path, "compute")
        except PlayheadError:
            continue
        assert len(rows) == run["num_steps"] == 6
        assert ((rows["ev_values"] >= 0) & (rows["ev_values"] <= 1)).all()
        assert (rows["move"] < 4).all()
        assert (rows["ev_legal"] < 16).all()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_noise_is_refused(tmp_path: Path, suffix: str) -> None:
    generator = random.Random(suffix)
    path = tmp_path / f"noise{suffix}"
    beginning = {".a2run": b"A2T1\1\0", ".a2pack": b"A2PACK\0\0\1\0\0\0", ".dat": b"2048\1\0\0\0"}.get(suffix, b"")
    refused = 0
    for number in range(300):
        noise = generator.randbytes(generator.randrange(200))
        path.write_bytes(beginning + noise if number % 2 else noise)
        try:
            read(path, "compute")
        except PlayheadError:
            refused += 1
    assert refused >= 299


def test_a_changed_file_with_a_right_checksum_gives_no_other_errors(tmp_path: Path) -> None:
    """Whoever computes checksums anew may write any lengths and offsets: they are checked all the same."""
    generator = random.Random(0)
    for suffix, again in ((".a2run", _sum_at_the_end), (".dat", _sum_at_the_end), (".a2pack", _sums_of_a_pack)):
        path = put(tmp_path / f"one{suffix}", *[game(3, seed=1), game(2, seed=2)][: 1 if suffix == ".a2run" else 2])
        data = path.read_bytes()
        for _ in range(400):
            changed = bytearray(data)
            for _ in range(generator.randrange(1, 4)):
                changed[generator.randrange(len(changed))] = generator.choice([0, 1, 2, 0x7F, 0xFF])
            path.write_bytes(again(bytes(changed)))
            try:
                rows, runs = read(path, "compute")
            except PlayheadError:
                continue
            assert len(rows) == sum(run["num_steps"] for run in runs)
            assert (rows["move"] < 4).all()
            assert (rows["ev_legal"] < 16).all()


def _sum_at_the_end(data: bytes) -> bytes:
    return summed(data[:-4])


def _sums_of_a_pack(data: bytes) -> bytes:
    count = struct.unpack_from("<Q", data, 16)[0]
    foot = bytearray(data[-32:])
    index = data[28 : 28 + 32 * min(count, 100)]
    foot[8:12] = struct.pack("<I", google_crc32c.value(index))
    foot[24:28] = struct.pack("<I", google_crc32c.value(bytes(foot[:24])))
    return summed(data[:24]) + data[28:-32] + bytes(foot)


# -- lies -----------------------------------------------------------------------------------------------------------

HUGE = 10**18


def _lying_a2run2(said: int = 1, count: int = 1, engine: bytes = b"\0", behind: bytes = b"\0\0\0\0") -> bytes:
    integer = postcard.integer
    return integer(said) + b"\1" + bytes(4) + b"\1\2" + engine + integer(count) + behind


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (_lying_a2run2(count=HUGE), r"at most 1 steps.*found 1,000,000,000,000,000,000 at offset 9"),
        (_lying_a2run2(said=1 << 32), r"the number of steps, of 32 bits, found a larger number at offset 0"),
        (b"\xff" * 20, "the number of steps, of 32 bits"),
        (_lying_a2run2(engine=b"\1" + postcard.integer(HUGE)), "the name of an engine, found the end"),
        (_lying_a2run2(engine=b"\2"), r"0 or 1: whether there is the name of an engine, found 2 at offset 8"),
        (_lying_a2run2(engine=b"\1\2a\xff"), r"UTF-8, found byte 0xff at offset 11"),
        (_lying_a2run2(said=7), r"expected 7 steps, as its beginning says, found 1 at offset 9"),
        (_lying_a2run2(behind=b"\0\4\0\0"), r"a move, 0 to 3, in step 0, found 4 at offset 11"),
        (_lying_a2run2(behind=b"\0\0\2\0"), r"whether there are branches, in step 0, found 2 at offset 12"),
        (_lying_a2run2(behind=b"\0\0\1\2\0"), r"whether a move is legal, in step 0, found 2 at offset 13"),
        (_lying_a2run2(behind=b"\0\0\1\0\0\0\xc0\x7f\0"), r"the value of a move, in step 0, found NaN at offset 14"),
        (_lying_a2run2(behind=b"\xff" * 9 + b"\2\0\0"), r"a board of 64 bits, in step 0, found 2 at offset 19"),
        (_lying_a2run2(behind=b"\0\0\0" + b"\xff" * 9 + b"\2"), "the final board, of 64 bits"),
        (_lying_a2run2(behind=b"\0\0\0\0\0"), r"the end behind the final board, found 1 more bytes at offset 14"),
        (b"\0\1" + bytes(4) + b"\xff" * 9 + b"\1\2\0\0\0", "max_score below 2\\^63, found 18446744073709551615"),
    ],
)
def test_an_a2run2_that_lies(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "lie.a2run2"
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with pytest.raises(Damaged, match=message):
            read(path, "compute")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def _changed(at: int, new: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data[:at] + new + data[at + len(new) :]


U32, U64 = struct.Struct("<I").pack, struct.Struct("<Q").pack


@pytest.mark.parametrize(
    ("suffix", "change", "message"),
    [
        (".a2run", _changed(0, b"A2T2"), r"begins with b'A2T1', found b'A2T2' at offset 0"),
        (".a2run", _changed(4, b"\2"), "version 1, found 2 at offset 4"),
        (".a2run", _changed(5, b"\1"), "little-endian, found 1 at offset 5"),
        (".a2run", _changed(6, U32(0xFFFFFFFF)), "bytes for 4,294,967,295 steps"),
        (".a2run", _changed(34, b"\xff\xff"), "bytes for 3 steps"),
        (".a2run", _changed(36, b"\xff"), "UTF-8, found byte 0xff at offset 36"),
        (".a2run", _changed(36 + 10 + 32 + 1, b"\7"), "a move, 0 to 3, in step 1, found 7 at offset 79"),
        (".dat", _changed(0, b"2049"), "begins with b'2048'"),
        (".dat", _changed(4, U32(2)), "version 1, found 2 at offset 4"),
        (".dat", _changed(8, U32(3)), "what is known of it in run 2, found the end"),
        (".dat", _changed(8, U32(1)), "5 steps and nothing behind the last run, found 3 steps and 48 bytes"),
        (".dat", _changed(12, U64(HUGE)), "runs behind 1,000,000,000,000,000,000 steps"),
        (".dat", _changed(20, U64(HUGE)), "found them at 1,000,000,000,000,000,000"),
        (".dat", _changed(28 + 8, U32(5)), "run_id: 0, in step 0 in run 0, found 5 at offset 28"),
        (".dat", _changed(28 + 32 + 12, U32(5)), "index: its place in the game, in step 1 in run 0, found 5"),
        (".dat", _changed(28 + 16, b"\4"), "move: 0 to 3, in step 0"),
        (".dat", _changed(28 + 17, b"\x10"), "mask: 4 bits, in step 0"),
        (".dat", _changed(28 + 160 + 8, U32(9)), "5 steps in all, found runs up to 0 have 9"),
        (".dat", _changed(28 + 160 + 24, b"\xff\xff"), "a name of 65,535 bytes"),
        (".dat", _changed(28 + 160 + 26, b"\xff"), "UTF-8 in run 0, found byte 0xff at offset 214"),
        (".a2pack", _changed(0, b"A2PUCK"), r"begins with b'A2PACK"),
        (".a2pack", _changed(8, U32(2)), "version 1, found 2 at offset 8"),
        (".a2pack", _changed(16, U64(HUGE)), "an index of 1,000,000,000,000,000,000 runs"),
        (".a2pack", _changed(28, U64(HUGE)), "runs up to"),
        (".a2pack", _changed(28, U64(2**64 - 1)), "run 0 behind the index and the run before it"),
        (".a2pack", _changed(28, U64(0)), "run 0 behind the index and the run before it, found it begins at 0"),
        (".a2pack", _changed(28 + 8, U32(1 << 31)), "behind the index and the run before it"),
        (".a2pack", _changed(28 + 12, b"\3\0"), "a run of kind 1 or 2 in run 0, found kind 3"),
        (".a2pack", _changed(28 + 16, U32(1)), "with the CRC32C 00000001 in run 0"),
    ],
)
def test_a_file_that_lies(tmp_path: Path, suffix: str, change: Callable[[bytes], bytes], message: str) -> None:
    played = [game(3, seed=1), game(2, seed=2)][: 1 if suffix == ".a2run" else 2]
    path = put(tmp_path / f"lie{suffix}", *played)
    again = _sums_of_a_pack if suffix == ".a2pack" else _sum_at_the_end
    path.write_bytes(again(change(path.read_bytes())))
    tracemalloc.start()
    try:
        with pytest.raises(Damaged, match=message) as raised:
            read(path, "compute")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    assert re.search(r"errors='skip'", str(raised.value))


@pytest.mark.parametrize("at", [0, 16, 24])
def test_a_footer_that_lies(tmp_path: Path, at: int) -> None:
    path = put(tmp_path / "lie.a2pack", Game(game(3).rows))
    data = bytearray(path.read_bytes())
    data[len(data) - 32 + at] ^= 0x41
    path.write_bytes(data)
    with pytest.raises(Damaged, match="a footer with the CRC32C"):
        read(path)
    if at < 24:
        path.write_bytes(_sums_of_a_pack(bytes(data)))
        with pytest.raises(Damaged, match=r"as the footer says|statistics between|the footer at"):
            read(path)
