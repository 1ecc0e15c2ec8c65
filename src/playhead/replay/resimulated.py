"""Frames that were never stored, made again: the nearest state before, and the actions since.

Every sample that is given has been compared with its check, so that a wrong one is never shown. What comes out
otherwise is tried again from other states, and with the other actions that a joystick may have been in; if nothing
helps, the environment, or its version, is not what was recorded.

Besides samples, states on the way are kept. Going back over a stretch then takes each step about once: from the state
before a block of steps all its samples are made, and the next ones asked for are among them.
"""

from __future__ import annotations

import threading
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from playhead.errors import Damaged, Diverged, NotFound, PlayheadError
from playhead.lanes.arrays.kind import ArrayKind
from playhead.lanes.arrays.made import RESIMULATED
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.spans import Keyframe, Span
from playhead.replay.kept import Kept
from playhead.replay.takes import HELD, SAMPLES, Take, space_of
from playhead.simulators import Rig, making, spaces
from playhead.simulators.rig import WRAPPERS, changed_packages

FRAMES = "frames"

_BLOCK = 8  # steps between states that are kept, and samples that are kept before the one asked for
_SAMPLE_BYTES, _STATE_BYTES = 96 << 20, 64 << 20
_TAKES = 4  # episodes whose actions are in memory
_HELD_BYTES = 256  # of Python objects, besides arrays
_MOST_SHOWN = 200  # characters of what a file says
_UNFIT = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


class _Source(NamedTuple):
    """A state to begin from: at which place, from which on what is seen is right, and how to get there."""

    place: int
    right_from: int
    restore: Callable[[], None]
    key: Any = None  # among the states that are kept


class _Stand(NamedTuple):
    """Where the environment is."""

    episode: int
    place: int
    right_from: int


class _Way(NamedTuple):
    """Where to go, from where on samples are kept, whether to render there, and what came out wrong."""

    place: int
    keep_from: int
    look: bool
    wrong: list[tuple[int, str]]


