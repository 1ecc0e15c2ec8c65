"""Sample: several signals at the same times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from playhead.errors import BadKey, NotFound
from playhead.sampling import rules as ruling
from playhead.sampling.times import Times, as_times
from playhead.signal import Signal, keys
from playhead.signal.arrays import frozen

_V = TypeVar("_V")


class Sample(Mapping[str, NDArray[Any]]):
    """Several signals at the same times: a mapping from name to values, a row a time. `sample` makes it.

    A signal is read when it is first asked for, and once. Times of several dimensions, as `window_times` gives them,
    come back in all of them.

    Attributes:
        times: The times in nanoseconds.
    """

    def __init__(
        self,
        signals: Mapping[str, Signal[Any]],
        times: NDArray[np.int64],
        rules: Mapping[str, str],
        tolerances: Mapping[str, int | None],
        until: int | None,
    ) -> None:
        self.times = frozen(times)
        self._signals = signals
        self._rules = rules
        self._tolerances = tolerances
        self._until = until
        self._picked: dict[str, ruling.Picked] = {}
        self._values: dict[str, NDArray[Any]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Give the values of a signal.

        Raises:
            NotFound: There is no such signal.
            WrongType: Its rule does not fit its values.
        """
        if name not in self._values:
            picked = self._pick(name)
            self._values[name] = _shaped(ruling.read(self._signals[name], picked, self._rules[name], name), self.times)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    def __contains__(self, name: object) -> bool:
        return name in self._rules

    @property
    def mask(self) -> Mapping[str, NDArray[np.bool_]]:
        """By name, whether a row is real: not where the rule has none, nor where it is too stale or after the end."""
        return _Lazily(self._rules, lambda name: _shaped(self._pick(name).mask, self.times))

    @property
    def staleness(self) -> Mapping[str, NDArray[np.int64]]:
        """By name, nanoseconds between a time and its sample, the farther one of two; -1 where the rule has none."""
        return _Lazily(self._rules, lambda name: _shaped(self._pick(name).staleness, self.times))

    @property
    def padded(self) -> bool:
        """Whether any row of any signal is padding."""
        return not all(self._pick(name).mask.all() for name in self)

    def _pick(self, name: str) -> ruling.Picked:
        if name not in self._picked:
            if name not in self._rules:
                raise NotFound.among("signal", name, self._rules)
            self._picked[name] = ruling.pick(
                self._signals[name], self.times.reshape(-1), self._rules[name], self._tolerances.get(name), self._until
            )
        return self._picked[name]

    def __repr__(self) -> str:
        count = "×".join(map(str, self.times.shape))
        names = ", ".join(f"{name} ({rule})" for name, rule in self._rules.items())
        return f"<Sample at {count} times of {names or 'no signals'}>"


class Sampled(NamedTuple):
    """One signal at several times.

    Attributes:
        values: A row a time.
        mask: Whether a row is real; False for padding.
        staleness: Nanoseconds between a time and its sample, the farther one of two; -1 where the rule has none.
    """

    values: NDArray[Any]
    mask: NDArray[np.bool_]
    staleness: NDArray[np.int64]


def sample(
    signals: Mapping[str, Signal[Any]],
    times: Times,
    rules: Mapping[str, str | None] | None = None,
    *,
    default: str = "hold",
    tolerance: int | Mapping[str, int | None] | None = None,
    until: int | None = None,
) -> Sample:
    """Sample signals at any times, each by a rule of its own. No time is refused: the mask tells what is padding.

    Args:
        signals: The signals by name.
        times: Nanoseconds, in any order: a list, a range, an array of any dimensions, or a slice with start, stop and
            step; without a stop, it goes to the newest sample of all.
        rules: For each signal `hold`, `nearest`, `linear` or `next`.
        default: The rule of the signals that are not named, or are named with None.
        tolerance: How stale a value may be, in nanoseconds, before it counts as padding; for all signals, or by name.
        until: The end of the recording: what is held beyond it counts as padding.

    Returns:
        The values by name, with `times`, `mask`, `staleness` and `padded`; each signal is read when it is asked for.

    Raises:
        NotFound: A name that is no signal, or a rule that does not exist.
        BadKey: Times or tolerances that are no whole numbers.
        BadSlice: A slice without a start, or without a positive step.
    """
    names = list(signals)
    chosen = dict.fromkeys(names, default)
    chosen |= {name: default if rule is None else rule for name, rule in (rules or {}).items()}
    bounds = tolerance if isinstance(tolerance, Mapping) else dict.fromkeys(names, tolerance)
    for name in (*chosen, *bounds):
        if name not in signals:
            raise NotFound.among("signal", name, names)
    for rule in {default, *chosen.values()}:
        check_rule(rule)
    tolerances = {name: _as_tolerance(bound) for name, bound in bounds.items()}
    return Sample(signals, as_times(times, signals), chosen, tolerances, _as_end(until))


def sample_one(
    signal: Signal[Any], times: Times, rule: str = "hold", *, tolerance: int | None = None, until: int | None = None
) -> Sampled:
    """Sample one signal, and read it at once; see `sample`."""
    check_rule(rule)
    moments = as_times(times, {"": signal})
    picked = ruling.pick(signal, moments.reshape(-1), rule, _as_tolerance(tolerance), _as_end(until))
    rows = ruling.read(signal, picked, rule)
    return Sampled(_shaped(rows, moments), _shaped(picked.mask, moments), _shaped(picked.staleness, moments))


class _Lazily(Mapping[str, _V]):
    """A mapping whose values are made when they are asked for."""

    def __init__(self, names: Mapping[str, Any], make: Callable[[str], _V]) -> None:
        self._names = names
        self._make = make

    def __getitem__(self, name: str) -> _V:
        return self._make(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names


def _shaped(rows: NDArray[Any], times: NDArray[np.int64]) -> NDArray[Any]:
    return rows if times.ndim == 1 else rows.reshape(*times.shape, *rows.shape[1:])


def check_rule(rule: Any) -> None:
    """See that there is such a rule.

    Raises:
        NotFound: There is not.
    """
    if rule not in ruling.RULES:
        raise NotFound.among("rule", rule, ruling.RULES)


def _as_tolerance(bound: Any) -> int | None:
    if bound is None:
        return None
    nanoseconds = keys.as_integer(bound, "a tolerance in nanoseconds")
    if nanoseconds < 0:
        raise BadKey(f"a tolerance is not negative; {nanoseconds} is")
    return min(nanoseconds, keys.MOST)


def _as_end(until: Any) -> int | None:
    return None if until is None else min(max(keys.as_integer(until, keys.TIME), keys.LEAST), keys.MOST)
