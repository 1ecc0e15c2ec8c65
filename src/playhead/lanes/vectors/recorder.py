"""Samples of one signal on their way to the tape, and back from it.

A payload is the number of samples (u32), their stamps (i64), and their values: the bytes of the numbers, or for texts
the length of each (u32) and the UTF-8 of all. Everything is little-endian.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playhead.errors import WrongType
from playhead.journal.segment import Buffer
from playhead.lanes.vectors.kind import TEXT, Kind, as_array, kind_of, mismatch
from playhead.signal.contract import check_stamp
from playhead.tape import Declaration, Recorder, Tape

LANE = "vectors"

_COUNT = struct.Struct("<I")
_BEFORE_ALL = -(1 << 63) - 1
_BEHIND_ALL = 1 << 63
_MOST_BYTES = 8 << 20  # of values in one payload
_CROWDED = 1 << 20  # samples in memory, at which the caller waits for the tape


class VectorRecorder(Recorder):
    """Checks samples and keeps them in memory until the tape fetches them.

    Args:
        tape: Where they go.
        name: The signal.
    """

    def __init__(self, tape: Tape, name: str) -> None:
        self._tape = tape
        self._background = tape.writer
        self._name = name
        self._pending: list[tuple[int, Any]] = []
        self._last = _BEFORE_ALL
        self._turn = threading.RLock()  # else a thread could come between the check of a time and its sample
        self._type: type | None = None  # of values that need no other check
        self._dtype: np.dtype[Any] | None = None  # of arrays
        self._shape: tuple[int, ...] | None = None
        self.kind: Kind | None = None

    def append(self, data: Any, ts_ns: int) -> None:
        """Take a sample; see `SignalWriter.append`. Threads may share a signal."""
        if self._background.error is not None:
            self._tape.check()  # before the lock, which in a forked child may be held for ever
        with self._turn:
            self._append(data, ts_ns)

    def _append(self, data: Any, ts_ns: int) -> None:
        if type(ts_ns) is int and self._last < ts_ns < _BEHIND_ALL and self._background.error is None:
            if type(data) is self._type and (type(data) is not int or -_BEHIND_ALL <= data < _BEHIND_ALL):
                self._pending.append((ts_ns, data))
                self._last = ts_ns
                return
            if type(data) is np.ndarray and data.dtype == self._dtype and data.shape == self._shape:
                self._pending.append((ts_ns, data.tobytes()))
                self._last = ts_ns
                return
        self._append_checked(data, ts_ns)

    def _append_checked(self, data: Any, ts_ns: Any) -> None:
        self._tape.check()
        stamp = check_stamp(ts_ns, None if self._last == _BEFORE_ALL else self._last)
        kind = kind_of(data)
        if self.kind is not None and kind != self.kind:
            raise mismatch(kind, self.kind)
        value = _packed(data, kind)
        if self.kind is None:
            self._begin(kind)
        self._pending.append((stamp, value))
        self._last = stamp
        if len(self._pending) >= _CROWDED:
            self._tape.flush()

    def _begin(self, kind: Kind) -> None:
        self._tape.add(Declaration(LANE, self._name, kind.to_json()), self)
        self.kind = kind
        if kind.shape is not None:
            self._dtype, self._shape = np.dtype(kind.dtype), kind.shape
        else:
            self._type = {"<f8": float, "|b1": bool, "<i8": int}.get(kind.dtype)

    def collected(self) -> tuple[int, Sequence[Buffer]] | None:
        """Give the oldest samples as one payload."""
        count = len(self._pending)
        if not count or self.kind is None:
            return None
        count = min(count, max(1, _MOST_BYTES // (8 * max(1, self.kind.items))))
        stamps, values = zip(*self._pending[:count], strict=True)
        head = (_COUNT.pack(count), np.array(stamps, "<i8").tobytes())
        if self.kind.dtype == TEXT:
            lengths = np.fromiter(map(len, values), "<u4", count).tobytes()
            return count, (*head, lengths, b"".join(values))
        if self.kind.shape is None:
            return count, (*head, np.array(values, self.kind.dtype).tobytes())
        return count, (*head, b"".join(values))

    def written(self, count: int) -> None:
        """Forget the oldest samples."""
        del self._pending[:count]


def _packed(data: Any, kind: Kind) -> Any:
    """Give a value in the form in which it waits, and which no caller can change any more: a plain scalar, or bytes."""
    if kind.dtype == TEXT:
        try:
            encoded: bytes = data.encode()
        except UnicodeEncodeError as error:
            raise WrongType(f"a text that is not valid Unicode cannot be recorded: {error}") from error
        return encoded
    if type(data) is int and not -_BEHIND_ALL <= data < _BEHIND_ALL:
        raise WrongType(f"{data} does not fit into 64 bits: record it as a float or a text")
    if type(data) in (float, bool, int):
        return data
    array = as_array(data).astype(kind.dtype, copy=False)
    return array.item() if kind.shape is None else array.tobytes()


class Samples(NamedTuple):
    """Samples as a payload holds them; texts as their lengths and their joined UTF-8."""

    stamps: NDArray[np.int64]
    values: NDArray[Any]
    text: bytes


def unpack(payload: memoryview, kind: Kind) -> Samples:
    """Read a payload back."""
    (count,) = _COUNT.unpack_from(payload)
    at = _COUNT.size
    stamps = np.frombuffer(payload, "<i8", count, at)
    at += stamps.nbytes
    if kind.dtype == TEXT:
        lengths = np.frombuffer(payload, "<u4", count, at)
        return Samples(stamps, lengths, bytes(payload[at + lengths.nbytes :]))
    values = np.frombuffer(payload, kind.dtype, count * kind.items, at)
    return Samples(stamps, values.reshape(count, *(kind.shape or ())), b"")
