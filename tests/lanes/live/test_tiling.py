"""Several pictures as one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.errors import WrongShape, WrongType
from playhead.lanes.live import tiling


@given(
    count=st.integers(1, 40), height=st.integers(1, 9), width=st.integers(1, 9), kind=st.sampled_from([None, 1, 3, 4])
)
def test_each_picture_is_found_in_its_place(count: int, height: int, width: int, kind: int | None) -> None:
    shape = (height, width) if kind is None else (height, width, kind)
    pictures = [np.full(shape, number + 1, np.uint8) for number in range(count)]
    grid = tiling.Grid.of(count, shape)
    whole = np.full(grid.shape, 255, np.uint8)
    grid.fill(whole, pictures)
    assert grid.rows * grid.columns >= count
    assert (grid.rows - 1) * grid.columns < count
    tiles = (
        whole.reshape(grid.rows, height, grid.columns, width, -1)
        .swapaxes(1, 2)
        .reshape(-1, height * width, grid.channels)
    )
    assert [set(tile.ravel().tolist()) for tile in tiles[:count]] == [{number + 1} for number in range(count)]
    assert not tiles[count:].any()


def test_large_grids_lose_rows_and_columns_and_not_the_memory() -> None:
    grid = tiling.Grid.of(64, (480, 640, 3))
    assert grid.shape[0] * grid.shape[1] <= 1920 * 1080 * 1.1
    whole = np.zeros(grid.shape, np.uint8)
    grid.fill(whole, [np.full((480, 640, 3), number, np.uint8) for number in range(64)])
    assert set(np.unique(whole)) == set(range(64))
    assert tiling.Grid.of(1, (2160, 3840, 3)).shape == (2160, 3840, 3)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (np.zeros((4, 4, 3)), WrongType),
        (np.zeros((4, 4), np.int8), WrongType),
        ([[1, 2]], WrongType),
        (None, WrongType),
        (np.zeros((4,), np.uint8), WrongShape),
        (np.zeros((4, 4, 2), np.uint8), WrongShape),
        (np.zeros((0, 4, 3), np.uint8), WrongShape),
        (np.zeros((2, 4, 4, 3), np.uint8), WrongShape),
    ],
)
def test_what_is_no_picture_is_refused(wrong: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="a live frame is"):
        tiling.check(wrong)
