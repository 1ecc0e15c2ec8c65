"""Damaged and made-up files: an error or the right states, never a wrong one.

Here a few hundred places; `make campaign` does every one.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash
import zstandard

from playhead import strictjson, zstd
from playhead.errors import Damaged, NotFound, PlayheadError, StoreTooNew
from playhead.journal import JournalWriter
from playhead.lanes.keyframes import blocks, sealed, tree
from playhead.signal.solo import tape_of
from playhead.tape import FACTS, HEAD, SAMPLES
from playhead.trace import Trace, TraceWriter
from playhead.trace.writing import recover
from tests.trace.made import State, append, history, record, update

STEPS = 60
IS_WHOLE = float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1")) >= 1
DUE = list(history(STEPS))


def places(size: int) -> Iterable[int]:
    return range(size) if IS_WHOLE else sorted(random.Random(5).sample(range(size), min(300, size)))


def assert_right_or_refused(path: Path) -> int | None:
    """Open a trace and read all of it; give how many steps it has, None where it is refused."""
    try:
        trace = Trace.open(path, update)
    except PlayheadError:
        return None
    try:
        for step in range(len(trace)):
            assert trace.timestamps[step] == 1000 + step
            assert trace.errors[step] == DUE[step][1]
            found: State = trace.seek(step)
            assert (found["n"], found["w"].tobytes()) == (DUE[step][0]["n"], DUE[step][0]["w"].tobytes())
            assert trace.input(step).tobytes() == DUE[step][2].tobytes()
        assert set(trace.marks) <= set(range(len(trace)))
    except Damaged:
        return None
    finally:
        trace.close()
    return len(trace)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return record(tmp_path_factory.mktemp("whole") / "x.trace", STEPS, bucket=4).read_bytes()


def test_every_flipped_byte_of_a_file(whole: bytes, tmp_path: Path) -> None:
    path, rng, refused = tmp_path / "x.trace", random.Random(6), 0
    for place in places(len(whole)):
        data = bytearray(whole)
        data[place] ^= rng.randrange(1, 256)
        path.write_bytes(data)
        found = assert_right_or_refused(path)
        assert found in (None, STEPS)
        refused += found is None
    assert refused > 0.95 * len(list(places(len(whole))))  # nearly every byte counts


def test_a_file_cut_at_any_length(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.trace"
    for size in places(len(whole)):
        path.write_bytes(whole[:size])
        assert assert_right_or_refused(path) is None
    path.write_bytes(whole + b"x")
    assert assert_right_or_refused(path) is None


def test_pieces_that_changed_places(whole: bytes, tmp_path: Path) -> None:
    path, rng = tmp_path / "x.trace", random.Random(8)
    for _ in range(100):
        a, b = sorted(rng.sample(range(12, len(whole) - 40), 2))
        size = rng.randint(1, 60)
        data = bytearray(whole)
        data[a : a + size], data[b : b + size] = whole[b : b + size], whole[a : a + size]
        path.write_bytes(bytes(data))
        assert assert_right_or_refused(path) in (None, STEPS)


def test_a_later_version_is_told_so(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.trace"
    later = (sealed.VERSION + 1).to_bytes(4, "little")
    written = indexed(whole, put("version", sealed.VERSION + 1))
    for data in (written, whole[:-1] + b"?"):  # one whose index says so, and one whose index nobody here can read
        path.write_bytes(data[:8] + later + data[12:])
        with pytest.raises(StoreTooNew, match="version 2"):
            Trace.open(path)


def test_a_flipped_version_is_damage_and_no_later_version(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.trace"
    without = indexed(whole, lambda content: content.pop("version"))  # as earlier versions wrote it
    for data in (whole, without):
        for bit in range(32):
            broken = bytearray(data)
            broken[8 + bit // 8] ^= 1 << bit % 8
            path.write_bytes(broken)
            with pytest.raises(Damaged, match="version 1 in its first bytes"):
                Trace.open(path)
        path.write_bytes(data)
        Trace.open(path).close()


def test_a_recording_that_lost_its_first_bytes_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.trace"
    writer = TraceWriter(path)
    writer.append(1.0)
    writer.flush()
    writer._tape.abandon()
    writer._ended = "abandoned"
    (segment,) = tape_of(path).glob("*.seg")
    os.truncate(segment, 100)
    with pytest.raises(NotFound, match=r"its recording, .*\.x\.trace\.recording, holds no whole beginning"):
        Trace.open(path)


# -- an index that is sound as bytes and says what cannot be -------------------------------------------------------------


def indexed(whole: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """Give the file with another index, its hash as it must be."""
    start, length, _, magic = sealed._FOOT.unpack(whole[-sealed._FOOT.size :])
    content = tree.unpack(zstd.expand_all(whole[start : start + length], 1 << 20))
    change(content)
    index = zstd.compress(tree.pack(content), 3)
    return whole[:start] + index + sealed._FOOT.pack(start, len(index), tree.digest(index), magic)


def put(name: str, value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda content: content.__setitem__(name, value)


def with_facts(**facts: Any) -> Callable[[dict[str, Any]], object]:
    return put("facts", strictjson.encode(facts).decode())


CHANGES: list[Callable[[dict[str, Any]], object]] = [
    lambda content: content.pop("hashes"),
    lambda content: content.pop("facts"),
    put("facts", "[1"),
    put("facts", "[]"),
    put("facts", 5),
    put("facts", 10**30),
    put("facts", np.array(5)),
    put("facts", '{"step": []}'),
    put("facts", '{"step": {"versions": 5}}'),
    put("facts", '{"step": {"versions": ["a"]}}'),
    put("marks", np.array(5)),
    put("length", -1),
    put("length", "60"),
    put("length", STEPS + 1),
    put("length", STEPS - 1),
    put("length", 1 << 60),
    put("marks", b"x"),
    put("marks", "text"),
    put("keyframes", np.array([5, 3], np.int64)),
    put("keyframes", "text"),
    put("keyframes", 7),
    put("hashes", np.zeros(5, np.uint8)),
    put("hashes", np.zeros(16, np.uint8)),
    lambda content: put("keyframes", content["keyframes"][::-1].copy())(content),
    lambda content: put("keyframes", content["keyframes"] - 1)(content),
    lambda content: put("keyframes", content["keyframes"].astype("f8") + 0.5)(content),
    lambda content: put("keyframes", content["keyframes"] * 100)(content),
    lambda content: put("offsets", content["offsets"] + 1)(content),
    lambda content: put("offsets", content["offsets"] + (1 << 62))(content),
    lambda content: put("offsets", content["offsets"].astype("i8") * -1)(content),
    lambda content: put("sizes", content["sizes"] + (1 << 50))(content),
    lambda content: put("sizes", content["sizes"][:-1])(content),
    lambda content: put("firsts", content["firsts"] + 1)(content),
    lambda content: put("firsts", content["firsts"] - 1)(content),
    lambda content: [put(name, content[name][:0])(content) for name in ("firsts", "at", "lengths", "sums")],
    lambda content: [put(name, np.repeat(content[name], 2))(content) for name in ("firsts", "at", "lengths", "sums")],
    lambda content: put("lengths", content["lengths"] + (1 << 45))(content),
    lambda content: put("at", content["at"] - 1)(content),
    lambda content: put("sums", content["sums"].reshape(1, -1))(content),
]


@pytest.mark.parametrize("change", CHANGES, ids=range(len(CHANGES)))
def test_an_index_that_cannot_be_is_refused(whole: bytes, tmp_path: Path, change: Any) -> None:
    path = tmp_path / "x.trace"
    path.write_bytes(indexed(whole, change))
    with pytest.raises(Damaged):
        trace = Trace.open(path, update)
        for step in range(len(trace)):
            trace.seek(step)
    with contextlib.suppress(Damaged):  # what is not looked at is carried along with its hash
        TraceWriter(path, resume=True).close()


@pytest.mark.parametrize("facts", [{}, {"step": 5}, {"parameters": [1]}, {"step": {"versions": 3, "name": []}}])
def test_odd_facts_do_no_harm(whole: bytes, tmp_path: Path, facts: dict[str, Any]) -> None:
    path = tmp_path / "x.trace"
    path.write_bytes(indexed(whole, with_facts(**facts)))
    try:
        trace = Trace.open(path)
        assert len(trace) == STEPS
        assert trace.facts == facts
        assert isinstance(dict(trace.parameters), dict)
    except Damaged:
        pass


def test_nothing_that_a_file_names_is_imported(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.trace"
    said = {"step": {"module": "antigravity", "name": "geohash", "source": "x", "versions": {"no such": "1"}}}
    path.write_bytes(indexed(whole, with_facts(**said)))
    with pytest.warns(RuntimeWarning, match="antigravity then"):
        trace = Trace.open(path, update)
    import sys

    assert len(trace) == STEPS
    assert "antigravity" not in sys.modules


def test_a_bomb_is_refused(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.trace"
    start = sealed._FOOT.unpack(whole[-sealed._FOOT.size :])[0]
    index = zstd.compress(bytes(1 << 28), 3)
    foot = sealed._FOOT.pack(start, len(index), tree.digest(index), sealed._MAGIC)
    path.write_bytes(whole[:start] + index + foot)
    with pytest.raises(Damaged):
        Trace.open(path)


@pytest.mark.parametrize("claimed", [blocks.MOST_BYTES + 1, 17 << 30, (1 << 64) - 3])
def test_a_block_that_says_to_be_larger_than_any_is_refused(whole: bytes, tmp_path: Path, claimed: int) -> None:
    """Before anything is made of it: the checksum is right, and the content all zeros."""
    path = tmp_path / "x.trace"
    magic, head = b"\x28\xb5\x2f\xfd", b"\xe0"  # a size of eight bytes, and one segment
    frame = magic + head + claimed.to_bytes(8, "little") + (1 << 17 << 3 | 0b011).to_bytes(3, "little") + b"\0"
    assert zstandard.frame_content_size(frame) == claimed
    start = sealed._FOOT.unpack(whole[-sealed._FOOT.size :])[0]

    def point_there(content: dict[str, Any]) -> None:
        where = {"at": start, "lengths": len(frame), "sums": xxhash.xxh3_64_intdigest(frame)}
        for name, value in where.items():
            content[name] = content[name].copy()
            content[name][0] = value

    changed = indexed(whole, point_there)
    index, foot = changed[start : -sealed._FOOT.size], changed[-sealed._FOOT.size :]
    _, length, hashed, end = sealed._FOOT.unpack(foot)
    path.write_bytes(whole[:start] + frame + index + sealed._FOOT.pack(start + len(frame), length, hashed, end))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(Damaged, match=f"at most {blocks.MOST_BYTES:,} bytes large, found Malformed: a frame of"):
        Trace.open(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 18  # KiB


# -- a tape ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def taped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording that died: a file of 20 steps and a tape of the others, in several records."""
    path = record(tmp_path_factory.mktemp("taped") / "x.trace", 20, bucket=4)
    writer = TraceWriter(path, resume=True)
    for stop in (30, 45, STEPS):
        append(writer, stop, start=len(writer))
        writer.flush()
    writer._tape.abandon()
    return path


