"""Lines of `events.jsonl`, written and read."""

from __future__ import annotations

import json
import math
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import playhead
from playhead.lanes.scalars import events
from playhead.strictjson import SPECIAL

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


@pytest.mark.parametrize(
    "values",
    [
        {"a": 300, "b": np.uint8(3)},
        {"a": -1, "b": np.uint8(1)},
        {"a": np.uint8(200), "b": np.uint8(100)},
        {"a": 10**30, "b": np.int64(1)},
        {"a": np.float16(60000), "b": np.float16(60000)},
        {"a": np.float32(math.inf), "b": np.float32(-math.inf)},
    ],
    ids=repr,
)
def test_numbers_that_cannot_be_added_are_logged_every_time(tmp_path: Path, values: dict[str, Any]) -> None:
    writer = events.EventWriter(tmp_path / "events.jsonl")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*keeps integers past")
        for _ in range(3):
            writer.metrics(values)
    writer.close()
    found, bad = events.parse((tmp_path / "events.jsonl").read_bytes())
    read = [{name: float(SPECIAL.get(data[name], data[name])) for name in values} for _, _, data in found]
    assert (read, bad) == ([{name: float(value) for name, value in values.items()}] * 3, 0)


def test_an_integer_past_every_float_is_refused_every_time(tmp_path: Path) -> None:
    writer = events.EventWriter(tmp_path / "events.jsonl")
    writer.metrics({"a": 1, "b": 2.0})
    with pytest.raises(playhead.WrongType, match="past the largest float"):
        writer.metrics({"a": 10**400, "b": 2.0})
    writer.close()


def test_the_first_line_says_whose_a_file_is(tmp_path: Path) -> None:
    path, whose = tmp_path / "events.jsonl", {"run": "r", "part": 2}
    writer = events.EventWriter(path, whose=whose)
    writer.metrics({"a": math.nan})
    writer.metrics({"a": 1.0})
    writer.close()
    writer = events.EventWriter(path, whose={"run": "other", "part": 1})
    writer.other("image", {"key": "k"})
    writer.close()
    first, *others = map(json.loads, path.read_bytes().splitlines())
    assert first == {**first, "owner": whose, "not_finite": {"a": "NaN"}}
    assert not any("owner" in line for line in others)
    assert events.owner_of(path) == whose
    found, bad = events.parse(events.without_owner(path.read_bytes()))
    assert ([data.get("a") for _, _, data in found], bad) == (["NaN", 1.0, None], 0)


@pytest.mark.parametrize(
    "line",
    [
        b'{"ts":1.5,"type":"metrics","data":{"a":1,"owner":{"run":"r"}}}',  # a metric of another program
        b'{"ts":1.5,"type":"metrics","data":{"a":1},"owner":{"run":}}',
        b'{"ts":1.5,"type":"metrics","data":{"a":1}}',
        b"",
    ],
)
def test_a_first_line_without_an_owner_is_left_as_it_is(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "e").write_bytes(line + b"\n")
    assert events.owner_of(tmp_path / "e") is None
    assert events.without_owner(line + b"\n") == line + b"\n"


def test_nan_and_infinities_are_null_to_others_and_themselves_to_us(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    writer = events.EventWriter(path)
    odd = {"loss": math.nan, "up": math.inf, "down": -math.inf, "acc": 0.5, "not_finite": 2.0, 'a"},"': math.nan}
    writer.metrics(odd, 1, "train")
    writer.metrics({"loss": 0.25, "not_finite": 1.0})
    writer.metrics({"loss": math.nan})
    writer.metrics({"not_finite": math.inf}, stage='x"},"not_finite":{"loss":"NaN"}}')
    writer.close()
    data = path.read_bytes()
    seen = [json.loads(line, parse_constant=pytest.fail)["data"] for line in data.splitlines()]
    assert [seen[0][name] for name in odd] == [None, None, None, 0.5, 2.0, None]
    assert [one.get("loss") for one in seen] == [None, 0.25, None, None]
    assert set(json.loads(data.splitlines()[0])) == {"ts", "type", "data", "not_finite"}
    assert set(json.loads(data.splitlines()[1])) == {"ts", "type", "data"}
    assert events._own_metrics(data.split(b"\n")[:-1], 0) is not None  # the quick way reads them
    for text in (data, data + b"\n", data.replace(b'{"ts"', b'{ "ts"')):  # and so does the other
        found, bad = events.parse(text)
        assert bad == 0
        values = [{name: SPECIAL.get(value, value) for name, value in one.items()} for _, _, one in found]
        assert [repr(values[0][name]) for name in odd] == [repr(value) for value in odd.values()]
        assert repr([one.get("loss") for one in values]) == "[nan, 0.25, nan, None]"
        assert values[3]["not_finite"] == math.inf


def test_lines_of_earlier_versions_and_odd_ones_are_read(tmp_path: Path) -> None:
    head = b'{"ts":1794727420.68795061%d,"type":"metrics","data":'
    lines = [
        b'{"a":"NaN","global_step":1}}',  # as earlier versions wrote it
        b'{"a":null,"global_step":2},"not_finite":{"a":"one"}}',
        b'{"a":null,"global_step":3},"not_finite":{"a":5,"b":"NaN"}}',
        b'{"a":7.5,"global_step":4},"not_finite":{"a":"NaN"}}',  # edited since
        b'{"a":null,"global_step":5},"not_finite":["a"]}',
        b'{"a":null,"global_step":6},"not_finite":{"a":"NaN"},"more":1}',
        b'{"a":null,"global_step":7},"not_finite":{"a":"-Infinity"}}',
    ]
    data = b"".join(head % number + line + b"\n" for number, line in enumerate(lines))
    found, bad = events.parse(data)
    assert bad == 0
    expected = ["NaN", None, None, 7.5, None, "NaN", "-Infinity"]
    assert [one.get("a") for _, _, one in found] == expected
    for number, line in enumerate(lines):
        (event,), bad = events.parse(head % number + line + b"\n")
        assert (event[2].get("a"), bad) == (expected[number], 0)
