"""The numbers beside a frame: what the last step gave, how episodes end lately, how fast it goes."""

from __future__ import annotations

from collections import deque

from playhead import clock

_EPISODES = 100  # of which the mean return is taken


class Meter:
    """Counts the steps of an environment, or of several that are published as one.

    Attributes:
        pending: The rewards of steps that are not counted yet: a game drives all else out of the processor's caches, so
            that each thing touched at a step costs more than the adding.
        steps: How many were taken.
        episodes: How many have ended.
        reward: Of the last step.
        episode_return: The rewards of the episode under way when `figures` were asked for; of several, the mean.
    """

    def __init__(self) -> None:
        self.steps = self.episodes = 0
        self.reward = self.episode_return = self._mean = 0.0
        self._sums: dict[int, float] = {0: 0.0}
        self._recent: deque[float] = deque(maxlen=_EPISODES)
        self.pending: list[float] = []
        self._at = clock.elapsed_ns()
        self._counted = 0
        self._rate = 0.0

    def note(self, reward: float, ended: bool, lane: int = 0) -> None:
        """Count a step.

        Args:
            reward: What came of it.
            ended: Its episode is over.
            lane: Of several environments, which one.
        """
        if lane:
            self._settle(lane, [float(reward)], ended)
            return
        self.pending.append(float(reward))
        if ended:
            self.settle(ended=True)

    def settle(self, *, ended: bool = False) -> None:
        """Count the steps that wait in `pending`.

        Args:
            ended: The episode is over with the last of them.
        """
        if self.pending:
            self._settle(0, self.pending, ended)
            self.pending.clear()

    def _settle(self, lane: int, rewards: list[float], ended: bool) -> None:
        self.steps += len(rewards)
        self.reward = rewards[-1]
        total = self._sums.get(lane, 0.0) + sum(rewards)
        if ended:
            self._recent.append(total)
            self._mean = sum(self._recent) / len(self._recent)
            self.episodes += 1
            total = 0.0
        self._sums[lane] = total

    def figures(self, now: int) -> tuple[float, float, float]:
        """Give what `Figures` holds at a time of the monotonic clock; the step rate follows within about a second."""
        if self.pending:
            self.settle()
        passed = (now - self._at) / clock.SECOND
        if passed > 0:
            rate = (self.steps - self._counted) / passed
            if self._counted and passed < 1:
                rate = self._rate + (rate - self._rate) * passed
            self._rate, self._at, self._counted = rate, now, self.steps
        sums = self._sums
        self.episode_return = total = sums[0] if len(sums) == 1 else sum(sums.values()) / len(sums)
        return self.reward, self._mean if self.episodes else total, self._rate
