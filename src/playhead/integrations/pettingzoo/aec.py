"""AECRecorder: environments in which agents act one after the other.

What came of an action is known when its agent has its next turn: until then others have acted, and its reward has
grown. So a row waits for that turn, and rows are recorded in the order in which their actions were taken.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from pettingzoo.utils.wrappers import BaseWrapper

from playhead.integrations.gymnasium.recorder import Run
from playhead.integrations.pettingzoo.troupe import Troupe, ending
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.writer import ReelWriter

_NOTHING = object()


@dataclass(slots=True)
class _Turn:
    """What an agent did, until what came of it is known."""

    agent: Any
    step: int
    stamp: int
    arrays: dict[str, Any]
    outcome: tuple[Any, Any, Any] | None = None
    info: Any = None


class AECRecorder(BaseWrapper):  # type: ignore[misc]
    """Records every turn of every agent, and changes nothing of what they do.

    A turn is a row: what the agent saw, what it did, and what it got until its next turn, as `last()` tells it. The
    turns that only take an agent that has ended out of the environment, with the action None, are no rows.

    Args:
        env: The environment.
        run: What it is recorded into, as `store.run(...)` gives it.
        frames: `render`, None for no frames, or `auto`: what the environment renders, if it can.
        every: Only each so-manieth turn of an episode has a frame; all else is recorded of every turn.
        config: How the recording is compressed and flushed.

    Raises:
        WrongType: One of these is something else. Spaces that cannot be recorded are refused by the first `reset`.
    """

    def __init__(
        self,
        env: Any,
        run: Run,
        *,
        frames: str | None = "auto",
        every: int = 1,
        config: ReplayConfig | None = None,
    ) -> None:
        super().__init__(env)
        self._troupe = Troupe(env, run, frames, every, config)
        self._turns: deque[_Turn] = deque()
        self._observed: tuple[Any, Any] = (None, _NOTHING)  # an agent, and what it was told to see since the last step
        self._ended: dict[Any, tuple[Any, Any]] = {}
        self._finals: dict[Any, Any] = {}
        self._step = 0

    @property
    def reel(self) -> ReelWriter | None:
        """What is recorded into; None before the first reset."""
        return self._troupe.reel

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Reset the environment; an episode that is under way ends without a result."""
        given = dict(options) if options else None
        self._finish("reset")
        self.env.reset(seed=seed, options=options)
        self._observed, self._ended, self._finals, self._step = (None, _NOTHING), {}, {}, 0
        self._troupe.reset(self.env.agents, seed, given)

    def observe(self, agent: Any) -> Any:
        """Give what an agent sees."""
        seen = self.env.observe(agent)
        self._observed = agent, seen
        return seen

    def step(self, action: Any) -> None:
        """Step the environment, and record it; an error of its own ends the episode and is passed on."""
        agent = self.env.agent_selection
        is_dead = self.env.terminations.get(agent, False) or self.env.truncations.get(agent, False)
        turn = None if is_dead else self._turn(agent, action)
        try:
            self.env.step(action)
        except BaseException as error:
            self._troupe.fail(error)
            self._turns.clear()
            raise
        self._observed = (None, _NOTHING)
        if turn is not None:
            self._turns.append(turn)
            self._step += 1
        if self.env.agents:
            self._settle(self.env.agent_selection)
        else:
            self._finish(ending(self._ended.values()))

    def _turn(self, agent: Any, action: Any) -> _Turn:
        known, seen = self._observed
        if known != agent or seen is _NOTHING:
            seen = self.env.observe(agent)
        stamp = self._troupe.stamp()
        arrays = self._troupe.picture(self._step) | self._troupe.arrays(agent, seen, action)
        return _Turn(agent, self._step, stamp, arrays)

    def _settle(self, agent: Any) -> None:
        """See what came of the last turn of an agent that has the next one, or was ended."""
        _, reward, terminated, truncated, info = self.env.last(observe=False)
        self._conclude(agent, (reward, terminated, truncated), info)
        if (terminated or truncated) and agent not in self._ended:
            self._ended[agent] = terminated, truncated
            self._finals[agent] = self.env.observe(agent)
        self._record()

    def _conclude(self, agent: Any, outcome: tuple[Any, Any, Any], info: Any) -> None:
        for turn in self._turns:
            if turn.agent == agent and turn.outcome is None:
                turn.outcome, turn.info = outcome, info

    def _record(self) -> None:
        """Record the turns of which all is known, up to the first of which not."""
        while self._turns and (outcome := self._turns[0].outcome) is not None:
            turn = self._turns.popleft()
            self._troupe.record(turn.agent, turn.step, turn.stamp, turn.arrays, outcome, turn.info)

    def _finish(self, how: str) -> None:
        """Record what waits, as far as its outcome is known, and end the episode."""
        rewards = getattr(self.env, "_cumulative_rewards", {}) if self._turns else {}
        for turn in self._turns:
            if turn.outcome is None:
                agent = turn.agent
                flags = self.env.terminations.get(agent, False), self.env.truncations.get(agent, False)
                turn.outcome, turn.info = (rewards.get(agent, 0.0), *flags), self.env.infos.get(agent)
        self._record()
        self._troupe.end(how, {agent: seen for agent, seen in self._finals.items() if seen is not None})

    def close(self) -> None:
        """Complete the recording and close the environment. Closing twice is fine."""
        try:
            self._finish("closed")
            self._troupe.close()
        finally:
            super().close()
