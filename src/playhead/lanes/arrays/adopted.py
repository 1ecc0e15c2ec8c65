"""The episodes of another program's file, where that does not know them itself: a JSON file beside it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from playhead import disk, strictjson
from playhead.errors import Damaged

_LIST = "episodes"


@dataclass(frozen=True, slots=True)
class AdoptedEpisode:
    """An episode of a file.

    Attributes:
        start: Its first step.
        length: How many steps it has.
        how: How it ended, as `Span` has it.
        facts: What is known of it.
    """

    start: int
    length: int
    how: str = "closed"
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def stop(self) -> int:
        """The step behind its last one."""
        return self.start + self.length


def write(path: Path, episodes: Iterable[AdoptedEpisode]) -> None:
    """Say which episodes a file has, in the order of their steps; steps of none of them stay as the file has them."""
    disk.make_folders(path.parent)
    disk.replace(path, strictjson.encode({_LIST: [strictjson.plain(asdict(one)) for one in episodes]}))


def load(path: Path, length: int) -> list[AdoptedEpisode]:
    """Read what `write` wrote; nothing where it was never called.

    Args:
        path: The JSON file.
        length: How many steps the other file has.

    Raises:
        Damaged: It is something else, or speaks of steps that are not there.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    try:
        found = [_checked(**one) for one in strictjson.decode(data)[_LIST]]
    except (strictjson.JSONDecodeError, TypeError, KeyError, ValueError) as error:
        raise _damage(path, "a list of episodes", str(error)) from error
    stops = [0, *(one.stop for one in found)]
    starts = [*(one.start for one in found), length]
    if any(start < stop for stop, start in zip(stops, starts, strict=True)):
        raise _damage(path, f"episodes within {length} steps, one behind the other", f"{found}")
    return found


def _checked(start: Any, length: Any, how: Any, facts: Any) -> AdoptedEpisode:
    if type(start) is not int or type(length) is not int or length < 1:
        raise ValueError(f"an episode of {length!r} steps from {start!r}")
    if not isinstance(how, str) or not isinstance(facts, dict):
        raise ValueError(f"an episode that ended as {how!r}, with {facts!r}")
    return AdoptedEpisode(start, length, how, facts)


def _damage(path: Path, expected: str, found: str) -> Damaged:
    return Damaged(
        path, expected, found[:200], "Restore it, or move it away: the replay then has the file's own episodes"
    )


def completed(known: Sequence[AdoptedEpisode], starts: Sequence[int], length: int) -> Iterator[AdoptedEpisode]:
    """Give episodes that cover all steps: those that are known, and between them what the file itself says.

    Args:
        known: Those that are known.
        starts: Where episodes begin, as the file says, in order.
        length: How many steps there are.
    """
    at = 0
    for one in [*known, AdoptedEpisode(length, 0)]:
        if at < one.start:
            between = [at, *starts[bisect_right(starts, at) : bisect_left(starts, one.start)], one.start]
            yield from (AdoptedEpisode(start, stop - start) for start, stop in pairwise(between))
        if one.length:
            yield one
        at = one.stop
