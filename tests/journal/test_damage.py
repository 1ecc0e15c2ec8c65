"""Cut, flipped, zeroed, swapped, strayed: no wrong payload is ever given, and all that can be read is."""

from __future__ import annotations

import contextlib
import os
import random
from pathlib import Path

import pytest

from playhead.errors import Damaged
from playhead.journal import Damage, JournalReader, JournalWriter, Position

CAMPAIGN = float(os.environ.get("PLAYHEAD_CAMPAIGN", "1"))
SIZES = (5, 0, 40, 1, 110, 230, 17, 0, 60, 3, 90, 8)
PAYLOADS = [random.Random(n).randbytes(size) for n, size in enumerate(SIZES)]
HEADER = 32


class Sample:
    """A small journal in several segments, whose files can be put back as they were."""

    def __init__(self, folder: Path, segment_bytes: int = 220) -> None:
        self.folder = folder
        with JournalWriter(folder, segment_bytes=segment_bytes) as writer:
            self.positions = [writer.append(payload) for payload in PAYLOADS]
        self.files = {path.name: path.read_bytes() for path in sorted(folder.glob("*.seg"))}
        self.newest = max(self.files)

    def restore(self) -> None:
        for path in self.folder.glob("*.seg"):
            if path.name not in self.files:
                path.unlink()
        for name, data in self.files.items():
            path = self.folder / name
            if not path.exists() or path.read_bytes() != data:
                self.write(name, data)

    def write(self, name: str, data: bytes) -> None:
        (self.folder / name).unlink(missing_ok=True)  # some file systems wait for the disk where a file is emptied
        (self.folder / name).write_bytes(data)

    def hit(self, name: str, start: int, stop: int) -> set[int]:
        """Name the records that own a byte between start and stop."""
        return {p.number for p in self.positions if p.segment == int(name[:-4]) and p.offset < stop and start < p.end}

    def last_of(self, name: str) -> int:
        return max(p.number for p in self.positions if p.segment == int(name[:-4]))


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    made = Sample(tmp_path / "journal")
    assert len(made.files) == 5
    return made


def read(folder: Path) -> tuple[dict[int, bytes], list[Damage]]:
    with JournalReader(folder) as reader:
        records = list(reader.poll())
    numbers = [record.position.number for record in records]
    assert numbers == sorted(set(numbers))
    return {record.position.number: record.payload for record in records}, reader.damage


def without(lost: set[int]) -> dict[int, bytes]:
    return {number: payload for number, payload in enumerate(PAYLOADS) if number not in lost}


def hop_and_read(folder: Path, expected: list[Position] | None = None) -> dict[int, bytes]:
    """Read what positions found without checks give; they must be true ones, but their payloads may be damaged."""
    found = {}
    with JournalReader(folder) as reader:
        for position in reader.poll_positions(verify=False):
            assert expected is None or position == expected[position.number]
            with contextlib.suppress(Damaged):
                found[position.number] = reader.read(position)
    return found


def check_that_writing_goes_on(folder: Path, kept: dict[int, bytes]) -> None:
    """Open the journal, add a record, and find all that was there and the new one."""
    with JournalWriter(folder) as writer:
        number = writer.append(b"new").number
    found, _ = read(folder)
    assert found == {**kept, number: b"new"}


# -- cuts -------------------------------------------------------------------------------------------------------------


def test_a_cut_of_the_newest_segment_at_every_byte_leaves_the_whole_records_before_it(sample: Sample) -> None:
    data = sample.files[sample.newest]
    for cut in range(len(data)):
        sample.restore()
        sample.write(sample.newest, data[:cut])
        here = [p for p in sample.positions if p.segment == int(sample.newest[:-4])]
        kept = without({p.number for p in here if p.end > cut})
        assert read(sample.folder) == (kept, []), cut
        assert hop_and_read(sample.folder) == kept
        with JournalWriter(sample.folder) as writer:
            assert (writer.cut is None) == (cut in {0, HEADER, *(p.end for p in here)}), cut
            assert writer.append(b"new").number == len(kept)
        assert read(sample.folder) == ({**kept, len(kept): b"new"}, [])


