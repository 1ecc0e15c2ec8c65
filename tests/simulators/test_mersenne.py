"""A generator's words follow from earlier ones, as NumPy's own generator has them."""

from __future__ import annotations

import numpy as np
import pytest

from playhead.simulators.mersenne import shortened, turned, whole


def text(generator: np.random.MT19937) -> bytes:
    state = generator.state["state"]
    return b" ".join(b"%d" % number for number in [*state["key"].tolist(), state["pos"]])


def test_a_turn_is_that_of_the_generator() -> None:
    generator = np.random.MT19937(7)
    generator.random_raw(1)
    for _ in range(5):
        before = generator.state["state"]["key"].astype(np.uint32)
        generator.random_raw(624)
        assert np.array_equal(turned(before), generator.state["state"]["key"])


@pytest.mark.parametrize("drawn", [0, 3, 700, 30_000])
def test_a_state_is_told_by_an_earlier_one(drawn: int) -> None:
    one, two = np.random.MT19937(1), np.random.MT19937(2)
    base = b"begin" + text(one) + b"middle" + text(two) + b"end"
    one.random_raw(drawn)
    two.random_raw(2 * drawn)
    data = b"another" + text(one) + b"between" + text(two) + b"the end"
    short = shortened(data, base)
    assert short[0] == b"anotherbetweenthe end"
    assert whole(short, base) == data


def test_what_does_not_follow_is_not_told() -> None:
    one, other = text(np.random.MT19937(1)), text(np.random.MT19937(2))
    assert shortened(other, one) is None
    assert shortened(b"no generator", one) is None
    assert shortened(one + b"." + one, one) is None
