"""A part of a store at a time: which things are next, and how far the last check went."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction

from playhead import facts
from playhead.care.finding import Thing
from playhead.errors import BadQuery
from playhead.layout import Layout

_SHARE = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")


def parse(text: str) -> Fraction:
    """Read a share such as `1/30`.

    Raises:
        BadQuery: It is none between nothing and all.
    """
    match = _SHARE.fullmatch(text)
    share = Fraction(int(match[1]), int(match[2])) if match and int(match[2]) else Fraction(0)
    if not 0 < share <= 1:
        raise BadQuery(f"a share reads 1/30: one part of thirty; not {text!r}")
    return share


def next_of(layout: Layout, things: Sequence[Thing], share: Fraction) -> Sequence[Thing]:
    """Give the things behind the last one that was checked, as many as the share is; at the end it begins anew."""
    after = facts.load(layout.verified).get("after")
    places = [thing.place for thing in things]
    start = bisect_right(places, after) if isinstance(after, str) else 0
    start = 0 if start == len(things) else start
    return things[start : start + math.ceil(len(things) * share)]


def note(layout: Layout, things: Sequence[Thing], done: Sequence[Thing]) -> None:
    """Note how far a check went."""
    if done:
        rest = sum(thing.place > done[-1].place for thing in things)
        facts.write(layout.verified, {"after": done[-1].place, "left": rest})
