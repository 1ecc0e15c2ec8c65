"""The rules: which samples stand for a time, and what is made of them.

Picking needs the stamps alone: one search for all times. Reading is one read for all that was picked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playhead.errors import WrongType
from playhead.signal import Signal, keys
from playhead.signal.derived.base import read_repeated

RULES = ("hold", "nearest", "linear", "next")
NOTHING = -1  # the staleness of a row for which the rule has no sample


class Picked(NamedTuple):
    """Which samples stand for the times.

    Attributes:
        positions: The sample, the earlier one of two; the nearest there is where the rule has none.
        mask: Whether the rule has one that is not too stale.
        staleness: Nanoseconds between the time and the sample, the farther one of two; `NOTHING` where there is none.
        share: For a line, how far it has come from the earlier sample to the next.
    """

    positions: NDArray[np.int64]
    mask: NDArray[np.bool_]
    staleness: NDArray[np.int64]
    share: NDArray[np.float64] | None = None


def pick(
    signal: Signal[Any], times: NDArray[np.int64], rule: str, tolerance: int | None = None, until: int | None = None
) -> Picked:
    """Pick the samples of a signal.

    Args:
        signal: The signal.
        times: The times, in one dimension.
        rule: One of `RULES`.
        tolerance: How stale a sample may be.
        until: The last time at which there is anything.

    Raises:
        OutOfOrder: The signal is a view that is not in order of time.
    """
    stamps = signal._sorted()
    if not len(stamps):
        count = len(times)
        return Picked(np.zeros(count, np.int64), np.zeros(count, np.bool_), np.full(count, NOTHING, np.int64))
    picked = _PICK[rule](stamps, times)
    if not picked.mask.all():
        picked.staleness[~picked.mask] = NOTHING
    if tolerance is not None:
        np.logical_and(picked.mask, picked.staleness <= tolerance, out=picked.mask)
    if until is not None:
        np.logical_and(picked.mask, times <= until, out=picked.mask)
    return picked


def _pick_hold(stamps: NDArray[np.int64], times: NDArray[np.int64]) -> Picked:
    positions, mask = _at_or_before(stamps, times)
    return Picked(positions, mask, _cut(_distance(stamps.take(positions), times)))


def _pick_next(stamps: NDArray[np.int64], times: NDArray[np.int64]) -> Picked:
    positions = stamps.searchsorted(times, "left")
    mask = positions < len(stamps)
    np.minimum(positions, len(stamps) - 1, out=positions)
    return Picked(positions, mask, _cut(_distance(times, stamps.take(positions))))


def _pick_nearest(stamps: NDArray[np.int64], times: NDArray[np.int64]) -> Picked:
    positions, mask = _at_or_before(stamps, times)
    later = np.minimum(positions + 1, len(stamps) - 1)
    back, ahead = _distance(stamps.take(positions), times), _distance(times, stamps.take(later))
    is_later = (ahead < back) & (later > positions) & mask
    return Picked(np.where(is_later, later, positions), mask, _cut(np.where(is_later, ahead, back)))


def _pick_linear(stamps: NDArray[np.int64], times: NDArray[np.int64]) -> Picked:
    positions, mask = _at_or_before(stamps, times)
    before, after = stamps.take(positions), stamps.take(np.minimum(positions + 1, len(stamps) - 1))
    is_exact = before == times
    is_between = mask & ~is_exact & (positions < len(stamps) - 1)
    farther = np.maximum(_distance(before, times), _distance(times, after))
    share = np.zeros(len(times))
    # As floats only now: nanoseconds since 1970 exceed what a float holds.
    np.divide(_distance(before, times), _distance(before, after), out=share, where=is_between)
    return Picked(positions, is_between | is_exact, _cut(np.where(is_between, farther, 0)), share)


_PICK = {"hold": _pick_hold, "nearest": _pick_nearest, "linear": _pick_linear, "next": _pick_next}


def _at_or_before(stamps: NDArray[np.int64], times: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    positions = stamps.searchsorted(times, "right")
    positions -= 1
    mask = positions >= 0
    np.maximum(positions, 0, out=positions)
    return positions, mask


def _distance(earlier: NDArray[np.int64], later: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Give the nanoseconds between times that are in order; as the difference may need the bit of the sign, without."""
    return (later - earlier).view(np.uint64)


def _cut(distance: NDArray[np.uint64]) -> NDArray[np.int64]:
    return np.minimum(distance, np.uint64(keys.MOST), out=distance).view(np.int64)


def read(signal: Signal[Any], picked: Picked, rule: str, name: str = "") -> NDArray[Any]:
    """Read what was picked: a row a time.

    Args:
        signal: The signal.
        picked: What `pick` gave for it.
        rule: The same rule.
        name: What the signal is called, for the message.

    Raises:
        WrongType: The rule does not fit the values.
    """
    if rule == "linear":
        _check_interpolates(signal, name)
    if not len(signal):
        return _zeros(signal, len(picked.positions), rule)
    if picked.share is None:
        return read_repeated(signal, picked.positions)
    pairs = signal._values_at(np.concatenate([picked.positions, picked.positions + (picked.share > 0)]))
    return _on_the_line(pairs[: len(picked.share)], pairs[len(picked.share) :], picked.share)


def _on_the_line(earlier: NDArray[Any], later: NDArray[Any], share: NDArray[np.float64]) -> NDArray[Any]:
    with np.errstate(invalid="ignore", over="ignore"):
        values: NDArray[Any] = np.subtract(later, earlier, dtype=np.result_type(earlier, np.float64))
        values *= share.reshape(-1, *[1] * (values.ndim - 1))
        values += earlier
    exact = np.flatnonzero(share == 0)
    values[exact] = earlier[exact]  # infinite values, too, which the line makes NaN
    return values.astype(earlier.dtype, copy=False) if earlier.dtype.kind in "fc" else values


def _check_interpolates(signal: Signal[Any], name: str) -> None:
    example = signal._values_at(range(min(len(signal), 1)))
    kind = example.dtype.kind
    if kind in "iufc" and example.ndim <= 2:
        return
    what = "truth values" if kind == "b" else "images" if kind in "iufc" else "text or objects"
    raise WrongType(
        f"the signal{f' {name!r}' if name else ''} cannot be sampled by the rule 'linear': its values are {what} "
        f"({example.dtype}, shape {example.shape[1:]}), and only numbers and vectors lie on a line. "
        "Use 'hold', 'nearest' or 'next' for it"
    )


def _zeros(signal: Signal[Any], count: int, rule: str) -> NDArray[Any]:
    nothing = signal._values_at(range(0))
    shape = (count, *nothing.shape[1:])
    if nothing.dtype.kind == "O":
        return np.full(shape, None, object)
    is_widened = rule == "linear" and nothing.dtype.kind in "iu"
    return np.zeros(shape, np.float64 if is_widened else nothing.dtype)
