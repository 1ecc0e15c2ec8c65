"""The forms `tiered` and `tiered-delta`: our own in JSON, for traces that people read and keep under version control.

`tiered` holds keyframes, one a line. `tiered-delta` has an entry for each step: `I` with the state, `P` without; its
`gradient` is the input that led from the step before to this one. Behind these known keys come those of ours: what has
no place in them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import strictjson
from playhead.errors import Damaged, StoreTooNew, WrongType
from playhead.lanes.keyframes import retention, tiers, tree
from playhead.lanes.keyframes.contents import Contents, MemoryContents
from playhead.lanes.keyframes.marks import Marks
from playhead.trace.formats import building, states
from playhead.trace.formats.building import SHAPES, Keyframe
from playhead.trace.formats.fields import MOST_STEPS, Fields
from playhead.trace.writing import VERSION

TIERED, DELTA = "tiered", "tiered-delta"

_STATE, _INPUT = "state", "gradient"
_KEYS = (
    *("format", "params", "total_steps", "learning_rate", "keyframes"),  # known
    *("btd_steps", "errors", "stamps", "playhead"),  # ours
)
_EVERY = 2  # how much sparser each tier is
_REMEDY = "Restore it from a copy, or make `check` in it null to take it as it stands"


# -- writing --------------------------------------------------------------------------------------------------------


def document(contents: Contents, form: str) -> dict[str, Any]:
    """Give a trace in one of the two forms.

    Raises:
        WrongType: It has too many steps for JSON.
    """
    if contents.length > MOST_STEPS:
        raise WrongType(f"{contents.length:,} steps are too many for JSON, which holds {MOST_STEPS:,}; write a .trace")
    bucket = getattr(building.retention_of(contents), "bucket", None)
    rate = building.number(contents, "learning_rate")
    decimation = _EVERY if form == TIERED and bucket is not None else None
    head: dict[str, Any] = {
        "format": form,
        "params": building.given(bucket_size=bucket, decimation=decimation),
        "total_steps": contents.length,
        **building.given(learning_rate=rate),
    }
    errors = [strictjson.special(error) for error in contents.errors.tolist()]
    if form == TIERED:
        head["keyframes"] = _keyframes(contents, errors, bucket)
    else:
        head["keyframes"] = _entries(contents, errors)
    return head | {
        "btd_steps": list(contents.marks),
        **({"errors": errors} if form == TIERED and _has_other_errors(contents) else {}),
        **building.given(stamps=_stamps(contents)),
        "playhead": contents.facts | _rest(contents, form) | {"check": check(contents, has_inputs=form == DELTA)},
    }


def _keyframes(contents: Contents, errors: list[Any], bucket: int | None) -> list[dict[str, Any]]:
    written = _States(contents)
    return [
        {
            "step_idx": step,
            **({} if bucket is None else {"tier": tiers.tier(step, bucket)}),
            "error": errors[step],
            **written.of(step),
        }
        for step in contents.keyframes.tolist()
    ]


def _entries(contents: Contents, errors: list[Any]) -> list[dict[str, Any]]:
    written = _States(contents)
    kept = set(contents.keyframes.tolist())
    entries = []
    led_here: bytes | None = None
    for step, led_on in enumerate(contents.packed_inputs(0, contents.length)):
        is_kept = step in kept
        if not is_kept and led_here is None and np.isnan(contents.errors[step]):  # nothing is known of it
            led_here = led_on
            continue
        entry = {"step_idx": step, "type": "I" if is_kept else "P", "error": errors[step]}
        if is_kept:
            entry |= written.of(step)
        if led_here is not None:
            entry[_INPUT] = states.to_json(tree.unpack(led_here))
        entries.append(entry)
        led_here = led_on
    return entries


class _States:
    """Gives states as a trace says its own: `state`, or for those of another program as they stand, `shapes`."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._is_foreign = contents.facts.get("state_key") == SHAPES and all(
            states.is_plain(tree.unpack(contents.packed(step))) for step in contents.keyframes.tolist()
        )

    def of(self, step: int) -> dict[str, Any]:
        state = tree.unpack(self._contents.packed(step))
        return {SHAPES: state} if self._is_foreign else {_STATE: states.to_json(state)}


def _has_other_errors(contents: Contents) -> bool:
    """Tell whether steps that are no keyframes have errors."""
    return bool(
        np.count_nonzero(~np.isnan(contents.errors)) > np.count_nonzero(~np.isnan(contents.errors[contents.keyframes]))
    )


def _stamps(contents: Contents) -> list[int] | None:
    """Give the times of the steps; None where they are the numbers of the steps, which stand in for them."""
    return None if np.array_equal(contents.stamps, np.arange(contents.length)) else contents.stamps.tolist()


def _rest(contents: Contents, form: str) -> dict[str, Any]:
    """Give the input of the last step, which leads to none that has an entry."""
    if form == TIERED or not contents.length:
        return {}
    (last,) = contents.packed_inputs(contents.length - 1, contents.length)
    return {} if last is None else {"last_input": states.to_json(tree.unpack(last))}


def check(contents: Contents, *, has_inputs: bool) -> str:
    """Give the hash of all that a trace holds, so that a file which was edited is told from one that was not."""
    inputs = list(contents.packed_inputs(0, contents.length)) if has_inputs else []
    facts = strictjson.decode(strictjson.encode(contents.facts))  # as they are read again: the largest numbers change
    content = {
        "facts": strictjson.encode(facts).decode(),
        "stamps": contents.stamps,
        "errors": np.where(np.isnan(contents.errors), math.nan, contents.errors),
        "marks": np.array(list(contents.marks), np.int64),
        "states": {step: contents.packed(step) for step in contents.keyframes.tolist()},
        "inputs": inputs,
    }
    return tree.digest(tree.pack(content)).hex()


