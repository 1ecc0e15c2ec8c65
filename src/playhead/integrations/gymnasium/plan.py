"""What is recorded of an environment, decided from its spaces before its first reset."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import gymnasium

from playhead import strictjson
from playhead.integrations.gymnasium import frames as framing
from playhead.integrations.gymnasium import meanings, stacks
from playhead.integrations.gymnasium.spaces import ACTIONS, FRAMES, OBSERVATIONS, describe
from playhead.lanes.arrays.config import ReplayConfig, check_config

KEYFRAME_EVERY = 32  # of Atari: 62 bytes a step, and a frame in 13 ms; with 64, 55 bytes and 24 ms


@dataclass(frozen=True, slots=True)
class Options:
    """What a recorder was asked for.

    Attributes:
        frames: Where frames come from: `auto`, `render`, `observation`, `resimulate` or None.
        every: Only each so-manieth step has a frame.
        stack: Whether observations are stacks of frames: `auto`, False, or of how many.
        config: How the reel is recorded and sealed.
        keyframe_every: Where frames are made again, the steps from one state that is saved to the next.
    """

    frames: str | None
    every: int
    stack: stacks.Option
    config: ReplayConfig | None
    keyframe_every: int = KEYFRAME_EVERY

    def __post_init__(self) -> None:
        """See that all of this can be done.

        Raises:
            WrongType: A value is none of those.
        """
        framing.check_choice(self.frames, self.every)
        stacks.check_option(self.stack)
        check_config(self.config)
        framing.check_keyframes(self.frames, self.every, self.keyframe_every)

    @property
    def is_stack(self) -> bool:
        """Whether observations are stacks of frames, as the caller says."""
        return self.stack is not False and not isinstance(self.stack, str)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is recorded of an environment.

    Attributes:
        observation_space: The space of its observations.
        action_space: The space of its actions.
        source: Where frames come from: `observation`, `render`, or None.
        every: Only each so-manieth step has a frame.
        facts: What the reel says of the environment, as JSON.
    """

    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]
    source: str | None
    every: int
    facts: dict[str, Any]

    @property
    def is_frame_observation(self) -> bool:
        """Whether frames and observations are the same, and are stored once."""
        return self.source == framing.OBSERVATION and self.every == 1


def make(
    env: Any, observation_space: gymnasium.Space[Any], action_space: gymnasium.Space[Any], options: Options
) -> Plan:
    """Decide what is recorded of an environment.

    Args:
        env: It, or the vector environment that it is a part of.
        observation_space: The space of its observations.
        action_space: The space of its actions.
        options: What was asked for.

    Raises:
        WrongType: A space cannot be recorded, or there are no frames where some were asked for.
    """
    can_peek = framing.collector_of(env) is not None
    source = framing.choose(
        options.frames, observation_space, env.render_mode, is_stack=options.is_stack, can_peek=can_peek
    )
    facts = facts_of(env) | {
        "observation_space": describe(observation_space, OBSERVATIONS),
        "action_space": describe(action_space, ACTIONS),
        "render_mode": env.render_mode,
        "frames": source,
        "every": options.every,
    }
    if not isinstance(env, gymnasium.vector.VectorEnv):
        facts |= meanings.facts_of(env, action_space)
    if source == framing.OBSERVATION and options.every == 1:
        facts["same"] = {OBSERVATIONS: FRAMES}
    return Plan(observation_space, action_space, source, options.every, facts)


def facts_of(env: Any) -> dict[str, Any]:
    """Say which environment it is, as JSON."""
    spec = env.spec
    within = env.unwrapped
    facts: dict[str, Any] = {"env_id": type(within).__name__ if spec is None else spec.id}
    written = None if spec is None else _written(spec)
    if written is not None:
        facts["spec"] = written
    fps = env.metadata.get("render_fps")
    if isinstance(fps, (int, float)) and math.isfinite(fps):
        facts["fps"] = fps
    rewards = getattr(within, "reward_range", None)
    if rewards is not None and all(map(math.isfinite, rewards)):
        facts["reward_range"] = strictjson.plain(list(rewards))
    return facts


def _written(spec: Any) -> Any:
    """Give a spec as JSON, or None where it holds what JSON cannot."""
    try:
        return strictjson.plain(strictjson.decode(spec.to_json()))
    except (TypeError, ValueError, RecursionError):
        return None
