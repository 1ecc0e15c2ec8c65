"""Lists whose indices are those of all sequences of Playhead, and so are their errors."""

from __future__ import annotations

from typing import Any, SupportsIndex, TypeVar, overload

from playhead.signal import keys

T = TypeVar("T")


class Listed(list[T]):
    """A list that refuses a wrong index with an error of Playhead; the error says what is wrong."""

    @overload
    def __getitem__(self, key: SupportsIndex) -> T: ...

    @overload
    def __getitem__(self, key: slice) -> list[T]: ...

    def __getitem__(self, key: Any) -> T | list[T]:
        """Return an item, or those of a slice.

        Raises:
            OutOfRange: If there are fewer.
            BadKey: If the key is neither a position nor a slice.
            BadSlice: If the step of a slice is zero.
        """
        if isinstance(key, slice):
            places = keys.sliced_any_way(key, len(self))
            return Listed([super(Listed, self).__getitem__(place) for place in places])
        return super().__getitem__(keys.one_position(key, len(self)))
