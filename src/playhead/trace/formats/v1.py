"""V1: what the page of another program exports. Keyframes, and the error of each step to six digits."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np

from playhead.lanes.keyframes.contents import Contents, MemoryContents
from playhead.lanes.keyframes.marks import Marks
from playhead.trace.formats import building
from playhead.trace.formats.fields import Fields

NAME = "v1"

_SIX = Context(prec=6, rounding=ROUND_HALF_UP)  # as browsers round


def read(file: Fields) -> MemoryContents:
    """Read a V1 trace.

    Raises:
        Damaged: It is none.
    """
    total = file.total("totalSteps")
    kept = building.keyframes(file.inners("keyframes"), total)
    dense = file.numbers("errors", total) if "errors" in file else None
    errors = building.errors_of(file.path, total, dense, kept)
    best = building.note_best(file, errors, "minStep", "minError")
    told = file.inner("params") if "params" in file else file
    parameters = {
        "learning_rate": told.finite("learningRate"),
        "convergence_threshold": told.finite("convergenceThreshold"),
        "inputs": file.json("inputs"),
        "targets": file.json("targets"),
    }
    facts = building.facts(parameters, created=file.text("timestamp"), origin={"form": NAME})
    marks = building.marks_until(best, Marks.of_errors(errors if dense is None else dense))
    return MemoryContents(facts, np.arange(total), errors, building.states_of(file.path, kept), marks=marks)


def document(contents: Contents) -> dict[str, Any]:
    """Give a trace as V1.

    Raises:
        WrongType: It has no error, or a state that is no list of JSON.
    """
    best, least = building.best_of(contents, NAME)
    errors = contents.errors.tolist()
    kept = building.plain_states(contents, NAME)
    return {
        "version": 1,
        **building.given(timestamp=building.created(contents)),
        **building.problem(contents),
        "params": building.given(
            learningRate=building.number(contents, "learning_rate"),
            convergenceThreshold=building.number(contents, "convergence_threshold"),
        ),
        "totalSteps": contents.length,
        "minStep": best,
        "minError": least,
        "keyframes": [
            {"stepIndex": step, "error": _null_if_none(errors[step]), "shapes": state} for step, state in kept.items()
        ],
        "errors": [_null_if_none(six_digits(error)) for error in errors],
    }


def six_digits(error: float) -> float:
    """Round to six significant digits."""
    return float(_SIX.create_decimal(Decimal(error))) if math.isfinite(error) else error


def _null_if_none(error: float) -> float | None:
    return error if math.isfinite(error) else None
