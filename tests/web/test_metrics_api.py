"""Metrics over HTTP: what is left of many points, and what is new."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as numbers

import playhead
from playhead.catalog import points as catalog_points
from playhead.web.app import make_app
from playhead.web.runs import sampling
from playhead.web.runs.sampling import Curve, Range, thinned
from playhead.web.server import Background
from tests.web.conftest import FIRST, NAN_STEPS, PLAYED, POINTS, SPIKE, SPIKE_STEP


def read(ask: httpx.Client, run: str = FIRST, **query: Any) -> dict[str, Any]:
    answer = ask.get(f"/api/runs/{run}/metrics", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_all_points_where_there_is_room(ask: httpx.Client) -> None:
    answer = read(ask, name="loss", points=5000)
    (series,) = answer["series"]
    assert (series["name"], series["stage"], series["part"]) == ("loss", "", 1)
    assert (series["total"], series["is_sampled"]) == (POINTS, False)
    assert series["steps"] == list(range(POINTS))
    assert [step for step, value in zip(series["steps"], series["values"], strict=True) if value is None] == list(
        NAN_STEPS
    )
    assert series["values"][SPIKE_STEP] == SPIKE
    assert all(one <= other for one, other in zip(series["times"], series["times"][1:], strict=False))
    run = ask.get(f"/api/runs/{FIRST}").json()
    assert answer["origin_ns"] == run["origin_ns"]
    assert int(series["last_ns"]) == pytest.approx(int(answer["origin_ns"]) + series["times"][-1] * 1e9, abs=1)


@pytest.mark.parametrize("x", ["step", "time"])
def test_spikes_ends_and_gaps_survive(ask: httpx.Client, x: str) -> None:
    (series,) = read(ask, name="loss", points=60, x=x)["series"]
    assert (series["total"], series["is_sampled"]) == (POINTS, True)
    assert len(series["values"]) <= 60
    assert series["steps"][0] == 0
    assert series["steps"][-1] == POINTS - 1
    assert SPIKE in series["values"]
    assert series["steps"][series["values"].index(SPIKE)] == SPIKE_STEP
    assert None in series["values"]
    assert series["steps"][series["values"].index(None)] == NAN_STEPS[0]


def test_stages_are_series_of_their_own(ask: httpx.Client) -> None:
    series = read(ask, name=["return", "odd"])["series"]
    assert [(one["name"], one["stage"], one["total"]) for one in series] == [
        ("odd", "", 2),
        ("return", "", POINTS),
        ("return", "eval", 1),
    ]
    assert series[0]["values"] == ["Infinity", "-Infinity"]


def test_a_range_of_steps_or_seconds(ask: httpx.Client) -> None:
    (series,) = read(ask, name="return", **{"from": 10, "to": 19.9})["series"][:1]
    assert series["steps"] == list(range(10, 20))
    assert series["total"] == 10
    whole = read(ask, name="loss", points=5000)["series"][0]
    low, high = whole["times"][100], whole["times"][300]
    (part,) = read(ask, name="loss", x="time", **{"from": low, "to": high})["series"]
    assert part["steps"] == list(range(100, 301))
    (none,) = read(ask, name="loss", **{"from": 10**9})["series"]
    assert (none["total"], none["values"], none["last_ns"]) == (0, [], None)


def test_what_was_never_logged_is_left_out(ask: httpx.Client) -> None:
    assert read(ask, name="nothing")["series"] == []
    assert ask.get(f"/api/runs/{FIRST}/metrics").status_code == 400


def test_what_is_known_is_not_sent_again(ask: httpx.Client) -> None:
    url = f"/api/runs/{FIRST}/metrics?name=loss"
    answer = ask.get(url)
    assert ask.get(url, headers={"If-None-Match": answer.headers["etag"]}).status_code == 304
    assert ask.get(f"{url}&points=7", headers={"If-None-Match": answer.headers["etag"]}).status_code == 200


@pytest.mark.parametrize("by_header", [True, False])
def test_as_arrow(ask: httpx.Client, by_header: bool) -> None:
    query, headers = ("", {"Accept": "application/vnd.apache.arrow.stream"}) if by_header else ("&format=arrow", {})
    answer = ask.get(f"/api/runs/{FIRST}/metrics?name=loss&name=return&points=5000{query}", headers=headers)
    table = pa.ipc.open_stream(io.BytesIO(answer.content)).read_all()
    assert table.column_names == ["name", "stage", "part", "step", "ts_ns", "value"]
    assert table.num_rows == 2 * POINTS + 1
    assert table["stage"].to_pylist()[-1] == "eval"
    assert np.isnan(table["value"].to_numpy()[NAN_STEPS[0]])
    empty = ask.get(f"/api/runs/{PLAYED}/metrics?name=nothing&format=arrow")
    assert pa.ipc.open_stream(io.BytesIO(empty.content)).read_all().num_rows == 0


def test_the_live_tail(own_ask: httpx.Client, live_run: playhead.RunWriter) -> None:
    (begin,) = read(own_ask, live_run.id, name="loss")["series"]
    assert begin["values"] == [1.0]
    live_run.log({"loss": 0.5})
    live_run.log({"loss": 0.25})
    live_run.flush()
    (tail,) = read(own_ask, live_run.id, name="loss", after_ns=begin["last_ns"])["series"]
    assert tail["values"] == [0.5, 0.25]
    assert tail["is_sampled"] is False
    (nothing,) = read(own_ask, live_run.id, name="loss", after_ns=tail["last_ns"])["series"]
    assert nothing["values"] == []
    assert own_ask.get(f"/api/runs/{live_run.id}/metrics?name=loss&after_ns=1&from=2").status_code == 400


# -- many points ----------------------------------------------------------------------------------------------------

MANY = 260_000
BURST = 100_000


@pytest.fixture(scope="module")
def long_ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, np.ndarray]]:
    """A metric of many points that come in a burst and then slowly, and one whose steps go back."""
    with playhead.open(tmp_path_factory.mktemp("long") / "store") as store:
        with store.run("p", "long", run_id="long", environment=False) as run:
            run.flush()
        key, begin = run._row.key, round(run.created_at * 1e9)
        steps = np.arange(MANY)
        values = np.sin(steps / 3000)
        values[123_456], values[123_457], values[200_000] = 50.0, -60.0, np.inf
        # The first points are a microsecond apart, the others a hundred.
        stamps = begin + np.where(steps < BURST, steps * 1_000, BURST * 1_000 + (steps - BURST) * 100_000)
        kept = [None if 180_000 <= step < 180_050 else value for step, value in enumerate(values.tolist())]
        with store._home.database.write() as connection:
            batches = [
                catalog_points.SeriesBatch("wave", "", stamps.tolist(), steps.tolist(), kept),
                catalog_points.SeriesBatch(
                    "back", "", stamps[:60_000].tolist(), (steps[:60_000] % 40_000).tolist(), kept[:60_000]
                ),
            ]
            catalog_points.add(connection, key, 1, batches, catalog_points.states(connection, key, 1))
        with Background(make_app(store)) as server, httpx.Client(base_url=server.address, timeout=30) as client:
            yield client, values


@pytest.mark.parametrize("x", ["step", "time"])
def test_spikes_ends_and_gaps_of_many_points(long_ask: tuple[httpx.Client, np.ndarray], x: str) -> None:
    ask, values = long_ask
    (series,) = read(ask, "long", name="wave", x=x, points=1000)["series"]
    assert (series["total"], series["is_sampled"]) == (MANY, True)
    assert 300 < len(series["values"]) <= 1000
    places = dict(zip(series["steps"], series["values"], strict=True))
    assert (places[0], places[MANY - 1]) == (values[0], values[-1])
    assert (places[123_456], places[123_457], places[200_000]) == (50.0, -60.0, "Infinity")
    assert None in [places.get(step, 0) for step in range(180_000, 180_050)]
    assert all(values[step] == value for step, value in places.items() if isinstance(value, float))


def test_a_burst_is_not_one_stroke(long_ask: tuple[httpx.Client, np.ndarray]) -> None:
    """Over steps, points that came within a hundredth of the time are a third of the curve."""
    ask, _ = long_ask
    (series,) = read(ask, "long", name="wave", points=1000)["series"]
    assert sum(step < BURST for step in series["steps"]) > 150


@pytest.mark.parametrize(("low", "high"), [(120_000, 125_000), (100_000, 240_000), (123_457, 123_457)])
def test_a_range_of_many_points(long_ask: tuple[httpx.Client, np.ndarray], low: int, high: int) -> None:
    ask, values = long_ask
    (series,) = read(ask, "long", name="wave", points=500, **{"from": low, "to": high})["series"]
    assert series["total"] == high - low + 1
    assert (series["steps"][0], series["steps"][-1]) == (low, high)
    assert -60.0 in series["values"]
    assert len(series["values"]) <= 500
    for step, value in zip(series["steps"], series["values"], strict=True):
        assert value in (None, "Infinity") or value == values[step]


def test_steps_that_go_back_are_in_order(long_ask: tuple[httpx.Client, np.ndarray]) -> None:
    ask, _ = long_ask
    (series,) = read(ask, "long", name="back", points=400, **{"from": 5_000, "to": 15_000})["series"]
    assert series["steps"] == sorted(series["steps"])
    assert series["total"] == 2 * 10_001


def test_a_tail_of_too_many_points_is_thinned(long_ask: tuple[httpx.Client, np.ndarray]) -> None:
    ask, _ = long_ask
    (whole,) = read(ask, "long", name="wave", points=2)["series"]
    assert whole["steps"] == [0, MANY - 1]
    after = int(whole["last_ns"]) - 40_000 * 100_000
    (series,) = read(ask, "long", name="wave", after_ns=after)["series"]
    assert series["total"] == 40_000
    assert series["is_sampled"] is True
    assert len(series["values"]) <= 10_000


@pytest.mark.parametrize("x", ["step", "time"])
def test_a_long_metric_that_grows(store: playhead.Store, x: str) -> None:
    """What was found before is used again, with what is new."""
    with store.run("p", "n", run_id="grows", environment=False) as run:
        for step in range(20_000):
            run.log({"y": 100.0 if step == 7_777 else float(step % 10)}, step=step)
        run.flush()
        with Background(make_app(store)) as server, httpx.Client(base_url=server.address, timeout=30) as ask:
            (first,) = read(ask, run.id, name="y", points=200, x=x)["series"]
            for step in range(20_000, 21_000):
                run.log({"y": -50.0 if step == 20_500 else float("nan") if step == 20_600 else 5.0}, step=step)
            run.flush()
            (second,) = read(ask, run.id, name="y", points=200, x=x)["series"]
            (part,) = read(ask, run.id, name="y", points=200, **{"from": 100, "to": 19_000})["series"]
    assert (first["total"], second["total"], part["total"]) == (20_000, 21_000, 18_901)
    assert len(second["values"]) <= 200
    places = dict(zip(second["steps"], second["values"], strict=True))
    assert (places[7_777], places[20_500], places[20_600]) == (100.0, -50.0, None)
    assert second["steps"] == sorted(second["steps"])
    assert (second["steps"][0], second["steps"][-1]) == (0, 20_999)
    assert int(second["last_ns"]) > int(first["last_ns"])


@settings(deadline=None, max_examples=60)
@given(
    values=numbers.arrays(np.float64, st.integers(1, 300), elements=st.floats(allow_nan=True, allow_infinity=True)),
    gaps=st.lists(st.integers(0, 3), min_size=300, max_size=300),
    most=st.integers(2, 80),
    by_step=st.booleans(),
)
def test_thinning_keeps_what_it_must(values: np.ndarray, gaps: list[int], most: int, by_step: bool) -> None:
    steps = np.cumsum(gaps[: len(values)]).astype(np.int64)
    stamps = np.arange(len(values), dtype=np.int64) * 7
    left = thinned(Curve(len(values), stamps, steps, values), Range(by_step), most)
    assert len(left.values) <= max(most, 2)
    assert left.total == len(values)
    assert (left.stamps[0], left.stamps[-1]) == (stamps[0], stamps[-1])
    assert np.array_equal(values[left.stamps // 7], left.values, equal_nan=True)
    finite = values[~np.isnan(values)]
    if len(finite) and most >= 8:
        assert np.nanmin(left.values) == finite.min()
        assert np.nanmax(left.values) == finite.max()
    if np.isnan(values).any() and most >= 4:
        assert np.isnan(left.values).any()


def test_the_limit_between_reading_and_asking_sqlite_is_met(long_ask: tuple[httpx.Client, np.ndarray]) -> None:
    assert sampling.RAW < BURST < MANY


def test_the_page_of_a_big_run_is_quick(long_ask: tuple[httpx.Client, np.ndarray], tmp_path: Path) -> None:
    """Generous, since the machine may be busy: reading all points takes ten times as long."""
    import time

    ask, _ = long_ask
    begin = time.perf_counter()
    read(ask, "long", name="wave", points=999)
    assert time.perf_counter() - begin < 1.0


def test_no_point_is_given_twice(tmp_path: Path) -> None:
    with playhead.open(tmp_path) as store:
        with store.run("a", "flat", environment=False) as run:
            for step in range(30_000):
                run.log({"flat": 1.0, "rising": float(step)}, step=step)
        with Background(make_app(store)) as server, httpx.Client(base_url=server.address) as ask:
            found = read(ask, run.id, name=["flat", "rising"], points=500)["series"]
    assert [one["name"] for one in found] == ["flat", "rising"]
    for one in found:
        assert one["total"] == 30_000
        assert one["is_sampled"]
        assert (one["steps"][0], one["steps"][-1]) == (0, 29_999)
        assert one["steps"] == sorted(set(one["steps"]))
