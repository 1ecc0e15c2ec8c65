"""Files that are cut, foreign, edited or hostile: an error that says what was seen, never a crash."""

from __future__ import annotations

import copy
import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from playhead.errors import Damaged, PlayheadError
from playhead.trace import formats
from playhead.trace.formats import files
from tests.trace.formats import made


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "Unknown trace file format, a list of 0"),
        (5, "Unknown trace file format, 5"),
        ({}, r"Unknown trace file format, an object with the keys \(none\)"),
        ({"runs": 1, "config": 2}, "Unknown trace file format, an object with the keys runs, config"),
        ({"format": "tiered-lru"}, "format tiered-lru"),
        ({"version": 3, "config": {}}, "version 3"),
        ({"version": 1, "traces": []}, "an index of traces"),
        ({str(key): key for key in range(50)}, "11 …"),
    ],
)
def test_what_is_no_trace_is_told(tmp_path: Path, document: Any, said: str) -> None:
    with pytest.raises(Damaged, match=said):
        formats.read(made.written(tmp_path, document))


@pytest.mark.parametrize("form", made.ALL)
def test_a_file_may_be_compressed(tmp_path: Path, form: str) -> None:
    data = json.dumps(made.ALL[form]).encode()
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(data[:100]) + gzip.compress(data[100:]))
    made.assert_same(formats.read(tmp_path / "a.json.gz"), formats.read(made.written(tmp_path, made.ALL[form])))


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_a_file_that_was_cut_is_told(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    formats.write(path, made.ours())
    whole = path.read_bytes()
    ends = {0, 1, 2, len(whole) - 3, *random.Random(1).sample(range(len(whole) - 2), 60)}
    for end in sorted(ends):
        path.write_bytes(whole[:end])
        with pytest.raises(Damaged):
            formats.read(path)


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_a_flipped_bit_never_gives_another_trace(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    formats.write(path, made.ours())
    whole = bytearray(path.read_bytes())
    due = formats.read(path)
    chance = random.Random(2)
    for _ in range(300):
        at, bit = chance.randrange(len(whole)), 1 << chance.randrange(8)
        whole[at] ^= bit
        path.write_bytes(whole)
        try:
            found = formats.read(path)
        except PlayheadError:
            pass
        else:
            made.assert_same(found, due)
        whole[at] ^= bit


@pytest.mark.parametrize("form", made.ALL)
def test_a_value_of_any_other_kind_anywhere_is_no_crash(tmp_path: Path, form: str) -> None:
    chance = random.Random(3)
    others: list[Any] = [None, True, -1, 0, 10**30, 1.5, "x", "NaN", [], {}, [[]], {"v": 1}, {"$tuple": 1}]
    for _ in range(150):
        document = copy.deepcopy(made.ALL[form])
        if "total_steps" in document:
            document["total_steps"] = 100  # so that it is quick
        inner: Any = document
        while True:
            key = chance.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
            if isinstance(inner[key], (dict, list)) and inner[key] and chance.random() < 0.8:
                inner = inner[key]
                continue
            inner[key] = copy.deepcopy(chance.choice(others))
            break
        try:
            contents = formats.read(made.written(tmp_path, document))
        except PlayheadError as error:
            assert "given.json" in str(error)
        else:  # what was read can be written again
            formats.write(tmp_path / "again.json", contents)
            made.assert_same(formats.read(tmp_path / "again.json"), contents)


def test_names_say_what_is_compressed(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(gzip.compress(b"{}"))
    with pytest.raises(Damaged, match=r"Call it a\.json\.gz"):
        formats.read(tmp_path / "a.json")
    (tmp_path / "b.json.gz").write_bytes(b"{}")
    with pytest.raises(Damaged, match="gzip, as its name says"):
        formats.read(tmp_path / "b.json.gz")


def test_deep_json_is_refused(tmp_path: Path) -> None:
    for depth in (200, 900, 100_000):
        nested = "[" * depth + "]" * depth
        text = json.dumps(made.edited(made.TIERED, "keyframes", 0, "shapes", "HERE")).replace('"HERE"', nested)
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(Damaged):
            formats.read(tmp_path / "a.json")


def test_what_expands_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_BYTES", 1 << 16)
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(b" " * (1 << 20)))
    (tmp_path / "a.json").write_bytes(b" " * (1 << 17))
    for name in ("a.json.gz", "a.json"):
        with pytest.raises(Damaged, match="at most 65,536 bytes"):
            formats.read(tmp_path / name)
