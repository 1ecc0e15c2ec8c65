"""ParallelRecorder: environments in which all agents act at once."""

from __future__ import annotations

from typing import Any

from pettingzoo.utils.wrappers import BaseParallelWrapper

from playhead.integrations.pettingzoo.recorder import TroupeRecorder
from playhead.integrations.pettingzoo.troupe import ending, kept


class ParallelRecorder(TroupeRecorder, BaseParallelWrapper):  # type: ignore[misc]
    """Records every step of every agent, and changes nothing of what they do.

    A step of the environment is a row for each agent that acted: what it saw before, what it did, its reward, flags and
    info. Agents may end and join at any step; the episode ends when none is left.

    Args:
        env: The environment.
        run: What it is recorded into, as `store.run(...)` gives it.
        frames: `render`, None for no frames, or `auto`: what the environment renders, if it can. A frame lies in the
            row of the first agent of its step.
        every: Only each so-manieth step of an episode has a frame; all else is recorded of every step.
        config: How the recording is compressed and flushed.

    Raises:
        WrongType: One of these is something else. Spaces that cannot be recorded are refused by the first `reset`.
    """

    def _begin(self) -> None:
        super()._begin()
        self._seen: dict[Any, Any] = {}  # what each agent acts on next

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Reset the environment; an episode that is under way ends without a result."""
        given = dict(options) if options else None
        observations, infos = self.env.reset(seed=seed, options=options)
        self._finish("reset")
        self._begin()
        self._seen = {agent: kept(seen) for agent, seen in observations.items()}
        self._troupe.reset(observations, seed, given)
        return observations, infos

    def step(self, actions: dict[Any, Any]) -> tuple[Any, Any, Any, Any, Any]:
        """Step the environment, and record it; an error of its own ends the episode and is passed on."""
        troupe = self._troupe
        number = self._step
        acted = {agent: troupe.stamp() for agent in actions if agent in self._seen}
        picture = troupe.picture(number) if acted else {}
        arrays = {agent: troupe.arrays(agent, self._seen[agent], actions[agent]) for agent in acted}
        try:
            result: tuple[Any, Any, Any, Any, Any] = self.env.step(actions)
        except BaseException as error:
            troupe.fail(error)
            raise
        observations, rewards, terminations, truncations, infos = result
        self._step += 1
        for agent, stamp in acted.items():
            if agent not in rewards:
                continue  # the environment took no notice of it
            flags = terminations.get(agent, False), truncations.get(agent, False)
            troupe.record(agent, number, stamp, arrays[agent] | picture, (rewards[agent], *flags), infos.get(agent))
            picture = {}
            if any(flags):
                self._ended[agent] = flags
                if agent in observations:
                    self._finals[agent] = kept(observations[agent])
        self._seen = {agent: kept(seen) for agent, seen in observations.items() if agent not in self._ended}
        if not self.env.agents:
            self._finish(ending(self._ended.values()))
            self._seen = {}
        troupe.check()
        return result

    def _finish(self, how: str) -> None:
        self._troupe.end(how, self._finals | self._seen)
