"""V1, V2, train outputs and a server's files: read as they are written, and written so that those programs read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.errors import Damaged, NotFound, WrongType
from playhead.lanes.keyframes import tree
from playhead.lanes.keyframes.contents import MemoryContents
from playhead.trace import Trace, formats
from playhead.trace.formats.v1 import six_digits
from tests.trace.formats import made

TOLD = {"learning_rate": 0.05, "convergence_threshold": 1e-9, "inputs": made.INPUTS, "targets": made.TARGETS}


def opened(folder: Path, document: Any) -> Trace:
    return Trace.open(made.written(folder, document))


def document_of(folder: Path, contents: MemoryContents, form: str) -> Any:
    formats.write(folder / f"{form}.json", contents, form)
    return json.loads((folder / f"{form}.json").read_text())


# -- V1 -------------------------------------------------------------------------------------------------------------


def test_v1_is_read(tmp_path: Path) -> None:
    trace = opened(tmp_path, made.V1)
    assert trace.keyframes.tolist() == [0, 1, 4]
    assert trace.errors.tolist() == made.ERRORS  # the exact one where a keyframe has it
    assert list(trace.marks) == [0, 1, 3]
    assert tree.pack(trace.seek(4)) == tree.pack(made.shapes(4))
    assert trace.parameters["learning_rate"] == 0.5
    assert trace.parameters["targets"] == made.TARGETS
    assert trace.facts["created_ns"] == 1_769_956_252_125_000_000
    assert trace.timestamps.tolist() == list(range(6))


def test_v1_comes_back_as_it_was(tmp_path: Path) -> None:
    contents = formats.read(made.written(tmp_path, made.V1))
    again = document_of(tmp_path, contents, "v1")
    assert again == made.V1
    assert list(again) == list(made.V1)


def test_the_best_step_is_the_one_that_v1_names_where_rounding_hides_it(tmp_path: Path) -> None:
    document = made.edited(made.V1, "errors", [0.5, 0.25, 0.1, 0.1, 0.1, 0.1])
    document = made.edited(made.edited(document, "minError", 0.09999999), "keyframes", 2, "error", 0.1000001)
    trace = opened(tmp_path, document)
    assert list(trace.marks) == [0, 1, 2, 3]
    assert trace.best == 3


@pytest.mark.parametrize(
    ("error", "due"),
    [
        (0.12345649, 0.123456),
        (0.1234575, 0.123457),
        (0.5000005, 0.5),
        (100000.5, 100001.0),
        (-100000.5, -100001.0),
        (0.0, 0.0),
    ],
)
def test_v1_has_six_digits_as_browsers_round(error: float, due: float) -> None:
    assert six_digits(error) == due


def test_v1_of_ours(tmp_path: Path) -> None:
    document = document_of(tmp_path, made.plain(), "v1")
    assert document["timestamp"] == "2026-02-02T02:40:00.123Z"
    assert document["params"] == {"learningRate": 0.05, "convergenceThreshold": 1e-9}
    assert document["errors"][4] == 0.142857
    assert document["keyframes"][1] == {"stepIndex": 3, "error": 1 / 6, "shapes": made.shapes(3)}
    assert (document["totalSteps"], document["minStep"], document["minError"]) == (10, 9, 1 / 12)
    assert formats.lost(made.plain(), "v1") == ["errors beyond six digits"]


# -- V2 -------------------------------------------------------------------------------------------------------------


def test_v2_is_read(tmp_path: Path) -> None:
    trace = opened(tmp_path, made.V2)
    assert trace.keyframes.tolist() == [0, 3, 4]
    assert trace.errors[[0, 3]].tolist() == [0.5, 0.1]
    assert np.isnan(trace.errors[[1, 2, 4, 5]]).all()  # never made up
    assert list(trace.marks) == [0, 3]
    assert trace.parameters == TOLD
    assert trace.facts["retention"] == {"strategy": "btd-evenly-spaced", "best": 500, "every": 4}


def test_v2_comes_back_as_it_was(tmp_path: Path) -> None:
    again = document_of(tmp_path, formats.read(made.written(tmp_path, made.V2)), "v2")
    due = made.edited(made.V2, "intervalKeyframes", 0, {"stepIndex": 4, "shapes": made.shapes(4)})
    assert again == due
    assert list(again) == list(due)


def test_v2_may_call_a_step_step(tmp_path: Path) -> None:
    document = made.edited(made.V2, "btdKeyframes", 1, {"step": 3, "shapes": made.shapes(3), "error": 0.1})
    assert opened(tmp_path, document).keyframes.tolist() == [0, 3, 4]


def test_v2_with_all_errors(tmp_path: Path) -> None:
    trace = opened(tmp_path, made.edited(made.V2, "errors", made.ERRORS))
    assert trace.errors.tolist() == made.ERRORS
    assert list(trace.marks) == [0, 1, 3]


def test_v2_without_what_may_be_missing(tmp_path: Path) -> None:
    document = {
        name: value for name, value in made.V2.items() if name not in ("created", "tiering", "intervalKeyframes")
    }
    document["config"] = {"inputs": [], "targets": {}}
    trace = opened(tmp_path, document)
    assert trace.keyframes.tolist() == [0, 3]
    assert trace.parameters == {"inputs": [], "targets": {}}
    assert trace.facts["retention"] is None


def test_v2_that_says_little_of_its_tiering_has_the_defaults(tmp_path: Path) -> None:
    facts = opened(tmp_path, made.edited(made.V2, "tiering", {})).facts
    assert facts["retention"] == {"strategy": "btd-evenly-spaced", "best": 1000, "every": 1000}


def test_a_tiering_that_is_not_ours_is_kept(tmp_path: Path) -> None:
    tiering = {"maxBtdKeyframes": 5, "intervalSpacing": 0, "strategy": "tiered-lru"}
    contents = formats.read(made.written(tmp_path, made.edited(made.V2, "tiering", tiering)))
    assert contents.facts["retention"] is None
    assert document_of(tmp_path, contents, "v2")["tiering"] == tiering


def test_the_last_step_among_the_best_is_none_of_them(tmp_path: Path) -> None:
    last = {"stepIndex": 5, "shapes": made.shapes(5), "error": 0.11}
    document = made.edited(made.edited(made.V2, "btdKeyframes", [last]), "intervalKeyframes", [last])
    trace = opened(tmp_path, document)
    assert trace.keyframes.tolist() == [5]
    assert list(trace.marks) == [3]


def test_v2_of_ours_has_what_that_program_needs(tmp_path: Path) -> None:
    document = document_of(tmp_path, made.plain(), "v2")
    assert document["version"] == 2
    assert document["config"].keys() == {"inputs", "targets", "learningRate", "convergenceThreshold"}
    assert [one["stepIndex"] for one in document["btdKeyframes"]] == [0, 3, 6, 9]
    assert document["intervalKeyframes"] == []
    assert document["errors"] == made.plain().errors.tolist()
    assert formats.lost(made.plain(), "v2") == []


def test_v2_has_all_errors_or_none(tmp_path: Path) -> None:
    contents = made.plain()
    contents.errors[1] = np.nan
    document = document_of(tmp_path, contents, "v2")
    assert "errors" not in document  # that program takes no null
    assert formats.lost(contents, "v2") == ["5 errors of steps without a keyframe"]


def test_the_file_of_a_server_is_read(tmp_path: Path) -> None:
    trace = opened(tmp_path, made.SERVER)
    assert trace.keyframes.tolist() == [0, 3, 4]
    assert trace.facts["origin"]["meta"]["name"] == "a"
    with pytest.raises(Damaged, match="totalSteps 6"):
        opened(tmp_path, made.edited(made.SERVER, "meta", "totalSteps", 7))


# -- train output ---------------------------------------------------------------------------------------------------


def test_the_best_of_a_train_output_is_read(tmp_path: Path) -> None:
    trace = opened(tmp_path, made.TRAIN)
    assert trace.keyframes.tolist() == [0, 3, 5]
    assert tree.pack(trace.seek(5)) == tree.pack(made.shapes(5))
    assert trace.errors[[0, 3, 5]].tolist() == [0.5, 0.1, 0.11]
    assert list(trace.marks) == [0, 3]
    assert trace.parameters == {"inputs": made.INPUTS, "targets": made.TARGETS}


def test_the_newer_names_of_a_train_output_are_read(tmp_path: Path) -> None:
    best = made.TRAIN["best"] | {
        "history": [{"step_idx": 3, "error": 0.1, "shapes": made.shapes(3), "is_best": True}],
        "btd_steps": [0, 1, 3],
        "tiered_config": {"bucket_size": 1024},
    }
    trace = opened(tmp_path, made.TRAIN | {"best": best})
    assert trace.keyframes.tolist() == [3, 5]
    assert list(trace.marks) == [0, 1, 3]
    assert trace.facts["retention"] == {"strategy": "tiered", "bucket": 1024}


def test_another_of_the_traces_is_read(tmp_path: Path) -> None:
    path = made.written(tmp_path, made.TRAIN)
    for contents in (formats.read(path, trace=1), formats.read(path, variant=2)):
        assert contents.length == 2
        assert contents.keyframes.tolist() == [0, 1]
    assert formats.read(path, trace=0).length == 6
    there = r"trace 0 \(variant 7, 6 steps, smallest error 0.1\), trace 1 \(variant 2, 2 steps, smallest error 0.2\)"
    with pytest.raises(NotFound, match=rf"no trace of this file 'variant 9'; there is: {there}"):
        formats.read(path, variant=9)
    with pytest.raises(NotFound, match="'trace -1'"):
        formats.read(path, trace=-1)


def test_only_a_train_output_has_several(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="holds one trace, in the form v1"):
        formats.read(made.written(tmp_path, made.V1), trace=1)


def test_a_train_output_of_ours_is_read_by_both_of_its_readers(tmp_path: Path) -> None:
    document = document_of(tmp_path, made.plain(), "train")
    assert list(document) == ["inputs", "targets", "best", "traces", "total_time_ms"]
    assert document["traces"] == [document["best"]]
    due = {"variant_id": 0, "permutation": [0], "min_step": 9, "total_steps": 10, "final_shapes": made.shapes(9)}
    assert document["best"] == document["best"] | due
    assert document["best"]["tiered_config"] == {"bucket_size": 4}
    entry = document["best"]["history"][1]
    assert entry == {"step": 3, "step_idx": 3, "error": 1 / 6, "shapes": made.shapes(3), "is_best": True}


def test_a_train_output_comes_back(tmp_path: Path) -> None:
    contents = formats.read(made.written(tmp_path, made.TRAIN))
    document = document_of(tmp_path, contents, "train")
    made.assert_same(formats.read(tmp_path / "train.json"), contents)
    for name in ("variant_id", "permutation", "training_time_ms", "final_shapes"):
        assert document["best"][name] == made.TRAIN["best"][name]
    assert document["total_time_ms"] == 230


# -- what cannot be ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["v1", "v2", "train"])
def test_states_that_those_programs_cannot_take_are_refused(tmp_path: Path, form: str) -> None:
    with pytest.raises(WrongType, match="the state of step 0 is a dict"):
        formats.write(tmp_path / "a.json", made.ours(12, 1), form)
    contents = made.plain()
    holding = MemoryContents(contents.facts, contents.stamps, contents.errors, {0: tree.pack([np.ones(2)])})
    with pytest.raises(WrongType, match="a list with something else in it"):
        formats.write(tmp_path / "a.json", holding, form)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", ["v1", "v2", "train"])
def test_a_trace_without_errors_is_refused(tmp_path: Path, form: str) -> None:
    contents = MemoryContents(made.plain().facts, [0], [np.nan], {0: tree.pack([])})
    with pytest.raises(WrongType, match="no step of this trace has one"):
        formats.write(tmp_path / "a.json", contents, form)


def test_a_train_output_needs_the_last_state_and_all_errors(tmp_path: Path) -> None:
    with pytest.raises(WrongType, match="that of step 10 is not kept"):
        formats.write(tmp_path / "a.json", made.plain(11), "train")
    contents = made.plain()
    contents.errors[3] = np.nan
    with pytest.raises(WrongType, match="step 3 has none"):
        formats.write(tmp_path / "a.json", contents, "train")


@pytest.mark.parametrize(
    ("document", "edit", "said"),
    [
        (made.V1, ("totalSteps", 7), "7 errors, one for each step"),
        (made.V1, ("totalSteps", 3), "stepIndex below 3"),
        (made.V1, ("minStep", 6), "minStep below 6"),
        (made.V1, ("minStep", 4), "one error of step 4"),
        (made.V1, ("errors", 5, 0.05), "no error below minError"),
        (made.V1, ("keyframes", 1, "error", 0.26), "one error of step 1"),
        (made.V1, ("keyframes", 1, "stepIndex", 0), "a step behind 0"),
        (made.V1, ("errors", 5, "many"), "a number errors"),
        (made.V1, ("params", 3), "an object at params"),
        (made.V1, ("timestamp", 3), "a text timestamp"),
        (made.V2, ("config", None), "an object at config"),
        (made.V2, ("btdKeyframes", 0, "shapes", None), r"a state as shapes in btdKeyframes\[0\]"),
        (made.V2, ("btdKeyframes", 1, "error", 0.09), "one error of step 3"),
        (made.V2, ("intervalKeyframes", 0, "stepIndex", 3), "one state of step 3, found two"),
        (made.V2, ("tiering", "maxBtdKeyframes", "many"), "a whole number maxBtdKeyframes"),
        (made.TRAIN, ("best", "total_steps", 3), "step below 3"),
        (made.TRAIN, ("best", "btd_steps", [3, 3]), "steps below 6 in order"),
        (made.TRAIN, ("best", "history", 0, "error", 0.01), "no error below min_error"),
        (made.TRAIN, ("best", "tiered_config", {"bucket_size": 0}), "from 1"),
        (made.TRAIN, ("best", []), "an object at best"),
    ],
)
def test_what_disagrees_is_told(tmp_path: Path, document: dict[str, Any], edit: tuple[Any, ...], said: str) -> None:
    with pytest.raises(Damaged, match=said):
        opened(tmp_path, made.edited(document, *edit))
