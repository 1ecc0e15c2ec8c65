"""Random questions to a signal and to views of its views, beside a plain list that is asked the same."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, multiple, rule

from playhead.errors import PlayheadError
from playhead.signal import Signal
from playhead.signal.keys import LEAST, MOST
from playhead.testing import ListModel
from playhead.testing.signals.suite import SignalSuite
from playhead.testing.strategies import index_keys, samples, time_keys

View = tuple[Signal[Any], ListModel]
Samples = list[tuple[Any, int]]


class SignalMachine(RuleBasedStateMachine):
    """One signal and its views; a subclass says how the signal is made."""

    views = Bundle("views")

    each: ClassVar[st.SearchStrategy[Any] | None] = None
    stamp_limits: ClassVar[tuple[int, int]] = (LEAST, MOST)
    fewest: ClassVar[int] = 0

    def make_signal(self, held: Samples, folder: Path) -> Signal[Any]:
        raise NotImplementedError

    def assert_same(self, found: Any, expected: Any) -> None:
        assert np.asarray(found).dtype.kind == np.asarray(expected).dtype.kind
        SignalSuite().assert_same(found, expected)

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @initialize(target=views, data=st.data())
    def record(self, data: st.DataObject) -> View:
        least, most = self.stamp_limits
        held = data.draw(samples(self.each, min_size=self.fewest, least=least, most=most))
        return self.make_signal(held, self.folder), ListModel(held)

    @rule(target=views, view=views, data=st.data())
    def ask_by_index(self, view: View, data: st.DataObject) -> Any:
        key = data.draw(index_keys(len(view[1])))
        return self.compare(view, lambda asked: asked[key])

    @rule(target=views, view=views, data=st.data())
    def ask_by_time(self, view: View, data: st.DataObject) -> Any:
        key = data.draw(time_keys(view[1].stamps))
        return self.compare(view, lambda asked: asked.time[key])

    @rule(target=views, view=views, data=st.data())
    def cut(self, view: View, data: st.DataObject) -> Any:
        key = data.draw(index_keys(len(view[1]), with_wrong=False))
        return self.compare(view, lambda asked: asked[key])

    @rule(target=views, view=views, data=st.data())
    def sample(self, view: View, data: st.DataObject) -> Any:
        key = data.draw(time_keys(view[1].stamps, with_wrong=False))
        return self.compare(view, lambda asked: asked.time[key])

    @rule(view=views)
    def ask_for_the_ends(self, view: View) -> None:
        self.compare(view, lambda asked: asked.start_ts)
        self.compare(view, lambda asked: asked.last_ts)

    @rule(target=views, view=views)
    def send(self, view: View) -> View:
        """Go on with what another process would get."""
        return ForkingPickler.loads(bytes(ForkingPickler.dumps(view[0]))), view[1]

    @rule(view=views)
    def read(self, view: View) -> None:
        self.assert_holds(*view)

    @rule(view=views)
    def read_backwards(self, view: View) -> None:
        for found, expected in zip(reversed(view[0]), reversed(view[1]), strict=True):
            self.assert_sample(found, expected)

    @rule(view=views, data=st.data())
    def read_a_little(self, view: View, data: st.DataObject) -> None:
        count = data.draw(st.integers(0, len(view[1])))
        for found, expected in zip(view[0], view[1].samples[:count], strict=False):
            self.assert_sample(found, expected)

    def compare(self, view: View, ask: Callable[[Any], Any]) -> Any:
        found, expected = outcome(ask, view[0]), outcome(ask, view[1])
        if isinstance(expected, ListModel):
            assert isinstance(found, Signal), found
            assert found.timestamps.tolist() == expected.stamps
            return found, expected
        if isinstance(expected, tuple):
            self.assert_sample(found, expected)
        else:
            assert found == expected
        return multiple()

    def assert_sample(self, found: Any, expected: tuple[Any, int]) -> None:
        assert isinstance(found, tuple), found
        assert (type(found[1]), found[1]) == (int, expected[1])
        self.assert_same(found[0], expected[0])

    def assert_holds(self, found: Signal[Any], expected: ListModel) -> None:
        assert len(found) == len(expected)
        for value, (wanted, _) in zip(found.values, expected, strict=True):
            self.assert_same(value, wanted)
        for sample, wanted in zip(found, expected, strict=True):
            self.assert_sample(sample, wanted)


def outcome(ask: Callable[[Any], Any], asked: Any) -> Any:
    """Ask, and give the answer or the kind of refusal."""
    try:
        return ask(asked)
    except PlayheadError as error:
        return type(error)


def as_tests(machine: type[SignalMachine], *, max_examples: int = 40) -> Any:
    """Give the machine as a class that pytest runs."""
    case = machine.TestCase
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    case.settings = settings(
        max_examples=max_examples,
        stateful_step_count=15,
        deadline=None,
        print_blob=True,
        suppress_health_check=slow,
    )
    return case