def copied(taped: Path, tmp_path: Path) -> tuple[Path, Path]:
    folder = tmp_path / "copy"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(taped.parent, folder)
    (journal,) = (one for one in tape_of(folder / "x.trace").iterdir() if one.stat().st_size > 100)
    return folder / "x.trace", journal


def test_every_flipped_byte_of_a_tape(taped: Path, tmp_path: Path) -> None:
    path, journal = copied(taped, tmp_path)
    kept, rng = journal.read_bytes(), random.Random(6)
    for place in places(len(kept)):
        data = bytearray(kept)
        data[place] ^= rng.randrange(1, 256)
        journal.write_bytes(data)
        found = assert_right_or_refused(path)
        assert found is None or found >= 20


def test_a_tape_cut_at_any_length(taped: Path, tmp_path: Path) -> None:
    path, journal = copied(taped, tmp_path)
    kept, lengths = journal.read_bytes(), set()
    for size in places(len(kept)):
        journal.write_bytes(kept[:size])
        lengths.add(assert_right_or_refused(path))
    assert {20, 30, 45} <= lengths
    assert lengths <= {None, 20, 30, 45, STEPS}


def test_recovering_from_a_damaged_tape_loses_nothing(taped: Path, tmp_path: Path) -> None:
    """What it cannot read it refuses, and leaves as it is."""
    rng = random.Random(9)
    for _ in range(40 if not IS_WHOLE else 400):
        path, journal = copied(taped, tmp_path)
        data = bytearray(journal.read_bytes())
        data[rng.randrange(len(data))] ^= rng.randrange(1, 256)
        journal.write_bytes(data)
        sealed_before = path.read_bytes()
        try:
            recover(path)
        except Damaged:
            assert (path.read_bytes(), journal.read_bytes()) == (sealed_before, bytes(data))
            continue
        found = assert_right_or_refused(path)
        assert found is not None
        assert found >= 20


