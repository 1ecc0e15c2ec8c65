"""What lies behind a frame."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.lanes.live.metadata import ROOM, Head, Metadata, rest, unpack
from playhead.process import Process

PLACE = Process(1234567, 2**40, "0f" * 18 + "/pid:[4026531836]", "h" * 64)


@given(step=st.integers(0, 2**63), episode=st.integers(0, 2**40), total=st.floats(), ts_ns=st.integers(0, 2**63))
def test_it_comes_back_as_it_was(step: int, episode: int, total: float, ts_ns: int) -> None:
    head = Head(PLACE, "r" * 100, {"env_id": "ALE/Pong-v5"})
    data = head.lead + rest(step, episode, total, ts_ns)
    assert len(data) <= ROOM
    found = unpack(data)
    expected = total if math.isfinite(total) else None
    assert found == Metadata(PLACE, "r" * 100, step, episode, expected, ts_ns, {"env_id": "ALE/Pong-v5"})
    assert json.loads(data)["step"] == step


def test_facts_that_have_no_room_are_left_out() -> None:
    head = Head(PLACE, "r" * 128, {"note": "x" * 400})
    data = head.lead + rest(2**63, 2**40, -1.2345678901234567e-100, 2**63)
    assert len(data) <= ROOM
    assert unpack(data).facts == {}
    assert unpack(data).writer == PLACE


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff", b"[]", b"7", b'{"writer": 7}', b'{"writer": {"pid": "x", "started": 1, "place": "", "hostname": ""}}',
     b'{"step": "7", "episode": 1.5, "run_id": 5, "facts": [1], "ts_ns": true}', b"[" * 100_000, b'{"writer": null',
     *(b'{"writer": {"pid": %b, "started": %b, "place": "p", "hostname": "h"}}' % numbers for numbers in
       [(b"1e999", b"1"), (b"1e308", b"1"), (b"-1", b"1"), (b"0", b"1"), (b"9" * 400, b"1"), (b"9" * 5000, b"1"),
        (b"1", b"1e999"), (b"1", b"-1"), (b"1", b"9" * 30), (b'"1"', b"1"), (b"true", b"1"), (b"NaN", b"1")])],
)  # fmt: skip
def test_what_strangers_write_is_left_out(data: bytes) -> None:
    assert unpack(data) == Metadata()


@pytest.mark.parametrize("run_id", ['"' * 200, "\\" * 200, "a" * 200, "ü" * 100, "日" * 66])
def test_every_run_id_has_room(run_id: str) -> None:
    head = Head(PLACE, run_id, {"env_id": "ALE/Pong-v5"})
    data = head.lead + rest(2**63, 2**63, -1.2345678901234567e-300, 2**63)
    assert len(data) <= ROOM
    found = unpack(data)
    assert (found.run_id, found.writer, found.step) == (run_id, PLACE, 2**63)
