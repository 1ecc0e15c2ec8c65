"""Rows of episodes: what agents played, step by step, and what robots recorded, at the times that are asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import sampling
from playhead.episode import Episode
from playhead.errors import BadKey, Empty, NotFound, PlayheadError, WrongType
from playhead.replay import ReplayEpisode
from playhead.table.sources.contract import (
    BLOCK_BYTES,
    PLACE,
    Block,
    Columns,
    can_travel,
    put,
    type_of,
)

MOST_BYTES = 4096  # of a signal that is a column unless told otherwise
NEXT = "next."


@dataclass(frozen=True)
class Reading:
    """How the rows of an episode are made.

    Attributes:
        columns: What each column is made of: a signal, `next.` and a signal, or a function of them.
        at: The signal at whose samples there are rows.
        rate: Rows a second instead.
        used: The signals that have to be there; rows begin where the last of them has begun.
        nexts: Those of them that are asked for one row later.
    """

    columns: Columns
    at: str | None = None
    rate: float | None = None
    used: tuple[str, ...] = ()
    nexts: tuple[str, ...] = ()


@dataclass(frozen=True)
class EpisodeItem:
    """One episode of several, opened when it is read."""

    episodes: Sequence[Episode]
    place: int
    reading: Reading

    def __getstate__(self) -> dict[str, Any]:
        return {"episodes": [self.episodes[self.place]], "place": 0, "reading": self.reading}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return self.episodes[self.place].uid or f"episode {self.place}"

    @property
    def size(self) -> int:
        """One: episodes are counted."""
        return 1

    @property
    def travels(self) -> bool:
        """Whether another process can read it."""
        return can_travel(self.reading.columns)

    def blocks(self, dtype: np.dtype[Any]) -> Iterator[Block]:
        """Read it, as rows of this type."""
        yield from blocks_of(self.episodes[self.place], self.reading, dtype)


def blocks_of(episode: Episode, reading: Reading, dtype: np.dtype[Any]) -> Iterator[Block]:
    """Read an episode: its rows a part at a time, and with the last of them what is known of it."""
    moments = _Moments(episode, reading)
    count, total = len(moments), 0.0
    has_reward = "reward" in reading.columns
    most = max(1, BLOCK_BYTES // dtype.itemsize)
    for start in range(0, count, most):
        around = moments.part(start, min(start + most, count))
        rows = np.zeros(len(around.times), dtype)
        rows["step_index"] = np.arange(start, start + len(rows))
        for name, make in reading.columns.items():
            try:
                put(rows, name, around[make] if isinstance(make, str) else make(around))
            except WrongType as error:
                raise WrongType(f"{episode.uid or 'an episode'}: {error}") from error
        total += float(np.sum(rows["reward"], dtype=np.float64)) if has_reward else 0.0
        if start + len(rows) < count:
            yield Block(rows, ())
            continue
        given = episode.total_reward if isinstance(episode, ReplayEpisode) else total if has_reward else None
        known = {"run_id": episode.meta.get("run_id"), "episode_id": episode.uid, "return": given}
        yield Block(rows, [{"num_steps": count, **known}])


class Around(Mapping[str, NDArray[Any]]):
    """The signals of an episode at the times of some rows, each read when it is asked for.

    `next.NAME` is what NAME is one row later; of the last row, what was seen after the last step.

    Attributes:
        times: The times of the rows.
        asked: The signals that were read.
        asked_next: Those that were read one row later.
    """

    def __init__(self, moments: _Moments, start: int, stop: int, *, is_trial: bool = False) -> None:
        self._moments = moments
        self._start, self._stop = start, stop
        self._is_trial = is_trial  # only the types of values are looked at
        self.times = moments.times[start:stop]
        self.asked: set[str] = set()
        self.asked_next: set[str] = set()

    def __getitem__(self, name: str) -> NDArray[Any]:
        signals = self._moments.episode.signals
        source = name.removeprefix(NEXT) if name not in signals else name
        if source not in signals:
            raise NotFound.among("signal", source, signals)
        self.asked.add(source)
        if source == name:
            return self._moments.read(source, self._start, self._stop)
        self.asked_next.add(source)
        if self._stop < len(self._moments.times):
            return self._moments.read(source, self._start + 1, self._stop + 1)
        values = self._moments.read(source, self._start + 1, self._stop)
        last = self._moments.after.get(source)
        if last is None:
            if not (self._is_trial or self._moments.is_terminated):
                raise WrongType(f"what {name} is in the last row is not known; a function that asks for it always does")
            last = np.zeros(values.shape[1:], values.dtype)
        return np.concatenate([values, np.asarray(last, values.dtype)[np.newaxis]])

    def __iter__(self) -> Iterator[str]:
        return iter(self._moments.episode.signals)

    def __len__(self) -> int:
        return len(self._moments.episode.signals)


class _Moments:
    """The times of an episode's rows, and its signals there."""

    def __init__(self, episode: Episode, reading: Reading) -> None:
        self.episode = episode
        self._used = [episode[name] for name in _present(episode, reading.used)]
        self.times, self._is_direct = self._rows_of(reading)
        self._is_grid = reading.rate is not None
        self._count = len(self.times)
        is_known = self.is_terminated or not reading.nexts or {*reading.nexts} <= self.after.keys()
        if self._count and not is_known:
            self._count -= 1  # nobody knows what came after the last row

    def __len__(self) -> int:
        return self._count

    def part(self, start: int, stop: int, *, is_trial: bool = False) -> Around:
        return Around(self, start, stop, is_trial=is_trial)

    def read(self, name: str, start: int, stop: int) -> NDArray[Any]:
        signal = self.episode.signals[name]
        if self._is_direct and len(signal) == len(self.times):
            return signal[start:stop].values
        return sampling.sample_one(signal, self.times[start:stop]).values

    @cached_property
    def after(self) -> dict[str, Any]:
        """What was seen after the last row, by signal."""
        return self.episode.final if isinstance(self.episode, ReplayEpisode) and self._has_last_step() else {}

    @cached_property
    def is_terminated(self) -> bool:
        """Whether nothing comes after the last row."""
        return isinstance(self.episode, ReplayEpisode) and self.episode.how == "terminated" and self._has_last_step()

    def _has_last_step(self) -> bool:
        """Tell whether the last row is the last step that was played."""
        if self._is_direct or not isinstance(self.episode, ReplayEpisode) or not len(self.times):
            return self._is_direct
        return not self._is_grid and bool(self.times[-1] == self.episode.steps["ts_ns"][-1])

    def _rows_of(self, reading: Reading) -> tuple[NDArray[np.int64], bool]:
        """Give the times, and whether each is a sample of every signal that is used."""
        if not all(map(len, self._used)):
            return np.empty(0, np.int64), False
        begun = max((signal.start_ts for signal in self._used), default=-(2**63))
        if reading.rate is not None:
            return self._grid(begun, reading.rate), False
        if reading.at is not None:
            times = self.episode[_present(self.episode, [reading.at])[0]].timestamps
            return times[times >= begun], False
        stamps = [signal.timestamps for signal in self._used]
        if stamps and all(np.array_equal(stamps[0], other) for other in stamps[1:]):
            return stamps[0], True
        if isinstance(self.episode, ReplayEpisode) and "reward" in self.episode.signals:  # one agent
            times = self.episode.steps["ts_ns"]
            return times[times >= begun], False
        raise WrongType(
            f"the signals of {self.episode.uid or 'this episode'} have times of their own; "
            f"say when there are rows: at={next(iter(reading.used), 'signal')!r}, or rate=20"
        )

    def _grid(self, begun: int, rate: float) -> NDArray[np.int64]:
        if not 0 < rate <= 1e9:
            raise BadKey(f"a rate is a number of rows a second, not {rate}")
        last = max((signal.last_ts for signal in self._used), default=begun - 1)
        # Each time from the start on: a rounded step would drift away from the rate.
        count = int((last - begun) * rate / 1e9) + 1
        offsets: NDArray[np.int64] = np.rint(np.arange(count) * (1e9 / rate)).astype(np.int64)
        return offsets + begun


