"""Taking apart what a vector environment gives and takes, by sub-environment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from playhead import strictjson
from playhead.integrations.gymnasium import plan, stacks
from playhead.integrations.gymnasium.frames import newest

At = Callable[[Any, int], Any]

_DEPTH = "stack_size"  # of the wrapper that stacks; sub-environments in other processes can only be asked for it


def splitter(space: Any) -> At:
    """Give what takes the value of one sub-environment out of a batch.

    Args:
        space: Of a single sub-environment.
    """
    if isinstance(space, spaces.Dict):
        named = [(key, splitter(part)) for key, part in space.spaces.items()]
        return lambda batch, number: {key: at(batch[key], number) for key, at in named}
    if isinstance(space, spaces.Tuple):
        placed = [splitter(part) for part in space.spaces]
        return lambda batch, number: tuple(at(part, number) for at, part in zip(placed, batch, strict=True))
    return lambda batch, number: batch[number]


def frame_at(rendered: Any, number: int) -> Any:
    """Give the newest frame of one sub-environment; None where none was rendered."""
    return None if rendered is None else newest(rendered[number])


def facts_of(envs: Any, number: int) -> dict[str, Any]:
    """Say which sub-environment a reel is of."""
    facts: dict[str, Any] = {"sub_environment": number, "sub_environments": int(envs.num_envs)}
    within = envs.unwrapped
    if envs.spec is None and isinstance(within, SyncVectorEnv):
        return plan.facts_of(within.envs[number]) | facts
    return facts


def seed_of(envs: Any, seed: Any, number: int, chosen: Sequence[int]) -> Any:
    """Say which seed a sub-environment was reset with, as JSON; where only the environment knows, what it was given.

    Args:
        envs: The vector environment.
        seed: What `reset` was given.
        number: The sub-environment.
        chosen: Those that were reset.
    """
    if seed is None:
        return None
    if isinstance(seed, (int, np.integer)):
        is_counted = isinstance(envs.unwrapped, (SyncVectorEnv, AsyncVectorEnv))
        return int(seed) + number if is_counted else int(seed)
    if len(seed) == envs.num_envs:
        return strictjson.plain(seed[number])
    return strictjson.plain(seed[chosen.index(number)]) if len(seed) == len(chosen) else strictjson.plain(seed)


def depths_of(envs: Any, each: Sequence[Any]) -> list[int | None]:
    """Find how many frames the observations of each sub-environment may be stacks of.

    Args:
        envs: The vector environment.
        each: An observation of each.
    """
    within = envs.unwrapped
    if isinstance(within, SyncVectorEnv):
        return [stacks.depth_of(env, observation) for env, observation in zip(within.envs, each, strict=True)]
    if isinstance(within, AsyncVectorEnv) and all(within.call("has_wrapper_attr", _DEPTH)):
        return [found if isinstance(found, int) else None for found in within.get_attr(_DEPTH)]
    if type(within).__module__.partition(".")[0] == "ale_py":
        return [int(envs.single_observation_space.shape[0])] * len(each)
    return [None] * len(each)
