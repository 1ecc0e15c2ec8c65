"""Damaged sealed files: what is damaged is named, the rest reads, and no wrong byte is ever given."""

from __future__ import annotations

import itertools
import os
import random
import struct
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest

from playhead.errors import Damaged, PlayheadError, StoreTooNew
from playhead.lanes.arrays.head import COLUMNS
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.sealed import SealedFile
from tests.lanes.arrays.damage import ARRAYS, INFOS, ROWS, Lost, Victim, record, sealed
from tests.lanes.arrays.reels import Recording, reel_in

CAMPAIGN = float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))
COUNT = 14
TAIL = 24


@pytest.fixture(scope="module", params=["zstd", None], ids=str)
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Victim:
    return Victim(sealed(tmp_path_factory.mktemp("sealed"), COUNT, request.param))


@pytest.fixture(scope="module")
def in_parts(tmp_path_factory: pytest.TempPathFactory) -> Victim:
    return Victim(sealed(tmp_path_factory.mktemp("parts"), 7, parts=3))


@pytest.fixture(autouse=True)
def _put_back(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    for name in {"whole", "in_parts"} & set(request.fixturenames):
        request.getfixturevalue(name).restore()


def list_of_chunks(data: bytes) -> range:
    """Give the bytes of the list of chunks and what lies behind it."""
    size = struct.unpack_from("<Q", data, len(data) - TAIL + 8)[0]
    return range(len(data) - TAIL - size, len(data))


class Chunks:
    """Which rows lie at which bytes of a sealed file."""

    def __init__(self, path: Path, first: int = 0) -> None:
        file = SealedFile(path)
        columns = {column: {ROWS} for column in COLUMNS.values()}
        columns |= {"steps/terminated": {ROWS}, "steps/truncated": {ROWS}, "steps/info": {INFOS}}
        columns["steps/has"] = {ROWS, *ARRAYS}
        columns |= {name: {name} for name in ARRAYS}
        self.owned: list[tuple[range, Lost]] = []
        for column, what in columns.items():
            stored = file.datasets[column]
            for place, (offset, size, _) in enumerate(stored.table.tolist()):
                rows = range(place * stored.chunk, min((place + 1) * stored.chunk, stored.rows))
                self.owned.append((range(offset, offset + size), {(one, first + row) for one in what for row in rows}))

    def at(self, byte: int) -> Lost | None:
        """Give what is lost with a byte; None where we read nothing there."""
        return next((lost for owned, lost in self.owned if byte in owned), None)


# -- flipped bits -----------------------------------------------------------------------------------------------------


def test_a_flipped_bit_in_a_chunk_costs_its_rows_and_no_others(whole: Victim) -> None:
    path, data = whole.files.file, whole.bytes_of(whole.files.file)
    chunks, chance = Chunks(path), random.Random(1)
    hits = [
        byte for owned, _ in chunks.owned for byte in chance.sample(owned, min(len(owned), max(2, int(30 * CAMPAIGN))))
    ]
    for byte in hits:
        with whole.flipped(path, byte * 8 + chance.randrange(8)):
            due, lost = chunks.at(byte), whole.survey()
            assert due is not None
            is_has = (ROWS, 0) in due and ("frames", 0) in due
            if is_has:  # only an array with holes needs it
                assert {one for one in due if one[0] == ROWS} <= lost <= due, byte
            else:
                assert lost == {one for one in due if one[1] % 4 != 2 or one[0] != "frames"} or lost == due, (
                    byte,
                    lost,
                    due,
                )
    assert data == path.read_bytes()


def test_a_flipped_bit_elsewhere_in_the_hdf5_costs_us_nothing(whole: Victim) -> None:
    path, data = whole.files.file, whole.bytes_of(whole.files.file)
    chunks, chance = Chunks(path), random.Random(2)
    elsewhere = [byte for byte in range(list_of_chunks(data).start) if chunks.at(byte) is None]
    for byte in chance.sample(elsewhere, int(600 * CAMPAIGN)):
        with whole.flipped(path, byte * 8 + chance.randrange(8)):
            assert whole.survey() == set(), byte


def test_every_flipped_bit_in_the_list_of_chunks_is_noticed(whole: Victim) -> None:
    """Was a bug: in the magic it is not noticed: the file is taken for one of another program, with other times and ends."""
    path = whole.files.file
    data = whole.bytes_of(path)
    listed = list_of_chunks(data)
    bits = [byte * 8 + bit for byte in listed[-TAIL:] for bit in range(8)]
    bits += [
        byte * 8 + (byte % 8 if CAMPAIGN < 1 else bit)
        for byte in listed[:-TAIL]
        for bit in range(1 if CAMPAIGN < 1 else 8)
    ]
    for bit in bits:
        broken = bytearray(data)
        broken[bit // 8] ^= 1 << bit % 8
        whole.write(path, broken)
        assert_refused_or_right(whole)


def assert_refused_or_right(victim: Victim) -> None:
    try:
        Reel(victim.files).close()
    except (Damaged, StoreTooNew) as error:
        assert victim.files.file.name in str(error) or victim.files.parts.name in str(error)
    else:
        victim.survey()


# -- cuts and junk ----------------------------------------------------------------------------------------------------


def test_a_file_that_is_cut_off_anywhere(whole: Victim) -> None:
    """Was a bug: where only the list of chunks is cut, the file is taken for one of another program."""
    path, chance = whole.files.file, random.Random(3)
    data = whole.bytes_of(path)
    listed = list_of_chunks(data)
    cuts = {0, 1, 7, 8, 100, *listed[:: max(1, int(20 / max(CAMPAIGN, 0.1) / 10))], len(data) - 1, len(data) - TAIL}
    cuts |= set(chance.sample(range(len(data)), int(200 * CAMPAIGN)))
    for cut in sorted(cuts):
        whole.write(path, data[:cut])
        assert_refused_or_right(whole)


@pytest.mark.parametrize("junk", [b"\0", b"x" * 23, bytes(4096), random.Random(1).randbytes(5000)], ids=len)
def test_junk_behind_the_last_byte(whole: Victim, junk: bytes) -> None:
    """Was a bug: as above."""
    whole.write(whole.files.file, whole.bytes_of(whole.files.file) + junk)
    assert_refused_or_right(whole)


def test_an_empty_file_and_one_that_is_something_else(whole: Victim) -> None:
    for content in (b"", b"hello", bytes(100), random.Random(1).randbytes(3000), b"\x89HDF\r\n\x1a\n" + bytes(500)):
        whole.write(whole.files.file, content)
        with pytest.raises(Damaged, match=r"run\.h5"):
            Reel(whole.files)


@pytest.mark.parametrize("claim", [0, 1, TAIL, -25, -24, -23, -1, 1 << 40, (1 << 64) - 1])
def test_a_tail_that_lies_about_the_size_of_the_list(whole: Victim, claim: int) -> None:
    """Was a bug: a size just below that of the file asks the kernel for bytes before the first."""
    data = bytearray(whole.bytes_of(whole.files.file))
    struct.pack_into("<Q", data, len(data) - TAIL + 8, claim if claim >= 0 else len(data) + claim)
    whole.write(whole.files.file, data)
    with pytest.raises(Damaged, match=r"run\.h5"):
        Reel(whole.files)


@pytest.mark.parametrize("frame", [b"", b"not a frame", bytes(40)], ids=["nothing", "text", "zeros"])
def test_a_list_with_a_good_checksum_that_is_nonsense(whole: Victim, frame: bytes) -> None:
    """A file may come from anybody. Was a bug: an error of the decoder comes through."""
    path, data = whole.files.file, whole.bytes_of(whole.files.file)
    magic = data[len(data) - TAIL : len(data) - TAIL + 8]
    tail = struct.pack("<8sQII", magic, len(frame), crc32(frame), 1)
    whole.write(path, data[: list_of_chunks(data).start] + frame + tail)
    with pytest.raises(Damaged, match=r"run\.h5"):
        Reel(whole.files)


# -- chunks and parts in the wrong place ------------------------------------------------------------------------------


def test_swapped_chunks_are_noticed(whole: Victim) -> None:
    path, data = whole.files.file, whole.bytes_of(whole.files.file)
    file = SealedFile(path)
    swapped = 0
    for name in ARRAYS:
        table = file.datasets[name].table.tolist()
        for (one, size, _), (other, also, _) in itertools.pairwise(table):
            if size == also and data[one : one + size] != data[other : other + size]:
                broken = bytearray(data)
                broken[one : one + size], broken[other : other + size] = (
                    data[other : other + size],
                    data[one : one + size],
                )
                whole.write(path, broken)
                lost = whole.survey()
                assert len({row for what, row in lost if what == name}) >= 5
                assert {what for what, _ in lost} == {name}
                swapped += 1
    assert swapped or whole.recording.config.codec is not None


def test_a_part_that_is_missing_is_named(in_parts: Victim) -> None:
    """Was a bug: FileNotFoundError."""
    for number in range(3):
        with (
            in_parts.replaced(in_parts.files.part(number), None),
            pytest.raises(PlayheadError, match=rf"000{number}\.h5"),
        ):
            Reel(in_parts.files)


def test_swapped_parts_read_right_or_not_at_all(in_parts: Victim) -> None:
    parts = [in_parts.files.part(number) for number in range(3)]
    for one, other in ((0, 1), (1, 2), (0, 2)):
        in_parts.write(parts[one], in_parts.bytes_of(parts[other]))
        in_parts.write(parts[other], in_parts.bytes_of(parts[one]))
        assert_refused_or_right(in_parts)
        in_parts.restore()


def test_a_part_twice_in_place_of_another(in_parts: Victim) -> None:
    """Was a bug: rows that no part holds are read as whatever lies in memory, and steps come twice."""
    parts = [in_parts.files.part(number) for number in range(3)]
    for one, other in ((0, 1), (1, 2), (0, 2), (2, 0), (1, 0)):
        in_parts.write(parts[one], in_parts.bytes_of(parts[other]))
        assert_refused_or_right(in_parts)
        in_parts.restore()


def test_a_part_of_another_reel(in_parts: Victim, tmp_path: Path) -> None:
    """Was a bug: a part does not say to which reel it belongs, and the steps of another are read."""
    other = Recording(reel_in(tmp_path, "other"), in_parts.recording.config)
    record(other, 7, salt=100)
    other.close()
    in_parts.write(in_parts.files.part(0), other.files.file.read_bytes())
    assert_refused_or_right(in_parts)


def test_damage_to_one_part_leaves_the_others(in_parts: Victim) -> None:
    chance = random.Random(5)
    for number in range(3):
        path = in_parts.files.part(number)
        chunks = Chunks(path, number * 7)
        for owned, due in chunks.owned:
            with in_parts.flipped(path, chance.choice(owned) * 8 + chance.randrange(8)):
                assert in_parts.survey() <= due


def test_damage_to_the_view_of_all_parts(in_parts: Victim) -> None:
    """Was a bug: as above, where the list of chunks is not found."""
    path, chance = in_parts.files.file, random.Random(6)
    data = in_parts.bytes_of(path)
    for cut in {0, 10, len(data) // 2, list_of_chunks(data).start, len(data) - 10, len(data) - 1}:
        in_parts.write(path, data[:cut])
        assert_refused_or_right(in_parts)
    for byte in chance.sample(range(list_of_chunks(data).start), int(100 * CAMPAIGN)):
        with in_parts.flipped(path, byte * 8):
            assert in_parts.survey() == set()
