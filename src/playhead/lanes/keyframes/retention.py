"""Which states of a trace are kept as keyframes: one small interface, and the ways there are."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from playhead.errors import Damaged, WrongType
from playhead.lanes.keyframes import tiers


class Retention(ABC):
    """Decides step by step; the first is always kept, since every other one is recomputed from a keyframe before it."""

    name: ClassVar[str]

    @abstractmethod
    def keeps(self, step: int, *, is_best: bool) -> bool:
        """Tell whether the next step is a keyframe; asking changes nothing.

        Args:
            step: Its number, one more than the last.
            is_best: Its error is smaller than all before.
        """

    def note(self, step: int, *, is_best: bool) -> Sequence[int]:  # noqa: ARG002
        """Hear that the step is there; give the earlier keyframes that are none any more."""
        return ()

    def most(self, steps: int) -> int | None:  # noqa: ARG002
        """Give how many states may lie on the disk beside so many steps, given up ones among them; None for any."""
        return None

    def resume(self, marks: Sequence[int], keyframes: Sequence[int] = (), steps: int = 0) -> None:  # noqa: ARG002
        """Go on with a trace.

        Args:
            marks: Its best steps.
            keyframes: Those whose states are kept, perhaps in another way.
            steps: How many it has.
        """
        for step in marks:
            self.note(step, is_best=True)

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Say how it decides, for `from_json`."""

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value}" for name, value in self.to_json().items() if name != "strategy")
        return f"<{type(self).__name__} {said}>".replace(" >", ">")


class Dense(Retention):
    """Keep every step."""

    name = "dense"

    def keeps(self, step: int, *, is_best: bool) -> bool:  # noqa: ARG002
        """Keep it."""
        return True

    def to_json(self) -> dict[str, Any]:
        """Say how it decides."""
        return {"strategy": self.name}


class Tiered(Retention):
    """Keep fewer of the later steps: those that `tiers.is_keyframe` names.

    Args:
        bucket: How many steps a tier keeps.
    """

    name = "tiered"

    def __init__(self, bucket: int = tiers.DEFAULT_BUCKET) -> None:
        self.bucket = tiers.check_bucket(bucket)
        self._mask, self._next = 0, 2 * bucket  # of the tier that steps are in, and where the next one begins

    def keeps(self, step: int, *, is_best: bool) -> bool:  # noqa: ARG002
        """Keep it if its number is a multiple of its tier's resolution."""
        while step >= self._next:
            self._mask, self._next = 2 * self._mask + 1, 2 * self._next
        return not step & self._mask

    def to_json(self) -> dict[str, Any]:
        """Say how it decides."""
        return {"strategy": self.name, "bucket": self.bucket}


