"""What was used last, up to so many bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """Holds values up to a limit; those that were not used for longest go first.

    Args:
        most: Bytes.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes = 0
        self._held: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._held

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._held))

    def get(self, key: Hashable) -> T | None:
        """Give a value that is held; None where it is not."""
        found = self._held.get(key)
        if found is None:
            return None
        self._held.move_to_end(key)
        return found[0]

    def put(self, key: Hashable, value: T, size: int) -> None:
        """Hold a value, of about so many bytes."""
        self.drop(key)
        self._held[key] = value, size
        self._bytes += size
        while self._bytes > self._most and len(self._held) > 1:
            _, (_, gone) = self._held.popitem(last=False)
            self._bytes -= gone

    def drop(self, key: Hashable) -> None:
        """Let a value go, if it is held."""
        found = self._held.pop(key, None)
        if found is not None:
            self._bytes -= found[1]

    def clear(self) -> None:
        """Let all go."""
        self._held.clear()
        self._bytes = 0
