"""Curves of long series: exact where steps go back, while a run is recorded, and after a purge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

import playhead
from playhead.catalog import curves
from playhead.catalog import points as catalog_points
from playhead.catalog.curves import Series
from playhead.catalog.points import SeriesBatch
from playhead.web.runs import metrics, sampling
from playhead.web.runs.sampling import Curve, Range, Sampler

WHOLE = Range(by_step=True)
BEGIN = 1_700_000_000_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[playhead.Store]:
    with playhead.open(tmp_path / "store") as store:
        yield store


@pytest.fixture
def sampler(store: playhead.Store) -> Iterator[Sampler]:
    sampler = Sampler(store._home.database)
    yield sampler
    sampler.close()


def add(store: playhead.Store, run_key: int, steps: np.ndarray, values: np.ndarray, begin: int = BEGIN) -> None:
    stamps = begin + np.arange(len(steps)) * 1_000_000
    batch = SeriesBatch(
        "loss", "", stamps.tolist(), steps.tolist(), [None if np.isnan(one) else float(one) for one in values]
    )
    with store._home.database.write() as connection:
        known = catalog_points.states(connection, run_key, 1)
        catalog_points.add(connection, run_key, 1, [batch], known)


def made(store: playhead.Store, run_id: str) -> int:
    with store.run("p", run_id, run_id=run_id, environment=False) as run:
        return run._row.key


def of(store: playhead.Store, sampler: Sampler, run_id: str, wanted: Range, most: int) -> tuple[Series, Curve]:
    with store._home.database.read() as connection:
        (series,) = curves.series_of(connection, store.runs[run_id]._row.key, ["loss"])
        return series, sampler.curve(connection, run_id, series, wanted, most)


def test_a_new_run_has_nothing_of_one_that_was_purged(store: playhead.Store, sampler: Sampler) -> None:
    old = made(store, "old")
    add(store, old, np.arange(13_000), np.full(13_000, 7.0))
    before, _ = of(store, sampler, "old", WHOLE, 20_000)
    store.runs["old"].delete("wrong")
    store.runs.deleted["old"].purge()
    for place, name in enumerate(("new", "old")):  # another one, and one of the same id
        key = made(store, name)
        add(store, key, np.arange(14_000), np.full(14_000, -5.0), BEGIN + 10**15 * (place + 1))
        after, curve = of(store, sampler, name, WHOLE, 20_000)
        assert place or after.key == before.key  # SQLite gave the key again
        assert set(curve.values) == {-5.0}
        assert curve.total == 14_000


def test_points_that_come_while_a_curve_is_read_are_not_doubled(store: playhead.Store, sampler: Sampler) -> None:
    key = made(store, "live")
    add(store, key, np.arange(13_000), np.arange(13_000) % 7)
    with store._home.database.read() as connection:
        (series,) = curves.series_of(connection, key, ["loss"])
        add(store, key, np.arange(13_000, 13_100), np.arange(100), BEGIN + 10**12)
        curve = sampler.curve(connection, "live", series, WHOLE, 20_000)
    assert (curve.total, curve.steps[-1]) == (13_100, 13_099)  # all of the newest state
    assert len(np.unique(curve.stamps)) == len(curve.stamps)
    # A state that was read in two pieces, as by an older server: newer points than the series told of.
    with store._home.database.read() as connection:
        sampler._known.clear()
        sampler.curve(connection, "live", series, WHOLE, 20_000)
    _, curve = of(store, sampler, "live", WHOLE, 20_000)
    assert curve.total == 13_100
    assert len(np.unique(curve.stamps)) == len(curve.stamps)


def test_points_that_come_late_are_seen(store: playhead.Store, sampler: Sampler) -> None:
    key = made(store, "late")
    add(store, key, np.arange(13_000), np.zeros(13_000))
    of(store, sampler, "late", WHOLE, 1_000)
    add(store, key, np.array([5, 20_000]), np.array([99.0, 0.0]), BEGIN + 500)
    add(store, key, np.array([20_001]), np.array([0.0]), BEGIN + 10**12)
    series, curve = of(store, sampler, "late", WHOLE, 1_000)
    assert curve.total == series.points == 13_003
    assert 99.0 in curve.values


@pytest.mark.parametrize("shared", [10, 10**9])
def test_a_zoom_where_steps_go_back(
    store: playhead.Store, sampler: Sampler, shared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "_SHARED", shared)  # with threads, and without
    steps = np.concatenate([np.arange(15_000), np.arange(14_700, 30_000)])  # goes on from a checkpoint
    values = np.zeros(len(steps))
    values[14_900] = 99.0
    key = made(store, "back")
    add(store, key, steps, values)
    for low, high in ((14_600, 15_100), (14_750, 14_950), (14_899, 14_901), (0, 14_950), (100, 29_000), (3, 5)):
        _, curve = of(store, sampler, "back", Range(True, low, high), 1_000)
        inside = (steps >= low) & (steps <= high)
        assert curve.total == inside.sum()
        assert (99.0 in curve.values) == (99.0 in values[inside])
        assert np.all(np.diff(curve.steps) >= 0)
        assert len(curve.steps) <= 1_000
    # What is added is looked at too, and goes back again.
    add(store, key, np.arange(100, 400), np.full(300, -7.0), BEGIN + 10**13)
    _, curve = of(store, sampler, "back", Range(True, 200, 299), 1_000)
    assert curve.total == 200
    assert sorted(set(curve.values)) == [-7.0, 0.0]


def test_a_wide_zoom_of_steps_in_any_order_says_the_true_total(store: playhead.Store, sampler: Sampler) -> None:
    rng = np.random.default_rng(1)
    steps = rng.permutation(50_000)
    values = rng.random(50_000)
    values[steps == 40_000], values[steps == 30_000], values[steps == 20_000] = 50.0, -50.0, np.nan
    add(store, made(store, "any"), steps, values)
    _, curve = of(store, sampler, "any", Range(True, 100, 45_000), 500)
    assert curve.total == 44_901
    assert curve.is_sampled
    assert len(curve.steps) <= 500
    assert (curve.steps[0], curve.steps[-1]) == (100, 45_000)
    assert {50.0, -50.0} <= set(curve.values)
    assert 20_000 in curve.steps[np.isnan(curve.values)]


def test_so_many_points_are_remembered(
    store: playhead.Store, sampler: Sampler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "_KEPT_POINTS", 2_500)
    add(store, made(store, "one"), np.arange(13_000), np.random.default_rng(1).random(13_000))
    for most in range(1_000, 1_020):
        of(store, sampler, "one", WHOLE, most)
    assert 1 <= len(sampler._known) <= 2
    assert sum(len(curve.stamps) for _, curve in sampler._known.values()) <= 2_500


def test_an_answer_has_so_many_points_in_all(ask: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MOST_POINTS", 90)
    listed = ask.get("/api/runs").json()["runs"]
    run_id = next(run["id"] for run in listed if run["name"] == "dqn" and run["points"] > 1_000)
    answer = ask.get(f"/api/runs/{run_id}/metrics?name=loss&name=return&points=5000").json()
    assert sum(len(series["values"]) for series in answer["series"]) <= 90
    assert all(len(series["values"]) >= 1 for series in answer["series"])
