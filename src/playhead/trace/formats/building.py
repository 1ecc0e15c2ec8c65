"""What the forms have in common: keyframes in order, errors that agree, and a trace made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import clock
from playhead.errors import Damaged, WrongType
from playhead.lanes.keyframes import retention as ways
from playhead.lanes.keyframes import tree
from playhead.lanes.keyframes.contents import Contents
from playhead.lanes.keyframes.marks import Marks
from playhead.lanes.keyframes.retention import Retention
from playhead.trace.formats import states
from playhead.trace.formats.fields import Fields
from playhead.trace.writing import VERSION

SHAPES = "shapes"  # what the states of other programs are called

_DIGITS = 1e-5  # errors that were rounded to six digits differ by less, in proportion


@dataclass(frozen=True, slots=True)
class Keyframe:
    """A state that a file holds, packed, and the error of its step; NaN where it says none."""

    step: int
    error: float
    packed: bytes


def facts(parameters: Mapping[str, Any], *, created: str | None = None, **more: Any) -> dict[str, Any]:
    """Say of a trace of another program what our own say of themselves.

    Args:
        parameters: What its function was told; those that are None are left out.
        created: When it was made, as the file says it.
        more: What else is to be kept; None is left out.
    """
    return {
        "version": VERSION,
        "created_ns": _ns(created),
        "retention": more.pop("retention", None),
        "parameters": {name: value for name, value in parameters.items() if value is not None},
        "step": None,
        "state_key": SHAPES,
        **({"created": created} if created is not None else {}),
        **{name: value for name, value in more.items() if value is not None},
    }


def _ns(text: str | None) -> int:
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:  # one program writes the debug text of its clock
        return 0
    ns = int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1e6) * 1000
    return ns if 0 <= ns < 1 << 63 else 0


def created(contents: Contents) -> str | None:
    """Say when a trace was made: as its file said it, else as browsers write it; None where nobody knows."""
    said = contents.facts.get("created")
    ns = int(contents.facts.get("created_ns") or 0)
    if isinstance(said, str):
        return said
    if not ns:
        return None
    return datetime.fromtimestamp(ns / clock.SECOND, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# -- reading --------------------------------------------------------------------------------------------------------


def plain_state(item: Fields, key: str = SHAPES) -> bytes:
    """Give the state of another program, packed as it stands."""
    if key not in item:
        raise item.damaged(f"a state as {key}", item.data)
    return _packed(item, item.data[key])


def our_state(item: Fields, key: str) -> bytes:
    """Give a state that `states.to_json` wrote, packed."""
    try:
        return _packed(item, states.from_json(item.data[key]))
    except states.Unreadable as error:
        raise item.damaged(f"a state as {key}", error) from error


def _packed(item: Fields, state: Any) -> bytes:
    try:
        return tree.pack(state)
    except WrongType as error:
        raise item.damaged("a state", error) from error


def keyframes(items: Iterable[Fields], total: int, state: Callable[[Fields], bytes] = plain_state) -> list[Keyframe]:
    """Read keyframes, strictly in order."""
    found: list[Keyframe] = []
    for item in items:
        one = Keyframe(item.step(total), item.number("error"), state(item))
        if found and one.step <= found[-1].step:
            raise item.damaged(f"a step behind {found[-1].step}", one.step)
        found.append(one)
    return found


def states_of(path: Path, kept: Iterable[Keyframe]) -> dict[int, bytes]:
    """Give packed states by step; a step that is there twice has one state."""
    found: dict[int, bytes] = {}
    for one in kept:
        if found.setdefault(one.step, one.packed) != one.packed:
            raise Damaged(path, f"one state of step {one.step}", "two that differ")
    return found


def errors_of(path: Path, total: int, dense: Sequence[float] | None, kept: Iterable[Keyframe]) -> NDArray[np.float64]:
    """Give the error of each step that has one: as keyframes say it, else as the list does, which may be rounded."""
    errors = np.full(total, math.nan) if dense is None else np.array(dense, np.float64)
    for one in kept:
        note_error(path, errors, one.step, one.error)
    return errors


def note_error(path: Path, errors: NDArray[np.float64], step: int, error: float) -> None:
    """Take the error of one step from another place of the file, where it may be more exact.

    Raises:
        Damaged: The two differ by more than rounding does.
    """
    if math.isnan(error):
        return
    known = float(errors[step])
    if not math.isnan(known) and known != error and not abs(known - error) <= _DIGITS * max(abs(known), abs(error)):
        raise Damaged(path, f"one error of step {step}", f"{known!r} and {error!r}")
    errors[step] = error


def note_best(item: Fields, errors: NDArray[np.float64], step_name: str, error_name: str) -> int | None:
    """Take the best step from a file; None where it names no smallest error.

    Raises:
        Damaged: Another step is better.
    """
    least = item.number(error_name)
    if not math.isfinite(least):
        return None
    step = item.whole(step_name, below=len(errors))
    note_error(item.path, errors, step, least)
    check_best(item, errors, step, error_name)
    return step


def check_best(item: Fields, errors: NDArray[np.float64], step: int, name: str) -> None:
    """See that a step is the best, as far as rounded errors tell.

    Raises:
        Damaged: Another step is better.
    """
    least = float(errors[step])
    better = np.flatnonzero(errors < least - _DIGITS * abs(least))
    if len(better):
        at = int(better[0])
        raise item.damaged(f"no error below {name}, {least!r} at step {step}", f"{float(errors[at])!r} at step {at}")


def marks_until(best: int | None, steps: Iterable[int]) -> Marks:
    """Give the marks of a trace whose best step is known: rounded errors do not tell the last ones apart."""
    return Marks([step for step in steps if step < best] + [best] if best is not None else list(steps))


# -- writing --------------------------------------------------------------------------------------------------------


def plain_states(contents: Contents, form: str) -> dict[int, list[Any]]:
    """Give the states of a trace as other programs take them: lists of what JSON has itself.

    Raises:
        WrongType: One is something else.
    """
    found = {}
    for step in contents.keyframes.tolist():
        state = tree.unpack(contents.packed(step))
        if not isinstance(state, list) or not states.is_plain(state):
            kind = type(state).__name__ if not isinstance(state, list) else "list with something else in it"
            raise WrongType(
                f"the state of step {step} is a {kind}, and {form} holds lists of JSON objects, numbers and texts; "
                "write it as tiered, which holds every state"
            )
        found[step] = state
    return found


def best_of(contents: Contents, form: str) -> tuple[int, float]:
    """Give the best step and its error.

    Raises:
        WrongType: No step has one.
    """
    best = contents.marks.last
    if best is None or not math.isfinite(contents.errors[best]):
        raise WrongType(f"{form} names the smallest error, and no step of this trace has one; write it as tiered")
    return best, float(contents.errors[best])


def parameter(contents: Contents, name: str) -> Any:
    """Give what the function was told under a name; None where that is nothing."""
    return (contents.facts.get("parameters") or {}).get(name)


def problem(contents: Contents) -> dict[str, Any]:
    """Give the inputs and targets that other programs say a trace is about; empty ones where it has none."""
    inputs, targets = parameter(contents, "inputs"), parameter(contents, "targets")
    return {
        "inputs": inputs if isinstance(inputs, list) else [],
        "targets": targets if isinstance(targets, dict) else {},
    }


def retention_of(contents: Contents) -> Retention | None:
    """Give the way in which its keyframes were chosen; None where that is not known."""
    said = contents.facts.get("retention")
    return ways.from_json(said) if said else None


def number(contents: Contents, name: str) -> float | None:
    """Give such a parameter where it is a number, which is all that these forms have a place for."""
    value = parameter(contents, name)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def given(**values: Any) -> dict[str, Any]:
    """Leave out what is None."""
    return {name: value for name, value in values.items() if value is not None}
