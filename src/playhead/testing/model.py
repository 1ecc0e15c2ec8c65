"""A signal as a plain list: the same semantics, written as naively as they can be, to compare with."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

from playhead.errors import BadKey, BadSlice, Empty, NotFound, OutOfOrder, OutOfRange

Sample = tuple[Any, int]


class ListModel:
    """Samples in a list, read in linear time by plain Python; it shares no code with `Signal`.

    Args:
        samples: Each a value and its stamp.
    """

    def __init__(self, samples: Sequence[Sample]) -> None:
        self.samples = list(samples)

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.samples)

    def __reversed__(self) -> Iterator[Sample]:
        return reversed(self.samples)

    def __repr__(self) -> str:
        return f"ListModel({self.samples!r})"

    @property
    def stamps(self) -> list[int]:
        """The stamps, in order."""
        return [stamp for _, stamp in self.samples]

    @property
    def start_ts(self) -> int:
        """The first stamp."""
        if not self.samples:
            raise Empty
        return self.samples[0][1]

    @property
    def last_ts(self) -> int:
        """The newest stamp."""
        if not self.samples:
            raise Empty
        return self.samples[-1][1]

    @property
    def time(self) -> ModelTime:
        """Access by time."""
        return ModelTime(self.samples)

    def __getitem__(self, key: Any) -> Sample | ListModel:
        if isinstance(key, slice):
            start, stop, step = (None if part is None else _whole(part) for part in (key.start, key.stop, key.step))
            if step is not None and step <= 0:
                raise BadSlice
            return ListModel(self.samples[start:stop:step])
        if _is_list(key):
            return ListModel([self._at(index) for index in _wholes(key)])
        return self._at(_whole(key))

    def _at(self, index: int) -> Sample:
        if not -len(self.samples) <= index < len(self.samples):
            raise OutOfRange
        return self.samples[index]


class ModelTime:
    """Access to a list of samples by time.

    Args:
        samples: Each a value and its stamp.
    """

    def __init__(self, samples: list[Sample]) -> None:
        self._samples = samples

    def __getitem__(self, key: Any) -> Sample | ListModel:
        if isinstance(key, slice):
            return self._window(key) if key.step is None else self._at_steps(key)
        if _is_list(key):
            times = _wholes(key)
            if not times:
                raise BadKey
            return ListModel([(self._at(time)[0], time) for time in times])
        return self._at(_whole(key))

    def _at(self, time: int) -> Sample:
        self._check_order()
        found = None
        for sample in self._samples:
            if sample[1] <= time:
                found = sample
        if found is None:
            raise NotFound
        return found

    def _window(self, key: slice) -> ListModel:
        start, stop = (None if bound is None else _whole(bound) for bound in (key.start, key.stop))
        self._check_order()
        return ListModel(
            [
                sample
                for sample in self._samples
                if (start is None or start <= sample[1]) and (stop is None or sample[1] < stop)
            ]
        )

    def _at_steps(self, key: slice) -> ListModel:
        step = _whole(key.step)
        if step <= 0 or key.start is None:
            raise BadSlice
        time, stop = _whole(key.start), None if key.stop is None else _whole(key.stop)
        self._check_order()
        found: list[Sample] = []
        while self._samples and (time <= self._samples[-1][1] if stop is None else time < stop):
            found.append((self._at(time)[0], time))
            time += step
        return ListModel(found)

    def _check_order(self) -> None:
        for (_, before), (_, after) in zip(self._samples, self._samples[1:], strict=False):
            if after < before:
                raise OutOfOrder


def _is_list(key: Any) -> bool:
    is_text = isinstance(key, (str, bytes))
    return (isinstance(key, Sequence) and not is_text) or getattr(key, "ndim", 0) > 0


def _wholes(key: Any) -> list[int]:
    return [_whole(each) for each in key]


def _whole(key: Any) -> int:
    if isinstance(key, bool):
        raise BadKey
    try:
        return operator.index(key)
    except TypeError:
        raise BadKey from None
