"""Frames on their way to the tape: copied by the caller, encoded by a thread of their own."""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import clock
from playhead.errors import Forked
from playhead.journal.segment import Buffer
from playhead.lanes.video import payload
from playhead.lanes.video.encoder import Encoder
from playhead.lanes.video.encoding import Encoding
from playhead.lanes.video.payload import Sample
from playhead.lanes.video.pictures import Shape, check_frame
from playhead.signal.contract import check_stamp
from playhead.tape import Recorder

_QUEUE_BYTES = 64 << 20  # of frames that wait for the encoder
_MOST_WAITING, _LEAST_WAITING = 32, 2
_BACKLOG_BYTES = 64 << 20  # of packets that wait for the tape
_PAYLOAD_BYTES, _PAYLOAD_SAMPLES = 4 << 20, 4096
_BEHIND_NS = clock.SECOND // 2  # that the encoder may be behind: what waits for it is lost in a crash
_PATIENCE = 0.2  # seconds between two looks at what may have gone wrong while waiting

_lines: weakref.WeakSet[_Line] = weakref.WeakSet()
_left_behind: list[object] = []


class _Line:
    """The frames that wait, the thread that encodes them, and the packets that came out."""

    def __init__(self, encoding: Encoding, shape: Shape, dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self._dtype = dtype
        self._encoder = Encoder(encoding, shape)
        frame_bytes = int(np.prod(shape)) * dtype.itemsize
        self._left_to_make = max(_LEAST_WAITING, min(_MOST_WAITING, _QUEUE_BYTES // frame_bytes))
        self._free: list[NDArray[Any]] = []
        self._waiting: deque[tuple[NDArray[Any], int]] = deque()
        self._encoding_ns = 0  # that a frame takes, smoothed
        self._is_encoding = False
        self._is_stopping = False
        self._is_told = False
        self._changed = threading.Condition()
        self.encoded: deque[Sample] = deque()
        self.backlog = 0
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="playhead-video", daemon=True)
        _lines.add(self)
        self._thread.start()

    def buffer(self, check: Callable[[], None]) -> NDArray[Any]:
        """Wait for memory that a frame can be copied to."""
        while True:
            with self._changed:
                if self.error is not None:
                    raise self.error
                if self._has_room():
                    if self._free:
                        return self._free.pop()
                    if self._left_to_make:
                        self._left_to_make -= 1
                        return np.empty(self.shape, self._dtype)
                self._changed.wait(_PATIENCE)
            check()

    def _has_room(self) -> bool:
        waiting = len(self._waiting)
        is_behind = waiting >= _LEAST_WAITING and waiting * self._encoding_ns > _BEHIND_NS
        return self.backlog < _BACKLOG_BYTES and not is_behind

    def release(self, frame: NDArray[Any]) -> None:
        with self._changed:
            self._free.append(frame)

    def put(self, frame: NDArray[Any], ts_ns: int) -> None:
        with self._changed:
            self._waiting.append((frame, ts_ns))
            self._changed.notify_all()

    def settle(self) -> None:
        with self._changed:
            while (self._waiting or self._is_encoding) and self.error is None and self._thread.is_alive():
                self._changed.wait(_PATIENCE)
            if self.error is not None and not self._is_told:
                self._is_told = True  # once: when closing is tried again, what was encoded before is kept
                raise self.error

    def forget(self, count: int) -> None:
        with self._changed:
            for _ in range(count):
                self.backlog -= len(self.encoded.popleft().packet.data)
            self._changed.notify_all()

    def abandon(self) -> None:
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()

    def stop(self) -> None:
        self.abandon()
        self._thread.join()

    def _work(self) -> None:
        try:
            while (following := self._next()) is not None:
                frame, ts_ns = following
                started = clock.elapsed_ns()
                packet = self._encoder.encode(frame)
                taken = clock.elapsed_ns() - started
                with self._changed:
                    self.encoded.append(Sample(ts_ns, packet))
                    self.backlog += len(packet.data)
                    self._free.append(frame)
                    self._encoding_ns = (self._encoding_ns * 7 + taken) // 8 if self._encoding_ns else taken
                    self._is_encoding = False
                    self._changed.notify_all()
        except BaseException as error:  # noqa: BLE001  raised in the caller's thread at the next call
            with self._changed:
                self.error = error
                self._changed.notify_all()

    def _next(self) -> tuple[NDArray[Any], int] | None:
        with self._changed:
            while not self._waiting and not self._is_stopping:
                self._changed.wait()
            if self._is_stopping:
                return None
            self._is_encoding = True
            return self._waiting.popleft()


class VideoRecorder(Recorder):
    """Takes frames and hands encoded ones to a tape. Threads may share it.

    The caller of `append` pays for one copy of the frame. Where the encoder falls behind, `append` waits: no frame is
    ever dropped. The encoder is made and its thread starts with the first frame.

    Args:
        encoding: How frames are encoded.
        check: Called while `append` waits; raises what keeps the tape from taking more.
    """

    def __init__(self, encoding: Encoding | None = None, check: Callable[[], None] = lambda: None) -> None:
        self.encoding = encoding or Encoding()
        self._check = check
        self._line: _Line | None = None
        self._last: int | None = None
        self._turn = threading.RLock()  # else a thread could come between the check of a time and its frame
        self._pid = os.getpid()

    def append(self, frame: NDArray[Any], ts_ns: int) -> None:
        """Take a frame; see `SignalWriter.append`.

        Raises:
            OutOfOrder: The time does not increase.
            WrongShape, WrongType: The frame is not like those before, or cannot be recorded.
        """
        self._refuse_in_child()
        with self._turn:
            self._append(frame, ts_ns)

    def _append(self, frame: NDArray[Any], ts_ns: int) -> None:
        line, pixel_format = self._line, str(self.encoding.pixel_format)
        array = check_frame(frame, pixel_format, None if line is None else line.shape)
        stamp = check_stamp(ts_ns, self._last)
        if line is None:
            line = self._line = _Line(self.encoding, array.shape, array.dtype)
        buffer = line.buffer(self._check)
        try:
            np.copyto(buffer, array)
            self._last = stamp
        except BaseException:  # a signal's exception must not cost a buffer
            line.release(buffer)
            raise
        line.put(buffer, stamp)

    def collected(self) -> tuple[int, Sequence[Buffer]] | None:
        """Give the packets that are not on the tape yet, or as many as make a good record."""
        if self._line is None or not self._line.encoded:
            return None
        samples: list[Sample] = []
        size = 0
        for sample in list(self._line.encoded):
            size += len(sample.packet.data)
            if samples and (size > _PAYLOAD_BYTES or len(samples) == _PAYLOAD_SAMPLES):
                break
            samples.append(sample)
        return len(samples), payload.pack(self._line.shape, samples)

    def written(self, count: int) -> None:
        """Forget the oldest packets."""
        if self._line is not None:
            self._line.forget(count)

    def settle(self) -> None:
        """Wait until every frame is encoded.

        Raises:
            Forked: The encoder is in the parent of this process.
        """
        self._refuse_in_child()
        if self._line is not None:
            self._line.settle()

    def stop(self) -> None:
        """End the thread. Frames that wait for it are lost; `settle` comes before."""
        if self._line is not None and self._pid == os.getpid():
            self._line.stop()

    def _refuse_in_child(self) -> None:
        # The thread is not in the child, and the locks may be held for ever.
        if self._pid != os.getpid():
            raise Forked("this video is recorded by the parent of this process; record into one of your own")

    def __del__(self) -> None:
        if self._line is not None and self._pid == os.getpid():
            self._line.abandon()


def _keep_in_child() -> None:
    # Freeing an encoder waits for threads of its own, which a fork does not copy.
    _left_behind.extend(_lines)


os.register_at_fork(after_in_child=_keep_in_child)
