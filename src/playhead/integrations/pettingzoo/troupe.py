"""Troupe: what several agents do in one environment, put down in one reel.

Arrays of a reel have one shape. Agents with the same spaces share `observations` and `actions`; those with others have
`observations_2`, `actions_2` and so on. The facts of the reel say for each agent which are its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from playhead import clock, strictjson
from playhead.errors import PlayheadError, WrongShape, WrongType
from playhead.integrations.gymnasium import meanings
from playhead.integrations.gymnasium.cells import Cells
from playhead.integrations.gymnasium.frames import Pictures
from playhead.integrations.gymnasium.infos import Packer
from playhead.integrations.gymnasium.recorder import Run
from playhead.integrations.gymnasium.spaces import ACTIONS, FRAMES, OBSERVATIONS, describe
from playhead.integrations.gymnasium.track import NO_NUMBER, no_reward
from playhead.lanes.arrays.config import ReplayConfig, check_config
from playhead.lanes.arrays.writer import ReelWriter

_RENDERED = "rgb_array"
_MOST_KINDS = 6  # of spaces: a reel has a limited number of groups of arrays
_MOST_MESSAGE = 2000


class Role(NamedTuple):
    """What is recorded of one agent.

    Attributes:
        name: It, as text.
        seen: Takes its observations apart.
        done: Takes its actions apart.
        last: Takes its final observation apart: each agent has an array of its own there.
        facts: Its spaces, as JSON.
    """

    name: str
    seen: Cells
    done: Cells
    last: Cells
    facts: dict[str, Any]


class Troupe:
    """Records the agents of one environment.

    Args:
        env: It.
        run: What it is recorded into.
        frames: `auto`, `render` or None.
        every: Only each so-manieth step of the environment has a frame.
        config: How the reel is recorded.

    Raises:
        WrongType: One of these is something else.
    """

    def __init__(self, env: Any, run: Run, frames: str | None, every: int, config: ReplayConfig | None) -> None:
        can_render = getattr(env, "render_mode", None) == _RENDERED
        if frames not in ("auto", "render", None):
            raise WrongType(f"frames is 'auto', 'render' or None, not {frames!r}")
        if not isinstance(every, int) or isinstance(every, bool) or every < 1:
            raise WrongType(f"every is a whole number of steps from 1, not {every!r}")
        check_config(config)
        if frames == "render" and not can_render:
            raise WrongType("frames='render' needs an environment made with render_mode='rgb_array'")
        self._env = env
        self._run = run
        self._every = every
        self._config = config
        self._pictures = Pictures(env) if can_render and frames is not None else None
        self._pack = Packer().pack
        self._kinds: dict[str, list[dict[str, Any]]] = {OBSERVATIONS: [], ACTIONS: []}
        self._roles: dict[Any, Role] = {}
        self._told: set[str] = set()  # agents that the facts of the reel are of
        self._facts: dict[str, Any] | None = None  # of the episode that begins with the next step
        self._is_begun = False
        self._trouble: WrongType | None = None
        self._stamps = clock.Stamps()
        self.reel: ReelWriter | None = None

    # -- agents -----------------------------------------------------------------------------------------------------

    def role(self, agent: Any) -> Role:
        """Give what is recorded of an agent; one may come at any time.

        Raises:
            WrongType: Its spaces, or its name, cannot be recorded.
        """
        if agent not in self._roles:
            name = str(agent)
            if not name or any(role.name == name for role in self._roles.values()):
                raise WrongType(f"the agent {agent!r} has no name of its own as text, {name!r}: call it something else")
            seen, done = self._env.observation_space(agent), self._env.action_space(agent)
            alone = spaces.Dict({name: seen})
            facts = {
                "observation_space": self._described(OBSERVATIONS, seen),
                "action_space": self._described(ACTIONS, done),
                **meanings.facts_of(self._env, done),
            }
            self._roles[agent] = Role(
                name,
                Cells(seen, facts["observation_space"]),
                Cells(done, facts["action_space"]),
                Cells(alone, describe(alone, OBSERVATIONS)),
                facts,
            )
        return self._roles[agent]

    def _described(self, name: str, space: Any) -> dict[str, Any]:
        known = self._kinds[name]
        plain = describe(space, name)
        if plain not in known:
            if len(known) == _MOST_KINDS:
                raise WrongType(
                    f"the agents have more than {_MOST_KINDS} different spaces of {name}; give them alike ones, as "
                    "supersuit.pad_observations_v0 does"
                )
            known.append(plain)
        number = known.index(plain) + 1
        return plain if number == 1 else describe(space, f"{name}_{number}")

    # -- what happens -----------------------------------------------------------------------------------------------

    def reset(self, agents: Iterable[Any], seed: Any, options: Any) -> None:
        """Hear that the environment was reset; the episode begins with its first step."""
        self._facts = {} if seed is None else {"seed": strictjson.plain(seed)}
        if options:
            self._facts["options"] = strictjson.decode(self._pack(options))
        if self.reel is None:
            everybody = dict.fromkeys([*getattr(self._env, "possible_agents", ()), *agents])
            roles = [self.role(agent) for agent in everybody]
            self._told = {role.name for role in roles}
            self.reel = self._run.new_reel(facts=self._about(roles), config=self._config)

    def _about(self, roles: list[Role]) -> dict[str, Any]:
        metadata = getattr(self._env, "metadata", {})
        facts: dict[str, Any] = {
            "env_id": str(metadata.get("name") or type(self._env.unwrapped).__name__),
            "agents": {role.name: role.facts for role in roles},
            "render_mode": getattr(self._env, "render_mode", None),
            "frames": None if self._pictures is None else "render",
            "every": self._every,
        }
        fps = metadata.get("render_fps")
        if isinstance(fps, (int, float)) and math.isfinite(fps):
            facts["fps"] = fps
        return facts

    def picture(self, step: int) -> dict[str, Any]:
        """Render what the environment looks like before a step, if that step is to have a frame."""
        if self._pictures is None or step % self._every:
            return {}
        return {FRAMES: self._pictures.keep((self._env.render(),))}

    def stamp(self) -> int:
        """Give the time of the next step."""
        return self._stamps.next()

    def arrays(self, agent: Any, observation: Any, action: Any) -> dict[str, Any]:
        """Give what an agent saw and does as arrays that nobody else holds.

        Raises:
            WrongShape, WrongType: They are not of its spaces.
        """
        role = self.role(agent)
        found: dict[str, Any] = {}
        role.seen.keep(observation, found)
        role.done.keep(action, found)
        return found

    def record(
        self, agent: Any, step: int, stamp: int, arrays: dict[str, Any], outcome: tuple[Any, Any, Any], info: Any
    ) -> None:
        """Record one step of one agent. One whose reward is no number has NaN, and `check` tells of it.

        Args:
            agent: It.
            step: The number of the environment's step.
            stamp: When; later than those before.
            arrays: What it saw and did.
            outcome: Its reward, and whether it terminated or was truncated.
            info: What else the environment says.
        """
        assert self.reel is not None
        if not self._is_begun:
            self.reel.begin(self._facts or {"without_reset": True}, ts_ns=stamp)
            self._facts, self._is_begun = None, True
        reward, terminated, truncated = outcome
        try:
            reward = float(reward)
        except NO_NUMBER:
            self._trouble = self._trouble or no_reward(reward)
            reward = math.nan
        self.reel.step(
            arrays,
            reward,
            bool(terminated),
            bool(truncated),
            self._pack(info),
            agent=self.role(agent).name,
            step=step,
            ts_ns=stamp,
            owned=True,
        )

    def check(self) -> None:
        """Tell of the first step since the last check whose reward is no number, when all of its agents are recorded.

        Raises:
            WrongType: There was one.
        """
        trouble, self._trouble = self._trouble, None
        if trouble is not None:
            raise trouble

    def end(self, how: str, finals: Mapping[Any, Any] | None = None, facts: Mapping[str, Any] | None = None) -> None:
        """End the episode that is under way.

        Args:
            how: As `ReelWriter.end` has it.
            finals: What agents saw last.
            facts: What is known at the end.

        Raises:
            WrongShape, WrongType: Something that was seen is not of its agent's space. All else is recorded.
        """
        if not self._is_begun or self.reel is None:
            return
        self._is_begun = False
        seen: dict[str, Any] = {}
        wrong: PlayheadError | None = None
        for agent, observation in (finals or {}).items():
            own: dict[str, Any] = {}
            try:
                role = self.role(agent)
                role.last.keep({role.name: observation}, own)
            except (WrongShape, WrongType) as error:  # the episode has ended none the less
                wrong = wrong or error
            else:
                seen |= own
        late = {role.name: role.facts for role in self._roles.values() if role.name not in self._told}
        more = {"late_agents": late} if late else {}
        self.reel.end(how, seen, {**(facts or {}), **more}, ts_ns=self.stamp())
        if wrong is not None:
            raise wrong

    def fail(self, error: BaseException) -> None:
        """Take note that the environment raised an error: its episode ends."""
        message = strictjson.plain(str(error)[:_MOST_MESSAGE])
        self.end("error", facts={"error": {"type": type(error).__qualname__, "message": message}})

    def close(self) -> None:
        """End the episode that is under way, and seal the reel."""
        self.end("closed")
        if self.reel is not None:
            self.reel.close()


def kept(value: Any) -> Any:
    """Give what an agent saw, or was told, as it is now: the environment and its caller may go on to write into it."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Mapping):
        return {key: kept(part) for key, part in value.items()}
    return tuple(map(kept, value)) if type(value) in (tuple, list) else value


def ending(outcomes: Iterable[tuple[Any, Any]]) -> str:
    """Say how an episode ended, by what is true of its agents: terminated, unless any was only cut off."""
    is_cut = any(truncated and not terminated for terminated, truncated in outcomes)
    return "truncated" if is_cut else "terminated"
