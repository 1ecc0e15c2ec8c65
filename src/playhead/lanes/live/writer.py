"""LiveWriter: publishes frames, at most so many a second."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np

from playhead import clock
from playhead.errors import Closed, Forked, PlayheadError, WrongShape, WrongType
from playhead.lanes.live import segments, tiling
from playhead.lanes.live.form import Form
from playhead.lanes.live.metadata import ROOM, Head, rest
from playhead.lanes.live.meter import Meter
from playhead.lanes.live.published import Published
from playhead.lanes.live.ring import Picture, RingWriter, check_machine
from playhead.lanes.live.running import remove_stale
from playhead.process import Process

RATE = 60.0  # frames a second, at most
SLOTS = 4

_LOOK_NS = clock.SECOND  # between two looks whether the ring still has its name
_BYTE = np.dtype(np.uint8)

Pictures = Picture | Sequence[Picture]

_writers: weakref.WeakSet[LiveWriter] = weakref.WeakSet()


class LiveWriter:
    """Publishes the frames of a run. One process writes a run; any number read it.

    Args:
        run_id: The run; a slash in it becomes `_` in the name of the shared memory.
        rate: How many frames a second are published at most; None for all.
        slots: How many frames lie in the ring, from 2: more of them only make a slow reader's work easier.
        facts: What to say of the run, such as `{"env_id": "ALE/Pong-v5"}`; left out where it takes more than 300 bytes.

    Raises:
        BadName: No shared memory can be named so.
        PlayheadError: This is not x86-64.
    """

    def __init__(
        self,
        run_id: str,
        *,
        rate: float | None = RATE,
        slots: int = SLOTS,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        check_machine()
        if rate is not None and not rate > 0:
            raise WrongType(f"rate is a number of frames a second above 0, or None, not {rate!r}")
        if not isinstance(slots, int) or slots < 2:
            raise WrongType(f"slots is a whole number from 2, not {slots!r}: one alone is written all the time")
        self.run_id = run_id
        self._published = Published(segments.path_of(run_id))
        self._slots = slots
        self._head = Head(Process.current(), run_id, facts or {})
        self._meter = Meter()
        self._pending = self._meter.pending
        self._every_ns = 0 if rate is None else round(clock.SECOND / rate)
        self._due_ns = self._looked_ns = 0
        self._is_lost = False  # another program has removed the name of the ring
        self._shape: tuple[int, ...] = ()  # of pictures that fill a frame as they are
        self._ended: PlayheadError | None = None
        remove_stale()
        weakref.finalize(self, self._published.end)
        _writers.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def is_due(self) -> bool:
        """Whether a frame would be published now."""
        return clock.elapsed_ns() >= self._due_ns

    def note(self, reward: float, ended: bool = False, lane: int = 0) -> bool:
        """Count a step that may not be shown; tell whether a frame would be published now.

        Args:
            reward: What came of it.
            ended: Its episode is over.
            lane: Of several environments that are shown as one, which one.
        """
        if lane:
            self._meter.note(reward, ended, lane)
        else:
            self._pending.append(float(reward))
            if ended:
                self._meter.end()
        return clock.elapsed_ns() >= self._due_ns

    def step(self, picture: Pictures | Callable[[], Pictures], reward: float = 0.0, ended: bool = False) -> bool:
        """Count a step, and publish it if it is time for a frame.

        Args:
            picture: What is seen, as `publish` takes it, or what gives it: called only where it is published.
            reward: What came of the step.
            ended: Its episode is over.

        Returns:
            Whether it was published.
        """
        self._pending.append(float(reward))
        if ended:
            self._meter.end()
        now = clock.elapsed_ns()
        if now < self._due_ns:
            return False
        self._publish(picture() if callable(picture) else picture, now)
        return True

    def publish(self, picture: Pictures) -> None:
        """Publish a frame now.

        Args:
            picture: Height × width (× 1, 3 or 4) of uint8; or several alike, which are shown in a grid. Another size
                than before replaces the ring, which readers notice.

        Raises:
            WrongType, WrongShape: It is something else.
            OSError: There is no room in the shared memory.
            Exists: Another process publishes this run.
            Closed: The writer has ended; `Forked` in a child of its process.
        """
        self._publish(picture, clock.elapsed_ns())

    def _publish(self, picture: Pictures, now: int) -> None:
        if self._ended is not None:
            raise self._ended
        if now - self._looked_ns > _LOOK_NS:
            self._looked_ns = now
            self._is_lost = self._published.is_lost
        meter = self._meter
        figures = meter.figures(now)
        about = rest(meter.steps, meter.episodes, meter.episode_return, clock.now_ns())
        ring = None if self._is_lost else self._published.ring
        if ring is not None and type(picture) is np.ndarray and picture.dtype is _BYTE and picture.shape == self._shape:
            ring.begin()[...] = picture  # the quick way, taken by nearly all
            ring.commit(about, figures)
        else:
            self._publish_in_grid(picture if isinstance(picture, (list, tuple)) else (picture,), about, figures)
        self._due_ns = now + self._every_ns

    def _publish_in_grid(self, pictures: Sequence[Picture], about: bytes, figures: tuple[float, float, float]) -> None:
        shapes = [tiling.check(one).shape for one in pictures]
        if not shapes or shapes.count(shapes[0]) != len(shapes):
            raise WrongShape(f"pictures of one grid have one shape, not {sorted(set(shapes))}")
        ring, grid = self._published.ring, tiling.Grid.of(len(shapes), shapes[0])

        def put(ring: RingWriter) -> None:
            grid.fill(ring.begin(), pictures)
            ring.commit(about, figures)

        if ring is None or ring.form.shape != grid.shape or self._is_lost:
            self._published.renew(Form.fitting(grid.shape, self._slots, ROOM), put, lead=self._head.lead)
            self._is_lost = False
        else:
            put(ring)
        self._shape = shapes[0] if shapes[0] == grid.shape else ()

    def close(self) -> None:
        """End it: readers see that it is over. Closing twice is fine."""
        if self._ended is None:
            self._end_with(Closed(f"the live writer of {self.run_id} was closed; make another"))
            self._published.end()

    def _end_with(self, error: PlayheadError) -> None:
        self._ended, self._due_ns = error, 0  # so that the next step says so


def _disown_in_child() -> None:
    for writer in _writers:
        writer._end_with(Forked(f"the frames of {writer.run_id} are published by the parent of this process"))


os.register_at_fork(after_in_child=_disown_in_child)
