"""Writing a trace as JSON, in any of the forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from playhead.errors import WrongType
from playhead.lanes.keyframes.contents import Contents
from playhead.paths import GivenPath, as_path
from playhead.trace.formats import files, tiered, train, v1, v2

_DOCUMENTS: dict[str, Callable[[Contents], dict[str, Any]]] = {
    tiered.TIERED: lambda contents: tiered.document(contents, tiered.TIERED),
    tiered.DELTA: lambda contents: tiered.document(contents, tiered.DELTA),
    v1.NAME: v1.document,
    v2.NAME: v2.document,
    train.NAME: train.document,
}
FORMS = tuple(_DOCUMENTS)


def write(path: GivenPath, contents: Contents, form: str | None = None) -> None:
    """Write a trace as JSON, whole or not at all.

    Args:
        path: The file, `.json` or `.json.gz`.
        contents: The trace.
        form: One of `FORMS`; without it, `tiered-delta` where it has inputs, else `tiered`: they hold all of it.

    Raises:
        WrongType: There is no such form, or it cannot hold this trace. Nothing is written.
        BadName: The file is called otherwise.
    """
    files.save(as_path(path), _DOCUMENTS[check_form(form) or own_form(contents)](contents))


def check_form(form: str | None) -> str | None:
    """See that a form is one.

    Raises:
        WrongType: It is not.
    """
    if form is not None and form not in _DOCUMENTS:
        raise WrongType(f"no form {form!r} of a trace; there is: {', '.join(FORMS)}")
    return form


def own_form(contents: Contents) -> str:
    """Choose the form in which nothing is lost."""
    return tiered.DELTA if _count_inputs(contents) else tiered.TIERED


def _count_inputs(contents: Contents) -> int:
    return sum(one is not None for one in contents.packed_inputs(0, contents.length))


def lost(contents: Contents, form: str) -> list[str]:
    """List what a form has no place for and this trace has, for people."""
    check_form(form)
    inputs, told = _count_inputs(contents), []
    if inputs and form != tiered.DELTA:
        told.append(f"{inputs:,} inputs")
    if form in (tiered.TIERED, tiered.DELTA):
        return told
    if not np.array_equal(contents.stamps, np.arange(contents.length)):
        told.append("the times of the steps")
    if contents.facts.get("step"):
        told.append("which function made it")
    kept = np.zeros(contents.length, np.bool_)
    kept[contents.keyframes] = True
    finite = np.isfinite(contents.errors)
    if form == v1.NAME and finite[~kept].any():
        told.append("errors beyond six digits")
    if (form == v2.NAME and not finite.all() and finite[~kept].any()) or (form == train.NAME and finite[~kept].any()):
        told.append(f"{int(finite[~kept].sum()):,} errors of steps without a keyframe")
    known = {"learning_rate", "convergence_threshold", "inputs", "targets"} - (
        {"learning_rate", "convergence_threshold"} if form == train.NAME else set()
    )
    told += [f"the parameter {name}" for name in contents.facts.get("parameters") or {} if name not in known]
    return told
