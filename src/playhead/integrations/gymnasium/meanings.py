"""What the actions of an environment are called, if it knows: asked once, when a reel begins."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import gymnasium
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from playhead import strictjson

MEANINGS = "action_meanings"  # the fact of a reel, or of an agent

_ASKED = "get_action_meanings"  # ALE, and environments made after it
_LISTS = ("action_meanings", "action_names")
_ENUMERATIONS = ("actions", "Actions")  # MiniGrid, and environments made after it
_MOST, _LONGEST = 1024, 100  # names, and characters of each


def facts_of(env: Any, space: Any) -> dict[str, Any]:
    """Return the fact that says what the actions are called; empty if nobody knows.

    Args:
        env: The environment, with its wrappers.
        space: The space of the actions that are recorded.
    """
    return _fact(_found(env, space), space)


def facts_in(envs: Any, number: int, space: Any) -> dict[str, Any]:
    """Return the fact for one environment of a vector environment.

    Args:
        envs: The vector environment.
        number: Which of its environments.
        space: The space of the actions of one.
    """
    within = envs.unwrapped
    if not isinstance(space, spaces.Discrete) or space.n > _MOST:
        return {}
    if isinstance(within, SyncVectorEnv):
        return facts_of(within.envs[number], space)
    if isinstance(within, AsyncVectorEnv):
        # In other processes wrappers cannot be looked at: one that changes actions has a method of this name.
        can_say = all(within.call("has_wrapper_attr", _ASKED)) and not any(within.call("has_wrapper_attr", "action"))
        return _fact(_names(within.call(_ASKED)[number]), space) if can_say else {}
    return facts_of(within, space)


def _fact(names: list[str] | None, space: Any) -> dict[str, Any]:
    is_whole = names is not None and isinstance(space, spaces.Discrete) and len(names) == space.n
    return {MEANINGS: names} if is_whole else {}


def _found(env: Any, space: Any) -> list[str] | None:
    if not isinstance(space, spaces.Discrete) or space.n > _MOST:
        return None
    for layer in _layers(env):
        names = next(filter(None, map(_names, _said_by(layer))), None)
        if names is not None:
            return names
        if isinstance(layer, gymnasium.ActionWrapper):
            return None  # what is within has other actions
    return None


def _layers(env: Any) -> Iterator[Any]:
    """Yield an environment without its wrappers one by one, the outermost first."""
    seen: set[int] = set()
    while env is not None and id(env) not in seen:
        seen.add(id(env))
        yield env
        env = getattr(env, "env", None)


def _said_by(layer: Any) -> Iterator[Any]:
    """Yield what an environment itself says of its actions; its code may be anybody's, and fail."""
    for name in (_ASKED, *_LISTS, *_ENUMERATIONS):
        with contextlib.suppress(Exception):
            found = getattr(layer, name, None)
            yield found() if name == _ASKED and callable(found) else found


def _names(given: Any) -> list[str] | None:
    """Return names in the order of the actions; None if what was said is something else."""
    if isinstance(given, type) and issubclass(given, enum.IntEnum):
        given = {int(one): one.name for one in given}
    if isinstance(given, Mapping):
        if sorted(given, key=repr) != sorted(range(len(given)), key=repr):
            return None
        given = [given[number] for number in range(len(given))]
    if not isinstance(given, Sequence) or isinstance(given, (str, bytes)) or not 0 < len(given) <= _MOST:
        return None
    if not all(isinstance(name, str) and 0 < len(name) <= _LONGEST for name in given):
        return None
    return [strictjson.plain(name) for name in given]
