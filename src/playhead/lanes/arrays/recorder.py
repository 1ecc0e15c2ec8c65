"""ReelRecorder: the caller's side of recording a reel.

A step costs the caller a look at each array, and a copy of those that may still be changed. All else is done in the
background; see `reeltape`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import clock, disk, memory
from playhead.errors import Closed, OutOfOrder, WrongShape, WrongType
from playhead.lanes.arrays import rows
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.declaring import DeclaringTape
from playhead.lanes.arrays.hand import Hand, has_lock
from playhead.lanes.arrays.kind import FINALS, KEYFRAMES, PREFIXES
from playhead.lanes.arrays.reeltape import Beginning, Stretch, Together, as_json
from playhead.lanes.arrays.values import fitted
from playhead.native.colours import Colours
from playhead.signal.contract import check_stamp
from playhead.signal.keys import MOST
from playhead.tape import Crew

_INTEGERS = frozenset((int, np.int64, np.int32))
_PACK = rows.STEP.pack


class ReelRecorder(DeclaringTape):
    """Records the steps of one environment into a journal. Safe in threads.

    Args:
        folder: The journal.
        config: How.
        prepare: Called with the number of the first segment of this recording, when the journal is ours; seals what an
            earlier one left, and says where this one begins.
        facts: What does not change, as JSON: the environment, its spaces.
        stacks: For arrays of which a row is the newest of several that one observation is made of, how many.
        on_roll: Called in a thread of its own when a segment is complete, with the number of the next one.
        on_end: Called when everything is written, while the journal is still ours.
        crew: The thread that writes, where several reels share one.

    Attributes:
        room: How many values the open hand may hold before it is to be asked for again; see `hand`.
    """

    def __init__(
        self,
        folder: disk.StrPath,
        config: ReplayConfig,
        prepare: Callable[[int], Beginning],
        *,
        facts: Mapping[str, Any] | None = None,
        stacks: Mapping[str, int] | None = None,
        on_roll: Callable[[int], None] | None = None,
        on_end: Callable[[], None] | None = None,
        crew: Crew | None = None,
    ) -> None:
        super().__init__(folder, config, prepare, facts=facts, stacks=stacks, on_roll=on_roll, on_end=on_end, crew=crew)
        begin = self._begin_at
        self._lock = threading.RLock()  # held by whoever records
        self._stamps = clock.Stamps(begin.last_ns)
        self._episode = begin.episode
        self._is_open = False  # an episode is
        self._steps_of: dict[int, int] = {}  # for each agent, the number of its next step
        self._is_timed = False  # the caller gives times
        self._given: list[tuple[Any, ...]] = []
        self._tried = (-1, 0, 0)  # the row, number and last time of the steps that were last to be recorded together
        self._ended: Closed | None = None
        self.room = 0
        memory.keep_freed()
        self._start()

    @property
    def row(self) -> int:
        """The position of the next step."""
        try:
            return int(self._given[-1][0]) + 1  # without the lock: whoever records may hold it for long
        except IndexError:
            return self._row

    @property
    def episode(self) -> int:
        """The number of the episode that is open, or comes next."""
        return self._episode

    @property
    def is_open(self) -> bool:
        """Whether an episode is open."""
        return self._is_open

    def begin(
        self,
        facts: Mapping[str, Any] | None = None,
        prefixes: Mapping[str, NDArray[Any]] | None = None,
        *,
        ts_ns: int | None = None,
    ) -> int:
        """Begin an episode; one that is open ends without a result.

        Args:
            facts: What is known at its start, as JSON: seed, options.
            prefixes: For each array that holds stacks, the rows of the first stack that come before its newest.
            ts_ns: When it begins; without it, now.

        Returns:
            Its number.
        """
        with self._lock:
            self._draw()
            self._refuse_ended()
            if self._is_open:
                self.end("reset")
            note: dict[str, Any] = {"begin": self._episode, "row": self._row, "ns": self._stamp(ts_ns)}
            if ts_ns is not None:
                self._stamps.last = ts_ns - 1  # its first step may have the same time
            if facts:
                note["facts"] = as_json(facts)
            note |= self._put_rare(PREFIXES, prefixes or {})
            self._note(note)
            self._is_open, self._steps_of, self._tried = True, {}, (-1, 0, 0)
            return self._episode

    def step(
        self,
        arrays: Mapping[str, Any],
        reward: Any,
        terminated: bool,
        truncated: bool,
        info: bytes = b"",
        *,
        agent: str | None = None,
        step: int | None = None,
        ts_ns: int | None = None,
        owned: bool = False,
    ) -> int:
        """Record a step.

        Args:
            arrays: What was seen and done, by name; those left out are empty here.
            reward: What came of it.
            terminated: The episode came to its end.
            truncated: The episode was cut off.
            info: JSON, or nothing.
            agent: Who acted, where there are several.
            step: Its number in the episode; without it, one more than the last.
            ts_ns: Its time; without it, now.
            owned: Nobody will write into the arrays any more, so that they need not be copied.

        Returns:
            Its position.

        Raises:
            WrongShape, WrongType: An array differs from those before. Nothing is recorded.
        """
        with self._lock:
            if self._ended is not None or self.writer.error is not None:
                self._refuse_ended()
            if self._given:
                self._draw()
            row = self._record(arrays, reward, terminated, truncated, info, agent, step, ts_ns, owned)
            if row >= self._wake_at:
                self._hand_over(row, self._batch, self._few)
            return row

    def give(
        self, arrays: Mapping[str, Any], reward: float, terminated: bool, truncated: bool, info: bytes, ts_ns: int
    ) -> None:
        """Hand a step over that is sound, to be recorded with those that follow it.

        Between two steps, an environment drives all of this out of the processor's caches: what is done for several
        steps at once takes a third of the time. The arrays are as those before, and nobody will write into them.

        Args:
            arrays: What was seen and done, by name, in a dict made for this.
            reward: What came of it.
            terminated: The episode came to its end.
            truncated: The episode was cut off.
            info: JSON, or nothing.
            ts_ns: Its time; where the clock was set back, it gets a later one.
        """
        with self._lock:
            if self._ended is not None:
                self._refuse_ended()
            if not self._is_open:
                self.begin(ts_ns=self._later(ts_ns))
            if not self._together:
                self._record(arrays, reward, terminated, truncated, info, ts_ns=self._later(ts_ns), owned=True)
                return
            given = self._given
            number = given[-1][0] + 1 if given else self._written + len(self._steps)
            given.append((number, arrays, reward, terminated, truncated, info, ts_ns))
            if len(given) >= self._most_given or len(info) > self._info_bytes or self.writer.error is not None:
                self._draw()
                if number >= self._wake_at:
                    self._hand_over(number, self._large_batch, self._large_few)
                self.check()

    def take_numbers(self, name: str, colours: Colours) -> None:
        """Hear that rows of an array may come as numbers of colours, into the lists that `hand` gives.

        Args:
            name: The array, of pictures.
            colours: What they are numbers of; those of a row are known when it comes.
        """
        self._stages[name].colours = colours

    def hand(self, names: tuple[str, ...]) -> Hand | None:
        """Let the caller put down steps himself, each like those before: nothing is called for them.

        He may do so until `held` has the length that `room` says then, or the episode ends, or he calls anything else
        here; and nobody else records meanwhile. `Hand` says how.

        Args:
            names: The arrays of each.

        Returns:
            Where to; None where such steps were not recorded before, no episode is open, or the interpreter lets
            threads run at once, so that lists are no place to meet.
        """
        if not has_lock():
            return None
        with self._lock:
            self._refuse_ended()
            self._draw()
            if self._is_roll_due:
                self._roll()
            if self._row > self._wake_at:
                self._hand_over(self._row - 1, self._large_batch, self._large_few)
            self.check()
            row, together = self._row, self._together.get(names)
            if together is None or not self._is_open:
                return None
            self._hold(row, together, [])
            first, _, held = self._waiting[-1]
            ahead = min(first + self._large_batch, self._wake_at + 1) - row
            self.room = len(held) + max(1, ahead) * len(names)
            self._steps_of.setdefault(0, 0)
            return Hand(held, self._steps, self._steps_of, self._stamps, self._episode, together.has, self._info_bytes)

    def _draw(self) -> None:
        """Record what was given."""
        given = self._given
        while given:
            recorded = self._row - given[0][0]  # before an exception of a signal that came before the last line here
            if not recorded:
                recorded = self._record_alike(given)
            if not recorded:
                if self._tried[0] == self._row:  # it was tried, and a signal's exception came in between
                    _, self._steps_of[0], self._stamps.last = self._tried
                _, arrays, reward, terminated, truncated, info, ts_ns = given[0]
                try:
                    self._record(arrays, reward, terminated, truncated, info, ts_ns=self._later(ts_ns), owned=True)
                except (WrongShape, WrongType):  # it was not sound, and never will be
                    given[:] = [(number - 1, *rest) for number, *rest in given[1:]]
                    raise
                recorded = 1
            del given[:recorded]

    def _record_alike(self, given: list[tuple[Any, ...]]) -> int:
        """Record given steps together up to the first that is unlike the others; tell how many.

        What `_record` does for each, in one loop without calls. Where a signal's exception comes before they are added,
        it is as if nothing happened: they get the same numbers and times again.
        """
        names, row = tuple(given[0][1]), self._row
        together = self._together.get(names)
        if together is None or self._is_roll_due or not self._is_open:
            return 0
        if self._tried[0] != row:
            self._tried = row, self._steps_of.get(0, 0), self._stamps.last
        _, place, last = self._tried
        episode, has, stages = self._episode, together.has, together.stages
        entries: list[bytes] = []
        values: list[Any] = []
        for _, arrays, reward, terminated, truncated, info, ts_ns in given:
            if ts_ns <= last or len(info) > self._info_bytes or tuple(arrays) != names:
                break
            fits = [
                value.shape == stage.shape and value.dtype == stage.dtype
                if type(value) is np.ndarray
                else type(value) in _INTEGERS and stage.least <= value <= stage.most
                for stage, value in zip(stages, arrays.values(), strict=True)
            ]
            if False in fits:
                break
            values += arrays.values()
            flags = (rows.TERMINATED if terminated else 0) | (rows.TRUNCATED if truncated else 0)
            entries.append(_PACK(ts_ns, reward, place + len(entries), episode, 0, has, flags) + info)
            last = ts_ns
        if entries:
            self._hold(row, together, values)
            self._stamps.last, self._steps_of[0] = last, place + len(entries)
            with self._adding:
                self._steps.extend(entries)
        return len(entries)

    def _later(self, ts_ns: int) -> int | None:
        """Give a time, or None where the clock was set back since the last one."""
        return ts_ns if ts_ns > self._stamps.last else None

    def _round(self) -> None:
        if self._given and self._lock.acquire(blocking=False):  # else somebody is just recording
            try:
                self._draw()
            finally:
                self._lock.release()
        super()._round()

    def flush(self, *, sync: bool = False) -> None:
        """Wait until every step so far is in the kernel, or with `sync` on the medium."""
        self.refuse_in_child()
        with self._lock:
            self._draw()
        super().flush(sync=sync)

    def _record(
        self,
        arrays: Mapping[str, Any],
        reward: Any,
        terminated: bool,
        truncated: bool,
        info: bytes,
        agent: str | None = None,
        step: int | None = None,
        ts_ns: int | None = None,
        owned: bool = False,
    ) -> int:
        if self._is_roll_due:
            self._roll()
        if type(info) is not bytes:
            raise WrongType(f"an info is JSON as bytes, not {type(info).__name__}")
        if len(info) > self._info_bytes:
            self._info_bytes = len(info)
            self._pace()
        names = tuple(arrays)
        together = self._together.get(names) or self._take_up(names, arrays)
        values, row = [], self._written + len(self._steps)
        for stage, given in zip(together.stages, arrays.values(), strict=True):
            value = given
            if type(given) is np.ndarray and given.shape == stage.shape and given.dtype == stage.dtype:
                if not owned:
                    value = stage.copied(row, given)
            elif type(given) not in _INTEGERS or not stage.least <= given <= stage.most:
                value = fitted(given, stage.kind).copy()
            values.append(value)
        reward = float(reward)
        number = 0 if agent is None else self._agent(agent)
        if step is not None:
            self._check_step(step, number)
        if not self._is_open:
            self.begin(ts_ns=ts_ns)
        if ts_ns is None:
            stamp = self._stamps.next()
        elif type(ts_ns) is int and self._stamps.last < ts_ns <= MOST:
            stamp = self._stamps.last = ts_ns
        else:
            stamp = self._stamp(ts_ns)
        place = self._steps_of.get(number, 0) if step is None else step
        flags = (rows.TERMINATED if terminated else 0) | (rows.TRUNCATED if truncated else 0)
        self._steps_of[number] = place + 1
        entry = _PACK(stamp, reward, place, self._episode, number, together.has, flags) + info
        self._hold(row, together, values)
        with self._adding:
            self._steps.append(entry)
        return row

    def _hold(self, row: int, together: Together, values: list[Any]) -> None:
        """Keep the values of steps until they are in chunks."""
        first, like, held = self._waiting[-1]
        if like is not together or row - first >= self._large_batch:
            first, held = row, []
            self._waiting.append(Stretch(first, together, held))
        held[(row - first) * len(together.stages) :] = values

    def end(
        self,
        how: str,
        finals: Mapping[str, Any] | None = None,
        facts: Mapping[str, Any] | None = None,
        *,
        ts_ns: int | None = None,
    ) -> None:
        """End the open episode; without one, nothing happens.

        Args:
            how: `terminated`, `truncated`, `reset`, `error` or `closed`.
            finals: What was seen after its last step, by name.
            facts: What is known at its end, as JSON.
            ts_ns: When it ends, at the last step at the earliest; without it, now, or where the caller gives the times
                of steps, with the last one.
        """
        with self._lock:
            if not self._is_open:
                return
            self.refuse_in_child()
            self._draw()
            if ts_ns is not None:
                self._stamps.last = max(self._stamps.last, ts_ns)
            stamp = self._stamps.last if self._is_timed else self._stamps.next()
            note: dict[str, Any] = {"end": self._episode, "row": self._row, "how": how, "ns": stamp}
            if facts:
                note["facts"] = as_json(facts)
            note |= self._put_rare(FINALS, finals or {})
            self._note(note)
            self._is_open = False
            self._episode += 1

    def keyframe(self, values: Mapping[str, NDArray[Any]], facts: Mapping[str, Any] | None = None) -> None:
        """Record the state that a simulator is in before the next step of the open episode.

        Args:
            values: Its arrays, by name; they are copied.
            facts: What else is known of it, as JSON.

        Raises:
            WrongShape, WrongType: An array differs from those before. Nothing is recorded.
            OutOfOrder: No episode is open.
        """
        with self._lock:
            self._refuse_ended()
            self._draw()
            if not self._is_open:
                raise OutOfOrder("a keyframe lies in an episode, and none is open: call begin first")
            note: dict[str, Any] = {"keyframe": self._episode, "row": self._row}
            if facts:
                note["facts"] = as_json(facts)
            self._note(note | self._put_rare(KEYFRAMES, values))

    def _put_rare(self, axis: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Record what not every step has; give what its note says of it."""
        if not values:
            return {}
        kinds = {name: self._kind_of(name, axis, value) for name, value in values.items()}
        fitting = [(name, fitted(value, kinds[name])) for name, value in values.items()]
        row = self._rare[axis]
        for name, value in fitting:
            stage = self._rare_stages.get((axis, name)) or self._new_stage(kinds[name])
            self._rare_waiting.append((stage, row, value.copy()))
        self._rare[axis] = row + 1
        return {axis: row, "arrays": list(values)}

    def _refuse_ended(self) -> None:
        if self._ended is not None:
            raise self._ended.with_traceback(None)
        self.check()

    def _stamp(self, ts_ns: int | None) -> int:
        self._is_timed = ts_ns is not None
        if ts_ns is None:
            return self._stamps.next()
        return self._stamps.at(check_stamp(ts_ns, self._stamps.last))

    def _check_step(self, step: Any, agent: int) -> None:
        if not isinstance(step, int) or isinstance(step, bool) or not 0 <= step < 1 << 63:
            raise WrongType(f"the number of a step is a whole number from 0, not {step!r}")
        if self._is_open and step < self._steps_of.get(agent, 0):
            raise OutOfOrder(f"step {step} comes behind step {self._steps_of[agent] - 1} of this episode")

    # -- the end ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Write everything down and give the journal back; an open episode ends. Closing twice is fine."""
        with self._lock:
            if self._ended is None:
                self.refuse_in_child()
                self._draw()
                self.end("closed")
                self._ended, self.room = Closed("the recording has ended and takes no more steps"), 0
        super().close()

    def abandon(self) -> None:
        """Give the journal back as it is."""
        self._on_end = None
        self._ended, self.room = Closed("the recording was abandoned and takes no more steps"), 0
        super().abandon()

    def disown(self) -> None:
        """Let go in a forked child, where another thread of the parent may have held the lock."""
        self._lock, self._adding = threading.RLock(), threading.RLock()
        super().disown()
