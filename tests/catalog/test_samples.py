"""A few values of a metric."""

from __future__ import annotations

from itertools import pairwise

import pytest

import playhead
from playhead.catalog import points, samples
from playhead.catalog.points import SeriesBatch


def sampled(store: playhead.Store, stamps: list[int], values: list[float | None]) -> list[float | None]:
    """Put a series into the catalogue, and sample it."""
    with store.run("p", "n", environment=False) as run:
        pass
    batch = SeriesBatch("loss", "", stamps, list(range(len(stamps))), values)
    with store._home.database.write() as connection:
        points.add(connection, run._row.key, 1, [batch], {})
    [series] = store.runs[run.id].metrics_summary()
    with store._home.database.read() as connection:
        return samples.of_series(connection, series.key, series.points, 40)


def test_a_short_series_is_given_whole(store: playhead.Store) -> None:
    assert sampled(store, [5, 6, 9], [1.0, None, 3.0]) == [1.0, None, 3.0]


def test_a_single_point(store: playhead.Store) -> None:
    assert sampled(store, [5], [7.0]) == [7.0]


@pytest.mark.parametrize("size", [40, 41, 2_000, 2_001, 5_000])
def test_a_long_series_is_sampled_evenly_from_its_first_to_its_last(store: playhead.Store, size: int) -> None:
    values: list[float | None] = [float(value) for value in range(size)]
    found = [value for value in sampled(store, [place * 1000 for place in range(size)], values) if value is not None]
    assert len(found) == 40
    assert (found[0], found[-1]) == (0.0, size - 1.0)
    strides = [later - earlier for earlier, later in pairwise(found)]
    assert min(strides) > 0
    assert max(strides) <= size / 39 * 1.5 + 1


def test_a_pause_does_not_fill_the_curve(store: playhead.Store) -> None:
    """Two bursts with a night between them, as of a run that was resumed."""
    burst = range(0, 2_000_000, 1000)
    stamps = [*burst, *(4_000_000 + stamp for stamp in burst)]
    found = sampled(store, stamps, [float(place) for place in range(len(stamps))])
    assert len(found) == 40
    assert len(set(found)) == 40
    assert 15 <= sum(value is not None and value < 2000 for value in found) <= 25
