"""Pictures in numbers of colours are those in red, green and blue."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from playhead import native
from playhead.native.colours import Colours

pytestmark = pytest.mark.skipif(native.library is None, reason="Playhead was installed without a compiler")

PALETTE = np.random.default_rng(7).integers(0, 256, (256, 3), np.uint8)


def picture(height: int, width: int, seed: int = 0, *, colours: int = 256) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, colours, (height, width), np.uint8)


def test_what_was_learnt_is_known_and_comes_back() -> None:
    colours, numbers = Colours(), picture(21, 33, colours=40)
    assert not colours.know(numbers)
    assert colours.learn(numbers, PALETTE[numbers])
    assert colours.know(numbers)
    assert np.array_equal(colours.spelled(numbers), PALETTE[numbers])
    assert not colours.know(picture(21, 33))


@given(st.integers(1, 40), st.integers(1, 70), st.integers(0, 2**32), st.data())
def test_one_unknown_pixel_is_found_wherever_it_is(height: int, width: int, seed: int, data: st.DataObject) -> None:
    colours, numbers = Colours(), picture(height, width, seed, colours=200)
    numbers[data.draw(st.integers(0, height - 1)) :] = numbers[0]  # lines that are as those above
    assert colours.learn(numbers, PALETTE[numbers])
    assert colours.know(numbers)
    changed = numbers.copy()
    changed[data.draw(st.integers(0, height - 1)), data.draw(st.integers(0, width - 1))] = 255
    assert not colours.know(changed)


def test_another_colour_for_a_number_is_no_news() -> None:
    colours, numbers = Colours(), picture(8, 9, colours=5)
    assert colours.learn(numbers, PALETTE[numbers])
    before = colours.table.copy()
    other = picture(8, 9, seed=1, colours=50)
    for place in ((0, 0), (7, 8), (4, 4)):
        wrong = PALETTE[other].copy()
        wrong[place] += 1
        if (other == other[place]).sum() > 1 or other[place] < 5:
            assert not colours.learn(other, wrong)
            assert np.array_equal(colours.table, before)
    assert colours.learn(other, PALETTE[other])


@pytest.mark.parametrize(
    ("numbers", "shown"),
    [
        (np.zeros((4, 4), np.int16), np.zeros((4, 4, 3), np.uint8)),
        (np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3), np.float32)),
        (np.zeros((4, 4), np.uint8), np.zeros((4, 4, 4), np.uint8)),
        (np.zeros((4, 4), np.uint8), np.zeros((4, 5, 3), np.uint8)),
    ],
)
def test_what_is_no_such_picture_is_not_learnt(numbers: NDArray[np.uint8], shown: NDArray[np.uint8]) -> None:
    assert not Colours().learn(numbers, shown)


def test_what_cannot_be_looked_at_in_one_piece_is_refused() -> None:
    colours = Colours()
    with pytest.raises((TypeError, ValueError)):
        colours.know(picture(8, 8)[:, ::2])
    fixed = picture(8, 8)
    fixed.flags.writeable = False
    with pytest.raises((TypeError, ValueError)):
        colours.know(fixed)
