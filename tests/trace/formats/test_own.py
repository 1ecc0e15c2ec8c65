"""`tiered` and `tiered-delta`: all of a trace comes back, the known examples are read as they stand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.errors import BadName, Damaged, NotFound, StoreTooNew, WrongType
from playhead.lanes.keyframes import tree
from playhead.lanes.keyframes.contents import MemoryContents
from playhead.trace import Trace, TraceWriter, formats
from playhead.trace.formats import fields
from tests.trace.formats import made

FACTS: dict[str, Any] = {"version": 1, "created_ns": 5, "retention": None, "parameters": {}, "step": None}


def test_the_form_that_holds_inputs_holds_all(tmp_path: Path) -> None:
    formats.write(tmp_path / "a.json", made.ours())
    made.assert_same(formats.read(tmp_path / "a.json"), made.ours())
    assert json.loads((tmp_path / "a.json").read_text())["format"] == "tiered-delta"


def test_the_form_without_inputs_holds_the_rest(tmp_path: Path) -> None:
    formats.write(tmp_path / "a.json", made.ours(), "tiered")
    made.assert_same(formats.read(tmp_path / "a.json"), made.ours(), with_inputs=False)
    assert formats.lost(made.ours(), "tiered") == ["12 inputs"]
    assert formats.read(tmp_path / "a.json").packed_inputs(0, 12) == [None] * 12


@settings(max_examples=60, deadline=None)
@given(data=st.data(), length=st.integers(0, 9), form=st.sampled_from(["tiered", "tiered-delta"]))
def test_any_trace_comes_back(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, length: int, form: str
) -> None:
    leaves = st.one_of(st.none(), st.integers(), st.floats(), st.text(max_size=3), st.tuples(st.integers()))
    errors = data.draw(st.lists(st.floats(allow_subnormal=True), min_size=length, max_size=length))
    steps = data.draw(st.sets(st.integers(0, max(0, length - 1)))) if length else set()
    states = {step: tree.pack(data.draw(leaves)) for step in steps}
    inputs = [data.draw(st.one_of(st.none(), leaves.map(tree.pack))) for _ in range(length)]
    gaps = data.draw(st.lists(st.integers(1, 1 << 40), min_size=length, max_size=length))
    contents = MemoryContents(FACTS, np.cumsum(gaps, dtype=np.int64), errors, states, inputs)
    path = tmp_path_factory.mktemp("any") / "a.json.gz"
    formats.write(path, contents, form)
    made.assert_same(formats.read(path), contents, with_inputs=form == "tiered-delta")


def test_keys_come_in_a_known_order_and_a_keyframe_is_a_line(tmp_path: Path) -> None:
    formats.write(tmp_path / "a.json", made.ours(), "tiered")
    lines = (tmp_path / "a.json").read_text().splitlines()
    document = json.loads("\n".join(lines))
    assert list(document) == [
        *("format", "params", "total_steps", "learning_rate", "keyframes"),
        *("btd_steps", "errors", "stamps", "playhead"),
    ]
    assert list(document["keyframes"][0]) == ["step_idx", "tier", "error", "state"]
    assert document["params"] == {"bucket_size": 100, "decimation": 2}
    assert [json.loads(line.strip(" ,"))["step_idx"] for line in lines if "step_idx" in line] == [0, 4, 8]


def test_a_longer_trace_only_adds_lines(tmp_path: Path) -> None:
    texts = []
    for count in (200, 204):
        formats.write(tmp_path / f"{count}.json", made.ours(count), "tiered")
        texts.append((tmp_path / f"{count}.json").read_text().splitlines())
    lost = {line.rstrip(",") for line in texts[0]} - {line.rstrip(",") for line in texts[1]}
    assert len(lost) <= 5  # how many, the rows that go on, and the check


def test_the_same_trace_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.json.gz", "b.json.gz"):
        formats.write(tmp_path / name, made.ours())
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()
    assert json.loads(gzip.decompress((tmp_path / "a.json.gz").read_bytes()))["total_steps"] == 12


def test_the_example_of_the_first_form_is_read_as_it_stands(tmp_path: Path) -> None:
    trace = Trace.open(made.written(tmp_path, made.TIERED))
    assert len(trace) == 10_000
    assert trace.keyframes.tolist() == [0, 64]
    assert tree.pack(trace.seek(64)) == tree.pack(made.shapes(64))
    assert trace.errors[64] == 0.3
    assert np.isnan(trace.errors[1:64]).all()
    assert list(trace.marks) == [0, 64]
    assert trace.facts["retention"] == {"strategy": "tiered", "bucket": 100}
    assert trace.timestamps[:3].tolist() == [0, 1, 2]


def test_the_example_of_the_second_form_is_read_as_it_stands(tmp_path: Path) -> None:
    trace = Trace.open(made.written(tmp_path, made.DELTA))
    assert trace.input(0) == [0.5, -0.25]  # it led to the step that names it
    assert trace.input(1) is None
    assert trace.errors[:3].tolist()[:2] == [0.5, 0.48]
    assert trace.parameters == {"learning_rate": 0.05}


@pytest.mark.parametrize("form", ["tiered", "tiered-delta"])
def test_shapes_stay_shapes(tmp_path: Path, form: str) -> None:
    source = made.written(tmp_path, made.TIERED)
    formats.convert(source, tmp_path / "a.trace")
    formats.convert(tmp_path / "a.trace", tmp_path / "b.json", form)
    document = json.loads((tmp_path / "b.json").read_text())
    assert [entry["shapes"] for entry in document["keyframes"]] == [made.shapes(0), made.shapes(64)]
    made.assert_same(formats.read(tmp_path / "b.json"), formats.read(source))


def test_shapes_that_json_cannot_say_become_a_state(tmp_path: Path) -> None:
    text = json.dumps(made.edited(made.TIERED, "keyframes", 0, "shapes", 0, "r", float("nan")))
    (tmp_path / "a.json").write_text(text)  # with a bare NaN, as some programs write
    formats.convert(tmp_path / "a.json", tmp_path / "b.json")
    assert "NaN" not in (tmp_path / "b.json").read_text().replace('"NaN"', "")
    made.assert_same(formats.read(tmp_path / "b.json"), formats.read(tmp_path / "a.json"))


def test_a_writer_records_and_goes_on_in_json(tmp_path: Path) -> None:
    path = tmp_path / "fit.json.gz"
    state: dict[str, Any] = {"w": np.ones(2), "n": 0}
    seen = []
    for part in range(2):
        with TraceWriter(path, bucket=2, resume=part > 0) as writer:
            for _ in range(9):
                seen.append(state["w"])
                writer.append(state, error=float(state["w"].sum()), input=np.full(2, 0.5))
                state = made.update(state, np.full(2, 0.5))
    trace = Trace.open(path, made.update)
    assert len(trace) == 18
    assert all(np.array_equal(trace.seek(step)["w"], due) for step, due in enumerate(seen))


# -- what is refused ------------------------------------------------------------------------------------------------


def edits() -> dict[str, tuple[Any, ...]]:
    return {
        "a number of a state": ("keyframes", 4, "state", "w", "$array", "data", 0, 0.25),
        "an error": ("keyframes", 1, "error", 7.0),
        "an input": ("keyframes", 1, "gradient", "$array", "data", 0, 0.25),
        "a time": ("stamps", 0, 5),
        "a mark": ("btd_steps", [2]),
        "a parameter": ("playhead", "parameters", "note", "other"),
        "the total": ("total_steps", 13),
        "the rate": ("learning_rate", 0.5),
        "the check": ("playhead", "check", "00"),
    }


@pytest.mark.parametrize("edit", edits())
def test_what_was_edited_is_told(tmp_path: Path, edit: str) -> None:
    formats.write(tmp_path / "a.json", made.ours())
    document = json.loads((tmp_path / "a.json").read_text())
    path = made.written(tmp_path, made.edited(document, *edits()[edit]), "b.json")
    with pytest.raises(Damaged, match=r"b\.json is damaged"):
        formats.read(path)


def test_an_edit_can_be_taken_as_it_stands(tmp_path: Path) -> None:
    formats.write(tmp_path / "a.json", made.ours())
    document = made.edited(json.loads((tmp_path / "a.json").read_text()), "keyframes", 1, "error", 7.0)
    document["playhead"]["check"] = None
    assert formats.read(made.written(tmp_path, document, "b.json")).errors[1] == 7.0
    del document["playhead"]["check"]  # as if its name were damaged
    with pytest.raises(Damaged, match="a check, or null"):
        formats.read(made.written(tmp_path, document, "b.json"))


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (("keyframes", 1, "step_idx", 0), "a step behind 0"),
        (("keyframes", 1, "step_idx", 10_000), "below 10,000"),
        (("keyframes", 1, "step_idx", -1), "a whole number step_idx"),
        (("keyframes", 1, "step_idx", True), "a whole number step_idx"),
        (("keyframes", 1, "error", "low"), "a number error"),
        (("keyframes", 1, "error", True), "a number error"),
        (("keyframes", 1, "error", 10**400), "a number error"),
        (("keyframes", 1, "shapes", None), "a state as shapes"),
        (("keyframes", 1, 5), "an object at"),
        (("keyframes", "none"), "a list keyframes"),
        (("keyframes", 1, "type", "B"), "a type I or P"),
        (("total_steps", None), "a whole number total_steps"),
        (("total_steps", 1 << 40), "below"),
        (("params", "bucket_size", 0), "from 1"),
        (("errors", [1.0, 2.0]), "10,000 errors"),
        (("btd_steps", [64, 0]), "steps below"),
        (("btd_steps", [0]), r"found 0\.3 at step 64"),
        (("stamps", [1, 2]), "10,000 stamps"),
        (("playheat", {}), "also playheat"),
        (("playhead", []), "an object at playhead"),
        (
            ("playhead", {"version": 1, "check": None, "retention": {"strategy": "tiered", "bucket": "x"}}),
            "a retention",
        ),
        (("playhead", {"version": 1, "check": None, "step": {"versions": 5}}), "an object at playhead.step.versions"),
        (("playhead", {"version": 1, "check": None, "created_ns": 1 << 63}), "created_ns below"),
        (("playhead", {"version": 1, "check": None, "parameters": 3}), "an object at playhead.parameters"),
    ],
)
def test_what_disagrees_is_told(tmp_path: Path, edit: tuple[Any, ...], said: str) -> None:
    with pytest.raises(Damaged, match=said):
        formats.read(made.written(tmp_path, made.edited(made.TIERED, *edit)))


def test_errors_that_disagree_are_told(tmp_path: Path) -> None:
    document = made.edited(made.edited(made.TIERED, "total_steps", 65), "errors", [0.5] + [None] * 63 + [0.4])
    with pytest.raises(Damaged, match=r"one error of step 64, found 0\.4 and 0\.3"):
        formats.read(made.written(tmp_path, document))


def test_times_that_do_not_increase_are_told(tmp_path: Path) -> None:
    document = made.edited(made.edited(made.TIERED, "total_steps", 65), "stamps", [5, 5, *range(7, 70)])
    with pytest.raises(Damaged, match="stamps that increase"):
        formats.read(made.written(tmp_path, document))


def test_no_step_leads_to_the_first(tmp_path: Path) -> None:
    with pytest.raises(Damaged, match="no gradient"):
        formats.read(made.written(tmp_path, made.edited(made.DELTA, "keyframes", 0, "gradient", [1.0])))


def test_a_later_version_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreTooNew, match="version 9"):
        formats.read(made.written(tmp_path, made.edited(made.TIERED, "playhead", {"version": 9, "check": None})))


def test_a_trace_too_long_for_json_is_refused_before_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playhead.trace.formats.tiered.MOST_STEPS", 11)
    with pytest.raises(WrongType, match=r"write a \.trace"):
        formats.write(tmp_path / "a.json", made.ours())
    assert not list(tmp_path.iterdir())
    assert fields.MOST_STEPS >= 1 << 24


def test_names_and_forms_are_checked(tmp_path: Path) -> None:
    with pytest.raises(BadName, match=r"call it \.json"):
        formats.write(tmp_path / "a.txt", made.ours())
    with pytest.raises(WrongType, match="there is: tiered, tiered-delta, v1, v2, train"):
        formats.write(tmp_path / "a.json", made.ours(), "v3")
    with pytest.raises(NotFound, match="no trace"):
        formats.read(tmp_path / "a.json")


def test_parameters_of_any_kind_do_no_harm(tmp_path: Path) -> None:
    contents = made.plain()
    contents.facts["parameters"] = {"learning_rate": [0.1, 0.2], "inputs": 3.5, "targets": True, "seed": 10**30}
    for form in formats.FORMS:
        formats.write(tmp_path / f"{form}.json", contents, form)
        assert formats.read(tmp_path / f"{form}.json").keyframes.tolist() == contents.keyframes.tolist()
    assert formats.read(tmp_path / "tiered.json").facts["parameters"]["learning_rate"] == [0.1, 0.2]
