"""Images in another size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from playhead.errors import BadKey, WrongShape, WrongType
from playhead.signal import ArraySignal
from playhead.signal.derived import mapped, resized

SIDES = st.integers(1, 9)


@st.composite
def films(draw: st.DrawFn, dtypes: tuple[str, ...] = ("u1", "u2", "f4")) -> ArraySignal[Any]:
    count, height, width = draw(st.integers(1, 4)), draw(SIDES), draw(SIDES)
    channels = draw(st.sampled_from([(), (1,), (3,), (4,)]))
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    elements = st.floats(-100, 100, width=32) if dtype.kind == "f" else None
    return ArraySignal(draw(hnp.arrays(dtype, (count, height, width, *channels), elements=elements)), np.arange(count))


@settings(max_examples=60)
@given(films(), SIDES, SIDES)
def test_resize_keeps_dtype_channels_and_range(film: ArraySignal[Any], height: int, width: int) -> None:
    small = resized(film, height, width)
    assert small.values.shape == (len(film), height, width, *film.values.shape[3:])
    assert small.values.dtype == film.values.dtype
    assert small.timestamps.tolist() == film.timestamps.tolist()
    axes = (1, 2)
    slack = 1e-4 if film.values.dtype.kind == "f" else 0
    assert (small.values.min(axes) >= film.values.min(axes) - slack).all()
    assert (small.values.max(axes) <= film.values.max(axes) + slack).all()
    np.testing.assert_array_equal(small[len(film) - 1][0], small.values[-1])


@given(films(("u1", "b1", "i8", "f8")), SIDES, SIDES)
def test_without_smooth_each_pixel_is_the_one_under_its_centre(film: ArraySignal[Any], height: int, width: int) -> None:
    found = resized(film, height, width, smooth=False).values
    old_height, old_width = film.values.shape[1:3]
    for row in range(height):
        for column in range(width):
            y, x = int((row + 0.5) * old_height / height), int((column + 0.5) * old_width / width)
            np.testing.assert_array_equal(found[:, row, column], film.values[:, y, x])


def test_halving_is_close_to_the_mean_and_shows_no_false_patterns() -> None:
    stripes = np.zeros((1, 64, 64), np.uint8)
    stripes[:, :, ::2] = 255
    small = resized(ArraySignal(stripes, [0]), 16, 16).values
    assert (np.abs(small[:, :, 2:-2].astype(int) - 127) <= 2).all()
    assert set(np.unique(resized(ArraySignal(stripes, [0]), 16, 16, smooth=False).values)) <= {0, 255}


def test_channels_are_resized_alike_and_a_fourth_is_no_transparency() -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (3, 12, 10, 4), np.uint8)
    images[..., 3] = 0
    together = resized(ArraySignal(images, [1, 2, 3]), 5, 4).values
    for channel in range(4):
        alone = resized(ArraySignal(images[..., channel], [1, 2, 3]), 5, 4).values
        np.testing.assert_array_equal(together[..., channel], alone)
    np.testing.assert_array_equal(resized(ArraySignal(images[..., :3], [1, 2, 3]), 5, 4).values, together[..., :3])


def test_the_same_size_is_the_same_memory() -> None:
    film = ArraySignal(np.zeros((2, 4, 6, 3), np.uint8), [1, 2])
    assert np.shares_memory(resized(film, 4, 6).values, film.values)


def test_many_images_are_read_few_at_a_time_and_each_once() -> None:
    reads: list[list[int]] = []

    class Video(ArraySignal[Any]):
        _BLOCK = 4

        def _values_at(self, positions: Any) -> Any:
            reads.append(list(positions))
            return super()._values_at(positions)

    small = resized(Video(np.zeros((10, 8, 8, 3), np.uint8), np.arange(10)), 4, 4)
    assert small.values.shape == (10, 4, 4, 3)
    assert reads == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    reads.clear()
    assert small[[3, 3, 3, 3, 3, 3, 1]].values.shape == (7, 4, 4, 3)
    assert reads == [[1, 3]]


def test_what_cannot_be_resized_is_refused() -> None:
    film = ArraySignal(np.zeros((2, 4, 6), bool), [1, 2])
    with pytest.raises(WrongType, match="smooth=False"):
        _ = resized(film, 2, 2).values
    with pytest.raises(WrongShape, match=r"not values of shape \(3,\)"):
        _ = resized(ArraySignal(np.zeros((2, 3), np.uint8), [1, 2]), 2, 2).values
    with pytest.raises(WrongShape, match="0×2"):
        resized(film, 0, 2)
    with pytest.raises(BadKey, match="height"):
        resized(film, 2.5, 2)  # type: ignore[arg-type]
    with pytest.raises(BadKey, match="width"):
        resized(film, 2, True)


def test_resize_of_no_images() -> None:
    assert len(resized(ArraySignal(np.empty(0), []), 2, 2).values) == 0
    none = resized(ArraySignal(np.zeros((2, 4, 6, 3), np.uint8), [1, 2]), 2, 3)[:0]
    assert none.values.shape == (0, 2, 3, 3)
    assert mapped(none, np.mean).values.shape == (0,)