def test_a_cut_of_an_older_segment_at_every_byte_is_damage(sample: Sample) -> None:
    for name, data in sample.files.items():
        if name == sample.newest:
            continue
        for cut in range(len(data)):
            sample.restore()
            sample.write(name, data[:cut])
            kept = without({p.number for p in sample.positions if p.segment == int(name[:-4]) and p.end > cut})
            found, damage = read(sample.folder)
            assert found == kept, (name, cut)
            assert damage, (name, cut)
            assert hop_and_read(sample.folder) == kept
        check_that_writing_goes_on(sample.folder, kept)


# -- flipped bits -----------------------------------------------------------------------------------------------------


def test_a_flipped_bit_anywhere_costs_at_most_its_own_record(sample: Sample) -> None:
    bits = range(8) if CAMPAIGN >= 4 else [None]
    for name, data in sample.files.items():
        for at in range(len(data)):
            for bit in bits:
                sample.restore()
                broken = bytearray(data)
                broken[at] ^= 1 << (at * 5 % 8 if bit is None else bit)
                sample.write(name, broken)
                check_flipped(sample, name, at)


def check_flipped(sample: Sample, name: str, at: int) -> None:
    lost = sample.hit(name, at, at + 1)
    kept = without(lost)
    found, damage = read(sample.folder)
    assert found == kept, (name, at)
    is_tail = name == sample.newest and sample.last_of(name) in lost
    assert is_tail or any(d.path.name == name and d.start <= at < d.stop for d in damage), (name, at, damage)
    if not is_tail:
        with pytest.raises(Damaged, match=name), JournalReader(sample.folder, strict=True) as reader:
            list(reader.poll())
    assert hop_and_read(sample.folder, sample.positions) == kept, (name, at)
    for number in lost:
        with pytest.raises(Damaged, match=name), JournalReader(sample.folder) as reader:
            reader.read(sample.positions[number])
    if at % 6 == 0 or CAMPAIGN > 1:
        check_that_writing_goes_on(sample.folder, kept)


def test_a_flipped_bit_in_a_journal_of_one_segment_costs_at_most_its_own_record(tmp_path: Path) -> None:
    """Also in its only header, without which the salt must be learned from the frames."""
    sample = Sample(tmp_path / "journal", segment_bytes=1 << 20)
    assert len(sample.files) == 1
    for at in [*range(HEADER + 40), *range(HEADER + 40, len(sample.files[sample.newest]), 7)]:
        sample.restore()
        broken = bytearray(sample.files[sample.newest])
        broken[at] ^= 1 << (at % 8)
        sample.write(sample.newest, broken)
        check_flipped(sample, sample.newest, at)


# -- larger wounds ----------------------------------------------------------------------------------------------------


def test_bytes_overwritten_anywhere_cost_only_the_records_they_belong_to(sample: Sample) -> None:
    chance = random.Random(7)
    for _ in range(int(150 * CAMPAIGN)):
        sample.restore()
        name = chance.choice(list(sample.files))
        data = bytearray(sample.files[name])
        start = chance.randrange(len(data))
        stop = min(len(data), start + chance.choice([2, 30, 100, 512]))
        data[start:stop] = chance.choice(
            [bytes(stop - start), chance.randbytes(stop - start), data[:1] * (stop - start)]
        )
        sample.write(name, data)
        kept = without(sample.hit(name, start, stop))
        found, _ = read(sample.folder)
        # A wound that happens to write back a byte as it was may spare a record.
        assert kept.items() <= found.items() <= without(set()).items()
        assert hop_and_read(sample.folder) == found
        check_that_writing_goes_on(sample.folder, found)


def test_a_zeroed_first_page_leaves_the_records_behind_it(tmp_path: Path) -> None:
    with JournalWriter(tmp_path) as writer:
        positions = [writer.append(bytes([n]) * 1000) for n in range(20)]
    path = tmp_path / "000000.seg"
    path.write_bytes(bytes(4096) + path.read_bytes()[4096:])
    found, damage = read(tmp_path)
    first = next(p for p in positions if p.offset >= 4096)
    assert found == {n: bytes([n]) * 1000 for n in range(first.number, 20)}
    assert damage[0] == Damage(path, 0, first.offset, "no record can be read here")
    check_that_writing_goes_on(tmp_path, found)