# -- reading --------------------------------------------------------------------------------------------------------


def read(file: Fields) -> MemoryContents:
    """Read a trace in one of the two forms, with our keys or without.

    Raises:
        Damaged: It is none.
    """
    form, total = file.text("format"), file.total("total_steps")
    if unknown := [name for name in file.data if name not in _KEYS]:
        raise file.damaged(f"the keys {', '.join(_KEYS)}", f"also {', '.join(unknown)}")
    items = list(file.inners("keyframes"))
    kept = building.keyframes((item for item in items if _is_kept(item)), total, _state)
    dense = file.numbers("errors", total) if "errors" in file else None
    errors = building.errors_of(file.path, total, dense, [*kept, *_predicted(items, total)])
    facts, due, last = _facts(file, any(SHAPES in item for item in items))
    inputs = _inputs(items, total, last) if form == DELTA else []
    marks = Marks(file.steps("btd_steps", total)) if "btd_steps" in file else None
    if marks:
        building.check_best(file, errors, marks[-1], "that of the last of btd_steps")
    found = MemoryContents(
        facts, _read_stamps(file, total), errors, {one.step: one.packed for one in kept}, inputs, marks
    )
    if due is not None and due != (seen := check(found, has_inputs=form == DELTA)):
        raise Damaged(file.path, f"a trace with the check {due}", f"one with {seen}: it was edited", _REMEDY)
    return found


def _is_kept(item: Fields) -> bool:
    kind = item.text("type")
    if kind not in (None, "I", "P"):
        raise item.damaged("a type I or P", kind)
    return kind != "P"


def _state(item: Fields) -> bytes:
    if _STATE in item.data:
        return building.our_state(item, _STATE)
    return building.plain_state(item)


def _predicted(items: list[Fields], total: int) -> list[Keyframe]:
    """Give the steps without a state; all of them, with one or without, are in order."""
    found, last = [], -1
    for item in items:
        step = item.step(total)
        if step <= last:
            raise item.damaged(f"a step behind {last}", step)
        last = step
        if not _is_kept(item):
            found.append(Keyframe(step, item.number("error"), b""))
    return found


def _inputs(items: list[Fields], total: int, last: Fields | None) -> list[bytes | None]:
    found: list[bytes | None] = [None] * total
    for item in items:
        step = item.step(total)
        if _INPUT in item.data:
            if not step:
                raise item.damaged(f"no {_INPUT}, since no step leads to the first", item.data[_INPUT])
            found[step - 1] = building.our_state(item, _INPUT)
    if last is not None and total:
        found[-1] = building.our_state(last, "last_input")
    return found


def _read_stamps(file: Fields, total: int) -> NDArray[np.int64]:
    if "stamps" not in file:
        return np.arange(total)
    stamps = file.listed("stamps")
    if len(stamps) != total or not all(type(stamp) is int and -(1 << 63) <= stamp < 1 << 63 for stamp in stamps):
        raise file.damaged(f"{total:,} stamps, whole numbers of 64 bits", stamps)
    found = np.array(stamps, np.int64)
    if (found[1:] <= found[:-1]).any():
        raise file.damaged(
            "stamps that increase", f"{int(np.flatnonzero(found[1:] <= found[:-1])[0]) + 1} that does not"
        )
    return found


def _facts(file: Fields, is_foreign: bool) -> tuple[dict[str, Any], str | None, Fields | None]:
    """Give what the file says of the trace, the check that is due, and the last input where there is one."""
    rate = file.finite("learning_rate")
    if "playhead" not in file:
        facts = building.facts({"learning_rate": rate}, retention=_retention(file))
        if not is_foreign:
            del facts["state_key"]
        return facts, None, None
    said = Fields(file.path, file.json("playhead"), "playhead")
    facts = dict(said.data)
    due = said.text("check")
    if facts.pop("check", said) is said:
        raise said.damaged("a check, or null", said.data)
    last = file.inner("playhead") if facts.pop("last_input", said) is not said else None
    if said.whole("version") > VERSION:
        raise StoreTooNew(
            f"{file.path} is a trace of version {said.data['version']}; this Playhead knows {VERSION}. Update it"
        )
    _check_facts(said)
    if rate is not None and (facts.get("parameters") or {}).get("learning_rate") != rate:
        raise file.damaged("the learning_rate that parameters name", rate)
    return facts, due, last


def _check_facts(said: Fields) -> None:
    """See that facts have the kinds that others rely on."""
    if "created_ns" in said:
        said.whole("created_ns")
    for name in ("parameters", "step", "origin"):
        if name in said:
            said.inner(name)
    if "step" in said and "versions" in said.inner("step"):
        said.inner("step").inner("versions")
    if "retention" in said:
        try:
            retention.from_json(said.inner("retention").data)
        except Damaged as error:
            raise said.damaged(error.expected, error.found) from error


def _retention(file: Fields) -> dict[str, Any] | None:
    params = file.inner("params") if "params" in file else None
    if params is None or "bucket_size" not in params or params.data.get("decimation", _EVERY) != _EVERY:
        return None
    bucket = params.whole("bucket_size")
    if not bucket:
        raise params.damaged("a bucket_size from 1", bucket)
    return {"strategy": "tiered", "bucket": bucket}
