"""ReplayEpisode: what an agent saw, did and got from one reset to the next."""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playhead import layout, strictjson
from playhead.episode import Episode
from playhead.errors import NotFound, OutOfRange
from playhead.lanes.arrays.kind import CHECKS, FINALS
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.rows import TERMINATED, TRUNCATED
from playhead.lanes.arrays.sealing import episode_id
from playhead.lanes.arrays.spans import Span
from playhead.layout import ReplayFolder
from playhead.replay.naming import ActionNames
from playhead.replay.resimulated import Resimulation
from playhead.replay.signals import ReelSignal, texts
from playhead.replay.stacks import final_stack
from playhead.signal import ArraySignal, Signal
from playhead.signal.keys import INDEX, as_integer
from playhead.simulators.spaces import part_of
from playhead.wording import listed

# What a person calls one sample of an array.
_SINGULAR = {"frames": "frame", "observations": "observation", "actions": "action"}
_INTERNAL = ("same",)
_NAMED = 6  # actions, where an episode says in a line what it is


class Transition(NamedTuple):
    """One step as training wants it. Structured observations and actions are dicts by the name of their parts."""

    observation: Any
    action: Any
    reward: float
    next_observation: Any
    terminated: bool
    truncated: bool


class ReplayEpisode(Episode):
    """An episode of a reel.

    Its signals are `frame`, `observation`, `action`, `reward`, `terminated` and `truncated`, as far as they were
    recorded; parts of structured ones are `observation.camera`, and where several agents acted, each has its own,
    `red.reward`. Static items are what is known of the environment, and how the episode began and ended.

    Args:
        reel: Where it lies.
        number: Its place in the reel.

    Raises:
        NotFound: There is no such episode.
    """

    def __init__(self, reel: Reel, number: int) -> None:
        self._reel = reel
        spans = reel.spans
        place = bisect_left(spans, number, key=lambda span: span.number)
        if place == len(spans) or spans[place].number != number:
            raise NotFound.among("episode", number, [span.number for span in spans])
        self._span: Span = spans[place]
        self._rows: NDArray[Any] | None = None
        self._signals: _Signals | None = None

    @property
    def id(self) -> str:
        """The id, as `episodes` and `steps` in SQL spell it."""
        return episode_id(self._reel.files.id, self._span.number)

    @property
    def run_id(self) -> str:
        """The run."""
        return layout.run_of_reel(self._reel.files.id)

    @property
    def reel(self) -> Reel:
        """The reel that it lies in."""
        return self._reel

    @property
    def span(self) -> Span:
        """Where it lies in its reel."""
        return self._span

    @property
    def number(self) -> int:
        """Its place in the reel."""
        return self._span.number

    @property
    def length(self) -> int:
        """How many steps it has."""
        return self._span.length

    @property
    def how(self) -> str | None:
        """How it ended: `terminated`, `truncated`, `reset`, `error` or `closed`; None while it is recorded, and where
        the process died.
        """
        return self._span.how

    @property
    def is_unfinished(self) -> bool:
        """Whether it has no end: it is being recorded, or the process died."""
        return self._span.how is None

    @property
    def total_reward(self) -> float:
        """The sum of its rewards."""
        return float(self.steps["reward"].sum())

    @property
    def steps(self) -> NDArray[Any]:
        """What is known of each step besides its arrays: `ts_ns`, `reward`, `step`, `agent`, `flags`, `has`."""
        if self._rows is None:
            self._rows = self._reel.rows(self._span.start, self._span.start + self._span.length)
        return self._rows

    @property
    def infos(self) -> list[dict[str, Any]]:
        """The info of each step; empty where there was none."""
        texts = self._reel.infos(self._span.start, self._span.start + self._span.length)
        return [strictjson.restore(strictjson.decode(text)) if text else {} for text in texts]

    @property
    def signals(self) -> Mapping[str, Signal[Any]]:
        """The signals by name; no array is read before it is used."""
        return self._made_signals()

    def _made_signals(self) -> _Signals:
        if self._signals is None:
            self._signals = _Signals(self._reel, self._span, self.steps)
        return self._signals

    @property
    def static(self) -> dict[str, Any]:
        """What is known of the environment, and of how the episode began and ended."""
        facts = {name: value for name, value in self._reel.facts.items() if name not in _INTERNAL}
        return dict(strictjson.restore(facts | (self._span.facts or {})))

    @property
    def meta(self) -> dict[str, Any]:
        """Identity and provenance."""
        return {
            "uid": self.id,
            "run_id": self.run_id,
            "reel": self._reel.files.id,
            "number": self.number,
            "first_row": self._span.start,
            "created_ts_ns": self._span.began_ns,
            "how": self.how,
            "path": os.fspath(self._reel.files.file),
        }

    @property
    def created_ts_ns(self) -> int | None:
        """When it began."""
        return self._span.began_ns

    @property
    def duration_ns(self) -> int:
        """The time from its begin to its end, as far as they are known."""
        if self._span.began_ns is None or self._span.ended_ns is None:
            return super().duration_ns
        return self._span.ended_ns - self._span.began_ns

    @property
    def final(self) -> dict[str, Any]:
        """What was seen after the last step, by the name of the signal; empty where nothing was.

        Where several agents acted, `observation.{agent}`, and its parts `observation.{agent}.camera`.
        """
        agents = {part_of(agent): agent for agent in (*self._agents_told_of(), *self._reel.agents)}
        found: dict[str, Any] = {}
        for name, value in self._finals().items():
            head, *parts = name.split(".", 2)
            spelled = ".".join([head, *(agents.get(part, part) for part in parts[:1]), *parts[1:]])
            found[name if spelled in found else spelled] = value
        return found

    def _agents_told_of(self) -> list[str]:
        """List the agents that the facts name: one may see, and never act."""
        facts = self._reel.facts | (self._span.facts or {})
        told = [facts.get(name) for name in ("agents", "late_agents")]
        return [agent for agents in told if isinstance(agents, Mapping) for agent in agents]

    def _finals(self) -> dict[str, Any]:
        """Give what was seen after the last step, agents spelled as arrays are."""
        if self._span.final is None:
            return {}
        row, names = self._span.final
        made = self._made_finals([name.removeprefix(f"{CHECKS}.") for name in names if name.startswith(f"{CHECKS}.")])
        names = [name for name in names if not name.startswith(f"{CHECKS}.")]
        found = {signal_name(name): value for name, value in made.items()}
        for name in [*names, *(name for name, other in self._reel.same.items() if other in names)]:
            value = self._reel.read(name, row, row + 1, axis=FINALS)[0]
            if name in self._reel.kinds and self._reel.kind(name).stack > 1:
                value = final_stack(self._reel, name, self._span, value)
            found[signal_name(name)] = texts(np.asarray(value))[()] if value.dtype.kind == "S" else value
        return found

    def _made_finals(self, names: list[str]) -> dict[str, Any]:
        """Make what was seen after the last step of arrays that are not stored."""
        if not names:
            return {}
        made = Resimulation.of(self._reel).final(self._span)
        return made | {name: made[other] for name, other in self._reel.same.items() if other in made}

    def ref(self, signal: str, step: int) -> str:
        """Give the address of a sample: `h5://run_id/frames/1523`."""
        from playhead.ref import make_frame_ref

        step = self._checked(step)
        names = {signal_name(name): name for name in self._reel.kinds}
        if signal not in names:
            raise NotFound.among("signal", signal, sorted(names))
        return make_frame_ref(self._reel.files.id, names[signal], self._span.start + step)

    def transition(self, step: int) -> Transition:
        """Give one step as (s, a, r, s′, terminated, truncated).

        What was not recorded is None: an observation or action that the step has none of, and what was seen after the
        last step where nobody noted it. Where several agents act, s′ is what the same agent saw at its next step.
        """
        step = self._checked(step)
        row, signals = self.steps[step], self._made_signals()
        later = np.flatnonzero(self.steps["agent"][step + 1 :] == row["agent"])
        is_last = not len(later)
        return Transition(
            signals.at("observation", step),
            signals.at("action", step),
            float(row["reward"]),
            self._seen_last(int(row["agent"])) if is_last else signals.at("observation", step + 1 + int(later[0])),
            bool(row["flags"] & TERMINATED),
            bool(row["flags"] & TRUNCATED),
        )

    def _checked(self, step: int) -> int:
        step = as_integer(step, INDEX)
        if not 0 <= step < self.length:
            raise OutOfRange(f"no step {step} in {self.id}: it has {self.length}")
        return step

    def _seen_last(self, agent: int) -> Any:
        """Give what an agent saw after its last step; None where that is not known."""
        finals = {name: value for name, value in self._finals().items() if _is_of(name, "observation")}
        if agent < len(self._reel.agents):
            mine = f"observation.{part_of(self._reel.agents[agent])}"
            own = {name: value for name, value in finals.items() if _is_of(name, mine)}
            if own or len(np.unique(self.steps["agent"])) > 1:
                return _joined(mine, own) if own else None
        return _joined("observation", finals) if finals else None

    def __reduce__(self) -> tuple[Any, ...]:
        return open_episode, (self._reel.files.folder, self._reel.files.id, self.number)

    def _about(self) -> list[str]:
        about = [f"{self.length} steps", f"return {self.total_reward:g}", self.how or "unfinished"]
        names = ActionNames(self.static).listed()
        return about + [f"actions {listed(names, _NAMED)}"] * bool(names)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}, {', '.join(self._about())}, signals: {', '.join(self.signals)}>"


