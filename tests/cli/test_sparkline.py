"""Curves in one line."""

from __future__ import annotations

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.cli.sparkline import sparkline


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        ([], ""),
        ([1.0], "▄"),
        ([2, 2, 2], "▄▄▄"),
        ([0, 1], "▁█"),
        ([1, 0], "█▁"),
        (range(8), "▁▂▃▄▅▆▇█"),
        ([0, None, 1], "▁ █"),
        ([0, math.nan, math.inf, 1], "▁  █"),
        ([None, math.nan], ""),
        ([0, 5e-324], "▁█"),
        ([-sys.float_info.max, 0, sys.float_info.max], "▁▅█"),
    ],
)
def test_draws(values: list[float | None], drawn: str) -> None:
    assert sparkline(values) == drawn


@given(st.lists(st.none() | st.floats(), max_size=50))
def test_any_values_give_a_character_each_or_nothing(values: list[float | None]) -> None:
    drawn = sparkline(values)
    assert len(drawn) in (0, len(values))
    assert set(drawn) <= set(" ▁▂▃▄▅▆▇█")
