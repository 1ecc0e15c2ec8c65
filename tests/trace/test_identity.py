"""What is noted of a function, and what counts as another one."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from playhead.trace import identity
from tests.trace.made import update


class Model:
    pass


def step(state: Any, given: Any, model: Any, rate: float = 1.0) -> Any:
    return state, given, model, rate


@pytest.mark.parametrize("bound", [Model(), [Model()], {"a": (Model(), update)}, Model])
def test_no_addresses_are_noted_of_what_is_bound(bound: Any) -> None:
    said = identity.describe(functools.partial(step, model=bound))
    assert said is not None
    assert "0x" not in str(said["bound"])
    assert any(name in said["bound"]["model"] for name in ("Model", "update"))


def test_another_object_of_the_same_kind_is_no_other_function() -> None:
    one, other = Model(), Model()
    first, second = (identity.describe(functools.partial(step, model=model)) for model in (one, other))
    assert identity.differences(first, second) == []
    assert first is not None
    noted = {**first, "bound": {"model": repr(one)}}  # as earlier versions did
    assert identity.differences(noted, second) == []
    assert identity.differences(first, identity.describe(functools.partial(step, model=one, rate=2.0)))
    assert identity.differences(first, identity.describe(functools.partial(step, model="Model")))
