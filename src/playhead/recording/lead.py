"""How far what is logged may be ahead of its index."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from playhead import clock
from playhead.writer import Bell

MOST = 32 << 20  # bytes of events that are not indexed yet, before `log` waits
LATE = MOST // 2  # bytes from which on the index does not rest
PATIENCE = 1.0  # seconds that `log` waits for an index that does not move
_LOOK = 0.05  # seconds between two looks at it, if nothing rings


class Lead:
    """Slows whoever logs faster than can be indexed, as long as the index moves.

    One thread indexes and calls `note` and `lift`; any may call `hold`.

    Attributes:
        limit: The size of the event file from which on `hold` is to be called.

    Args:
        size: Of the event file, all of which is indexed.
    """

    __slots__ = ("_indexed", "_moved", "_moved_ns", "limit")

    def __init__(self, size: int) -> None:
        self.limit: float = size + MOST
        self._indexed = size
        self._moved = Bell()
        self._moved_ns = clock.elapsed_ns()

    def note(self, indexed: int, size: int) -> None:
        """Take in how far the index has come.

        A file that is further ahead, since the catalogue could not be written for a while, may grow by half of what was
        indexed: so it is caught up with, and `log` never waits for all of it at once.

        Args:
            indexed: How many bytes of the event file are indexed.
            size: How many there are.
        """
        moved = indexed - self._indexed
        if moved > 0:
            self._moved_ns = clock.elapsed_ns()
        self._indexed = indexed
        if moved > 0 or size - indexed <= MOST:
            self.limit = max(indexed + MOST, size + moved // 2)
            self._moved.ring()

    def lift(self) -> None:
        """Let everybody log on: nothing can be indexed now."""
        self.limit = inf
        self._moved.ring()

    def is_late(self, size: int) -> bool:
        """Return whether the index is so far behind a file of this size that it should not rest."""
        return size - self._indexed > LATE

    def hold(self, size: int, wake: Callable[[], object]) -> None:
        """Wait until a file of this size is within the limit, or the index has not moved for `PATIENCE`.

        Args:
            size: The size of the event file.
            wake: Lets the next round of the index begin at once.
        """
        began = clock.elapsed_ns()
        while size > self.limit:
            wake()
            self._moved.wait(_LOOK)
            if clock.elapsed_ns() - max(began, self._moved_ns) > PATIENCE * clock.SECOND:
                self.lift()