def _is_next(make: Any, episode: Episode) -> bool:
    return isinstance(make, str) and make.startswith(NEXT) and make not in episode.signals


def _present(episode: Episode, names: Sequence[str]) -> list[str]:
    for name in names:
        if name not in episode.signals:
            raise NotFound.among("signal", name, episode.signals, hint=f"The episode is {episode.uid}")
    return list(names)


def chosen(
    episodes: Sequence[Episode], columns: Columns | None, at: str | None, rate: float | None
) -> tuple[Reading, np.dtype[Any], dict[str, str]]:
    """Decide by the first episode that has rows what the columns are.

    Returns:
        How to read, the type of a row, and for each signal that is left out why.

    Raises:
        Empty: No episode has any row.
    """
    if at is not None and rate is not None:
        raise WrongType("rows are at the samples of a signal (at=) or at a rate (rate=), not both")
    if rate is not None and not 0 < rate <= 1e9:
        raise BadKey(f"a rate is a number of rows a second, not {rate}")
    for episode in episodes:
        left_out: dict[str, str] = {}
        mine = _usual(episode, left_out) if columns is None else columns
        sources = [make for make in mine.values() if isinstance(make, str)]
        named = [make.removeprefix(NEXT) if _is_next(make, episode) else make for make in sources]
        nexts = {make.removeprefix(NEXT) for make in sources if _is_next(make, episode)}
        reading = Reading(mine, at, rate, tuple(dict.fromkeys(_present(episode, named))), tuple(sorted(nexts)))
        if not mine or not all(len(episode.signals[name]) for name in reading.used):
            continue
        found = _typed(episode, reading)
        if found is not None:
            return *found, left_out
    raise Empty("there are no rows: none of the episodes has samples of all columns")