class Resimulation:
    """Makes the arrays of a reel that are not stored. Safe in threads.

    Args:
        reel: The reel.
        make: Makes the environment; without it, it is made from what the reel says, where that may be.

    Attributes:
        steps: How many steps the environment has taken so far.
    """

    def __init__(self, reel: Reel, make: Callable[[], Any] | None = None) -> None:
        self._reel = reel
        self._make = make
        self._lock = threading.RLock()
        self._rig: Rig | None = None
        self._stand: _Stand | None = None
        self._samples: Kept[NDArray[Any]] = Kept(_SAMPLE_BYTES)
        self._states: Kept[tuple[Any, Any]] = Kept(_STATE_BYTES)
        self._takes: Kept[Take] = Kept(_TAKES)
        self._is_warned = False
        self.steps = 0

    @classmethod
    def of(cls, reel: Reel) -> Self:
        """Give what makes the arrays of a reel."""
        maker = reel.makes
        assert isinstance(maker, cls)
        return maker

    # -- what is asked for ------------------------------------------------------------------------------------------

    def rows(self, name: str, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Give rows of an array, in the order that is asked for; they are made in theirs.

        Raises:
            Diverged: What comes out is not what was seen.
            Damaged: A state or an action cannot be read.
            WrongType, MissingExtra: The environment cannot be made.
        """
        kind = self._reel.made[name]
        out = np.empty((len(positions), *kind.shape), np.dtype(kind.dtype))
        with self._lock:
            starts = [span.start for span in self._reel.spans]
            for at in np.argsort(positions, kind="stable"):
                row = int(positions[at])
                span = self._reel.spans[bisect_right(starts, row) - 1]
                out[at] = self.sample(span, row - span.start, name)
        return out

    def final(self, span: Span) -> dict[str, NDArray[Any]]:
        """Give what was seen after the last step of an episode, by array; empty where nothing was."""
        with self._lock:
            take = self.take(span)
            return {name: self.sample(span, span.length, name).copy() for name in take.final}

    def sample(self, span: Span, place: int, name: str) -> NDArray[Any]:
        """Give what was seen before a step of an episode, or at its end."""
        with self._lock:
            found = self._samples.get((span.number, place, name))
            if found is None:
                self._seek(self.take(span), place, name)
                found = self._samples.get((span.number, place, name))
            if found is None:
                raise NotFound(f"nobody saw {name} at step {place} of episode {span.number}")
            return found

    def verify(self, span: Span) -> None:
        """Play an episode again from each of its states to the next, and compare everything that was seen.

        Raises:
            Diverged: Something came out otherwise; the error tells the first step at which it did.
            Damaged: A state or an action cannot be read.
            WrongType, MissingExtra: The environment cannot be made.
        """
        with self._lock:
            take, rig = self.take(span), self.rig
            self._show_start(take)
            end = span.length if take.final else span.length - 1
            pairs = take.keyframes_until(span.length)[::-1]
            for (place, keyframe), after in zip(pairs, [*(place for place, _ in pairs[1:]), end], strict=True):
                until = min(end, after + max(0, rig.warmup - 1))  # from there on, the next state tells
                way = _Way(until, 0, FRAMES in self._reel.made, [])
                if until > place and not self._run_from(take, self._source(take, place, keyframe), way):
                    raise self._diverged(take, way.wrong)

    def take(self, span: Span) -> Take:
        """Give what is stored of an episode, as far as it goes now."""
        found = self._takes.get(span.number)
        if found is None or (found.span.length, found.span.how) != (span.length, span.how):
            found = Take(self._reel, span)
            self._takes.put(span.number, found, 1)
        return found

    @property
    def rig(self) -> Rig:
        """The environment, made when it is needed.

        Raises:
            WrongType, MissingExtra: It cannot be made.
        """
        if self._rig is None:
            facts = self._reel.facts.get(RESIMULATED)
            if not isinstance(facts, dict) or not making.is_list_of_wrappers(facts.get(WRAPPERS)):
                raise self._damaged("how the environment is made", f"{facts!r}"[:_MOST_SHOWN])
            self._rig = making.make(facts) if self._make is None else making.started(self._make())
            self._compare(facts)
        return self._rig

    def _compare(self, facts: dict[str, Any]) -> None:
        """See that the environment is the one that was recorded, as far as can be told before it has done anything."""
        assert self._rig is not None
        then, now = ([name for name, _ in found] for found in (facts[WRAPPERS], self._rig.wrapped))
        if then != now:
            rig, self._rig = self._rig, None
            rig.close()
            raise Diverged(f"the environment has the wrappers {now}, and was recorded with {then}: wrap it as it was")
        changed = changed_packages(facts)
        if changed and not self._is_warned:
            self._is_warned = True
            told = ", ".join(changed)
            text = f"{self._reel.files.id} was recorded with other versions: {told}. What is made again is checked"
            warnings.warn(text, RuntimeWarning, stacklevel=2)

    def forget(self) -> None:
        """Give memory back: the samples and states that are kept."""
        with self._lock:
            self._stand = None
            self._samples.clear()
            self._states.clear()

    def close(self) -> None:
        """Give the environment and all memory back; what is asked for later makes another."""
        with self._lock:
            self.forget()
            self._takes.clear()
            rig, self._rig = self._rig, None
            if rig is not None:
                rig.close()

    # -- how it is made ---------------------------------------------------------------------------------------------

    def _seek(self, take: Take, place: int, name: str) -> None:
        """Make a sample, and those of a few steps before it."""
        if place == 0:
            self._show_start(take)
            return
        if take.check_at(name, place) is None:
            return
        wrong: list[tuple[int, str]] = []
        way = _Way(place, max(1, place - _BLOCK + 1), name == FRAMES, wrong)
        stand = self._stand
        sources = self._sources(take, place)
        nearest = next(sources)
        if stand is not None and stand.episode == take.span.number and stand.right_from <= place:
            is_near = nearest.place <= stand.place < place
            if is_near and self._run(take, stand.place, stand.right_from, way):
                return
        for source in chain([nearest], sources):
            if self._run_from(take, source, way):
                return
            if source.key is not None:
                self._states.drop(source.key)
        raise self._diverged(take, wrong)

    def _sources(self, take: Take, place: int) -> Iterator[_Source]:
        """Walk over the states to begin from, the nearest first."""
        rig, number = self.rig, take.span.number
        kept = [at for episode, at in self._states if episode == number and at + rig.warmup_of_all <= place]
        found: list[tuple[int, Keyframe | None]] = [(at, None) for at in kept]
        found += [(at, one) for at, one in take.keyframes_until(place) if at == 0 or at + rig.warmup <= place]
        for at, keyframe in sorted(found, key=lambda one: -one[0]):
            if keyframe is not None or (number, at) in self._states:  # it may have been let go of meanwhile
                yield self._source(take, at, keyframe)

    def _source(self, take: Take, place: int, keyframe: Keyframe | None) -> _Source:
        rig = self.rig
        if keyframe is None:
            key = (take.span.number, place)
            held = self._states.get(key)
            assert held is not None
            state, content = held
            return _Source(place, place + rig.warmup_of_all, lambda: rig.restore_all(state, content), key)
        if place == 0:
            return _Source(0, 0, lambda: rig.restore_all(take.state(keyframe, rig), take.start()[HELD]))
        return _Source(place, place + rig.warmup, lambda: rig.restore(take.state(keyframe, rig)))

    def _run_from(self, take: Take, source: _Source, way: _Way) -> bool:
        for surely in (False, True):
            for memory in self.rig.memories(take.actions_before(source.place)):
                if surely and memory is None:
                    return False
                self._stand = None
                self.rig.settle(memory, surely=surely)
                self._restore(source)
                if self._run(take, source.place, source.right_from, way):
                    return True
        return False

    def _restore(self, source: _Source) -> None:
        try:
            source.restore()
        except PlayheadError:
            raise
        except _UNFIT as error:  # whatever a simulator says of a state that is none of its own
            told = f"one that it does not take ({type(error).__name__}: {error})"
            raise self._damaged(f"a state of the environment at step {source.place}", told) from error

    def _damaged(self, expected: str, found: str) -> Damaged:
        return Damaged(self._reel.files.file, expected, found)

    def _run(self, take: Take, start: int, right_from: int, way: _Way) -> bool:
        """Step from a place to another; tell whether all that was seen is what was."""
        rig, number = self.rig, take.span.number
        self._stand = None
        for at in range(start, way.place):
            self.steps += 1
            here = at + 1
            is_kept = here >= way.keep_from
            if not is_kept and here % _BLOCK:
                rig.skip(take.action(at))
                continue
            seen = self._made(rig.step(take.action(at)))
            if here < right_from:
                continue
            if is_kept and way.look and FRAMES not in seen:
                seen[FRAMES] = self._fitted(self._reel.made[FRAMES], rig.render())
            for array, value in seen.items():
                if not take.fits(array, here, value):
                    way.wrong.append((here, array))
                    return False
                if is_kept:
                    self._samples.put((number, here, array), value, value.nbytes + _HELD_BYTES)
            if here % _BLOCK == 0 and (number, here) not in self._states:
                self._keep_state(number, here)
        self._stand = _Stand(number, way.place, right_from)
        return True

    def _keep_state(self, number: int, place: int) -> None:
        state, held = self.rig.save(), self.rig.save_all()
        self._states.put((number, place), (state, held), _weight(state) + _weight(held))

    def _made(self, observation: Any) -> dict[str, NDArray[Any]]:
        """Give those parts of an observation that are not stored, by the names of their arrays."""
        made, same = self._reel.made, self._reel.same
        found = {}
        space = self._space
        try:
            for name, value in spaces.parts(space, observation).items():
                array = same.get(name, name)
                if array in made:
                    found[array] = self._fitted(made[array], value)
        except (LookupError, TypeError, ValueError) as error:
            told = f"one of another kind ({type(error).__name__}: {error})"
            raise self._damaged("the observation_space of the environment", told) from error
        return found

    @cached_property
    def _space(self) -> dict[str, Any]:
        return space_of(self._reel, "observation_space")

    @staticmethod
    def _fitted(kind: ArrayKind, value: Any) -> NDArray[Any]:
        # A copy: an environment may write its next observation into the same memory.
        found: NDArray[Any] = np.array(value, np.dtype(kind.dtype), order="C")
        return found

    def _show_start(self, take: Take) -> None:
        for name, value in take.start()[SAMPLES].items():
            if not take.fits(name, 0, value):
                raise self._diverged(take, [(0, name)])
            self._samples.put((take.span.number, 0, name), value, value.nbytes + _HELD_BYTES)

    def _diverged(self, take: Take, wrong: list[tuple[int, str]]) -> Diverged:
        """Say where the attempt went wrong that went right for longest."""
        place, name = max(wrong)
        keyframe = take.keyframes_until(max(0, place - 1))[0][0]
        error = Diverged(
            f"{name} at step {place} of episode {take.span.number} in {self._reel.files.id} came out otherwise than it "
            f"was seen, from the state at step {keyframe} on: the environment is not deterministic, or not the same. "
            "Run: playhead episode verify"
        )
        error.step = place
        return error


def _weight(held: Any) -> int:
    if isinstance(held, dict):
        return sum(map(_weight, held.values())) + 64
    if isinstance(held, (list, tuple)):
        return sum(map(_weight, held)) + 64
    return held.nbytes + 96 if isinstance(held, np.ndarray) else len(held) if isinstance(held, (bytes, str)) else 32


Reel.maker = Resimulation
