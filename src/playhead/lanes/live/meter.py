"""The numbers beside a frame: what the last step gave, how episodes end lately, how fast it goes."""

from __future__ import annotations

from collections import deque

from playhead import clock

_EPISODES = 100  # of which the mean return is taken


class Meter:
    """Counts the steps of an environment, or of several that are published as one.

    A game drives all else out of the processor's caches, so that each thing touched costs more than what is done with
    it: steps only leave their reward, and `figures` does the counting in one go.

    Attributes:
        pending: The rewards of steps that are not counted yet.
        steps: How many were taken.
        episodes: How many have ended.
        reward: Of the last step.
        episode_return: The rewards of the episode under way when `figures` were asked for; of several, the mean.
    """

    def __init__(self) -> None:
        self.steps = self.episodes = 0
        self.reward = self.episode_return = 0.0
        self.pending: list[float] = []
        self._sum = 0.0  # of the episode under way
        self._sums: dict[int, float] = {}  # of those of further environments
        self._recent: deque[float] = deque(maxlen=_EPISODES)
        self._mean: float | None = None  # of those
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
        if not lane:
            self.pending.append(float(reward))
            if ended:
                self.end()
            return
        self.steps += 1
        self.reward = float(reward)
        total = self._sums.get(lane, 0.0) + self.reward
        self._sums[lane] = 0.0 if ended else total
        if ended:
            self._add_episode(total)

    def end(self) -> None:
        """End the episode with the last of the steps that wait in `pending`."""
        self._count()
        self._add_episode(self._sum)
        self._sum = 0.0

    def _count(self) -> None:
        self.steps += len(self.pending)
        self.reward = self.pending[-1]
        self._sum += sum(self.pending)
        self.pending.clear()

    def _add_episode(self, total: float) -> None:
        self._recent.append(total)
        self._mean = sum(self._recent) / len(self._recent)
        self.episodes += 1

    def figures(self, now: int) -> tuple[float, float, float]:
        """Give what `Figures` holds at a time of the monotonic clock; the step rate follows within about a second."""
        if self.pending:
            self._count()
        passed = (now - self._at) * 1e-9
        if passed > 0:
            rate = (self.steps - self._counted) / passed
            if self._counted and passed < 1:
                rate = self._rate + (rate - self._rate) * passed
            self._rate, self._at, self._counted = rate, now, self.steps
        total, mean = self._sum, self._mean
        if self._sums:
            total = (total + sum(self._sums.values())) / (1 + len(self._sums))
        self.episode_return = total
        return self.reward, total if mean is None else mean, self._rate
