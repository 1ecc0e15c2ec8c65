"""V2: what another program's command line and server write. Two lists of keyframes: the best so far, and the others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from playhead.lanes.keyframes.contents import Contents, MemoryContents
from playhead.lanes.keyframes.marks import Marks
from playhead.lanes.keyframes.retention import BestSpaced
from playhead.trace.formats import building
from playhead.trace.formats.building import Keyframe
from playhead.trace.formats.fields import Fields

NAME = "v2"

_BEST = _EVERY = 1000  # what the program takes where a file does not say


def read(file: Fields, envelope: Fields | None = None) -> MemoryContents:
    """Read a V2 trace.

    Args:
        file: It.
        envelope: What it lies in, in the file of a server, beside what that says about it.

    Raises:
        Damaged: It is none.
    """
    total = file.total("totalSteps")
    if envelope is not None and (said := envelope.inner("meta").whole("totalSteps")) != total:
        raise envelope.damaged(f"a meta with totalSteps {total}, as the trace has", said)
    best_kept = building.keyframes(file.inners("btdKeyframes"), total)
    others = building.keyframes(file.inners("intervalKeyframes"), total)
    dense = file.numbers("errors", total) if "errors" in file else None
    errors = building.errors_of(file.path, total, dense, [*best_kept, *others])
    best = building.note_best(file, errors, "minStep", "minError")
    config = file.inner("config")
    parameters = {
        "learning_rate": config.finite("learningRate"),
        "convergence_threshold": config.finite("convergenceThreshold"),
        "inputs": config.json("inputs"),
        "targets": config.json("targets"),
    }
    origin = {"form": NAME} | building.given(tiering=file.json("tiering"), meta=envelope and envelope.json("meta"))
    retention = _retention(file.inner("tiering")) if "tiering" in file else None
    facts = building.facts(parameters, created=file.text("created"), retention=retention, origin=origin)
    states = building.states_of(file.path, [*best_kept, *others])
    marks = building.marks_until(best, _marks(best_kept) if dense is None else Marks.of_errors(dense))
    return MemoryContents(facts, np.arange(total), errors, states, marks=marks)


def _marks(kept: list[Keyframe]) -> list[int]:
    """Give those of the best steps that were: one program also lists the last step among them."""
    found, least = [], math.inf
    for one in kept:
        if math.isnan(one.error) or one.error < least:
            found.append(one.step)
            least = least if math.isnan(one.error) else one.error
    return found


def _retention(tiering: Fields) -> dict[str, Any] | None:
    best = tiering.whole("maxBtdKeyframes") if "maxBtdKeyframes" in tiering else _BEST
    every = tiering.whole("intervalSpacing") if "intervalSpacing" in tiering else _EVERY
    if (tiering.text("strategy") or BestSpaced.name) != BestSpaced.name or not (best and every):
        return None  # a way that is not ours; `origin` has it
    return BestSpaced(best, every).to_json()


def document(contents: Contents) -> dict[str, Any]:
    """Give a trace as V2.

    Raises:
        WrongType: It has no error, or a state that is no list of JSON.
    """
    best, least = building.best_of(contents, NAME)
    errors = contents.errors
    marked = set(contents.marks)
    kept = [
        {"stepIndex": step, "shapes": state} | ({"error": float(errors[step])} if np.isfinite(errors[step]) else {})
        for step, state in building.plain_states(contents, NAME).items()
    ]
    return {
        "version": 2,
        **building.given(created=building.created(contents)),
        "config": {
            **building.problem(contents),
            **building.given(
                learningRate=building.number(contents, "learning_rate"),
                convergenceThreshold=building.number(contents, "convergence_threshold"),
            ),
        },
        "btdKeyframes": [one for one in kept if one["stepIndex"] in marked],
        "intervalKeyframes": [one for one in kept if one["stepIndex"] not in marked],
        "totalSteps": contents.length,
        "minError": least,
        "minStep": best,
        **building.given(tiering=_tiering(contents)),
        **({"errors": errors.tolist()} if np.isfinite(errors).all() else {}),  # the program takes all or none
    }


def _tiering(contents: Contents) -> dict[str, Any] | None:
    chosen = building.retention_of(contents)
    if isinstance(chosen, BestSpaced):
        return {"maxBtdKeyframes": chosen.best, "intervalSpacing": chosen.every, "strategy": chosen.name}
    said: dict[str, Any] | None = (contents.facts.get("origin") or {}).get("tiering")
    return said
