"""How rows and runs are distributed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from playhead.table import Table, statistics
from playhead.table.building import build

COUNT = 1000
GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(1e6, 2.0, (COUNT, 3))
HOLES = np.where(GENERATOR.random(COUNT) < 0.2, np.nan, GENERATOR.normal(size=COUNT)).astype(np.float32)
BOARD = GENERATOR.integers(0, 1 << 64, COUNT, np.uint64)
LENGTHS = (10, 90, 400, 500)


@pytest.fixture(params=[1 << 18, 37], ids=["at once", "in parts"])
def table(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    monkeypatch.setattr(statistics, "_AT_ONCE", request.param)
    columns = {"x": X, "holes": HOLES, "board": BOARD, "flag": X[:, 0] > 1e6, "none": np.full(COUNT, np.nan)}
    return build(columns | {"reward": X[:, 1], "run_id": np.repeat(np.arange(4), LENGTHS)}, tmp_path / "table")


def test_columns(table: Table) -> None:
    found = table.stats()
    assert (found.rows, found.runs, found.bytes) == (COUNT, 4, COUNT * table.dtype.itemsize)
    x = found.columns["x"]
    assert (x.min, x.max) == (X.min(), X.max())
    assert x.mean == pytest.approx(X.mean(), rel=1e-12)
    assert x.std == pytest.approx(X.std(), rel=1e-8)
    assert x.means == pytest.approx(X.mean(axis=0), rel=1e-12)
    assert x.stds == pytest.approx(X.std(axis=0), rel=1e-8)
    holes = found.columns["holes"]
    assert holes.nans == np.isnan(HOLES).sum() > 100
    assert holes.mean == pytest.approx(np.nanmean(HOLES.astype(float)))
    assert holes.std == pytest.approx(np.nanstd(HOLES.astype(float)))
    assert (found.columns["board"].min, found.columns["board"].max) == (int(BOARD.min()), int(BOARD.max()))
    assert found.columns["flag"].mean == pytest.approx((X[:, 0] > 1e6).mean())
    assert (found.columns["none"].mean, found.columns["none"].nans) == (None, COUNT)


def test_runs(table: Table) -> None:
    found = table.stats()
    assert found.lengths[0.5] == 245
    assert (found.lengths[0.0], found.lengths[1.0]) == (10, 500)
    steps = found.facts["num_steps"]
    assert (steps.min, steps.mean, steps.max, steps.count) == (10, 250, 500, 4)
    returns = [part.sum() for part in np.split(X[:, 1], np.cumsum(LENGTHS)[:-1])]
    assert found.facts["return"].max == pytest.approx(max(returns))
    assert set(found.facts) == {"num_steps", "return"}


def test_a_view_is_looked_at_alone(table: Table) -> None:
    view = table.filter(rows=lambda rows: rows["board"] < 1 << 62)
    found = view.stats()
    chosen = BOARD < 1 << 62
    assert found.rows == chosen.sum()
    assert found.columns["x"].mean == pytest.approx(X[chosen].mean())
    assert found.lengths[1.0] == chosen[-500:].sum() or found.lengths[1.0] == chosen[100:500].sum()
    empty = table.filter("num_steps > 10000").stats()
    assert (empty.rows, empty.runs, empty.lengths) == (0, 0, {})


def test_it_can_be_read(table: Table) -> None:
    found = table.stats()
    assert "1,000 rows, 4 runs" in repr(found)
    assert "200 NaN" in repr(found) or " NaN" in repr(found)
    said = json.loads(json.dumps(found.to_json()))
    assert said["columns"]["none"]["mean"] is None
    assert said["run_columns"]["num_steps"]["mean"] == 250
    assert said["run_length"]["0.5"] == 245
