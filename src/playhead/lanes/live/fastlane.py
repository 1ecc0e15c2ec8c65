"""The calls that users of the MOSAIC program know, over our rings."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from playhead.errors import Closed, Exists, Forked, NotFound, WrongShape, WrongType
from playhead.lanes.live import segments
from playhead.lanes.live.form import Form
from playhead.lanes.live.metadata import Head
from playhead.lanes.live.published import Published
from playhead.lanes.live.reader import ENDED, LiveReader
from playhead.lanes.live.ring import RingWriter, check_machine
from playhead.lanes.live.running import remove_stale
from playhead.process import Process

_CHANNELS = (1, 3, 4)


class _NoRing(NotFound, FileNotFoundError):
    """Nobody publishes this run, as those who know the program's call catch it."""


class _RingExists(Exists, FileExistsError):
    """Somebody publishes this run, as those who know the program's call catch it."""


@dataclass(frozen=True, slots=True)
class FastLaneConfig:
    """The sizes of a ring.

    Attributes:
        width: Of a frame, in pixels.
        height: Of a frame, in pixels.
        channels: Bytes of a pixel: 1, 3 or 4.
        pixel_format: Its name, such as `RGB`.
        capacity: How many frames lie in the ring; `LiveWriter` needs four.
        metadata_size: Bytes for metadata behind each frame; what is longer is cut.
    """

    width: int
    height: int
    channels: int = 3
    pixel_format: str = "RGB"
    capacity: int = 128
    metadata_size: int = 0


@dataclass(frozen=True, slots=True)
class FastLaneMetrics:
    """The numbers beside a frame."""

    last_reward: float = 0.0
    rolling_return: float = 0.0
    step_rate_hz: float = 0.0


@dataclass(frozen=True, slots=True)
class FastLaneFrame:
    """A frame as its writer gave it.

    Attributes:
        data: Its bytes.
        width: In pixels.
        height: In pixels.
        channels: Bytes of a pixel.
        metrics: The numbers beside it.
        metadata: What was given with it; None where nothing was.
    """

    data: bytes
    width: int
    height: int
    channels: int
    metrics: FastLaneMetrics
    metadata: bytes | None = None


class FastLaneWriter:
    """Publishes frames of one size, each as it is given; `create` makes one.

    It counts nothing and holds nothing back, as `LiveWriter` does.

    Args:
        run_id: As `create` has it.
        config: As `create` has it.
    """

    def __init__(self, run_id: str, config: FastLaneConfig) -> None:
        check_machine()
        if config.channels not in _CHANNELS or min(config.width, config.height, config.capacity) < 1:
            raise WrongShape(f"a ring has one frame or more, of 1 × 1 × 1, 3 or 4 or more, not {config}")
        if config.metadata_size < 0:
            raise WrongType(f"metadata_size is a number of bytes, not {config.metadata_size}")
        self.run_id = run_id
        self._config = config
        shape = config.height, config.width, config.channels
        self._form = Form.fitting(shape, config.capacity, config.metadata_size)
        self._figures = 0.0, 0.0, 0.0
        self._published = Published(segments.path_of(run_id))
        trailer = Head(Process.current(), run_id, {}).lead + b"}"  # frames have the metadata that they are given
        remove_stale()
        try:
            self._published.renew(self._form, _leave_empty, kind=config.pixel_format, trailer=trailer)
        except Exists as error:
            raise _RingExists(str(error)) from error
        weakref.finalize(self, self._published.end)

    @classmethod
    def create(cls, run_id: str, config: FastLaneConfig, *, capacity: int | None = None) -> Self:
        """Make a ring, which is empty.

        Args:
            run_id: The run; a slash in it becomes `_` in the name of the shared memory.
            config: Its sizes.
            capacity: How many frames lie in it, where not as many as `config` says.

        Raises:
            FileExistsError: Somebody publishes this run.
            WrongShape: Sizes that cannot be.
            OSError: There is no room in the shared memory.
        """
        if capacity is None:
            return cls(run_id, config)
        sizes = config.width, config.height, config.channels, config.pixel_format
        return cls(run_id, FastLaneConfig(*sizes, capacity, config.metadata_size))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def capacity(self) -> int:
        """How many frames lie in the ring."""
        return self._form.capacity

    @property
    def head(self) -> int:
        """The number of the newest frame; 0 where there is none yet."""
        return self._ring.head

    @property
    def _ring(self) -> RingWriter:
        if not self._published.is_of_this_process:
            raise Forked(f"the frames of {self.run_id} are published by the parent of this process")
        if self._published.ring is None:
            raise Closed(f"the writer of {self.run_id} was closed; make another")
        return self._published.ring

    def publish(
        self, frame: Any, *, metrics: FastLaneMetrics | None = None, metadata: bytes | str | None = None
    ) -> int:
        """Publish a frame; give its number, from 1.

        Args:
            frame: Bytes, or an array whose bytes are the frame; at most as many as a frame has.
            metrics: The numbers beside it; None leaves those that were there.
            metadata: About it, JSON as a rule; cut to `metadata_size`.

        Raises:
            WrongShape: There are more bytes than a frame has.
            WrongType: It has no bytes.
            Closed: The writer was closed; `Forked` in a child of its process.
        """
        ring, data = self._ring, _bytes_of(frame)
        if data.nbytes > self._form.frame:
            raise WrongShape(f"a frame of {self.run_id} has at most {self._form.frame} bytes, not {data.nbytes}")
        about = metadata.encode() if isinstance(metadata, str) else bytes(metadata or b"")
        if metrics is not None:
            self._figures = metrics.last_reward, metrics.rolling_return, metrics.step_rate_hz
        ring.begin().reshape(-1).data[: data.nbytes] = data
        ring.commit(about[: self._config.metadata_size], self._figures, data.nbytes)
        return ring.head

    def invalidate(self) -> None:
        """Tell readers that this ring is over."""
        self._ring.invalidate()

    def close(self) -> None:
        """End it: readers see that it is over, and the name is free. Closing twice is fine."""
        self._published.end()

    unlink = close  # in the other program, it is this that removes the name


