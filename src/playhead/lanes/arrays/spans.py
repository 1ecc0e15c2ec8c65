"""Spans: the episodes of a reel, put together from what was noted of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from playhead.lanes.arrays.kind import FINALS, KEYFRAMES, PREFIXES
from playhead.lanes.arrays.parts import Part


@dataclass(slots=True)
class Span:
    """An episode of a reel.

    Attributes:
        number: Its place in the reel.
        start: Its first step.
        length: How many steps it has.
        how: How it ended: `terminated`, `truncated`, `reset`, `error` or `closed`; None while it is recorded, and
            where the process died.
        began_ns: When it began, where that is known.
        ended_ns: When it ended.
        facts: What was noted at its start and its end.
        final: The row of its final observation, and the arrays that have one.
        prefix: The row of what its first stack holds from before, and the arrays that have one.
        keyframes: The states that a simulator was in, in order.
    """

    number: int
    start: int
    length: int = 0
    how: str | None = None
    began_ns: int | None = None
    ended_ns: int | None = None
    facts: dict[str, Any] | None = None
    final: tuple[int, list[str]] | None = None
    prefix: tuple[int, list[str]] | None = None
    keyframes: list[Keyframe] = field(default_factory=list)


class Keyframe(NamedTuple):
    """A state of a simulator that was saved.

    Attributes:
        row: The step before which it was.
        at: Its row among the keyframes.
        arrays: The arrays that have one.
        facts: What else was noted.
    """

    row: int
    at: int
    arrays: list[str]
    facts: dict[str, Any]


def find_spans(parts: Sequence[Part]) -> list[Span]:
    """Put together the episodes that have a step from what is noted of them, in order."""
    found: dict[int, Span] = {}
    for part in parts:
        for note in part.notes:
            if "begin" in note:
                span = found.setdefault(note["begin"], Span(note["begin"], note["row"]))
                span.began_ns, span.facts = note.get("ns"), note.get("facts", {})
                span.prefix = _rare(note, PREFIXES)
            elif "end" in note:
                span = found.setdefault(note["end"], Span(note["end"], note["row"]))
                span.how, span.ended_ns = note["how"], note.get("ns")
                span.length = note["row"] - span.start
                span.facts = (span.facts or {}) | note.get("facts", {})
                span.final = _rare(note, FINALS)
            elif "keyframe" in note and note["keyframe"] in found:
                row, arrays = int(note[KEYFRAMES]), list(note["arrays"])
                keyframe = Keyframe(int(note["row"]), row, arrays, note.get("facts", {}))
                found[note["keyframe"]].keyframes.append(keyframe)
    length = max((part.span().stop for part in parts), default=0)
    spans = [found[number] for number in sorted(found)]
    for span, after in zip(spans, [*spans[1:], None], strict=False):
        stop = length if after is None else after.start
        span.length = span.length or stop - span.start
    return [span for span in spans if span.length > 0]


def _rare(note: dict[str, Any], axis: str) -> tuple[int, list[str]] | None:
    return (int(note[axis]), list(note["arrays"])) if axis in note else None
