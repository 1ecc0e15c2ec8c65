"""Lines of `events.jsonl`, written and read."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import playhead
from playhead.lanes.scalars import events

LINES = st.lists(
    st.binary(max_size=60).filter(lambda line: b"\n" not in line)
    | st.sampled_from([
        b'{"ts":1794727420.000000001,"type":"metrics","data":{"a":1,"global_step":1}}',
        b'{"ts":1794727420.5,"type":"metrics","data":{"a":NaN}}',
        b'{"ts":1,"type":"x","data":{}},{"ts":2,"type":"x","data":{}}',
        b'{"ts":1',
        b"[]",
    ]),
    max_size=8,
)  # fmt: skip


@given(LINES)
def test_every_line_is_an_event_or_counted(lines: list[bytes]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    found, bad = events.parse(data)
    assert len(found) + bad == sum(bool(line.strip()) for line in lines)
    stamps = [event[0] for event in found]
    assert all(one < two for one, two in pairwise(stamps))


def test_stamps_are_exact_to_the_nanosecond(tmp_path: Path) -> None:
    writer = events.EventWriter(tmp_path / "events.jsonl", after_ns=1_999_999_999_999_999_998)
    writer.metrics({"a": 1})
    writer.metrics({"a": 2})
    writer.close()
    found, bad = events.parse((tmp_path / "events.jsonl").read_bytes())
    assert [event[0] for event in found] == [1_999_999_999_999_999_999, 2_000_000_000_000_000_000]
    assert bad == 0


def test_only_whole_lines_are_read_however_long(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"x" * 5000 + b"\n" + b"short\n" + b"torn")
    assert events.read(path, 0, 100) == (b"x" * 5000 + b"\n", 5001, 0)
    assert events.read(path, 0, 6000) == (b"x" * 5000 + b"\nshort\n", 5007, 0)
    assert events.read(path, 5001, 100) == (b"short\n", 6, 0)
    assert events.read(path, 5007, 100) == (b"", 0, 0)
    assert events.read(tmp_path / "none", 0, 100) == (b"", 0, 0)
    assert events.torn_bytes(path) == 4
    assert events.torn_bytes(tmp_path / "none") == 0


def test_a_file_of_one_torn_line_is_all_torn(tmp_path: Path) -> None:
    (tmp_path / "e").write_bytes(b"y" * 200_000)
    assert events.torn_bytes(tmp_path / "e") == 200_000


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**400, -(10**30), True, "5", None, [1], {"a": 1}, 1.5])
def test_numbers_that_no_column_holds_do_not_stop_the_index(store: playhead.Store, number: Any) -> None:
    with store.run("p", "r", run_id="odd", environment=False) as run:
        run.log({"x": 1.0}, step=3)
    lines = [
        {"ts": 4_000_000_000.5, "type": "metrics", "data": {"x": 2.0, "global_step": number}},
        {"ts": 4_000_000_001.5, "type": "image", "data": {"key": "k", "path": "media/a.png", "step": number, "caption": number}},
        {"ts": number, "type": "metrics", "data": {"x": 3.0, "global_step": 4}},
    ]  # fmt: skip
    with (run.path / "events.jsonl").open("ab") as file:
        file.writelines(json.dumps(line).encode() + b"\n" for line in lines)
    store.close()
    assert playhead.rebuild(store.path) == []
    with playhead.open(store.path) as again:
        values = again.runs["odd"]["x"].values.tolist()
        assert values[:2] == [1.0, 2.0]
        with again.run("p", "r", run_id="odd", resume=True, environment=False) as resumed:
            resumed.log({"x": 9.0})
        assert resumed["x"].values.tolist()[-1] == 9.0
