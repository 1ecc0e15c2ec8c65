"""Lines of `events.jsonl`: whatever they hold, what is kept is strict JSON that the catalogue takes."""

from __future__ import annotations

import itertools
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import playhead
from playhead.integrations import runicorn
from playhead.integrations.runicorn import lines
from tests.integrations.conftest import MOMENT, RunicornFolder, append

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=5)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT | st.just(10**400) | st.just("NaN")
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3), max_leaves=5
)
KEYS = st.sampled_from(["loss", "global_step", "step", "stage", "time", "key", "path", "caption"]) | ANY_TEXT
EVENTS = st.fixed_dictionaries(
    {},
    optional={
        "ts": st.floats(MOMENT, MOMENT + 1e6) | VALUES,
        "type": st.sampled_from(["metrics", "image"]) | VALUES,
        "data": st.dictionaries(KEYS, VALUES, max_size=5) | VALUES,
    },
)
LINES = st.builds(json.dumps, EVENTS | VALUES).map(str.encode) | st.binary(max_size=40).filter(lambda b: b"\n" not in b)


@pytest.fixture(scope="module")
def source_and_store() -> object:
    with tempfile.TemporaryDirectory() as folder, playhead.open(Path(folder, "store")) as store:
        yield RunicornFolder(Path(folder, "runicorn")), store, itertools.count()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(LINES, min_size=10, max_size=40))
def test_no_line_harms_the_catalogue_and_no_value_is_lost(source_and_store: tuple, found: list[bytes]) -> None:
    folder, store, number = source_and_store
    source = folder.old("p", "n", f"run{next(number)}")
    append(source, *found)
    report = runicorn.migrate(folder.path, store)
    assert (report.imported, report.refused) == (1, [])
    assert report.points_in == report.points_out
    run = store.runs[source.name]
    kept = (run.path / "events.jsonl").read_bytes().splitlines()
    for line in kept:
        json.loads(line, parse_constant=pytest.fail)
    blank = sum(not line.strip() for line in found)
    assert len(kept) + report.unreadable_lines + blank == 7 + len(found)


def test_a_line_that_is_right_already_stays_byte_for_byte() -> None:
    line = b'{"ts": 1700000000.123456789, "type":"metrics", "data": {"a": 1.50, "global_step": 3}}'
    converted = lines.convert(line + b"\r\n")
    assert converted is not None
    assert converted.text == line + b"\n"
    assert converted.points == 1


def test_the_time_that_runicorn_repeats_is_no_point_but_a_metric_of_that_name_is() -> None:
    repeated = lines.convert(b'{"ts": 1700000000.5, "type": "metrics", "data": {"time": 1700000000.5}}')
    metric = lines.convert(b'{"ts": 1700000000.5, "type": "metrics", "data": {"time": 0.25}}')
    assert repeated is not None
    assert metric is not None
    assert (repeated.points, metric.points) == (0, 1)
