"""Damaged journals: what is damaged is named, the rest reads, recording goes on, and no wrong byte is ever given."""

from __future__ import annotations

import itertools
import os
import random
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from playhead.errors import Damaged
from playhead.journal import JournalReader, Position
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.reeltape import RECORD, ROWS_NUMBER
from playhead.lanes.arrays.rows import unpack
from playhead.lanes.arrays.writer import ReelWriter
from playhead.tape import DECLARATION, HEAD
from tests.lanes.arrays.damage import ARRAYS, INFOS, ROWS, Lost, Victim, unsealed
from tests.lanes.arrays.reels import noise, patterned

CAMPAIGN = float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))
COUNT = 15


@pytest.fixture(scope="module", params=[1 << 20, 1500], ids=["one segment", "several segments"])
def victim(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Victim:
    made = Victim(unsealed(tmp_path_factory.mktemp("journal"), COUNT, request.param))
    assert (len(segments(made)) == 1) == (request.param > 10_000)
    return made


@pytest.fixture(autouse=True)
def _put_back(victim: Victim) -> Iterator[None]:
    yield
    victim.restore()


def segments(victim: Victim) -> list[Path]:
    return sorted(victim.files.journal.glob("*.seg"))


class Records:
    """What each record of a whole journal holds."""

    def __init__(self, victim: Victim) -> None:
        self.everything = {(what, row) for what in (ROWS, INFOS, *ARRAYS) for row in range(victim.length)}
        self.held: list[tuple[Position, Lost]] = []
        named: dict[int, tuple[str, str]] = {}
        with JournalReader(victim.files.journal) as reader:
            for position, payload in reader.poll():
                what, number = HEAD.unpack_from(payload)
                if what == DECLARATION:
                    named[number] = self._named(payload)
                    self.held.append((position, self.everything))
                elif number == ROWS_NUMBER:
                    block = unpack(memoryview(payload)[HEAD.size :])
                    rows = range(block.first, block.first + len(block.rows))
                    # A step whose row is lost has no arrays either: nobody knows which it had.
                    self.held.append((position, {one for one in self.everything if one[1] in rows}))
                else:
                    axis, name = named[number]
                    first, count, *_ = RECORD.unpack_from(payload, HEAD.size)
                    rows = range(first, first + count) if axis == "steps" else range(0)
                    self.held.append((position, {(name, row) for row in rows}))

    def _named(self, payload: bytes) -> tuple[str, str]:
        text = payload[HEAD.size :].decode()
        axis = text.partition('"axis":"')[2].partition('"')[0]
        return axis, text.partition('"name":"')[2].partition('"')[0]

    def at(self, segment: int, byte: int) -> Lost:
        """Give what may be lost with a byte."""
        for position, lost in self.held:
            if position.segment == segment and position.offset <= byte < position.end:
                return lost
        return set()  # the head of a segment, without which its frames are found all the same


# -- flipped bits -----------------------------------------------------------------------------------------------------


def test_a_flipped_bit_costs_at_most_what_its_record_holds(victim: Victim) -> None:
    """Were bugs: the kind, the number and the rows of a record are believed unchecked, so that others cannot be read; and
    a final observation whose record is lost is read as zeros.
    """
    records, chance = Records(victim), random.Random(1)
    for path in segments(victim):
        data = victim.bytes_of(path)
        hits = set(chance.sample(range(len(data)), min(len(data), int(400 * CAMPAIGN / len(segments(victim))))))
        for position, _ in records.held:  # of every record its head, and what the lane says of it
            if position.segment == int(path.stem):
                hits |= set(
                    chance.sample(
                        range(position.offset, position.offset + 24 + HEAD.size + RECORD.size), 1 if CAMPAIGN < 1 else 8
                    )
                )
        for byte in sorted(hits):
            with victim.flipped(path, byte * 8 + chance.randrange(8)):
                allowed = records.at(int(path.stem), byte)
                lost = victim.survey()
                assert lost <= allowed, (path.name, byte, sorted(lost - allowed)[:5])


# -- cuts and junk ----------------------------------------------------------------------------------------------------


def test_a_cut_keeps_what_comes_before_it(victim: Victim) -> None:
    records, chance = Records(victim), random.Random(3)
    for path in segments(victim):
        data = victim.bytes_of(path)
        for cut in {0, 1, 31, 32, *chance.sample(range(len(data)), int(150 * CAMPAIGN))}:
            with victim.replaced(path, data[:cut]):
                allowed = set().union(*(records.at(int(path.stem), byte) for byte in range(cut, len(data), 8)))
                assert victim.survey() <= allowed, (path.name, cut)


@pytest.mark.parametrize("junk", [b"\0" * 300, b"\xf5\x9bPr" * 40, random.Random(1).randbytes(1000)], ids=len)
def test_junk_behind_the_last_record_costs_nothing(victim: Victim, junk: bytes) -> None:
    for path in segments(victim):
        with victim.replaced(path, victim.bytes_of(path) + junk):
            assert victim.survey() == set()


def test_a_segment_that_is_missing_is_noticed(victim: Victim) -> None:
    """Was a bug: where one in the middle is missing, its rows are read as whatever lies in memory."""
    records, paths = Records(victim), segments(victim)
    for path in paths:
        with victim.replaced(path, None):
            rows = {
                row
                for position, held in records.held
                if position.segment == int(path.stem) and held != records.everything
                for what, row in held
                if what == ROWS
            }
            lost = victim.survey()
            assert {row for _, row in lost} <= rows
            if path not in (paths[0], paths[-1]):
                assert {row for what, row in lost if what == ROWS} == rows
                assert Reel(victim.files).damage


def test_swapped_segments_are_never_read_wrong(victim: Victim) -> None:
    paths = segments(victim)
    for one, other in itertools.pairwise(paths):
        victim.write(one, victim.bytes_of(other))
        victim.write(other, victim.bytes_of(one))
        assert victim.survey() != set()
        victim.restore()


def test_a_segment_of_another_journal_is_never_read(victim: Victim, tmp_path: Path) -> None:
    other = Victim(unsealed(tmp_path, COUNT, victim.recording.config.segment_bytes))
    for mine, theirs in zip(segments(victim), segments(other), strict=True):
        if len(segments(victim)) > 1:  # alone, it is the journal
            with victim.replaced(mine, other.bytes_of(theirs)):
                lost = victim.survey()
                assert lost
                assert Reel(victim.files).damage


# -- recording goes on ------------------------------------------------------------------------------------------------


def go_on(victim: Victim, count: int) -> tuple[int, int]:
    """Record on behind what can be read; give from where to where."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        writer = ReelWriter(victim.files, victim.recording.config)
    first = writer.row
    for number in range(first, first + count):
        arrays = {
            "observations": patterned(number, (6,), "i2"),
            "actions": np.array(number),
            "frames": noise(7, (5, 4)),
        }
        writer.step(arrays, number, False, False)
        writer.flush()
        writer.writer.run_now()
    writer.close()
    return first, first + count


def test_recording_goes_on_behind_damage(victim: Victim) -> None:
    """Were bugs: once a segment could not be sealed, every roll raises its damage at the next step and every close again;
    and segments that were sealed and removed behind it count as missing, so that whole ones are not sealed either.
    """
    records, chance = Records(victim), random.Random(5)
    paths = segments(victim)
    for position, _ in chance.sample(records.held, min(len(records.held), max(4, int(40 * CAMPAIGN)))):
        path = paths[position.segment]
        with victim.flipped(path, (position.offset + 24 + chance.randrange(max(1, position.length))) * 8):
            before = victim.survey()
            first, end = go_on(victim, 25)
            readable = {one for one in records.everything if one not in before and one[1] < first}
            reel = Reel(victim.files)
            assert reel.length == end
            for what, row in readable:
                assert_still_right(victim, reel, what, row)
            for row in range(first):
                victim.assert_right_or_refused(reel, row)
            for row in range(first, end):
                assert reel.row("actions", row) == row
                assert reel.rows(row, row + 1)["reward"].tolist() == [row]
            reel.close()
            assert len(list(victim.files.journal.glob("*.seg"))) <= len(paths)


def assert_still_right(victim: Victim, reel: Reel, what: str, row: int) -> None:
    step = victim.recording.steps[row]
    if what == ROWS:
        assert reel.rows(row, row + 1)["reward"].tolist() == [step.reward]
    elif what == INFOS:
        assert reel.infos(row, row + 1) == [step.info]
    else:
        found, expected = reel.row(what, row), step.arrays.get(what)
        assert (found is None) == (expected is None)
        assert found is None or expected is None or found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("where", ["in what the lane says of the record", "in its data"])
def test_a_warning_says_that_something_was_damaged(victim: Victim, where: str) -> None:
    """Was a bug: a record whose kind or number is damaged is passed over when it is sealed, and its rows are zero then."""
    position = next(position for position, held in Records(victim).held if ("frames", 3) in held and len(held) < 3)
    byte = position.offset + 24 + (1 if where.startswith("in what") else HEAD.size + RECORD.size + 3)
    with victim.flipped(segments(victim)[position.segment], byte * 8):
        with pytest.warns(RuntimeWarning, match=rf"{position.segment:06}\.seg"):
            writer = ReelWriter(victim.files, victim.recording.config)
        writer.close()
        with pytest.raises(Damaged, match=rf"{position.segment:06}\.seg"):
            Reel(victim.files).read("frames", 3, 4)
