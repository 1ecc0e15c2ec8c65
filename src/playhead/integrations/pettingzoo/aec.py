"""AECRecorder: environments in which agents act one after the other.

What came of an action is known when its agent has its next turn: until then others have acted, and its reward has
grown. So a row waits for that turn, and rows are recorded in the order in which their actions were taken. One that
waits for very long lets the others pass, and is recorded when its outcome is known.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from pettingzoo.utils.wrappers import BaseWrapper

from playhead.integrations.pettingzoo.recorder import TroupeRecorder
from playhead.integrations.pettingzoo.troupe import ending, kept

_NOTHING = object()
_MOST_WAITING = 256  # turns behind one whose outcome is not known
_MOST_ROUNDS = 4  # of turns of all agents, where they are many


@dataclass(slots=True)
class _Turn:
    """What an agent did, until what came of it is known."""

    agent: Any
    step: int
    stamp: int
    arrays: dict[str, Any]
    outcome: tuple[Any, Any, Any] | None = None
    info: Any = None


class AECRecorder(TroupeRecorder, BaseWrapper):  # type: ignore[misc]
    """Records every turn of every agent, and changes nothing of what they do.

    A turn is a row: what the agent saw, what it did, and what it got until its next turn, as `last()` tells it. The
    turns that only take an agent that has ended out of the environment, with the action None, are no rows. A row whose
    agent has none for 256 turns, or four rounds of all agents, comes behind theirs, when it has one.

    Args:
        env: The environment.
        run: What it is recorded into, as `store.run(...)` gives it.
        frames: `render`, None for no frames, or `auto`: what the environment renders, if it can.
        every: Only each so-manieth turn of an episode has a frame; all else is recorded of every turn.
        config: How the recording is compressed and flushed.

    Raises:
        WrongType: One of these is something else. Spaces that cannot be recorded are refused by the first `reset`.
    """

    def _begin(self) -> None:
        super()._begin()
        self._turns: deque[_Turn] = deque()
        self._late: list[_Turn] = []  # those that others have passed, and whose outcome is not known yet
        self._observed: tuple[Any, Any] = (None, _NOTHING)  # an agent, and what it was told to see since the last step

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Reset the environment; an episode that is under way ends without a result."""
        given = dict(options) if options else None
        self._finish("reset")
        self.env.reset(seed=seed, options=options)
        self._begin()
        self._troupe.reset(self.env.agents, seed, given)
        self._troupe.check()

    def observe(self, agent: Any) -> Any:
        """Give what an agent sees."""
        seen = self.env.observe(agent)
        self._observed = agent, kept(seen)
        return seen

    def step(self, action: Any) -> None:
        """Step the environment, and record it; an error of its own ends the episode and is passed on."""
        agent = self.env.agent_selection
        is_dead = self.env.terminations.get(agent, False) or self.env.truncations.get(agent, False)
        turn = None if is_dead else self._turn(agent, action)
        try:
            self.env.step(action)
        except BaseException as error:
            self._record_all()
            self._troupe.fail(error)
            raise
        self._observed = (None, _NOTHING)
        if turn is not None:
            self._turns.append(turn)
            self._step += 1
            self._let_pass()
        if self.env.agents:
            self._settle(self.env.agent_selection)
        else:
            self._finish(ending(self._ended.values()))
        self._troupe.check()

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
            self._finals[agent] = kept(self.env.observe(agent))
        self._record()

    def _conclude(self, agent: Any, outcome: tuple[Any, Any, Any], info: Any) -> None:
        for turn in [one for one in self._late if one.agent == agent]:
            self._late.remove(turn)
            turn.stamp = self._troupe.stamp()
            self._turns.append(turn)
        for turn in self._turns:
            if turn.agent == agent and turn.outcome is None:
                turn.outcome, turn.info = outcome, kept(info)

    def _let_pass(self) -> None:
        """Hold nobody's rows back for one that may wait for ever."""
        if len(self._turns) > max(_MOST_WAITING, _MOST_ROUNDS * len(self.env.agents)):
            self._late.append(self._turns.popleft())
            self._record()

    def _record(self) -> None:
        """Record the turns of which all is known, up to the first of which not."""
        while self._turns and (outcome := self._turns[0].outcome) is not None:
            turn = self._turns.popleft()
            self._troupe.record(turn.agent, turn.step, turn.stamp, turn.arrays, outcome, turn.info)

    def _record_all(self) -> None:
        """Record what waits, with what is known of its outcome so far."""
        env = self.env
        rewards = getattr(env, "_cumulative_rewards", {})
        for agent in dict.fromkeys(turn.agent for turn in (*self._turns, *self._late) if turn.outcome is None):
            flags = env.terminations.get(agent, False), env.truncations.get(agent, False)
            self._conclude(agent, (rewards.get(agent, 0.0), *flags), env.infos.get(agent))
        self._record()

    def _finish(self, how: str) -> None:
        """Record what waits, and end the episode."""
        self._record_all()
        self._troupe.end(how, {agent: seen for agent, seen in self._finals.items() if seen is not None})
