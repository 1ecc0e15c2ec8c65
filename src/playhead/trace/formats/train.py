"""Train output: what another program's `train` writes. Traces of one problem, and a copy of the best of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from playhead import clock
from playhead.errors import NotFound, WrongType
from playhead.lanes.keyframes.contents import Contents, MemoryContents
from playhead.lanes.keyframes.retention import Tiered
from playhead.trace.formats import building
from playhead.trace.formats.building import Keyframe
from playhead.trace.formats.fields import Fields

NAME = "train"

_KEPT = ("permutation", "training_time_ms", "tiered_config")


def read(file: Fields, trace: int | None = None, variant: int | None = None) -> MemoryContents:
    """Read one trace of a train output.

    Args:
        file: It.
        trace: Its place in the list; without it, the best.
        variant: Or the number that the program gave it.

    Raises:
        NotFound: There is no such trace.
        Damaged: It is none.
    """
    result = _chosen(file, trace, variant)
    total = result.total("total_steps")
    kept = _keyframes(result, total)
    errors = building.errors_of(file.path, total, None, kept)
    best = building.note_best(result, errors, "min_step", "min_error")
    parameters = {"inputs": file.json("inputs"), "targets": file.json("targets")}
    origin = {"form": NAME, "variant": result.whole("variant_id")}
    origin |= {name: result.json(name) for name in _KEPT if name in result}
    origin |= building.given(total_time_ms=file.json("total_time_ms"))
    facts = building.facts(parameters, retention=_retention(result), origin=origin)
    steps = result.steps("btd_steps", total) if "btd_steps" in result else None
    marks = None if steps is None else building.marks_until(best, steps)
    return MemoryContents(facts, np.arange(total), errors, building.states_of(file.path, kept), marks=marks)


def _chosen(file: Fields, trace: int | None, variant: int | None) -> Fields:
    if trace is None and variant is None:
        return file.inner("best")
    results = list(file.inners("traces"))
    for place, result in enumerate(results):
        if place == trace or (trace is None and result.whole("variant_id") == variant):
            return result
    there = [
        f"trace {place} (variant {result.whole('variant_id')}, {result.whole('total_steps')} steps, "
        f"smallest error {result.number('min_error'):.4g})"
        for place, result in enumerate(results)
    ]
    asked = f"variant {variant}" if trace is None else f"trace {trace}"
    raise NotFound.among("trace of this file", asked, there)


def _keyframes(result: Fields, total: int) -> list[Keyframe]:
    kept = building.keyframes(result.inners("history"), total)
    kept += building.keyframes(result.inners("checkpoints"), total)
    if total and "final_shapes" in result and all(one.step != total - 1 for one in kept):
        last = building.plain_state(result, "final_shapes")
        kept.append(Keyframe(total - 1, result.number("final_error"), last))
    return kept


def _retention(result: Fields) -> dict[str, Any] | None:
    if "tiered_config" not in result:
        return None
    config = result.inner("tiered_config")
    bucket = config.whole("bucket_size")
    if not bucket:
        raise config.damaged("a bucket_size from 1", bucket)
    return Tiered(bucket).to_json()


def document(contents: Contents) -> dict[str, Any]:
    """Give a trace as a train output of one variant.

    Raises:
        WrongType: A keyframe has no error, a state is no list of JSON, or the last state is not kept.
    """
    best, least = building.best_of(contents, NAME)
    kept = building.plain_states(contents, NAME)
    last = contents.length - 1
    if last not in kept:
        raise WrongType(
            f"{NAME} holds the last state, and that of step {last} is not kept; pass step=, the function that made "
            "the trace, to recompute it"
        )
    errors = contents.errors.tolist()
    missing = [step for step in kept if not math.isfinite(errors[step])]
    if missing:
        raise WrongType(f"{NAME} holds the error of each keyframe, and step {missing[0]} has none; write it as tiered")
    origin = contents.facts.get("origin") or {}
    problem = building.problem(contents)
    marked = set(contents.marks)
    took = int(contents.stamps[-1] - contents.stamps[0]) * 1000 // clock.SECOND
    result = {
        "variant_id": origin.get("variant", 0),
        "permutation": origin.get("permutation", list(range(len(problem["inputs"])))),
        "final_error": errors[last],
        "min_error": least,
        "min_step": best,
        "total_steps": contents.length,
        "training_time_ms": origin.get("training_time_ms", took),
        "final_shapes": kept[last],
        # Two readers of that program differ in how they call the step.
        "history": [
            {"step": step, "step_idx": step, "error": errors[step], "shapes": state}
            | ({"is_best": True} if step in marked else {})
            for step, state in kept.items()
        ],
        "btd_steps": list(contents.marks),
        **building.given(tiered_config=_tiered_config(contents)),
    }
    return {
        **problem,
        "best": result,
        "traces": [result],
        "total_time_ms": origin.get("total_time_ms", took),
    }


def _tiered_config(contents: Contents) -> dict[str, Any] | None:
    chosen = building.retention_of(contents)
    return {"bucket_size": chosen.bucket} if isinstance(chosen, Tiered) else None