def test_the_record_behind_a_large_wound_is_found_wherever_it_begins(tmp_path: Path) -> None:
    """Also where its mark lies across two of the blocks that the search reads."""
    for more in range(-30, 10):
        folder = tmp_path / str(more)
        with JournalWriter(folder) as writer:
            position = writer.append(bytes((256 << 10) + more))
            writer.append(b"found")
        path = folder / "000000.seg"
        data = bytearray(path.read_bytes())
        data[position.offset] ^= 1
        path.write_bytes(data)
        assert read(folder)[0] == {1: b"found"}, more


def test_damage_says_which_records_are_gone(sample: Sample) -> None:
    victim = sample.positions[2]
    name = f"{victim.segment:06}.seg"
    data = bytearray(sample.files[name])
    data[victim.offset + 30] ^= 1
    sample.write(name, data)
    path = sample.folder / name
    assert read(sample.folder)[1] == [
        Damage(path, victim.offset, victim.end, "no record can be read here"),
        Damage(path, victim.end, victim.end, "records 2 to 2 are missing"),
    ]


def test_a_strict_reader_gives_what_comes_before_the_damage_and_then_raises_every_time(sample: Sample) -> None:
    victim = sample.positions[2]
    name = f"{victim.segment:06}.seg"
    data = bytearray(sample.files[name])
    data[victim.offset] ^= 1
    sample.write(name, data)
    with JournalReader(sample.folder, strict=True) as reader:
        poll = reader.poll()
        assert [next(poll).payload, next(poll).payload] == PAYLOADS[:2]
        for again in (poll, reader.poll(), reader.poll_positions(verify=False)):
            with pytest.raises(Damaged) as caught:
                next(again)
            assert caught.value.path == str(sample.folder / name)


@pytest.mark.parametrize("junk", [b"\0" * 5000, random.Random(1).randbytes(5000), b"\xf5\x9bPr" * 40, b"x"])
def test_junk_behind_the_last_record_is_not_there_yet_and_then_cut_off(sample: Sample, junk: bytes) -> None:
    size = len(sample.files[sample.newest])
    sample.write(sample.newest, sample.files[sample.newest] + junk)
    assert read(sample.folder) == (without(set()), [])
    with JournalWriter(sample.folder) as writer:
        assert writer.cut == Damage(sample.folder / sample.newest, size, size + len(junk), "it was written in part")
    assert (sample.folder / sample.newest).stat().st_size == size
    check_that_writing_goes_on(sample.folder, without(set()))
    assert read(sample.folder)[1] == []


def test_junk_behind_an_older_segment_is_damage_and_costs_nothing(sample: Sample) -> None:
    for name, data in sample.files.items():
        if name != sample.newest:
            sample.restore()
            sample.write(name, data + b"junk")
            damage = Damage(
                sample.folder / name, len(data), len(data) + 4, "no record can be read from here to the end"
            )
            assert read(sample.folder) == (without(set()), [damage])


def test_damage_with_records_behind_it_is_never_cut_off(sample: Sample) -> None:
    """Writing goes on in a new segment, so that a repair may yet get at the bytes."""
    newest, data = sample.newest, bytearray(sample.files[sample.newest])
    data[HEADER] ^= 1
    sample.write(newest, data + b"torn")
    with JournalWriter(sample.folder) as writer:
        assert writer.segment == int(newest[:-4]) + 1
        assert writer.cut == Damage(sample.folder / newest, len(data), len(data) + 4, "it was written in part")
        writer.append(b"new")
    assert (sample.folder / newest).read_bytes() == data


def test_a_newest_segment_that_is_something_else_is_left_alone(sample: Sample) -> None:
    """A crash leaves less than a header or a header; a longer file without one is evidence."""
    content = random.Random(3).randbytes(1000)
    name = f"{int(sample.newest[:-4]) + 1:06}.seg"
    sample.write(name, content)
    assert read(sample.folder) == (without(set()), [])
    check_that_writing_goes_on(sample.folder, without(set()))
    assert (sample.folder / name).read_bytes() == content
    assert [(d.path.name, d.start, d.stop) for d in read(sample.folder)[1]] == [(name, 0, 1000)]


# -- segments that are not where they belong --------------------------------------------------------------------------


