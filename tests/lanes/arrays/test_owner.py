"""A file of a reel says which reel it is of, and is refused under another's name."""

from __future__ import annotations

import os
import shutil
import struct
import warnings
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

import playhead
from playhead import care, opening, owner, strictjson
from playhead.care import optimizing
from playhead.care.repairing import Deed, Repair
from playhead.errors import Misplaced
from playhead.lanes.arrays import codec, sealing
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.sealed import _MAGIC, _TAIL, VERSION, SealedFile
from playhead.layout import WHOLE, Layout, ReelFiles


def make(path: Path, *, close: bool = True, **config: Any) -> Path:
    """Make a store with one reel in each of two runs; frames say which."""
    with playhead.open(path) as store:
        for number in (1, 2):
            with store.run("p", "r", run_id=f"r{number}", environment=False) as run:
                reel = run.new_reel(config=ReplayConfig(**config))
                for step in range(60):
                    noise = np.random.default_rng(step).integers(0, 200, (16, 16), np.uint16)
                    noise[0, 0] = 100 * number + step
                    reel.step({"frames": noise}, 1.0, step == 59, False)
                    if step % 15 == 14:
                        reel.flush()
                if close:
                    reel.close()
                else:
                    reel.flush()
                    reel.abandon()
    return path


def swap(one: Path, other: Path) -> None:
    """Let two files or folders change places."""
    aside = one.with_name("aside")
    for source, target in ((one, aside), (other, one), (aside, other)):
        os.rename(source, target)


def first_pixel(path: Path, run: str, step: int) -> int:
    with playhead.open(path, mode="r") as store:
        return int(store.resolve(f"h5://{run}/frames/{step}")[0, 0])


def without_owner(path: Path, field: str | None = None) -> None:
    """Make a sealed file say what an earlier version let it say: no owner, or one without a field."""
    data = path.read_bytes()
    _, length, _, _ = _TAIL.unpack(data[-_TAIL.size :])
    end = len(data) - _TAIL.size - length
    whole = codec.expand_all(data[end : end + length], 1 << 30)
    (size,) = struct.unpack_from("<I", whole)
    head = strictjson.decode(whole[4 : 4 + size])
    if field is None:
        del head[owner.FIELD]
    else:
        del head[owner.FIELD][field]
    text = strictjson.encode(head)
    frame = codec.compress(struct.pack("<I", len(text)) + text + whole[4 + size :], 3)
    path.write_bytes(data[:end] + frame + _TAIL.pack(_MAGIC, len(frame), crc32(frame), VERSION))


def found_in(path: Path, *, full: bool) -> list[care.Finding]:
    return [finding for finding in care.verify(path, full=full) if not finding.is_harmless]


def repair(path: Path) -> list[Deed]:
    return list(Repair(Layout(path)).mend(care.verify(path, full=True)))


def test_a_swapped_file_is_refused_and_never_adopted(tmp_path: Path) -> None:
    path = make(tmp_path / "s")
    swap(path / "replay" / "r1.h5", path / "replay" / "r2.h5")
    with pytest.raises(Misplaced, match=r"reel 'r1'.*found.*reel 'r2'.*under their own names"):
        first_pixel(path, "r1", 3)
    for full in (False, True):
        found = found_in(path, full=full)
        assert {finding.path.name for finding in found} == {"r1.h5", "r2.h5"}
        assert all(finding.severity == "damage" and "rebuild" not in finding.mend for finding in found)
    problems = opening.rebuild(path)
    assert [type(problem) for problem in problems] == [Misplaced, Misplaced]
    with playhead.open(path) as store:
        assert sorted(run.id for run in store.runs) == ["r1", "r2"]
        assert store.sql("SELECT count(*) AS n FROM steps").to_pylist() == [{"n": 0}]
    deeds = repair(path)
    assert all(deed.left for deed in deeds if deed.path.suffix == ".h5")
    swap(path / "replay" / "r1.h5", path / "replay" / "r2.h5")
    opening.rebuild(path)
    assert first_pixel(path, "r1", 3) == 103
    assert not found_in(path, full=True)


def test_parts_say_their_numbers(tmp_path: Path) -> None:
    path = make(tmp_path / "s", segment_bytes=4000)
    files = Layout(path).replay.reel("r1")
    assert len(files.next_parts()) > 2
    for one, other in ((files.part(0), files.part(1)), (files.part(1), Layout(path).replay.reel("r2").part(1))):
        swap(one, other)
        with pytest.raises(Misplaced):
            Reel(files)
        assert {finding.path for finding in found_in(path, full=False)} >= {one}
        swap(one, other)


@pytest.mark.parametrize("is_resumed", [False, True])
def test_a_part_of_a_reel_is_not_taken_for_all_of_it(tmp_path: Path, is_resumed: bool) -> None:
    path = make(tmp_path / "s", segment_bytes=1 << 20 if is_resumed else 4000)
    if is_resumed:
        go_on(path)
    files = Layout(path).replay.reel("r1")
    assert len(files.next_parts()) > 2
    for number in range(len(files.next_parts()) - 1):
        shutil.copy(files.part(number), files.file)
        for read in (lambda: Reel(files), lambda: first_pixel(path, "r1", 59), lambda: go_on(path)):
            with pytest.raises(Misplaced, match=r"whole 'True'.*found.*whole 'False'"):
                read()
        for full in (False, True):
            assert [(one.path, one.severity) for one in found_in(path, full=full)] == [(files.file, "damage")]
    assert [type(problem) for problem in opening.rebuild(path)] == [Misplaced]
    repair(path)
    assert first_pixel(path, "r1", 59) == 159
    opening.rebuild(path)
    assert not found_in(path, full=True)


