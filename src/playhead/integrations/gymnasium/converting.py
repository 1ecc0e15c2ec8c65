"""Stored episodes made re-simulated ones, and back. What is there stays as it is: the result is another run.

An episode whose frames are stored is played again from its seed, or from that of the last episode before it that had
one, and every frame is compared on the way. Times, rewards, infos and whatever else is stored are copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playhead.errors import Diverged, WrongType
from playhead.integrations.gymnasium.plan import KEYFRAME_EVERY
from playhead.integrations.gymnasium.recorder import Run
from playhead.integrations.gymnasium.spaces import FRAMES, OBSERVATIONS, leaves, parts, restore
from playhead.integrations.gymnasium.states import Saved, States, facts_of, is_made
from playhead.lanes.arrays.kind import CHECKS, FINALS
from playhead.lanes.arrays.made import RESIMULATED, check_of, described
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.rows import TERMINATED, TRUNCATED
from playhead.lanes.arrays.spans import Span
from playhead.lanes.arrays.writer import ReelWriter
from playhead.replay import ReplayEpisode, Resimulation
from playhead.replay.signals import ReelSignal
from playhead.simulators import Rig, making
from playhead.simulators.rig import ARGUMENTS, ID, RENDER_MODE, WRAPPERS
from playhead.simulators.wrappers import PASSIVE

Watch = Callable[[int], None]
Make = Callable[[], Any]

_BLOCK = 64


class Converted(NamedTuple):
    """What came of it.

    Attributes:
        episodes: How many were converted.
        steps: How many steps they have.
        bytes_before: What they take as they were.
        bytes_after: What they take now.
    """

    episodes: int
    steps: int
    bytes_before: int
    bytes_after: int


def to_resimulated(
    episodes: Sequence[ReplayEpisode],
    run: Run,
    *,
    make: Make | None = None,
    keyframe_every: int = KEYFRAME_EVERY,
    watch: Watch | None = None,
) -> Converted:
    """Record episodes again without their frames, which are made from states from then on.

    Args:
        episodes: Episodes whose frames are stored.
        run: Where the result goes.
        make: Makes the environment; without it, it is made from what the recording says, where that may be.
        keyframe_every: Steps from one state that is saved to the next.
        watch: Told of each number of steps that is done.

    Raises:
        WrongType: There is no seed to begin with, the environment cannot be made, or frames are not stored.
        Diverged: A frame came out otherwise than it is stored. What was recorded so far stays in the run.
    """

    def copy(reel: Reel, spans: list[Span]) -> list[ReelWriter]:
        if reel.made:
            raise WrongType(f"{reel.files.id} is re-simulated already")
        rig = making.make(_facts_in_spec(reel)) if make is None else making.started(make())
        try:
            return _Playing(reel, rig, keyframe_every, watch).record(run, spans)
        finally:
            rig.close()

    return _converted(episodes, copy)


def to_stored(episodes: Sequence[ReplayEpisode], run: Run, *, watch: Watch | None = None) -> Converted:
    """Record episodes again with all their frames.

    Args:
        episodes: Episodes that are re-simulated.
        run: Where the result goes.
        watch: Told of each number of steps that is done.

    Raises:
        WrongType: Their frames are stored already, or the environment cannot be made.
        Diverged: A frame came out otherwise than it was seen.
    """

    def copy(reel: Reel, spans: list[Span]) -> list[ReelWriter]:
        if not reel.made:
            raise WrongType(f"the frames of {reel.files.id} are stored already")
        facts = {name: value for name, value in reel.facts.items() if name != RESIMULATED}
        writer = run.new_reel(facts=facts)
        for span in spans:
            writer.begin(span.facts, ts_ns=span.began_ns)
            for step in _steps(reel, span, [name for name in reel.kinds if name not in reel.same]):
                writer.step(*step.recorded, ts_ns=step.ts_ns, owned=True)
                if watch is not None:
                    watch(1)
            finals = _finals(reel, span)
            if span.final is not None and any(name.startswith(CHECKS) for name in span.final[1]):
                finals |= Resimulation.of(reel).final(span)
            writer.end(span.how or "closed", finals, ts_ns=span.ended_ns)
        return [writer]

    return _converted(episodes, copy)


def _converted(episodes: Sequence[ReplayEpisode], copy: Callable[[Reel, list[Span]], list[ReelWriter]]) -> Converted:
    reels: dict[str, tuple[Reel, list[Span]]] = {}
    for episode in episodes:
        reels.setdefault(episode.reel.files.id, (episode.reel, []))[1].append(episode.span)
    before = after = steps = 0
    for reel, spans in reels.values():
        chosen = sum(span.length for span in spans)
        writers = copy(reel, sorted(spans, key=lambda span: span.start))
        steps += chosen
        before += round(reel.files.size() * chosen / max(1, reel.length))
        for writer in writers:
            writer.close()
            after += writer.files.size()
    return Converted(len(episodes), steps, before, after)


# -- what is stored ---------------------------------------------------------------------------------------------------


class _Step(NamedTuple):
    """A step as it is recorded: arrays, reward, terminated, truncated, info; and when it was."""

    recorded: tuple[dict[str, Any], float, bool, bool, bytes]
    ts_ns: int


def _steps(reel: Reel, span: Span, names: Sequence[str]) -> Iterator[_Step]:
    end = span.start + span.length
    for low in range(span.start, end, _BLOCK):
        high = min(low + _BLOCK, end)
        rows, infos = reel.rows(low, high), reel.infos(low, high)
        there = {name: reel.present(name, low, high) for name in names}
        arrays = {name: reel.read(name, low, high) for name in names}
        for at, row in enumerate(rows):
            given = {name: arrays[name][at] for name in names if there[name] is None or there[name][at]}  # type: ignore[index]
            flags = int(row["flags"])
            recorded = (given, float(row["reward"]), bool(flags & TERMINATED), bool(flags & TRUNCATED), infos[at])
            yield _Step(recorded, int(row["ts_ns"]))


def _finals(reel: Reel, span: Span) -> dict[str, Any]:
    if span.final is None:
        return {}
    at, names = span.final
    return {name: reel.read(name, at, at + 1, axis=FINALS)[0] for name in names if not name.startswith(CHECKS)}


def _facts_in_spec(reel: Reel) -> dict[str, Any]:
    """Say how the environment of a reel is made again, from the description that Gymnasium gave of it."""
    spec = reel.facts.get("spec")
    if not isinstance(spec, Mapping):
        raise WrongType(f"{reel.files.id} does not say how its environment is made: pass make, which makes it")
    try:
        wrappers = [(str(one.get("name")), one.get("kwargs") or {}) for one in spec.get("additional_wrappers") or []]
        arguments = {**(spec.get("kwargs") or {}), RENDER_MODE: reel.facts.get(RENDER_MODE)}
    except (AttributeError, TypeError) as error:
        raise WrongType(
            f"what {reel.files.id} says of its environment is not what Gymnasium says: pass make, which makes it"
        ) from error
    return {
        ID: spec.get("id"),
        ARGUMENTS: arguments,
        WRAPPERS: [[name, given] for name, given in wrappers if name not in PASSIVE],
    }


# -- playing again ----------------------------------------------------------------------------------------------------


class _Playing:
    """Plays episodes of a reel again, in order, and records them with states instead of frames."""

    def __init__(self, reel: Reel, rig: Rig, every: int, watch: Watch | None) -> None:
        self._reel = reel
        self._rig = rig
        self._every = every
        self._watch = watch
        self._states = States(rig)
        self._made: list[str] = []
        self._writers: list[ReelWriter] = []

    def record(self, run: Run, chosen: list[Span]) -> list[ReelWriter]:
        """Record the episodes that were chosen; more than one reel where states outgrow the first one's."""
        numbers = {span.number for span in chosen}
        for span in self._needed(chosen):
            seen = self._reset(span)
            if span.number in numbers:
                start = self._start(run, seen)
                self._play(span, seen, self._writers[-1], start)
            else:
                self._play(span, seen)
        return self._writers

    def _start(self, run: Run, seen: dict[str, NDArray[Any]]) -> Saved:
        """Give the state that an episode begins with, and see that there is a reel that has room for it."""
        if not self._writers:
            self._writers.append(self._open(run, seen))
        samples = {name: seen[name] for name in self._made}
        found = self._states.rows(self._writers[-1], samples, True)
        if not found[0]:
            self._writers.append(self._open(run, seen))
            found = self._states.rows(self._writers[-1], samples, True)
        return found

    def _needed(self, chosen: list[Span]) -> list[Span]:
        """Give the episodes to be played: a generator of random numbers goes on from one to the next."""
        spans = [span for span in self._reel.spans if span.start <= chosen[-1].start]
        seeded = [place for place, span in enumerate(spans) if "seed" in (span.facts or {})]
        first = max((place for place in seeded if spans[place].start <= chosen[0].start), default=None)
        if first is None:
            raise WrongType(
                f"episode {chosen[0].number} of {self._reel.files.id} cannot be played again: neither it nor one "
                "before it was reset with a seed"
            )
        return spans[first:]

    def _open(self, run: Run, seen: dict[str, NDArray[Any]]) -> ReelWriter:
        kinds = self._reel.kinds
        made = {name: value for name, value in seen.items() if is_made(value) and name in kinds}
        if not made:
            raise WrongType(f"{self._reel.files.id} holds no images: there is nothing that states could replace")
        self._made = list(made)
        facts = {name: value for name, value in self._reel.facts.items() if name != "stack"}
        described_all = [described(name, value) for name, value in made.items()]
        return run.new_reel(facts=facts | facts_of(self._rig, described_all, self._every))

    def _reset(self, span: Span) -> dict[str, NDArray[Any]]:
        facts = span.facts or {}
        seed, options = facts.get("seed"), facts.get("options")
        return self._seen(self._rig.env.reset(seed=seed, options=options)[0])

    def _seen(self, observation: Any) -> dict[str, NDArray[Any]]:
        """Give what the environment shows, by the names of the arrays that it is stored in."""
        found: dict[str, NDArray[Any]] = {}
        for name, value in parts(self._reel.facts["observation_space"], observation).items():
            found[self._reel.same.get(name, name)] = np.array(value)
        if FRAMES in self._reel.kinds and FRAMES not in found:
            source = self._reel.facts.get("frames")
            found[FRAMES] = np.array(found[OBSERVATIONS] if source == "observation" else self._rig.render())
        return found

    def _play(
        self, span: Span, seen: dict[str, NDArray[Any]], writer: ReelWriter | None = None, start: Saved = ({}, {})
    ) -> None:
        names = [name for name in self._reel.kinds if name not in self._reel.same and name not in self._made]
        space = self._reel.facts["action_space"]
        actions = [leaf["array"] for leaf in leaves(space) if leaf["array"] is not None]
        if writer is not None:
            writer.begin(span.facts, ts_ns=span.began_ns)
        stored = {name: _Stored(self._reel, name, span) for name in self._made}
        for place, step in enumerate(_steps(self._reel, span, sorted({*names, *actions}))):
            if writer is not None:
                self._compare(span, place, seen, stored)
                samples = {name: seen[name] for name in self._made}
                if place % self._every == 0:
                    rows, facts = self._states.rows(writer, samples, False) if place else start
                    if rows:
                        writer.keyframe(rows, facts)
                step.recorded[0].update(_checks(samples))
                writer.step(*step.recorded, ts_ns=step.ts_ns, owned=True)
            observation = self._rig.step(restore(space, {name: step.recorded[0][name] for name in actions}))
            seen = self._seen(observation)
            if self._watch is not None:
                self._watch(1)
        if writer is not None:
            finals = _finals(self._reel, span)
            if any(name in finals for name in self._made):
                self._compare_final(span, seen, finals)
                finals = {name: value for name, value in finals.items() if name not in self._made}
                finals |= _checks({name: seen[name] for name in self._made})
            writer.end(span.how or "closed", finals, ts_ns=span.ended_ns)

    def _compare(self, span: Span, place: int, seen: dict[str, NDArray[Any]], stored: dict[str, _Stored]) -> None:
        for name, rows in stored.items():
            expected = rows.at(place)
            if expected is not None and expected.tobytes() != seen[name].tobytes():
                raise self._diverged(span, place, name)

    def _compare_final(self, span: Span, seen: dict[str, NDArray[Any]], finals: dict[str, Any]) -> None:
        for name in self._made:
            expected = finals.get(name)
            newest = (
                seen[name][-1] if self._reel.kinds[name].stack > 1 else seen[name]
            )  # of a stack, one frame is stored
            if expected is not None and expected.tobytes() != newest.tobytes():
                raise self._diverged(span, span.length, name)

    def _diverged(self, span: Span, place: int, name: str) -> Diverged:
        error = Diverged(
            f"{name} at step {place} of episode {span.number} in {self._reel.files.id} came out otherwise than it is "
            "stored: the environment is not deterministic, or was reset in between. The episode stays as it is"
        )
        error.step = place
        return error


class _Stored:
    """The rows of an array in an episode, whole stacks where a row is the newest of one, read in blocks."""

    def __init__(self, reel: Reel, name: str, span: Span) -> None:
        whole = range(span.start, span.start + span.length)
        present = reel.present(name, whole.start, whole.stop)
        self._there = np.ones(len(whole), np.bool_) if present is None else present
        self._signal = ReelSignal(reel, name, whole, np.arange(len(whole), dtype=np.int64))
        self._block: tuple[int, NDArray[Any]] = (0, np.empty(0))

    def at(self, place: int) -> NDArray[Any] | None:
        """Give a row; None where the step has none."""
        if not self._there[place]:
            return None
        first, rows = self._block
        if not first <= place < first + len(rows):
            first = place // _BLOCK * _BLOCK
            rows = self._signal[first : first + _BLOCK].values
            self._block = first, rows
        row: NDArray[Any] = rows[place - first]
        return row


def _checks(samples: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.uint32]]:
    return {f"{CHECKS}.{name}": np.array(check_of(value), np.uint32) for name, value in samples.items()}
