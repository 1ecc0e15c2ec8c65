"""Small files by hand in the forms of other programs, and a trace of our own, for the tests beside this."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np

from playhead.lanes.keyframes import tree
from playhead.lanes.keyframes.contents import Contents, MemoryContents

DUAL = {"v": 0.25, "d": [1.0, 0.0, 0.0]}


def shapes(number: int) -> list[dict[str, Any]]:
    """Give a circle of plain numbers, one of dual numbers, and a polygon."""
    return [
        {"kind": "Circle", "c": {"x": 0.5 * number, "y": -0.0}, "r": 1},
        {"kind": "XYRRT", "c": {"x": DUAL, "y": DUAL}, "r": {"x": 1.5, "y": DUAL}, "t": 0.1},
        {"kind": "Polygon", "vertices": [{"x": 0.0, "y": 1e-300}, {"x": 1e22, "y": 2}]},
    ]


INPUTS = [[{"kind": "Circle", "c": {"x": 0.0, "y": 0.0}, "r": 1.0}, [True, True, False]]]
TARGETS = {"0*": 5.0, "*1": 3.0, "01": 1.0}
ERRORS = [0.5, 0.25000012, 0.3, 0.1, 0.12, 0.11]

TIERED: dict[str, Any] = {
    "format": "tiered",
    "params": {"bucket_size": 100, "decimation": 2},
    "total_steps": 10000,
    "keyframes": [
        {"step_idx": 0, "tier": 6, "error": 0.5, "shapes": shapes(0)},
        {"step_idx": 64, "tier": 6, "error": 0.3, "shapes": shapes(64)},
    ],
}
DELTA: dict[str, Any] = {
    "format": "tiered-delta",
    "params": {"bucket_size": 1563},
    "total_steps": 100000,
    "learning_rate": 0.05,
    "keyframes": [
        {"step_idx": 0, "type": "I", "error": 0.5, "shapes": shapes(0)},
        {"step_idx": 1, "type": "P", "error": 0.48, "gradient": [0.5, -0.25]},
    ],
}
V1: dict[str, Any] = {
    "version": 1,
    "timestamp": "2026-02-01T14:30:52.125Z",
    "inputs": INPUTS,
    "targets": TARGETS,
    "params": {"learningRate": 0.5, "convergenceThreshold": 1e-10},
    "totalSteps": 6,
    "minStep": 3,
    "minError": 0.1,
    "keyframes": [
        {"stepIndex": 0, "error": 0.5, "shapes": shapes(0)},
        {"stepIndex": 1, "error": 0.25000012, "shapes": shapes(1)},
        {"stepIndex": 4, "error": 0.12, "shapes": shapes(4)},
    ],
    "errors": [0.5, 0.25, 0.3, 0.1, 0.12, 0.11],
}
V2: dict[str, Any] = {
    "version": 2,
    "created": "2026-02-01T14:30:52Z",
    "config": {"inputs": INPUTS, "targets": TARGETS, "learningRate": 0.05, "convergenceThreshold": 1e-9},
    "btdKeyframes": [
        {"stepIndex": 0, "shapes": shapes(0), "error": 0.5},
        {"stepIndex": 3, "shapes": shapes(3), "error": 0.1},
    ],
    "intervalKeyframes": [{"stepIndex": 4, "shapes": shapes(4), "error": None}],
    "totalSteps": 6,
    "minError": 0.1,
    "minStep": 3,
    "tiering": {"maxBtdKeyframes": 500, "intervalSpacing": 4, "strategy": "btd-evenly-spaced"},
}
_RESULT: dict[str, Any] = {
    "variant_id": 7,
    "permutation": [1, 0],
    "final_error": 0.11,
    "min_error": 0.1,
    "min_step": 3,
    "total_steps": 6,
    "training_time_ms": 51,
    "final_shapes": shapes(5),
    "history": [
        {"step": 0, "error": 0.5, "shapes": shapes(0)},
        {"step": 3, "error": 0.1, "shapes": shapes(3)},
    ],
}
_OTHER = {**_RESULT, "variant_id": 2, "min_error": 0.2, "min_step": 1, "total_steps": 2, "final_error": 0.2}
_OTHER |= {"history": None, "checkpoints": [{"step": 0, "error": 0.6, "shapes": shapes(0), "label": "first"}]}
TRAIN: dict[str, Any] = {
    "inputs": INPUTS,
    "targets": TARGETS,
    "best": _RESULT,
    "traces": [_RESULT, _OTHER],
    "total_time_ms": 230,
}
SERVER: dict[str, Any] = {
    "meta": {"traceId": "trace_1", "name": "a", "savedAt": "1", "totalSteps": 6, "minError": 0.1, "minStep": 3},
    "trace": V2,
}
ALL = {"tiered": TIERED, "tiered-delta": DELTA, "v1": V1, "v2": V2, "train": TRAIN, "server": SERVER}


def written(folder: Path, document: Any, name: str = "given.json") -> Path:
    """Write JSON as another program would."""
    path = folder / name
    path.write_text(json.dumps(document))
    return path


def edited(document: dict[str, Any], *steps: Any) -> dict[str, Any]:
    """Give a copy in which one place has another value: keys and indices that lead there, then the value."""
    changed = copy.deepcopy(document)
    *path, last, value = steps
    inner: Any = changed
    for key in path:
        inner = inner[key]
    inner[last] = value
    return changed


def update(state: dict[str, Any], given: Any) -> dict[str, Any]:
    """Make a state of the one before."""
    return {"w": state["w"] - 0.125 * given, "n": state["n"] + 1}


def ours(count: int = 12, every: int = 4) -> MemoryContents:
    """Give a trace of our own, with arrays, inputs and times; the last step has an input too."""
    random = np.random.default_rng(3)
    state: dict[str, Any] = {"w": random.normal(size=(2, 3)), "n": 0}
    states, inputs, errors = {}, [], []
    for step in range(count):
        given = random.normal(size=(2, 3))
        if step % every == 0:
            states[step] = tree.pack(state)
        inputs.append(tree.pack(given))
        errors.append(float(np.abs(state["w"]).sum()) if step % 5 else float("nan"))
        state = update(state, given)
    facts = {
        "version": 1,
        "created_ns": 1_770_000_000_123_000_000,
        "retention": {"strategy": "tiered", "bucket": 100},
        "parameters": {"learning_rate": 0.125, "note": "Ä"},
        "step": {"module": "made", "name": "update", "source": "0123", "versions": {"numpy": "2"}},
    }
    stamps = 1_770_000_000_000_000_000 + 7 * np.arange(count)
    return MemoryContents(facts, stamps, errors, states, inputs)


def plain(count: int = 10, every: int = 3) -> MemoryContents:
    """Give a trace of ours whose states other programs can take."""
    errors = [1 / (3 + step) for step in range(count)]
    states = {step: tree.pack(shapes(step)) for step in range(0, count, every)}
    facts = {
        "version": 1,
        "created_ns": 1_770_000_000_123_000_000,
        "retention": {"strategy": "tiered", "bucket": 4},
        "parameters": {"learning_rate": 0.05, "convergence_threshold": 1e-9, "inputs": INPUTS, "targets": TARGETS},
        "step": None,
    }
    return MemoryContents(facts, np.arange(count), errors, states)


def assert_same(found: Contents, due: Contents, *, with_inputs: bool = True, with_facts: bool = True) -> None:
    """See that two traces hold the same, to the last bit."""
    assert found.length == due.length
    assert found.keyframes.tolist() == due.keyframes.tolist()
    for step in due.keyframes.tolist():
        assert found.packed(step) == due.packed(step), step
    assert np.array_equal(found.errors, due.errors, equal_nan=True)
    assert list(found.marks) == list(due.marks)
    if with_inputs:
        assert list(found.packed_inputs(0, due.length)) == list(due.packed_inputs(0, due.length))
    if with_facts:
        assert found.facts == due.facts
        assert found.stamps.tolist() == due.stamps.tolist()