def test_swapped_segments_are_named_and_the_others_read(sample: Sample) -> None:
    names = list(sample.files)
    for one, other in [(0, 1), (1, 3), (3, 4), (0, 4)]:
        sample.restore()
        sample.write(names[one], sample.files[names[other]])
        sample.write(names[other], sample.files[names[one]])
        kept = without({p.number for p in sample.positions if p.segment in (one, other)})
        found, damage = read(sample.folder)
        assert found == kept
        assert {names[one], names[other]} <= {d.path.name for d in damage}
        assert f"it is segment {other}" in {d.reason for d in damage}
        check_that_writing_goes_on(sample.folder, kept)


def test_a_segment_of_another_journal_is_named_and_never_read(sample: Sample, tmp_path: Path) -> None:
    """One that counts alike, so that nothing but the salt tells them apart."""
    other = Sample(tmp_path / "other")
    for name in sample.files:
        sample.restore()
        sample.write(name, other.files[name])
        kept = without({p.number for p in sample.positions if p.segment == int(name[:-4])})
        found, damage = read(sample.folder)
        assert found == kept
        assert (name, "it is a segment of another journal") in {(d.path.name, d.reason) for d in damage}
        check_that_writing_goes_on(sample.folder, kept)


def test_a_stale_end_of_another_journal_behind_ours_is_never_read(sample: Sample, tmp_path: Path) -> None:
    other = Sample(tmp_path / "other")
    for name in sample.files:
        for p in sample.positions:
            if p.segment == int(name[:-4]):
                sample.restore()
                sample.write(name, sample.files[name][: p.offset] + other.files[name][p.offset :])
                assert read(sample.folder)[0] == without(
                    {q.number for q in sample.positions if q.segment == p.segment and q.number >= p.number}
                )


def test_a_record_in_another_place_of_its_journal_is_never_read(sample: Sample) -> None:
    source = sample.positions[6]
    frame = sample.files[f"{source.segment:06}.seg"][source.offset : source.end]
    for name, data in sample.files.items():
        sample.restore()
        sample.write(name, data + frame)
        found, damage = read(sample.folder)
        assert found == without(set())
        assert bool(damage) == (name != sample.newest)


def test_a_missing_segment_is_damage_unless_all_before_it_are_gone_too(sample: Sample) -> None:
    names = list(sample.files)
    for name in names[1:-1]:
        sample.restore()
        (sample.folder / name).unlink()
        found, damage = read(sample.folder)
        assert found == without({p.number for p in sample.positions if p.segment == int(name[:-4])})
        assert Damage(sample.folder / name, 0, 0, "the segment is missing") in damage
    sample.restore()
    for name in names[:-1]:
        (sample.folder / name).unlink()
        found, damage = read(sample.folder)
        assert found == without({p.number for p in sample.positions if p.segment <= int(name[:-4])})
        assert damage == []
    check_that_writing_goes_on(sample.folder, found)


def test_a_reader_may_start_at_a_later_segment(sample: Sample) -> None:
    with JournalReader(sample.folder, start=2, strict=True) as reader:
        assert {r.position.segment for r in reader.poll()} == {2, 3, 4}


def test_nothing_readable_at_all_is_nothing_yet(tmp_path: Path) -> None:
    for content in (b"", b"x", bytes(HEADER), b"x" * 5000):
        (tmp_path / "000000.seg").write_bytes(content)
        with JournalReader(tmp_path, strict=True) as reader:
            assert list(reader.poll()) == []
            with pytest.raises(Damaged):
                reader.read(Position(0, 32, 0, 1))
    check_that_writing_goes_on(tmp_path, {})


def test_an_idle_poll_does_not_search_the_same_torn_end_again(tmp_path: Path) -> None:
    """Else a page that watches a crashed recording would read megabytes at every look."""
    with JournalWriter(tmp_path) as writer:
        writer.append(b"x" * 1_000_000)
    os.truncate(tmp_path / "000000.seg", 900_000)

    def bytes_read() -> int:
        return int(Path("/proc/self/io").read_text().split()[1])

    with JournalReader(tmp_path) as reader:
        before = bytes_read()
        assert list(reader.poll()) == []
        first = bytes_read() - before
        assert first > 800_000
        for _ in range(5):
            before = bytes_read()
            assert list(reader.poll()) == []
            assert bytes_read() - before < first / 2
