"""The plain list that signals are compared with gives the answers that the contract names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from playhead.errors import BadKey, BadSlice, Empty, NotFound, OutOfOrder, OutOfRange, PlayheadError
from playhead.testing import ListModel

MODEL = ListModel([("a", 10), ("b", 20), ("c", 35)])


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (1, ("b", 20)),
        (-1, ("c", 35)),
        (np.int8(0), ("a", 10)),
        (slice(1, None), [("b", 20), ("c", 35)]),
        (slice(None, None, 2), [("a", 10), ("c", 35)]),
        ([2, 0, -1], [("c", 35), ("a", 10), ("c", 35)]),
        (np.array([1]), [("b", 20)]),
        ([], []),
        (3, OutOfRange),
        ([0, -4], OutOfRange),
        (slice(None, None, -1), BadSlice),
        (slice(None, None, 0), BadSlice),
        (True, BadKey),
        ([True], BadKey),
        (np.array([True]), BadKey),
        ("a", BadKey),
        (1.0, BadKey),
    ],
)
def test_by_index(key: Any, expected: Any) -> None:
    assert answered(lambda: MODEL[key]) == expected


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (10, ("a", 10)),
        (34, ("b", 20)),
        (1 << 70, ("c", 35)),
        (9, NotFound),
        (slice(10, 35), [("a", 10), ("b", 20)]),
        (slice(11, None), [("b", 20), ("c", 35)]),
        (slice(None, 10), []),
        (slice(30, 20), []),
        (slice(10, 30, 10), [("a", 10), ("b", 20)]),
        (slice(15, None, 10), [("a", 15), ("b", 25), ("c", 35)]),
        (slice(5, 5, 1), []),
        (slice(9, None, 10), NotFound),
        (slice(None, 20, 1), BadSlice),
        (slice(10, 20, 0), BadSlice),
        ([36, 10, 10], [("c", 36), ("a", 10), ("a", 10)]),
        ((20,), [("b", 20)]),
        ([20, 9], NotFound),
        ([], BadKey),
        ([20.0], BadKey),
        (20.0, BadKey),
    ],
)
def test_by_time(key: Any, expected: Any) -> None:
    assert answered(lambda: MODEL.time[key]) == expected


def answered(ask: Any) -> Any:
    """Give the samples that are found, or the kind of error."""
    try:
        found = ask()
    except PlayheadError as error:
        return type(error)
    return found.samples if isinstance(found, ListModel) else found


def test_what_is_not_in_order_has_no_times() -> None:
    for key in (10, slice(None), slice(10, 20, 5), [10]):
        with pytest.raises(OutOfOrder):
            MODEL[[1, 0]].time[key]  # type: ignore[union-attr]


def test_nothing_has_no_ends() -> None:
    empty = ListModel([])
    for ask in (lambda: empty.start_ts, lambda: empty.last_ts):
        with pytest.raises(Empty):
            ask()
    assert list(empty.time[0::1]) == list(empty.time[:]) == []
    assert (MODEL.start_ts, MODEL.last_ts) == (10, 35)
    assert list(reversed(MODEL)) == [("c", 35), ("b", 20), ("a", 10)]
