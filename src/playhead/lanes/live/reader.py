"""LiveReader: the newest frame of a run, whoever publishes it."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from playhead import clock
from playhead.errors import Closed, NotFound
from playhead.lanes.live import segments
from playhead.lanes.live.form import Figures
from playhead.lanes.live.metadata import Metadata, unpack
from playhead.lanes.live.ring import Picture, Read, RingReader

LIVE, QUIET, ENDED = "live", "quiet", "ended"

_LOOK_NS = clock.SECOND // 10  # between two looks whether a ring was replaced
_QUIET_NS = clock.SECOND


@dataclass(frozen=True, slots=True)
class LiveFrame:
    """A frame as it was published.

    Attributes:
        number: Grows with each frame, also where the ring is replaced meanwhile; frames in between were missed.
        picture: Height × width × channels of uint8.
        figures: Reward, rolling return (the mean of the last hundred episodes) and steps a second.
        metadata: Step, episode and more, where its writer says so.
    """

    number: int
    picture: Picture
    figures: Figures
    metadata: Metadata


class LiveReader:
    """Reads the newest frame of a run; follows its writer to other rings.

    Args:
        run_id: The run, as `runs()` names it.

    Attributes:
        metadata: What was said beside the frame that was read last.
        identity: Which file it reads.

    Raises:
        NotFound: Nobody publishes it; the message lists who does.
        Damaged: What has its name is not a ring.
    """

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self._path = segments.path_of(run_id)
        self._fd = -1
        self._before = self._newest = 0
        self.metadata = Metadata()
        self._looked_ns = self._moved_ns = 0
        self._is_gone = False
        if not self._attach():
            raise NotFound.among("live run", run_id, segments.paths(), hint="live=True at the recorder publishes it")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # An error may have come before there was a descriptor.
        with contextlib.suppress(AttributeError):
            self.close()

    def latest(self) -> LiveFrame | None:
        """Give the newest frame, also of a writer that has ended; None where there is none yet.

        Raises:
            Damaged: The shared memory does not hold what it must.
            Closed: The reader was closed.
        """
        found = self.read()
        if found is None:
            return None
        self.metadata = self._understood(found.metadata)
        return LiveFrame(self._before + found.number, found.picture, found.figures, self.metadata)

    def read(self) -> Read | None:
        """Give the newest frame as it lies in the ring that is there now, its metadata as bytes; else as `latest`."""
        self._follow()
        found = self._ring.newest()
        if found is not None:
            self._moved(found.number)
        return found

    @property
    def figures(self) -> Figures:
        """Reward, rolling return and step rate, without a frame."""
        self._follow()
        return self._ring.figures

    @property
    def state(self) -> str:
        """`live`, `ended`, or `quiet`: another program's writer, which has published nothing for a second."""
        self._follow(at_once=True)
        if self._is_gone or self._ring.is_invalidated:
            return ENDED
        writer = self.metadata.writer
        if writer is not None and writer.is_here():
            return LIVE if writer.is_alive() else ENDED
        self._moved(self._ring.head)
        return LIVE if self._moved_ns and clock.elapsed_ns() - self._moved_ns < _QUIET_NS else QUIET

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of its frames now."""
        return self._ring.form.shape

    @property
    def capacity(self) -> int:
        """How many frames lie in the ring."""
        return self._ring.form.capacity

    def close(self) -> None:
        """Let go of the shared memory. Closing twice is fine."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _follow(self, *, at_once: bool = False) -> None:
        """See whether another ring has the name."""
        if self._fd < 0:
            raise Closed(f"the live reader of {self.run_id} was closed")
        now = clock.elapsed_ns()
        if at_once or now - self._looked_ns > _LOOK_NS or self._ring.is_invalidated:
            self._looked_ns = now
            found = segments.identity_of(self._path)
            self._is_gone = found is None or (found != self.identity and not self._attach())

    def _attach(self) -> bool:
        try:
            fd = segments.open_to_read(self._path)
        except FileNotFoundError:
            return False
        try:
            ring = RingReader(fd, str(self._path))
            found = os.fstat(fd)
            number, metadata = ring.about() or (0, b"")
        except BaseException:
            os.close(fd)
            raise
        self.close()
        self._before += self._newest
        self._newest = number
        self._fd, self._ring, self.identity = fd, ring, (found.st_dev, found.st_ino)
        self._writer = unpack(ring.trailer).writer
        self.metadata = self._understood(metadata)
        return True

    def _understood(self, metadata: bytes) -> Metadata:
        """Read what was said beside a frame; who writes it may also be said behind the last slot."""
        found = unpack(metadata)
        return found if found.writer is not None else replace(found, writer=self._writer)

    def _moved(self, number: int) -> None:
        if number != self._newest:
            self._newest, self._moved_ns = number, clock.elapsed_ns()