def _is_of(name: str, group: str) -> bool:
    return name == group or name.startswith(f"{group}.")


def _joined(group: str, values: dict[str, Any]) -> Any:
    if set(values) == {group}:
        return values[group]
    return {name.removeprefix(f"{group}."): value for name, value in values.items()}


def signal_name(array: str) -> str:
    """Give the name of the signal that an array is: `frame` for `frames`, `observation.x` for `observations.x`."""
    head, dot, tail = array.partition(".")
    return _SINGULAR.get(head, head) + dot + tail


class _Signals(Mapping[str, Signal[Any]]):
    """The signals of an episode, each made when it is asked for."""

    def __init__(self, reel: Reel, span: Span, rows: NDArray[Any]) -> None:
        self._reel = reel
        self._start = span.start
        self._rows = rows
        self._made: dict[str, Signal[Any]] = {}
        agents = np.unique(rows["agent"]).tolist() if reel.agents else [0]
        names = reel.agents
        self._agents = [(f"{names[agent]}.", agent) for agent in agents] if len(agents) > 1 else [("", None)]
        self._arrays = {signal_name(name): name for name in reel.kinds if self._is_there(name)}

    def _is_there(self, name: str) -> bool:
        bit = self._reel.bit(self._reel.kind(name))
        return bool((self._rows["has"] & bit).any())

    def __iter__(self) -> Iterator[str]:
        for prefix, _ in self._agents:
            yield from (prefix + name for name in (*self._arrays, "reward", "terminated", "truncated"))

    def __len__(self) -> int:
        return len(self._agents) * (len(self._arrays) + 3)

    def __contains__(self, name: object) -> bool:
        return name in list(self)

    def __getitem__(self, name: str) -> Signal[Any]:
        if name not in self._made:
            if name not in self:
                raise KeyError(name)
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> Signal[Any]:
        prefix, agent = next((p, a) for p, a in self._agents if name.startswith(p) and name[len(p) :] in self._names())
        signal = name[len(prefix) :]
        chosen = np.ones(len(self._rows), np.bool_) if agent is None else self._rows["agent"] == agent
        stamps = self._rows["ts_ns"]
        match signal:
            case "reward":
                return ArraySignal(self._rows["reward"][chosen], stamps[chosen])
            case "terminated":
                return ArraySignal(self._rows["flags"][chosen] & TERMINATED != 0, stamps[chosen])
            case "truncated":
                return ArraySignal(self._rows["flags"][chosen] & TRUNCATED != 0, stamps[chosen])
        array = self._arrays[signal]
        chosen = chosen & (self._rows["has"] & self._reel.bit(self._reel.kind(array)) != 0)
        if chosen.all():
            whole = range(self._start, self._start + len(chosen))
            return ReelSignal(self._reel, array, whole, np.ascontiguousarray(stamps))
        return ReelSignal(self._reel, array, self._start + np.flatnonzero(chosen), stamps[chosen])

    def at(self, group: str, place: int) -> Any:
        """Give what one step has of a group, and never what another has; None where it has nothing.

        Agents whose spaces differ have groups of their own, `observations_2`, of which a step has one.
        """
        row = self._rows[place]
        prefix = next(prefix for prefix, agent in self._agents if agent in (None, row["agent"]))
        there = [name for name, array in self._arrays.items() if row["has"] & self._reel.bit(self._reel.kind(array))]
        heads = [name.partition(".")[0] for name in there]
        numbered = re.compile(rf"{group}s_[0-9]+")
        of_agents = [head for head in heads if numbered.fullmatch(head)] if self._reel.agents else []
        head = next((head for head in (group, *of_agents) if head in heads), None)
        if head is None:
            return None
        stamp = int(row["ts_ns"])
        return _joined(head, {name: self[prefix + name].time[stamp][0] for name in there if _is_of(name, head)})

    def _names(self) -> set[str]:
        return {*self._arrays, "reward", "terminated", "truncated"}


def open_episode(folder: Path, reel_id: str, number: int) -> ReplayEpisode:
    """Open an episode by where it lies."""
    return ReplayEpisode(Reel(ReplayFolder(folder).reel(reel_id)), number)
