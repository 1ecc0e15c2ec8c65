"""The reading contract: a signal is one named value over time, a stepwise function."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, final, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Signal(ABC):
    """Samples with stamps that strictly increase.

    An implementation gives the two whole arrays; index access follows from them.
    """

    @property
    @abstractmethod
    def values(self) -> NDArray[Any]:
        """All values, in order of time."""

    @property
    @abstractmethod
    def timestamps(self) -> NDArray[np.int64]:
        """The stamp of each value, in nanoseconds since 1970."""

    @final
    def __len__(self) -> int:
        return len(self.timestamps)

    @overload
    def __getitem__(self, index: int) -> tuple[Any, int]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[Any, int]]: ...
    @final
    def __getitem__(self, index: int | slice) -> tuple[Any, int] | list[tuple[Any, int]]:
        """Give the sample at a position as (value, stamp)."""
        if isinstance(index, slice):
            return list(zip(self.values[index], self.timestamps[index].tolist(), strict=True))
        return self.values[index], int(self.timestamps[index])

    @final
    def __iter__(self) -> Iterator[tuple[Any, int]]:
        return iter(zip(self.values, self.timestamps.tolist(), strict=True))
