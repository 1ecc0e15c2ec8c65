"""What is stored of an episode that is re-simulated: its actions, its states, and a check of all that was seen."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.errors import Damaged
from playhead.lanes.arrays.kind import CHECKS, FINALS, KEYFRAMES
from playhead.lanes.arrays.made import check_of, hash_of
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.spans import Keyframe, Span
from playhead.lanes.keyframes import tree
from playhead.simulators import Rig, spaces

STATES, STARTS = "states", "starts"  # arrays of the keyframes: each state; and what else the first of an episode needs
HASHES = "hashes"  # what a keyframe notes of the samples there, by array
SAMPLES, HELD = "samples", "held"  # of a start: what was seen, and what wrappers remember

BACK, SHORT = "back", "short"  # of a state that is told by one so many keyframes before it: how many, and what is told

_LENGTH = struct.Struct("<I")
_ROOM = 1.25  # states of one simulator differ in length by a few bytes
_ROUND = 64
_MOST_SHOWN = 200


class Take:
    """An episode that is re-simulated. A place is a step of it; that behind the last is its end.

    Args:
        reel: Where it lies.
        span: The episode.

    Attributes:
        span: The episode.
        checks: For each array that is not stored, the checks of all steps.
        final: The checks of what was seen at the end; empty where nothing was.
    """

    def __init__(self, reel: Reel, span: Span) -> None:
        self._reel = reel
        self.span = span
        start, stop = span.start, span.start + span.length
        self._space = space_of(reel, "action_space")
        names = [leaf["array"] for leaf in spaces.leaves(self._space) if leaf["array"] is not None]
        self._actions = {name: reel.read(name, start, stop) for name in names}
        self.checks = {name: reel.read(f"{CHECKS}.{name}", start, stop) for name in reel.made}
        self.final: dict[str, int] = {}
        if span.final is not None:
            at, found = span.final
            for name in reel.made:
                if f"{CHECKS}.{name}" in found:
                    self.final[name] = int(reel.read(f"{CHECKS}.{name}", at, at + 1, axis=FINALS)[0])
        self.keyframes = [one for one in span.keyframes if STATES in one.arrays]
        self._places = [one.row - start for one in self.keyframes]
        if not self.keyframes or self._places[0] != 0 or STARTS not in self.keyframes[0].arrays:
            raise Damaged(reel.files.file, f"the state at the begin of episode {span.number}", "none")
        self._hashes = {one.row - start: one.facts.get(HASHES, {}) for one in self.keyframes}
        if not all(isinstance(one, dict) for one in self._hashes.values()):
            raise Damaged(reel.files.file, f"the hashes of what was seen at states of episode {span.number}", "others")

    def check_at(self, name: str, place: int) -> int | None:
        """Give the check of what was seen at a place; None where nobody looked."""
        if place < self.span.length:
            return int(self.checks[name][place])
        return self.final.get(name) if place == self.span.length else None

    def fits(self, name: str, place: int, value: NDArray[Any]) -> bool:
        """Tell whether a sample is the one that was seen; where nobody looked, any is."""
        check = self.check_at(name, place)
        if check is None or check_of(value) == check:
            known = self._hashes.get(place, {}).get(name)
            return known is None or hash_of(value) == known
        return False

    def action(self, place: int) -> Any:
        """Give the action of a step, as the environment takes it."""
        return spaces.restore(self._space, {name: rows[place] for name, rows in self._actions.items()})

    def actions_before(self, place: int) -> Iterator[Any]:
        """Walk over the actions before a place, the newest first."""
        return (self.action(one) for one in range(place - 1, -1, -1))

    def keyframes_until(self, place: int) -> list[tuple[int, Keyframe]]:
        """Give the keyframes at or before a place, each with its own, the last first."""
        count = bisect_right(self._places, place)
        return list(zip(self._places[:count], self.keyframes[:count], strict=True))[::-1]

    def state(self, keyframe: Keyframe, rig: Rig) -> Any:
        """Read a state; one that is told by an earlier one is put together.

        Raises:
            Damaged: It is not what was saved.
        """
        found = self._tree(STATES, keyframe)
        if BACK not in found:
            return found
        back, at = found[BACK], self.keyframes.index(keyframe)
        if type(back) is not int or not 0 < back <= at or SHORT not in found:
            raise Damaged(self._reel.files.file, f"a state {back!r} before that at row {keyframe.row}", "none")
        return rig.whole(found[SHORT], self._tree(STATES, self.keyframes[at - back]))

    def start(self) -> dict[str, Any]:
        """Read what else is known of the begin of the episode.

        Raises:
            Damaged: It is not what was saved.
        """
        found = self._tree(STARTS, self.keyframes[0])
        samples = found.get(SAMPLES)
        is_seen = isinstance(samples, dict) and all(isinstance(one, np.ndarray) for one in samples.values())
        if not is_seen or HELD not in found or not set(samples or ()) <= self.checks.keys():
            said = f"what was seen at the begin of episode {self.span.number}"
            raise Damaged(self._reel.files.file, said, "something else")
        return found

    def _tree(self, name: str, keyframe: Keyframe) -> dict[str, Any]:
        row = self._reel.read(name, keyframe.at, keyframe.at + 1, axis=KEYFRAMES)[0]
        try:
            found = unpacked(row)
        except Damaged as error:
            raise self._reel_damaged(keyframe, error.found) from error
        if not isinstance(found, dict):
            raise self._reel_damaged(keyframe, type(found).__name__)
        return found

    def _reel_damaged(self, keyframe: Keyframe, found: str) -> Damaged:
        return Damaged(self._reel.files.file, f"a state at row {keyframe.row}", found)


def space_of(reel: Reel, name: str) -> dict[str, Any]:
    """Give what a reel says of the space of its actions or observations.

    Raises:
        Damaged: It says nothing, or what cannot be.
    """
    found: dict[str, Any] | None = reel.facts.get(name)
    if found is None or not spaces.is_description(found):
        raise Damaged(reel.files.file, f"the {name} that the environment had", repr(found)[:_MOST_SHOWN])
    return found


def packed(state: Any, capacity: int | None) -> NDArray[np.uint8] | None:
    """Give a state as a row of bytes; None where it does not fit.

    Args:
        state: A tree.
        capacity: How long rows are; None for the first one, which decides it.
    """
    data = tree.pack(state)
    if capacity is None:
        capacity = -(-int(_LENGTH.size + len(data) * _ROOM) // _ROUND) * _ROUND
    if _LENGTH.size + len(data) > capacity:
        return None
    row = np.zeros(capacity, np.uint8)
    row[: _LENGTH.size + len(data)] = np.frombuffer(_LENGTH.pack(len(data)) + data, np.uint8)
    return row


def unpacked(row: NDArray[np.uint8]) -> Any:
    """Give the state that a row of bytes is.

    Raises:
        Damaged: It is none.
    """
    data = row.tobytes()
    if len(data) < _LENGTH.size:
        raise Damaged("a state", "what `packed` gave", f"{len(data)} bytes")
    (length,) = _LENGTH.unpack_from(data)
    return tree.unpack(data[_LENGTH.size : _LENGTH.size + length])
