"""Traces from one form into another, with as many keyframes as are wanted."""

from __future__ import annotations

from collections.abc import Iterable

from playhead import disk
from playhead.errors import Exists, NotFound, WrongType
from playhead.lanes.keyframes import sealing, tiers, whose
from playhead.lanes.keyframes.contents import Contents, MemoryContents
from playhead.lanes.keyframes.retention import Tiered
from playhead.paths import GivenPath, as_path
from playhead.signal.solo import tape_of
from playhead.trace import forms, identity
from playhead.trace.formats import train, writing
from playhead.trace.identity import Step
from playhead.trace.seeking import Seeker


def convert(
    source: GivenPath,
    target: GivenPath,
    form: str | None = None,
    bucket: int | None = None,
    step: Step | None = None,
    *,
    trace: int | None = None,
    variant: int | None = None,
) -> list[str]:
    """Write a trace to a new file, in another form or with other keyframes.

    Args:
        source: The file it is in: `.trace`, or JSON of this or another program.
        target: The file to make: `.trace`, `.json` or `.json.gz`.
        form: Which JSON; see `write`.
        bucket: Keep just the keyframes that tiers of this size have; without it, those that there are.
        step: The function that made the trace. Keyframes that are wanted and not there are recomputed with it.
        trace: Which one of a train output, by its place in the list; without it, the best.
        variant: Or by the number that the program gave it.

    Returns:
        What the new form has no place for, for people.

    Raises:
        NotFound: There is no source, or a keyframe is wanted that is not there, and no function.
        Exists: There is a target.
        Damaged: The source cannot be read.
        WrongType: The form is none, or cannot hold this trace.
    """
    source, target = as_path(source), as_path(target)
    is_binary = forms.of_path(target) == forms.BINARY
    if is_binary and writing.check_form(form) is not None:
        raise WrongType(f"{target.name} is called .trace, which has no form {form}; call it .json or .json.gz")
    if target.exists() or tape_of(target).exists():
        raise Exists(f"there is a trace {target} already; choose another name, or remove it first")
    contents = forms.load(source, forms.Which(trace, variant))
    try:
        identity.warn_of_differences(contents.facts.get("step"), step, stacklevel=2)
        chosen = _thinned(contents, bucket, step)
        if form == train.NAME and step is not None and chosen.length:  # it holds the last state
            wanted = {*chosen.keyframes.tolist(), chosen.length - 1}
            chosen = _with_keyframes(chosen, sorted(wanted), step)
        chosen.facts = whose.signed(chosen.facts, target)
        disk.make_folders(target.parent)
        if is_binary:
            sealing.write(target, chosen)
            return []
        writing.write(target, chosen, form)
        return writing.lost(chosen, form or writing.own_form(chosen))
    finally:
        contents.close()


def _thinned(contents: Contents, bucket: int | None, step: Step | None) -> Contents:
    """Give a trace with the keyframes that tiers of a size have."""
    if bucket is None:
        return contents
    retention = Tiered(bucket)
    wanted = [place for place in range(contents.length) if tiers.is_keyframe(place, bucket)]
    chosen = _with_keyframes(contents, wanted, step)
    chosen.facts["retention"] = retention.to_json()
    return chosen


def _with_keyframes(contents: Contents, wanted: Iterable[int], step: Step | None) -> MemoryContents:
    wanted = list(wanted)
    kept = set(contents.keyframes.tolist())
    missing = [place for place in wanted if place not in kept]
    if missing and step is None:
        raise NotFound(
            f"{len(missing):,} of {len(wanted):,} keyframes are not there, the first is step {missing[0]}: "
            "pass step=, the function that made the trace, to recompute them (--step module:function)"
        )
    states = {place: contents.packed(place) for place in wanted if place in kept}
    if missing:
        needed = set(missing)
        seeker = Seeker(contents, step)
        states |= {place: packed for place, packed in seeker.between(missing[0], missing[-1] + 1) if place in needed}
    inputs = contents.packed_inputs(0, contents.length)
    return MemoryContents(contents.facts, contents.stamps, contents.errors, states, inputs, contents.marks)
