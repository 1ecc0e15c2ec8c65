"""An integer that is no float is kept as the nearest one, and the first of a metric warns."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import playhead

ODD = [2**53 + 1, -(2**53) - 1, 2**60 + 1, 2**63 - 1, 2**63 + 1, 10**30, np.int64(2**60 + 1), np.uint64(2**64 - 1)]
GOOD = [2**53, -(2**53), 2**60, -(2**63), 2**64, 1e300, 0.1, np.float32(1e30), float("nan"), float("-inf"), True, 7]


def logged(path: Path, values: list[dict[str, Any]]) -> list[str]:
    with playhead.open(path) as store, store.run("p", "r", run_id="r", environment=False) as run:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for one in values:
                run.log(one)
    assert all(one.filename == __file__ for one in said)
    return [str(one.message) for one in said]


@pytest.mark.parametrize("value", ODD)
@pytest.mark.parametrize("is_known", [True, False])
def test_one_that_is_no_float_warns_once(tmp_path: Path, value: Any, is_known: bool) -> None:
    before = [{"x": 1.0, "y": 2.0}] if is_known else []
    (said,) = logged(tmp_path, [*before, {"x": value, "y": 0.5}, {"x": value}])
    assert "'x'" in said
    assert str(value) in said
    with playhead.open(tmp_path, mode="r") as store:
        assert store.runs["r"]["x"].values[-2:].tolist() == [float(value)] * 2


def test_all_others_are_kept_without_a_word(tmp_path: Path) -> None:
    assert logged(tmp_path, [{"x": 0.0, "y": 0.0}, *({"x": value, "y": 1.5} for value in GOOD)]) == []
    with playhead.open(tmp_path, mode="r") as store:
        values = store.runs["r"]["x"].values[1:]
        assert np.array_equal(values, np.array([float(value) for value in GOOD]), equal_nan=True)


def test_those_that_cancel_each_other_warn(tmp_path: Path) -> None:
    assert len(logged(tmp_path, [{"x": 1, "y": 1}, {"x": 2**60 + 1, "y": -(2**60) - 1}])) == 2