def test_a_part_that_was_moved_to_where_the_view_was_is_left_to_a_person(tmp_path: Path) -> None:
    path = make(tmp_path / "s")
    go_on(path)
    files = Layout(path).replay.reel("r1")
    files.part(1).rename(files.file)
    [deed] = [deed for deed in repair(path) if deed.path == files.file]
    assert deed.left
    assert files.file.exists()


def go_on(path: Path) -> None:
    """Add twenty steps to the reel of the first run, which become a part of their own."""
    with playhead.open(path) as store, store.run("p", "r", run_id="r1", resume=True, environment=False) as run:
        reel = run.new_reel()
        for step in range(60, 80):
            reel.step({"frames": np.full((16, 16), 100 + step, np.uint16)}, 1.0, step == 79, False)


def test_all_of_a_reel_is_not_taken_for_its_first_part(tmp_path: Path) -> None:
    path = make(tmp_path / "s")
    files = Layout(path).replay.reel("r1")
    whole = shutil.copy(files.file, tmp_path / "whole")
    go_on(path)
    shutil.copy(whole, files.part(0))
    with pytest.raises(Misplaced, match=r"whole 'False'.*found.*whole 'True'"):
        Reel(files)


@pytest.mark.parametrize("field", [None, WHOLE])
def test_a_reel_of_an_earlier_version_is_read_and_goes_on(tmp_path: Path, field: str | None) -> None:
    path = make(tmp_path / "s")
    files = Layout(path).replay.reel("r1")
    without_owner(files.file, field)
    next(path.glob("*/*/runs/r1/checksums.json")).unlink()
    assert first_pixel(path, "r1", 3) == 103
    go_on(path)
    assert [first_pixel(path, "r1", step) for step in (3, 59, 60, 79)] == [103, 159, 160, 179]
    for part in files.next_parts()[:-1]:
        if SealedFile(part).head.get(owner.FIELD, {}).get(WHOLE) is not None and field is not None:
            without_owner(part, field)
    sealing.write_view(files, 2)  # as an earlier version left it
    assert first_pixel(path, "r1", 79) == 179
    shutil.copy(files.part(0), files.file)
    found = found_in(path, full=False)
    assert any(finding.path == files.file and "view of" in finding.expected for finding in found)
    repair(path)
    assert first_pixel(path, "r1", 79) == 179


def test_a_journal_of_another_reel_is_not_read_nor_sealed(tmp_path: Path) -> None:
    path = make(tmp_path / "s", close=False)
    swap(path / "replay" / "r1.journal", path / "replay" / "r2.journal")
    with pytest.raises(Misplaced):
        first_pixel(path, "r1", 3)
    assert {finding.path.parent.name for finding in found_in(path, full=False)} == {"r1.journal", "r2.journal"}
    with playhead.open(path) as store, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Misplaced):
            store.compact()
    assert [type(problem) for problem in opening.rebuild(path)] == [Misplaced, Misplaced]
    swap(path / "replay" / "r1.journal", path / "replay" / "r2.journal")
    with playhead.open(path) as store:
        store.compact()
    opening.rebuild(path)
    assert [first_pixel(path, run, 3) for run in ("r1", "r2")] == [103, 203]


def test_files_of_earlier_versions_are_noted_and_compared_by_their_attribute(tmp_path: Path) -> None:
    path = make(tmp_path / "s")
    one, other = path / "replay" / "r1.h5", path / "replay" / "r2.h5"
    for file in (one, other):
        without_owner(file)
        next(path.glob(f"*/*/runs/{file.stem}/checksums.json")).unlink()
    assert first_pixel(path, "r1", 3) == 103
    assert not found_in(path, full=True)
    assert any(finding.path == one and "whose the file is" in finding.expected for finding in care.verify(path))
    swap(one, other)
    for full in (False, True):
        found = found_in(path, full=full)
        assert {finding.path for finding in found} == {one, other}
        assert all("rebuild" not in finding.mend for finding in found)
    assert [type(problem) for problem in opening.rebuild(path)] == [Misplaced, Misplaced]
    swap(one, other)
    opening.rebuild(path)
    with playhead.open(path) as store:
        optimizing.compact(store._home, level=9)
    assert not list(care.verify(path, full=True))  # what is made again says whose it is


def test_a_file_outside_of_a_store_may_have_another_name(tmp_path: Path) -> None:
    path = make(tmp_path / "s")
    copied = shutil.copy(path / "replay" / "r1.h5", tmp_path / "best.h5")
    with playhead.ReplayReader(copied) as reader:
        assert reader.num_steps == 60
    with pytest.raises(Misplaced):
        Reel(ReelFiles(tmp_path, "best"))
    shutil.copy(path / "replay" / "r1.h5", path / "replay" / "best.h5")
    with pytest.raises(Misplaced):
        playhead.ReplayReader(path / "replay" / "best.h5").open()