@pytest.mark.parametrize(
    ("what", "kind", "payload"),
    [
        (FACTS, 0, b"{"),
        (FACTS, 0, b"[]"),
        (FACTS, 0, b'{"base": "x", "facts": {}}'),
        (FACTS, 0, b'{"base": 7, "facts": {"version": 1}}'),
        (SAMPLES, 0, b"short"),
        (SAMPLES, 1, b"no block"),
        (SAMPLES, 1, zstd.compress(tree.pack({"first": 0}), 3)),
        (SAMPLES, 1, zstd.compress(tree.pack([1]), 3)),
    ],
)
def test_sound_records_that_say_what_cannot_be(tmp_path: Path, what: int, kind: int, payload: bytes) -> None:
    path = tmp_path / "x.trace"
    with JournalWriter(tape_of(path)) as journal:
        journal.append(HEAD.pack(what, kind), payload)
    for ask in (Trace.open, recover):
        with pytest.raises((Damaged, NotFound)):
            ask(path)


def test_a_tape_alone_of_foreign_bytes(tmp_path: Path) -> None:
    folder = tape_of(tmp_path / "x.trace")
    folder.mkdir()
    (folder / "00000001.log").write_bytes(b"something else" * 20)
    with pytest.raises((Damaged, NotFound)):
        Trace.open(tmp_path / "x.trace")