class FastLaneReader:
    """Reads the newest frame of a run, whoever publishes it; `attach` finds one.

    Args:
        run_id: The run.
    """

    def __init__(self, run_id: str) -> None:
        try:
            self._reader = LiveReader(run_id)
        except NotFound as error:
            raise _NoRing(str(error)) from error

    @classmethod
    def attach(cls, run_id: str) -> Self:
        """Find the ring of a run.

        Raises:
            FileNotFoundError: Nobody publishes it; the message lists who does.
            Damaged: What has its name is not a ring.
        """
        return cls(run_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def width(self) -> int:
        """Of a frame, in pixels."""
        return self._reader.shape[1]

    @property
    def height(self) -> int:
        """Of a frame, in pixels."""
        return self._reader.shape[0]

    @property
    def channels(self) -> int:
        """Bytes of a pixel."""
        return self._reader.shape[2]

    @property
    def capacity(self) -> int:
        """How many frames lie in the ring."""
        return self._reader.capacity

    @property
    def is_invalidated(self) -> bool:
        """Whether it is over: its writer says so, is gone, or has removed it."""
        return self._reader.state == ENDED

    def latest_frame(self) -> FastLaneFrame | None:
        """Give the newest frame, whole; None where there is none yet."""
        found = self._reader.read()
        if found is None:
            return None
        height, width, channels = found.picture.shape
        data = found.picture.tobytes()[: found.length]
        return FastLaneFrame(data, width, height, channels, FastLaneMetrics(*found.figures), found.metadata or None)

    def metrics(self) -> FastLaneMetrics:
        """Give the numbers beside the newest frame."""
        return FastLaneMetrics(*self._reader.figures)

    def close(self) -> None:
        """Let go of the ring. Closing twice is fine."""
        self._reader.close()


def _leave_empty(_ring: RingWriter) -> None:
    """Let readers find a ring without a frame."""


def _bytes_of(frame: Any) -> memoryview:
    try:
        seen = memoryview(frame)
    except (TypeError, ValueError) as error:
        raise WrongType(f"a frame is bytes or an array of numbers, not {type(frame).__name__}") from error
    is_plain = seen.c_contiguous and seen.nbytes > 0
    return (seen if is_plain else memoryview(seen.tobytes())).cast("B")