def _usual(episode: Episode, left_out: dict[str, str]) -> dict[str, str]:
    """Take the signals that are small enough; say why others are not."""
    mine = {}
    for name, signal in episode.signals.items():
        if not len(signal):
            left_out[name] = "it has no samples"
            continue
        value = np.asarray(signal[0][0])
        if value.dtype.kind not in "biufc":
            left_out[name] = f"its values are {value.dtype}, not numbers"
        elif value.nbytes >= MOST_BYTES:
            left_out[name] = f"a value has {value.nbytes:,} bytes; name it in columns= to have it"
        else:
            mine[name] = name
    return mine


def seldom(episodes: Sequence[Episode], known: Collection[str]) -> dict[str, str]:
    """Return the signals that only some episodes have, with the reason why they are no columns.

    Args:
        episodes: The episodes; what cannot be read is passed over, and reported by whoever reads it.
        known: The signals that are columns, or that were left out for another reason.
    """
    found: dict[str, str] = {}
    for episode in episodes:
        try:
            names = list(episode.signals)
        except (PlayheadError, OSError):
            continue
        for name in names:
            if name not in known:
                found[name] = "not every episode has it, and a row has a value in every column"
    return found


def _typed(episode: Episode, reading: Reading) -> tuple[Reading, np.dtype[Any]] | None:
    is_made = any(not isinstance(make, str) for make in reading.columns.values())
    if is_made and reading.at is None and reading.rate is None and not reading.used:
        usual: dict[str, str] = {}
        reading = replace(reading, used=tuple(_usual(episode, usual)))
    moments = _Moments(episode, reading)
    if not len(moments):
        return None
    around = moments.part(0, 1, is_trial=True)
    parts: list[Any] = []
    for name, make in reading.columns.items():
        parts.append(type_of(name, around[make] if isinstance(make, str) else make(around), 1))
    places = {name: kind for name, kind in PLACE if name not in reading.columns}
    if len(places) != len(PLACE):
        taken = next(name for name, _ in PLACE if name in reading.columns)
        raise WrongType(f"{taken} is filled in here; give that signal another name: columns={{'mine': {taken!r}}}")
    if is_made:
        used, nexts = {*reading.used, *around.asked}, {*reading.nexts, *around.asked_next}
        reading = replace(reading, used=tuple(sorted(used)), nexts=tuple(sorted(nexts)))
        if not len(_Moments(episode, reading)):
            return None
    return reading, np.dtype(parts + list(places.items()))
