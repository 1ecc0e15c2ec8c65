"""The extremes of stretches of a series, held against NumPy on signals of every shape."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

import playhead
from playhead.catalog import curves, points

COUNT = 6_000
RANDOM = np.random.default_rng(7)


def spiky() -> np.ndarray:
    values = RANDOM.normal(size=COUNT)
    values[RANDOM.integers(0, COUNT, 40)] *= 1e6
    return values


def gappy() -> np.ndarray:
    values = RANDOM.normal(size=COUNT)
    values[1_000:1_700] = np.nan
    values[RANDOM.integers(0, COUNT, 300)] = np.nan
    return values


def infinite() -> np.ndarray:
    values = RANDOM.normal(size=COUNT)
    values[[500, 3_000, 3_001]] = [np.inf, -np.inf, np.inf]
    return values


SIGNALS: dict[str, Callable[[], np.ndarray]] = {
    "noise": lambda: RANDOM.normal(size=COUNT),
    "rising": lambda: np.arange(COUNT, dtype=float),
    "falling and noisy": lambda: -np.arange(COUNT) / 50 + RANDOM.normal(size=COUNT),
    "constant": lambda: np.full(COUNT, 3.25),
    "two levels": lambda: np.where(np.arange(COUNT) % 2, 1.0, -1.0),
    "steps": lambda: np.floor(np.arange(COUNT) / 700),
    "wave": lambda: np.sin(np.arange(COUNT) / 40),
    "growing": lambda: RANDOM.normal(size=COUNT) * np.arange(COUNT),
    "only NaN": lambda: np.full(COUNT, np.nan),
    "spiky": spiky,
    "gappy": gappy,
    "infinite": infinite,
}


@pytest.fixture(params=SIGNALS)
def values(request: pytest.FixtureRequest) -> np.ndarray:
    return SIGNALS[request.param]()


def put(store: playhead.Store, values: np.ndarray, stamps: np.ndarray, steps: np.ndarray) -> int:
    with store.run("p", "n", environment=False) as run:
        run.flush()
    kept = [None if np.isnan(value) else value for value in values.tolist()]
    batch = points.SeriesBatch("x", "", stamps.tolist(), steps.tolist(), kept)
    with store._home.database.write() as connection:
        points.add(connection, run._row.key, 1, [batch], {})
        return curves.series_of(connection, run._row.key)[0].key


@pytest.mark.parametrize("count", [1, 7, 60, 3_000])
def test_extremes_are_those_of_numpy(store: playhead.Store, values: np.ndarray, count: int) -> None:
    stamps, steps = np.arange(COUNT) * 1_000, np.arange(COUNT)
    key = put(store, values, stamps, steps)
    with store._home.database.read() as connection:
        edges = curves.stretches(connection, key, 0, COUNT * 1_000, count)
        found = curves.envelope(connection, key, edges)
    assert len(edges) == count + 1
    expected, gaps = set(), []
    for start, stop in pairwise(edges):
        inside = np.flatnonzero((stamps >= start) & (stamps < stop))
        here = values[inside]
        if not np.isnan(here).all():
            expected |= {(start, np.nanmin(here)), (start, np.nanmax(here))}
        if np.isnan(here).any():
            gaps.append(int(stamps[inside[np.isnan(here)][0]]))
    begins = np.array(edges)
    of_stretch = {(edges[int(np.searchsorted(begins, stamp, "right")) - 1], value) for stamp, _, value in found.points}
    assert of_stretch == expected
    assert all(values[step] == value and stamp == step * 1_000 for stamp, step, value in found.points)
    assert [stamp for stamp, _, _ in found.gaps] == gaps


def test_a_burst_is_parted(store: playhead.Store) -> None:
    steps = np.arange(COUNT)
    stamps = np.where(steps < COUNT // 2, steps, COUNT // 2 + (steps - COUNT // 2) * 1_000_000)
    key = put(store, np.zeros(COUNT), stamps, steps)
    with store._home.database.read() as connection:
        edges = curves.stretches(connection, key, 0, int(stamps[-1]) + 1, 100)
    fullest = max(int(((stamps >= start) & (stamps < stop)).sum()) for start, stop in pairwise(edges))
    assert fullest <= 4 * COUNT // 100
    assert len(edges) <= 401


def test_there_is_nothing_in_an_empty_time(store: playhead.Store) -> None:
    key = put(store, np.zeros(10), np.arange(10), np.arange(10))
    with store._home.database.read() as connection:
        assert curves.stretches(connection, key, 100, 200, 5) == [100, 200]
        assert curves.envelope(connection, key, [100, 200]) == ([], [])
        assert curves.ends(connection, key) == (0, 9)
        assert curves.ends(connection, key + 1) is None
        assert not curves.has_more_than(connection, key, 0, 10, 10)
        assert curves.has_more_than(connection, key, 0, 10, 9)
