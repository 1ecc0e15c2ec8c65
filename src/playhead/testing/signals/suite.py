"""How the tests of a signal get one, and how they compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from playhead.errors import BadKey, BadSlice, PlayheadError
from playhead.signal import Signal

Sample = tuple[Any, int]

STAMPS = (100, 110, 125, 200, 201, 300, 1000, 1001, 5000, 9000)

BAD_KEY = (BadKey, TypeError, IndexError, NotImplementedError)
BAD_SLICE = (BadSlice, ValueError, IndexError, KeyError)


class SignalSuite:
    """What a subclass says of its lane, and what the tests share.

    Attributes:
        stamp_limits: The least and the greatest stamp that the lane holds.
        can_be_empty: Whether it holds a signal without samples.
        repeats_stamps: Whether two samples may have one stamp.
        keeps_values_in_memory: Whether views of a loaded signal share memory with it.
        is_sendable: Whether it can be sent to a spawned process.
    """

    stamp_limits: ClassVar[tuple[int, int]] = (-(1 << 63), (1 << 63) - 1)
    can_be_empty: ClassVar[bool] = True
    repeats_stamps: ClassVar[bool] = False
    keeps_values_in_memory: ClassVar[bool] = False
    is_sendable: ClassVar[bool] = True

    def make_signal(self, samples: list[Sample], tmp_path: Path) -> Signal[Any]:
        """Make a signal that holds these samples.

        Args:
            samples: Each a value that `sample_values` gave, and its stamp.
            tmp_path: An empty folder.
        """
        raise NotImplementedError

    def sample_values(self, n: int) -> Sequence[Any]:
        """Give n values that the lane can hold together, as distinct as they can be."""
        raise NotImplementedError

    def assert_same(self, found: Any, expected: Any) -> None:
        """Compare a value that was read with the one that went in; a lossy lane allows for what it loses."""
        if isinstance(expected, str):
            assert found == expected  # as text, since NumPy's own forgets what it ends with if that is NUL
            return
        assert np.shape(found) == np.shape(expected)
        np.testing.assert_array_equal(found, expected)
        if np.asarray(expected).dtype.kind == "f":
            np.testing.assert_array_equal(_is_below_zero(found), _is_below_zero(expected))

    @pytest.fixture
    def samples(self) -> list[Sample]:
        """Ten samples at uneven times."""
        return list(zip(self.sample_values(len(STAMPS)), STAMPS, strict=True))

    @pytest.fixture
    def signal(self, samples: list[Sample], tmp_path: Path) -> Signal[Any]:
        """The signal that holds them, of which nothing was read yet."""
        return self.make_signal(samples, tmp_path)

    @pytest.fixture
    def reads(self, signal: Signal[Any], monkeypatch: pytest.MonkeyPatch) -> set[int]:
        """The positions of the signal whose values were read so far."""
        seen: set[int] = set()
        kind: Any = type(signal)
        read_many, read_one = kind._values_at, kind._value_at

        def values_at(found: Signal[Any], positions: Any) -> Any:
            seen.update(map(int, positions))
            return read_many(found, positions)

        def value_at(found: Signal[Any], position: int) -> Any:
            seen.add(position)
            return read_one(found, position)

        monkeypatch.setattr(kind, "_values_at", values_at)
        monkeypatch.setattr(kind, "_value_at", value_at)
        return seen

    def assert_sample(self, found: Any, expected: Sample) -> None:
        """Compare a sample with the one that is expected."""
        value, stamp = found
        assert (type(stamp), stamp) == (int, expected[1])
        self.assert_same(value, expected[0])

    def assert_holds(self, found: Signal[Any], expected: Sequence[Sample]) -> None:
        """Compare a signal or a view with the samples that it should hold, read in every way."""
        assert isinstance(found, Signal)
        assert len(found) == len(expected)
        assert found.timestamps.dtype == np.int64
        assert found.timestamps.tolist() == [stamp for _, stamp in expected]
        for sample, wanted in zip(found, expected, strict=True):
            self.assert_sample(sample, wanted)
        for value, (wanted, _) in zip(found.values, expected, strict=True):
            self.assert_same(value, wanted)
        for position, wanted in enumerate(expected):
            self.assert_sample(found[position], wanted)

    def assert_raises(self, kinds: Sequence[type[BaseException]], ask: Callable[[], object], message: str = "") -> None:
        """See that asking fails with an error that is of all these kinds at once, and says something."""
        with pytest.raises(PlayheadError) as caught:
            ask()
        assert all(isinstance(caught.value, kind) for kind in kinds), type(caught.value).__mro__
        assert str(caught.value)
        assert message in str(caught.value)


def _is_below_zero(numbers: Any) -> Any:
    return np.signbit(numbers) & ~np.isnan(numbers)  # -0.0 is, and NaN has no sign that counts
