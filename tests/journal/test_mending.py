"""After a power cut: what was never written ends a journal, what the medium damaged does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from playhead.journal import JournalReader, JournalWriter, cut_lost

PAYLOADS = [bytes([number + 1]) * 300 for number in range(40)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with JournalWriter(tmp_path / "journal", segment_bytes=4200) as writer:
        for payload in PAYLOADS:
            writer.append(payload)
    assert len(list((tmp_path / "journal").glob("*.seg"))) == 4
    return tmp_path / "journal"


def read(folder: Path) -> list[bytes]:
    with JournalReader(folder, strict=True) as reader:
        return [record.payload for record in reader.poll()]


def check(folder: Path, least: int) -> None:
    """The journal is the beginning of what was written, and can be gone on with."""
    found = read(folder)
    assert found == PAYLOADS[: len(found)]
    assert len(found) >= least
    with JournalWriter(folder) as writer:
        assert writer.number == len(found)
        writer.append(b"more")
    assert read(folder) == [*found, b"more"]


@pytest.mark.parametrize("segment", range(4))
@pytest.mark.parametrize("at", range(0, 3600, 512))
def test_a_block_that_was_never_written_ends_it(folder: Path, segment: int, at: int) -> None:
    path = folder / f"{segment:06}.seg"
    data = bytearray(path.read_bytes())
    data[at : at + 512] = bytes(len(data[at : at + 512]))
    path.write_bytes(data)
    cut_lost(folder)
    check(folder, min(12 * segment + max(0, at // 324 - 1), len(PAYLOADS)))


@pytest.mark.parametrize("segment", range(3))
@pytest.mark.parametrize("size", [0, 20, 32, 40, 356, 357, 1000, 3900])
def test_a_segment_that_ends_early_ends_it(folder: Path, segment: int, size: int) -> None:
    path = folder / f"{segment:06}.seg"
    path.write_bytes(path.read_bytes()[:size])
    assert cut_lost(folder) is not None
    check(folder, 0)


def test_a_segment_that_has_no_name_ends_it(folder: Path) -> None:
    (folder / "000001.seg").unlink()
    assert cut_lost(folder) is not None
    check(folder, 12)


@pytest.mark.parametrize("at", [60, 700, 2000, 3900])
def test_what_the_medium_damaged_stays(folder: Path, at: int) -> None:
    path = folder / "000001.seg"
    data = bytearray(path.read_bytes())
    data[at] ^= 16
    path.write_bytes(data)
    before = {one.name: one.read_bytes() for one in folder.glob("*.seg")}
    assert cut_lost(folder) is None
    assert {one.name: one.read_bytes() for one in folder.glob("*.seg")} == before


def test_one_that_is_whole_or_written_or_gone_stays(folder: Path) -> None:
    assert cut_lost(folder) is None
    assert read(folder) == PAYLOADS
    (folder / "000001.seg").unlink()
    with JournalWriter(folder):
        assert cut_lost(folder) is None
    assert cut_lost(folder / "gone") is None
