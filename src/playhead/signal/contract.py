"""Signal and SignalWriter: the contract, and all that follows from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, final, overload

import numpy as np
from numpy.typing import NDArray

from playhead.errors import BadKey, Empty, NotFound, OutOfOrder, PlayheadError
from playhead.signal import keys
from playhead.signal.arrays import Positions, frozen

__all__ = ["Positions", "Signal", "SignalWriter", "TimeIndexer", "check_stamp"]

T = TypeVar("T")


class Signal(Sequence[tuple[T, int]], ABC):
    """Samples with stamps that strictly increase: a stepwise function of time.

    `signal[i]` is the sample at a position as (value, stamp); `signal[a:b:c]` and `signal[[i, j]]` are views.
    `signal.time[t]` is the newest sample at or before t; `signal.time[a:b]` is a view of the samples from a on, before
    b; `signal.time[a:b:step]` and `signal.time[[t1, t2]]` are samples at the given times. Views share memory with what
    they show, and read nothing before it is needed.

    A lane that merges several clocks may repeat a stamp; of samples with one stamp, the last is the value at that time.

    An implementation gives `timestamps` and `_values_at`; the rest follows.
    """

    _BLOCK = 1024  # samples that iteration reads at once
    _is_in_order = True  # False where a view or what is made of one does not know yet, and `_sorted` looks

    @property
    @abstractmethod
    def timestamps(self) -> NDArray[np.int64]:
        """The stamp of each sample in nanoseconds, as one read-only array."""

    @abstractmethod
    def _values_at(self, positions: Positions) -> NDArray[Any]:
        """Read the values at positions, all of which exist; a `range` goes forward, an array has any order.

        A lane that holds its values in memory gives a view for a `range`.
        """

    def _value_at(self, position: int) -> T:
        """Read one value; for lanes that have a shorter way."""
        value: T = self._values_at(range(position, position + 1))[0]
        return value

    def _count(self) -> int:
        """Count the samples; for lanes that know without reading stamps."""
        return len(self.timestamps)

    @property
    @final
    def values(self) -> NDArray[Any]:
        """All values, in the order of their stamps, as one read-only array."""
        return frozen(self._values_at(range(len(self))))

    @property
    @final
    def time(self) -> TimeIndexer[T]:
        """Access by time: `signal.time[t]`, `[a:b]`, `[a:b:step]`, `[[t1, t2]]`."""
        return TimeIndexer(self)

    @property
    @final
    def start_ts(self) -> int:
        """The first stamp.

        Raises:
            Empty: There are no samples.
        """
        return self._edge(0)

    @property
    @final
    def last_ts(self) -> int:
        """The newest stamp.

        Raises:
            Empty: There are no samples.
        """
        return self._edge(-1)

    def _edge(self, position: int) -> int:
        if not len(self):
            raise Empty("the signal is empty: it has no first and no last time")
        return int(self.timestamps[position])

    @final
    def __len__(self) -> int:
        return self._count()

    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> tuple[T, int]: ...
    @overload
    def __getitem__(self, key: slice | Sequence[int] | Sequence[np.integer[Any]] | NDArray[Any]) -> Signal[T]: ...
    @final
    def __getitem__(self, key: Any) -> tuple[T, int] | Signal[T]:
        """Give the sample at a position, or a view of several.

        Raises:
            OutOfRange: There is no such position.
            BadSlice: The step is zero or negative.
            BadKey: A mask, or something that is no index at all.
        """
        if isinstance(key, slice):
            return self._view(keys.sliced_positions(key, len(self)))
        if type(key) is not int and keys.are_several(key):
            return self._view(keys.several_positions(key, len(self)))
        position = keys.one_position(key, len(self))
        return self._value_at(position), int(self.timestamps[position])

    def _view(self, positions: Positions, stamps: NDArray[np.int64] | None = None) -> Signal[T]:
        from playhead.signal.view import SignalView

        return SignalView(self, positions, stamps)

    def _position_at(self, stamp: int) -> int:
        """Find the newest sample at or before a time; -1 where there is none."""
        return keys.position_until(self._sorted(), stamp)

    def _sorted(self) -> NDArray[np.int64]:
        """Give the stamps, which must be in order to be searched."""
        return self.timestamps

    @final
    def __iter__(self) -> Iterator[tuple[T, int]]:
        for start in range(0, len(self), self._BLOCK):
            block = range(start, min(start + self._BLOCK, len(self)))
            stamps = self.timestamps[block.start : block.stop].tolist()
            yield from zip(self._values_at(block), stamps, strict=True)

    @final
    def __reversed__(self) -> Iterator[tuple[T, int]]:
        for stop in range(len(self), 0, -self._BLOCK):
            block = range(max(stop - self._BLOCK, 0), stop)
            stamps = self.timestamps[block.start : block.stop].tolist()
            yield from zip(self._values_at(block)[::-1], stamps[::-1], strict=True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over what was sent to another process, where arrays forget that they are read-only."""
        for name, value in state.items():
            self.__dict__[name] = frozen(value) if isinstance(value, np.ndarray) else value

    @final
    def map(self, function: Callable[[Any], Any], *, batch: bool = False) -> Signal[Any]:
        """Give the signal of a function of each value, computed when it is read; see `derived.mapped`."""
        from playhead.signal import derived

        return derived.mapped(self, function, batch=batch)

    @final
    def shift(self, ns: int) -> Signal[T]:
        """Give the same values at times moved by `ns` nanoseconds; a positive number is later."""
        from playhead.signal import derived

        return derived.shifted(self, ns)

    @final
    def diff(self, *, per_second: bool = False) -> Signal[Any]:
        """Give the change from each value to the next, at the later time; see `derived.differenced`."""
        from playhead.signal import derived

        return derived.differenced(self, per_second=per_second)

    @final
    def norm(self) -> Signal[Any]:
        """Give the length of each vector."""
        from playhead.signal import derived

        return derived.norm(self)

    @final
    def resize(self, height: int, width: int, *, smooth: bool = True) -> Signal[Any]:
        """Give images in another size; without `smooth`, by the nearest pixel, as masks and depth need."""
        from playhead.signal import derived

        return derived.resized(self, height, width, smooth=smooth)

    @final
    def cache(self) -> Signal[T]:
        """Give a signal that is read once and then kept in memory."""
        from playhead.signal import derived

        return derived.cached(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, {self._description()}>"

    def _description(self) -> str:
        if not len(self):
            return "empty"
        span = (int(self.timestamps.max()) - int(self.timestamps.min())) / 1e9
        return f"{len(self)} samples over {span:.3g} s"


class TimeIndexer(Generic[T]):
    """Access to a signal by time; see `Signal`."""

    __slots__ = ("_signal",)

    def __init__(self, signal: Signal[T]) -> None:
        self._signal = signal

    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> tuple[T, int]: ...
    @overload
    def __getitem__(self, key: slice | Sequence[int] | Sequence[np.integer[Any]] | NDArray[Any]) -> Signal[T]: ...
    def __getitem__(self, key: Any) -> tuple[T, int] | Signal[T]:
        """Give the sample at a time, the samples of a window, or samples at several times.

        Raises:
            NotFound: A time precedes the first sample.
            BadSlice: The step is zero or negative, or has no start.
            BadKey: A time that is no whole number, an empty list, or samples at times that no stamp can be.
        """
        signal = self._signal
        if type(key) is not int:
            if isinstance(key, slice):
                return self._window(key) if key.step is None else self._at_steps(key)
            if keys.are_several(key):
                return self._at_times(key)
            key = keys.as_integer(key, keys.TIME)
        position = signal._position_at(key)
        if position < 0:
            raise _too_early(signal, key)
        return signal._value_at(position), int(signal.timestamps[position])

    def _window(self, key: slice) -> Signal[T]:
        start, stop = (None if bound is None else keys.as_integer(bound, keys.TIME) for bound in (key.start, key.stop))
        stamps = self._signal._sorted()
        first = 0 if start is None else keys.position_from(stamps, start)
        end = len(stamps) if stop is None else keys.position_from(stamps, stop)
        return self._signal._view(range(first, end))

    def _at_steps(self, key: slice) -> Signal[T]:
        signal = self._signal
        start, stop, step = keys.stepped_times(key)
        stamps = signal._sorted()
        if not len(stamps):
            return signal._view(range(0))
        stop = int(stamps[-1]) + 1 if stop is None else stop
        if start < min(stop, int(stamps[0])):
            raise _too_early(signal, start)
        return self._at(keys.times_between(start, stop, step))

    def _at_times(self, key: Any) -> Signal[T]:
        def outside(time: int) -> PlayheadError:
            return _too_early(self._signal, time) if time < keys.LEAST else keys.too_late(time)

        times = keys.as_integers(key, keys.TIME, outside)
        if not times.size:
            raise BadKey("a list of times holds at least one")
        return self._at(times.copy() if isinstance(key, np.ndarray) else times)

    def _at(self, times: NDArray[np.int64]) -> Signal[T]:
        positions = self._signal._sorted().searchsorted(times, "right")
        positions -= 1
        if len(times) and positions.min() < 0:
            raise _too_early(self._signal, int(times.min()))
        return self._signal._view(positions, times)


def _too_early(signal: Signal[Any], time: int) -> NotFound:
    if not len(signal):
        return NotFound(f"no sample at or before {time}: the signal is empty")
    return NotFound(f"no sample at or before {time}: the first one is at {signal.start_ts}")


class SignalWriter(ABC, Generic[T]):
    """Appends the samples of one signal; a context manager whose end finishes the file, also after an exception."""

    @abstractmethod
    def append(self, data: T, ts_ns: int) -> None:
        """Add a sample. One that is refused changes nothing, and the writer goes on.

        Args:
            data: The value, of the same type, shape and dtype as those before.
            ts_ns: Its time in nanoseconds, greater than the one before.

        Raises:
            OutOfOrder: The time does not increase.
            WrongShape, WrongType: The value differs from those before, or cannot be recorded.
            Closed: The writer has finished or was aborted.
        """

    @abstractmethod
    def flush(self, *, sync: bool = False) -> None:
        """Wait until every sample appended so far survives a kill of the process.

        Args:
            sync: Also wait for the medium; they then survive a power cut.
        """

    @abstractmethod
    def close(self) -> None:
        """Finish the file. Closing twice is fine."""

    @abstractmethod
    def abort(self) -> None:
        """Stop, and remove all that was recorded. Aborting twice is fine.

        Raises:
            Closed: The file is finished.
        """

    @final
    def __enter__(self) -> Self:
        return self

    @final
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def check_stamp(stamp: Any, last: int | None) -> int:
    """Take the time of a new sample.

    Raises:
        OutOfOrder: It is not greater than the last one.
        BadKey: It is no whole number of 64 bits.
    """
    time = keys.as_integer(stamp, keys.TIME)
    if not keys.LEAST <= time <= keys.MOST:
        raise BadKey(f"a time in nanoseconds has 64 bits; {time} does not fit")
    if last is not None and time <= last:
        raise OutOfOrder(f"the time {time} is not increasing: the last sample of this signal is at {last}")
    return time
