"""Sealed files that somebody made up: their checksums are right, and what they say of themselves is not."""

from __future__ import annotations

import copy
import json
import os
import struct
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from playhead import zstd
from playhead.errors import Damaged, PlayheadError
from playhead.lanes.arrays import rows
from playhead.lanes.arrays.codec import Malformed
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.sealed import SealedFile
from tests.lanes.arrays.damage import ARRAYS, sealed

CAMPAIGN = float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))
TAIL = struct.Struct("<8sQII")

JUNK = st.sampled_from(
    [
        *(None, True, 0, 1, -1, 5, 2**62, 2**63, 2**70, -(2**70), 1.5),
        *("", "x", "..", "O", "V4", "<U4", "frames", "steps"),
        *([], [1], ["a"], [None], [{}], [[]], [10**9, 10**9]),
        *({}, {"a": 1}, {"x": "y"}, {"steps": 1}, {"steps": -1}),
    ]
)


class Crafted:
    """A sealed file of which the head can be exchanged."""

    def __init__(self, folder: Path) -> None:
        self.files = sealed(folder, 7).files
        data = self.files.file.read_bytes()
        self._magic, size, _, self._version = TAIL.unpack(data[-TAIL.size :])
        self._body = data[: -TAIL.size - size]
        whole = zstd.expand_all(data[-TAIL.size - size : -TAIL.size], 1 << 31)
        (text,) = struct.unpack_from("<I", whole)
        self.head: dict[str, Any] = json.loads(whole[4 : 4 + text])
        self._tables = whole[4 + text :]

    def write(self, head: Any, tables: bytes | None = None) -> None:
        text = json.dumps(head).encode()
        frame = zstd.compress(struct.pack("<I", len(text)) + text + (self._tables if tables is None else tables), 3)
        tail = TAIL.pack(self._magic, len(frame), crc32(frame), self._version)
        self.files.file.write_bytes(self._body + frame + tail)

    def spoil_offsets(self) -> bytes:
        tables = np.frombuffer(self._tables, [("offset", "<u8"), ("size", "<u4"), ("crc", "<u4")]).copy()
        tables["offset"] = 2**64 - 1
        return tables.tobytes()


@pytest.fixture(scope="module")
def crafted(tmp_path_factory: pytest.TempPathFactory) -> Crafted:
    return Crafted(tmp_path_factory.mktemp("crafted"))


def read_all(crafted: Crafted) -> None:
    reel = Reel(crafted.files)
    reel.rows(0, reel.length)
    reel.infos(0, reel.length)
    for name in reel.kinds:
        reel.present(name, 0, reel.length)
        reel.read(name, 0, reel.length)
    assert all(span.length > 0 for span in reel.spans)
    reel.beginning()
    reel.close()


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """List the ways to all values within JSON."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in inner for found in places(item, (*path, key)))]


def test_the_head_as_it_was_reads(crafted: Crafted) -> None:
    crafted.write(crafted.head)
    read_all(crafted)
    assert Reel(crafted.files).length == 7
    assert {*ARRAYS} <= {*Reel(crafted.files).kinds}


@pytest.mark.parametrize("what", ["bases", "lengths", "arrays", "groups", "agents", "facts", "notes", "always"])
def test_what_is_missing_is_named(crafted: Crafted, what: str) -> None:
    """Was a bug: a KeyError."""
    crafted.write({name: value for name, value in crafted.head.items() if name != what})
    with pytest.raises(Damaged, match=f"{what} of a replay"):
        Reel(crafted.files)


@settings(max_examples=int(3000 * CAMPAIGN), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_head_is_read_or_refused(crafted: Crafted, data: st.DataObject) -> None:
    """Whatever stands anywhere in it, no other error comes through, and no memory is asked for that nobody has."""
    head = copy.deepcopy(crafted.head)
    for _ in range(data.draw(st.integers(1, 2))):
        *way, last = data.draw(st.sampled_from(places(head)[1:]))
        owner = head
        for key in way:
            owner = owner[key]
        if data.draw(st.booleans()):
            owner[last] = copy.deepcopy(data.draw(JUNK))  # it may be changed in the next round
        else:
            del owner[last]
        if not head:
            break
    crafted.write(head)
    try:
        read_all(crafted)
    except PlayheadError as error:
        assert crafted.files.id in str(error)  # which names the reel


@pytest.mark.parametrize("head", [None, 5, [], "x", {}, [{}]], ids=repr)
def test_a_head_that_is_none(crafted: Crafted, head: Any) -> None:
    crafted.write(head)
    with pytest.raises(Damaged):
        Reel(crafted.files)


def test_chunks_behind_the_end_of_all_files(crafted: Crafted) -> None:
    """Was a bug: the system's call could not take the number, and the check of the whole file never ended."""
    crafted.write(crafted.head, crafted.spoil_offsets())
    with pytest.raises(Damaged, match="the end of the file"):
        read_all(crafted)
    assert list(SealedFile(crafted.files.file).flaws())


@settings(max_examples=int(1000 * CAMPAIGN), deadline=None)
@given(st.data())
def test_notes_of_a_journal_are_checked_as_well(data: st.DataObject) -> None:
    note = {"end": 1, "row": 2, "how": "closed", "ns": 5, "finals": 0, "arrays": ["frames"], "facts": {}}
    key = data.draw(st.sampled_from(sorted(note)))
    wrong = data.draw(JUNK)
    notes = [note | {key: wrong}]
    try:
        block = rows.unpack(b"".join(rows.pack(0, [], notes)))
    except Malformed:
        return
    assert block.notes == notes
    assert key == "ns" or type(wrong) is type(note[key])
