"""Environments and wrappers that save and restore themselves, by two methods.

`get_state()` and `set_state(state)`, as Procgen has them, or `clone_state()` and `restore_state(state)`, as the Arcade
Learning Environment has them. A state is a tree of numbers, texts, bytes and arrays in dicts and lists, and holds all
that decides what
comes: also the random numbers.
"""

from __future__ import annotations

import inspect
from typing import Any

from playhead.simulators.contract import Simulator

PAIRS = (("get_state", "set_state"), ("clone_state", "restore_state"))


class Offered(Simulator):
    """An environment, or a wrapper, that has two methods for it."""

    packages = ()

    def save(self) -> Any:
        """Ask it for its state."""
        return getattr(self.env, _pair(self.env)[0])()

    def restore(self, state: Any) -> None:
        """Give its state back."""
        getattr(self.env, _pair(self.env)[1])(state)


def offers(env: Any) -> bool:
    """Tell whether an environment, or a wrapper itself and not what it wraps, has two such methods."""
    return any(_has(type(env), *pair) for pair in PAIRS)


def _pair(env: Any) -> tuple[str, str]:
    return next(pair for pair in PAIRS if _has(type(env), *pair))


def _has(kind: type, save: str, restore: str) -> bool:
    saving, restoring = inspect.getattr_static(kind, save, None), inspect.getattr_static(kind, restore, None)
    return _needs(saving, 1) and _needs(restoring, 2)


def _needs(method: Any, count: int) -> bool:
    """Tell whether a method can be called with so many arguments, itself included, and no others."""
    if not callable(method):
        return False
    parameters = inspect.signature(method).parameters.values()
    places = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    needed = [one for one in places if one.default is one.empty]
    return len(needed) <= count <= len(places)
