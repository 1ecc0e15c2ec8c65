"""The steps of an episode: when each was, what was done, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.episode import Episode
from playhead.errors import Empty, OutOfRange
from playhead.export.film.blocks import Blocks
from playhead.replay.naming import ActionNames
from playhead.signal import Signal

REWARD, ACTION, TERMINATED, TRUNCATED = "reward", "action", "terminated", "truncated"


@dataclass(frozen=True, slots=True)
class Step:
    """One step. What was not recorded is None.

    Attributes:
        number: Its place in the episode.
        ts_ns: Its time.
        agent: Who acted, where there are several.
        action: What was done; a dict by name where an action has parts.
        reward: What came of it.
        total: The sum of the agent's rewards up to here.
        action_name: What the environment calls the action; None if nobody knows.
        terminated: Whether the episode ended by it.
        truncated: Whether it was cut off here.
    """

    number: int
    ts_ns: int
    agent: str | None
    action: Any
    reward: Any
    total: Any
    terminated: bool | None
    truncated: bool | None
    action_name: str | None = None


class Steps:
    """The steps of an episode, those of several agents in the order of time.

    A step is a sample of `reward`, or a picture where there are more of those, or an action where there is neither.
    An action that has times of its own counts until the next.

    Args:
        episode: The episode.
        pictures: When its pictures were taken.

    Raises:
        Empty: It has no steps.

    Attributes:
        stamps: The time of each step.
        agents: Who acts; one without a name where nothing says so.
    """

    def __init__(self, episode: Episode, pictures: NDArray[np.int64] | None = None) -> None:
        self.agents = [_Agent(episode, name) for name in _agents(episode)]
        self._names = ActionNames(episode.static)
        clocks = [agent.clock for agent in self.agents]
        if pictures is not None and sum(map(len, clocks)) < len(pictures):
            clocks = [pictures]
        elif not any(map(len, clocks)):
            clocks = [self.agents[0].actions_clock]
        for agent, clock in zip(self.agents, clocks, strict=False):
            agent.keep_to(clock)
        stamps = np.concatenate(clocks)
        order = np.argsort(stamps, kind="stable")
        self.stamps: NDArray[np.int64] = stamps[order]
        self._who = np.repeat(np.arange(len(clocks)), [len(clock) for clock in clocks])[order]
        if not len(stamps):
            listed = ", ".join(episode.signals) or "none at all"
            raise Empty(f"this episode has no steps: neither rewards, actions nor pictures; its signals are: {listed}")

    def __len__(self) -> int:
        return len(self.stamps)

    def __getitem__(self, number: int) -> Step:
        agent, stamp = self.agents[self._who[number]], int(self.stamps[number])
        before = int(self.stamps[number - 1]) if number else None
        step = Step(number, stamp, agent.name or None, *agent.at(stamp, before))
        name = self._names.of(step.action, step.agent) if self._names else None
        return step if name is None else replace(step, action_name=name)

    def between(self, first: int | None, stop: int | None) -> range:
        """Give the numbers of some steps, as a slice would.

        Args:
            first: The first step; negative counts from the end.
            stop: The step before which they end; negative counts from the end.

        Raises:
            OutOfRange: There are none.
        """
        begin, end, _ = slice(first, stop).indices(len(self))
        if begin >= end:
            asked = f"from {0 if first is None else first} to {'the end' if stop is None else stop}"
            raise OutOfRange(f"no steps {asked}: the episode has steps 0 to {len(self) - 1}")
        return range(begin, end)

    @property
    def has_rewards(self) -> bool:
        """Whether there are any."""
        return any(len(agent.clock) for agent in self.agents)

    @property
    def has_actions(self) -> bool:
        """Whether there are any."""
        return any(agent.has_actions for agent in self.agents)

    def extremes(self) -> set[int]:
        """Give the steps with the smallest and the largest rewards and sums of them."""
        stamps = [agent.clock[place] for agent in self.agents for place in agent.extremes()]
        return {min(int(place), len(self) - 1) for place in np.searchsorted(self.stamps, stamps)}


class _Agent:
    """The signals of one agent."""

    def __init__(self, episode: Episode, name: str) -> None:
        self.name = name
        prefix = f"{name}." if name else ""
        track = _Track.of(episode, prefix + REWARD)
        self._rewards = track if track and track.signal.values.dtype.kind in "biuf" else None  # words have no sum
        rewards = self._rewards.signal.values if self._rewards else None
        self._all_rewards = rewards
        self._totals = None if rewards is None else np.cumsum(rewards, axis=0, dtype=np.float64)
        self._flags = [_Track.of(episode, prefix + flag) for flag in (TERMINATED, TRUNCATED)]
        known = [other for other in episode.signals if _is_of(other, prefix + ACTION)]
        tracks = {other.removeprefix(prefix): _Track.of(episode, other) for other in known}
        self._actions = {other: track for other, track in tracks.items() if track}

    @property
    def clock(self) -> NDArray[np.int64]:
        return self._rewards.stamps if self._rewards else np.empty(0, np.int64)

    @property
    def actions_clock(self) -> NDArray[np.int64]:
        return max((track.stamps for track in self._actions.values()), key=len, default=np.empty(0, np.int64))

    @property
    def has_actions(self) -> bool:
        return bool(self._actions)

    def extremes(self) -> list[int]:
        """Give the places of the smallest and the largest rewards and sums of them."""
        found = [values for values in (self._all_rewards, self._totals) if values is not None and values.ndim == 1]
        return [int(place) for values in found for place in (np.argmin(values), np.argmax(values))]

    def keep_to(self, clock: NDArray[np.int64]) -> None:
        """Learn the times of the steps: where actions are at no other times, a step without one has none."""
        for track in self._actions.values():
            track.holds = not np.isin(track.stamps, clock).all()

    def at(self, stamp: int, before: int | None) -> tuple[Any, Any, Any, bool | None, bool | None]:
        """Give action, reward, total and flags of the step at a time.

        Args:
            stamp: The time.
            before: The time of the step before it.
        """
        reward = total = None
        if self._rewards and self._all_rewards is not None and self._totals is not None:
            place = self._rewards.place(stamp)
            total = self._totals[place] if place >= 0 else 0.0
            if place >= 0 and (
                before is None or self._rewards.place(before) < place or self._rewards.stamps[place] == stamp
            ):
                reward = self._all_rewards[place]
        terminated, truncated = (None if track is None else track.at(stamp) for track in self._flags)
        return (
            self._action(stamp),
            reward,
            total,
            None if terminated is None else bool(np.any(terminated)),
            None if truncated is None else bool(np.any(truncated)),
        )

    def _action(self, stamp: int) -> Any:
        if set(self._actions) == {ACTION}:
            return self._actions[ACTION].at(stamp)
        found = {name.removeprefix(f"{ACTION}."): track.at(stamp) for name, track in self._actions.items()}
        return {name: value for name, value in found.items() if value is not None} or None


class _Track:
    """A signal, asked for at times.

    Attributes:
        holds: Whether a value counts until the next; else only at its own time.
    """

    def __init__(self, signal: Signal[Any]) -> None:
        self.signal = signal
        self.stamps = signal.timestamps
        self.holds = True
        self._blocks = Blocks(signal)

    @classmethod
    def of(cls, episode: Episode, name: str) -> _Track | None:
        signals = episode.signals
        return cls(signals[name]) if name in signals and len(signals[name]) else None

    def place(self, stamp: int) -> int:
        return int(np.searchsorted(self.stamps, stamp, "right")) - 1

    def at(self, stamp: int) -> Any:
        place = self.place(stamp)
        if place < 0 or (not self.holds and self.stamps[place] != stamp):
            return None
        return self._blocks[place]


def _agents(episode: Episode) -> list[str]:
    """Name those who act: `red` and `blue` where there is `red.reward` and `blue.reward`."""
    if REWARD in episode.signals:
        return [""]
    return [name.removesuffix(f".{REWARD}") for name in episode.signals if name.endswith(f".{REWARD}")] or [""]


def _is_of(name: str, group: str) -> bool:
    return name == group or name.startswith(f"{group}.")
