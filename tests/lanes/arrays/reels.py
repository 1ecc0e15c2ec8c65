"""Reels for tests, and a plain Python model beside each that says what must come back."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.kind import FINALS, PREFIXES
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.rows import TERMINATED, TRUNCATED
from playhead.lanes.arrays.writer import ReelWriter
from playhead.layout import ReelFiles, ReplayFolder

Array = NDArray[Any]

FOR_EVER = 10_000.0  # an interval in which nothing is written unless the test asks for it
LATER = 1 << 61  # a time behind that of the clock, so that the stamps of steps are those that the model gave
CODECS = ("zstd", "gzip", "lzf", None)


def reel_in(folder: Path, reel_id: str = "run") -> ReelFiles:
    return ReplayFolder(folder).reel(reel_id)


def patterned(number: int, shape: tuple[int, ...], dtype: Any) -> Array:
    """Give an array that differs from those of all other numbers."""
    dtype, size = np.dtype(dtype), int(np.prod(shape, dtype=int))
    counted = np.arange(size, dtype=np.int64) * 7 + number * 31
    if dtype.kind == "S":
        flat = np.array([str(n).encode()[-dtype.itemsize :] for n in counted], dtype)
    elif dtype.kind == "b":
        flat = counted % 3 == 0
    elif dtype.kind == "c":
        flat = (counted + 1j * (counted % 11)).astype(dtype)
    else:
        flat = (counted % 120).astype(dtype)
    return flat.reshape(shape)


def noise(number: int, shape: tuple[int, ...]) -> Array:
    """Give bytes that no codec makes shorter."""
    return np.random.default_rng(number).integers(0, 256, shape, np.uint8)


def assert_same(found: Array, expected: Array, where: object = "") -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), where
    assert found.tobytes() == expected.tobytes(), where


@dataclass
class Step:
    arrays: dict[str, Array]
    reward: float
    flags: int
    info: bytes
    agent: str | None
    episode: int
    place: int
    ts_ns: int


@dataclass
class Episode:
    number: int
    start: int
    how: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    finals: dict[str, Array] = field(default_factory=dict)
    prefixes: dict[str, Array] = field(default_factory=dict)
    facts_at_end: dict[str, Any] = field(default_factory=dict)
    is_end_flushed: bool = False
    acted: dict[int, int] = field(default_factory=dict)  # how many steps each agent has

    def forget_end(self) -> None:
        self.how, self.finals, self.facts_at_end = None, {}, {}


class Recording:
    """A writer, and what it was told.

    Args:
        files: Where the reel lies.
        config: How it is recorded.
        **options: What else the writer is made with.
    """

    def __init__(self, files: ReelFiles, config: ReplayConfig | None = None, **options: Any) -> None:
        self.files = files
        self.config = config or ReplayConfig(interval=FOR_EVER, chunk=4)
        self.options = options
        self.steps: list[Step] = []
        self.episodes: list[Episode] = []
        self.agents: list[str] = []
        self.flushed = 0
        self.writer = self.resume()

    def resume(self) -> ReelWriter:
        self.writer = ReelWriter(self.files, self.config, **self.options)
        return self.writer

    def begin(self, facts: dict[str, Any] | None = None, prefixes: dict[str, Array] | None = None) -> int:
        if self.writer.is_open:
            self._ended("reset", {}, {})
        number = self.writer.begin(facts, prefixes)
        self.episodes.append(Episode(number, len(self.steps), None, dict(facts or {}), {}, dict(prefixes or {})))
        return number

    def step(
        self,
        arrays: dict[str, Array],
        reward: float = 0.0,
        *,
        flags: int = 0,
        info: bytes = b"",
        agent: str | None = None,
    ) -> int:
        if not self.writer.is_open:
            self.begin()
        episode = self.episodes[-1]
        ts_ns = self.steps[-1].ts_ns + 1000 if self.steps else LATER
        done = bool(flags & TERMINATED), bool(flags & TRUNCATED)
        row = self.writer.step(arrays, reward, *done, info, agent=agent, ts_ns=ts_ns)
        assert row == len(self.steps)
        kept = {name: np.array(value) for name, value in arrays.items()}
        acting = self._number(agent)
        place = episode.acted.get(acting, 0)
        episode.acted[acting] = place + 1
        self.steps.append(Step(kept, reward, flags, info, agent, episode.number, place, ts_ns))
        return row

    def _number(self, agent: str | None) -> int:
        """Give the number of an agent; a step without one counts with those of the first."""
        if agent is not None and agent not in self.agents:
            self.agents.append(agent)
        return 0 if agent is None else self.agents.index(agent)

    def end(self, how: str, finals: dict[str, Array] | None = None, facts: dict[str, Any] | None = None) -> None:
        was_open = self.writer.is_open
        self.writer.end(how, finals, facts)
        if was_open:
            self._ended(how, finals or {}, facts or {})

    def _ended(self, how: str, finals: dict[str, Array], facts: dict[str, Any]) -> None:
        episode = self.episodes[-1]
        episode.how, episode.finals, episode.facts_at_end = how, dict(finals), dict(facts)

    def flush(self, *, sync: bool = False) -> None:
        self.writer.flush(sync=sync)
        self.flushed = len(self.steps)
        for episode in self.episodes:
            episode.is_end_flushed = episode.how is not None

    def close(self) -> None:
        if self.writer.is_open:
            self._ended("closed", {}, {})
        self.writer.close()
        self.flushed = len(self.steps)
        for episode in self.episodes:
            episode.is_end_flushed = episode.how is not None

    def abandon(self) -> None:
        self.writer.abandon()

    def crash_and_resume(self) -> None:
        """Lose what was not written, and go on; the model forgets what the writer does not know of."""
        self.abandon()
        row = self.resume().row
        assert self.flushed <= row <= len(self.steps)
        del self.steps[row:]
        self.agents = list(dict.fromkeys(step.agent for step in self.steps if step.agent))
        self.flushed = row
        self.episodes = [episode for episode in self.episodes if episode.start < row]
        with contextlib.closing(Reel(self.files)) as reel:
            spans = reel.spans
        if spans and spans[-1].how is None and not self.episodes[-1].is_end_flushed:
            self.episodes[-1].forget_end()

    @property
    def names(self) -> dict[str, Array]:
        """One row of each array that a step has."""
        return {name: value for step in self.steps for name, value in step.arrays.items()}

    def spans(self) -> list[tuple[Episode, int]]:
        """Give the episodes that have a step, and how many."""
        length = len(self.steps)
        stops = [min(length, after.start) for after in self.episodes[1:]] + [length]
        counted = zip(self.episodes, stops, strict=False)
        return [(episode, stop - episode.start) for episode, stop in counted if stop > episode.start]

    # -- what comes back --------------------------------------------------------------------------------------------

    def assert_whole(self, reel: Reel | None = None) -> None:
        """See that a reel, or one that is opened now, holds all of this and nothing else."""
        opened = reel or Reel(self.files)
        assert opened.length == len(self.steps)
        assert opened.damage == []
        self.assert_steps(opened, 0, len(self.steps))
        self.assert_episodes(opened)
        if reel is None:
            opened.close()

    def assert_steps(self, reel: Reel, start: int, stop: int) -> None:
        expected = self.steps[start:stop]
        rows = reel.rows(start, stop)
        assert rows["reward"].tolist() == [step.reward for step in expected]
        assert rows["flags"].tolist() == [step.flags for step in expected]
        assert rows["episode"].tolist() == [step.episode for step in expected]
        assert rows["step"].tolist() == [step.place for step in expected]
        assert rows["ts_ns"].tolist() == [step.ts_ns for step in expected]
        named = [reel.agents[agent] if reel.agents else None for agent in rows["agent"].tolist()]
        assert [name for name, step in zip(named, expected, strict=True) if step.agent] == [
            step.agent for step in expected if step.agent
        ]
        assert reel.infos(start, stop) == [step.info for step in expected]
        for name, like in self.names.items():
            if name in reel.kinds:
                self._assert_array(reel, name, like, start, stop)
            else:
                assert not any(name in step.arrays for step in expected)

    def _assert_array(self, reel: Reel, name: str, like: Array, start: int, stop: int) -> None:
        nothing = np.zeros(like.shape, like.dtype)
        expected = [step.arrays.get(name) for step in self.steps[start:stop]]
        stacked = np.stack([nothing if row is None else row for row in expected]) if expected else nothing[None][:0]
        assert_same(reel.read(name, start, stop), stacked, name)
        present = reel.present(name, start, stop)
        assert (np.ones(stop - start, bool) if present is None else present).tolist() == [
            row is not None for row in expected
        ]
        for position, row in enumerate(expected, start):
            found = reel.row(name, position)
            assert (found is None) == (row is None), (name, position)
            if row is not None:
                assert_same(np.asarray(found, row.dtype), row, (name, position))
        positions = np.random.default_rng(stop).permutation(np.arange(start, stop))
        assert_same(reel.take(name, positions), stacked[positions - start], name)

    def assert_episodes(self, reel: Reel) -> None:
        expected = self.spans()
        found = reel.spans
        assert [(span.number, span.start, span.length) for span in found] == [
            (episode.number, episode.start, length) for episode, length in expected
        ]
        for span, (episode, _) in zip(found, expected, strict=True):
            assert span.how == episode.how, span
            assert span.facts == episode.facts | episode.facts_at_end
            self._assert_rare(reel, FINALS, span.final, episode.finals)
            self._assert_rare(reel, PREFIXES, span.prefix, episode.prefixes)

    def _assert_rare(self, reel: Reel, axis: str, found: Any, expected: dict[str, Array]) -> None:
        assert (found is None) == (not expected)
        if found is not None:
            row, names = found
            assert sorted(names) == sorted(expected)
            for name, value in expected.items():
                assert_same(reel.read(name, row, row + 1, axis=axis)[0], value, (axis, name))


def quiet(**options: Any) -> ReplayConfig:
    return ReplayConfig(**{"interval": FOR_EVER, "chunk": 4, **options})


def assert_live_and_sealed(recording: Recording) -> None:
    """Read what is in the journal, seal it, and read it from the file, with a reel that was open before too."""
    recording.flush()
    following = Reel(recording.files)
    recording.assert_whole(following)
    recording.close()
    assert not recording.files.journal.exists()
    following.refresh()
    recording.assert_whole(following)
    recording.assert_whole()
    following.close()