class Aged(Retention):
    """Keep fewer of the older steps: all of the newest, then every second one, every fourth and so on.

    The newest are 2b, and each doubling of the age has b, where b is two thirds of the bucket B. A third is room for
    those that are given up and still lie on the disk, where the file is made anew once they fill it: from B·2^n steps
    on, there are at most B·(n + 2) of both.

    Args:
        bucket: B.
        best: How many of the steps that were the best so far are kept whatever their age, evenly spaced.
    """

    name = "aged"

    def __init__(self, bucket: int = tiers.DEFAULT_BUCKET, best: int = 0) -> None:
        self.bucket = tiers.check_bucket(bucket)
        self.tier_keeps = max(1, 2 * bucket // 3)
        self._surplus: tuple[int, Sequence[int]] = -1, ()  # a step to come, and what goes with it
        self.best = _check_count(best, "best", 0)
        self._spared = _Spaced(best) if best else None

    def keeps(self, step: int, *, is_best: bool) -> bool:  # noqa: ARG002
        """Keep it."""
        return True

    def note(self, step: int, *, is_best: bool) -> Sequence[int]:
        """Drop those that have just become too old for their number."""
        dropped = list(self._surplus[1]) if step == self._surplus[0] else []
        if self._spared is not None and is_best:
            released = self._spared.add(step)
            if released is not None and self._is_due(released, step):
                dropped.append(released)
        tier, age = 1, 2 * self.tier_keeps
        while age <= step:
            old = step - age
            is_spared = self._spared is not None and old in self._spared
            # What the tier before let go of is gone already, and so may be what was released just now.
            if old % (1 << tier) and not old % (1 << (tier - 1)) and not is_spared and old not in dropped:
                dropped.append(old)
            tier, age = tier + 1, 2 * age
        return dropped

    def most(self, steps: int) -> int:
        """Give B·(n + 2), and the best."""
        return self.bucket * (tiers.tier(max(0, steps - 1), self.bucket) + 2) + self.best

    def resume(self, marks: Sequence[int], keyframes: Sequence[int] = (), steps: int = 0) -> None:
        """Go on with a trace; what another way kept of it goes with the next step."""
        super().resume(marks)
        spared = self._spared or ()
        self._surplus = steps, [old for old in keyframes if self._is_due(old, steps - 1) and old not in spared]

    def _is_due(self, step: int, now: int) -> bool:
        return step % tiers.resolution(tiers.tier(now - step, self.tier_keeps)) != 0

    def to_json(self) -> dict[str, Any]:
        """Say how it decides."""
        return {"strategy": self.name, "bucket": self.bucket, "best": self.best}


class BestOnly(Retention):
    """Keep the first step, and those that were the best so far."""

    name = "best-only"

    def keeps(self, step: int, *, is_best: bool) -> bool:
        """Keep it if it is the best."""
        return is_best or step == 0

    def to_json(self) -> dict[str, Any]:
        """Say how it decides."""
        return {"strategy": self.name}


class BestSpaced(Retention):
    """Keep so many of the steps that were the best so far, evenly spaced, and every n-th step.

    Args:
        best: How many of the best.
        every: The distance of the others.
    """

    name = "btd-evenly-spaced"

    def __init__(self, best: int = 1000, every: int = 1000) -> None:
        self.best = _check_count(best, "best", 1)
        self.every = _check_count(every, "every", 1)
        self._spared = _Spaced(best)

    def keeps(self, step: int, *, is_best: bool) -> bool:
        """Keep it if it is the best, or the n-th."""
        return is_best or step % self.every == 0

    def note(self, step: int, *, is_best: bool) -> Sequence[int]:
        """Drop the best step whose neighbours are nearest."""
        released = self._spared.add(step) if is_best else None
        return () if released is None or released % self.every == 0 else (released,)

    def to_json(self) -> dict[str, Any]:
        """Say how it decides."""
        return {"strategy": self.name, "best": self.best, "every": self.every}


class _Spaced:
    """At most so many steps, evenly spaced: where one more comes, that with the nearest neighbours goes.

    The first and the last never go; with a capacity of one, the last stays. The last but one is judged as if the next
    came as far behind it as the one before: it would go each time otherwise, and with a capacity of three the second
    step would stay for ever. A heap of costs, in which those of both neighbours are made anew when a step goes;
    entries that are out of date are passed over.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._before: dict[int, int | None] = {}
        self._after: dict[int, int | None] = {}
        self._last: int | None = None
        self._costs: list[tuple[int, int]] = []

    def __contains__(self, step: int) -> bool:
        return step in self._before

    def add(self, step: int) -> int | None:
        """Add a step behind all others; give the one that goes, if one does."""
        if step == self._last:  # a signal's exception came before the caller heard the answer
            return None
        last, self._last = self._last, step
        self._before[step], self._after[step] = last, None
        if last is not None:
            self._after[last] = step
            self._note(last)
            if (neighbour := self._before[last]) is not None:
                self._note(neighbour)
        if len(self._before) <= self._capacity:
            return None
        if self._capacity <= 2:
            return self._remove(last) if last is not None and self._before[last] is not None else self._remove_first()
        while True:
            cost, found = heapq.heappop(self._costs)
            if found in self._before and cost == self._cost(found):
                return self._remove(found)

    def _cost(self, step: int) -> int | None:
        before, after = self._before[step], self._after[step]
        if before is None or after is None:
            return None
        return 2 * (step - before) if after == self._last else after - before

    def _note(self, step: int) -> None:
        cost = self._cost(step)
        if cost is not None:
            heapq.heappush(self._costs, (cost, step))

    def _remove_first(self) -> int:
        first = next(step for step, before in self._before.items() if before is None)
        return self._remove(first)

    def _remove(self, step: int) -> int:
        before, after = self._before.pop(step), self._after.pop(step)
        for side, neighbour, other in ((self._after, before, after), (self._before, after, before)):
            if neighbour is not None:
                side[neighbour] = other
        for neighbour in (before, after):
            if neighbour is not None:
                self._note(neighbour)
        return step


def _check_count(count: int, name: str, least: int) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or count < least:
        raise WrongType(f"{name} is a whole number from {least}, not {count!r}")
    return count


_STRATEGIES: dict[str, type[Retention]] = {kind.name: kind for kind in (Dense, Tiered, Aged, BestOnly, BestSpaced)}


def from_json(data: Mapping[str, Any]) -> Retention:
    """Make the retention that a file names.

    Raises:
        Damaged: There is none such.
    """
    given = dict(data)
    kind = _STRATEGIES.get(str(given.pop("strategy", "")))
    try:
        if kind is not None:
            return kind(**given)
    except TypeError:  # other arguments, or others than it takes
        pass
    raise Damaged("a trace", f"a retention, one of {', '.join(_STRATEGIES)}", repr(dict(data))[:200])
