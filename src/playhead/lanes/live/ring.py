"""A ring of frames: its bytes, and how they are written and read while both go on.

A slot begins with a sequence number, which is 2n+1 while frame n is written and 2n+2 when it is complete. Readers look
at it before and after they copy, so that a frame is whole or not taken. That is right only where stores become visible
in their order and loads are done in theirs, as on x86-64; elsewhere rings are refused.
"""

from __future__ import annotations

import mmap
import os
import platform
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playhead.errors import Damaged, PlayheadError
from playhead.lanes.live.form import (
    FIGURES,
    FIGURES_AT,
    FLAGS,
    FLAGS_AT,
    HEAD,
    HEAD_AT,
    HEADER,
    INVALIDATED,
    SLOT,
    Figures,
    Form,
)

Picture = NDArray[np.uint8]

_WORD = 8  # bytes that are stored in one go
_NEWEST, _FIGURE = HEAD_AT // _WORD, FIGURES_AT // _WORD
_MOST_METADATA = 1 << 16  # bytes that a reader takes
_MOST_TRAILER = 1 << 10
_TRIES = 1000
_ORDERED = ("x86_64", "amd64")


def check_machine() -> None:
    """See that this processor keeps the order of stores and of loads.

    Raises:
        PlayheadError: It does not.
    """
    if platform.machine().lower() not in _ORDERED:
        raise PlayheadError(
            f"the live lane works on x86-64 only, and this is {platform.machine()}: other processors reorder memory "
            "accesses, and a viewer could see halves of two frames. Recording works here; leave out live=True"
        )


class RingWriter:
    """Writes frames into a mapped ring. It never waits for anybody.

    Args:
        mapped: The memory, of zeros; no reader sees it yet.
        form: Its sizes, as `fitting` gives them.
        lead: What the metadata of every frame begins with; it is written into all slots now.
        kind: The name of the pixel format, where it is not the usual one.

    Attributes:
        head: The number of the newest frame, from 1.
    """

    def __init__(self, mapped: mmap.mmap, form: Form, *, lead: bytes = b"", kind: str = "") -> None:
        check_machine()
        self.form = form
        self.head = 0
        self._length, self._room, self._lead = form.frame, form.room - len(lead), len(lead)
        mapped[: HEADER.size] = form.pack(kind)
        self._bytes = memoryview(mapped)
        whole = self._bytes[: form.size // _WORD * _WORD]
        self._words, self._doubles = whole.cast("Q"), whole.cast("d")
        # Arrays of NumPy hold the memory until they are gone, and not until somebody releases it.
        self._slots = [
            (np.ndarray(form.shape, np.uint8, mapped, at + SLOT.size), at // _WORD, at + SLOT.size + len(lead))
            for at in map(form.slot_at, range(1, form.capacity + 1))
        ]
        self._count = len(self._slots)
        for _, _, behind in self._slots:
            mapped[behind - len(lead) + form.frame : behind + form.frame] = lead

    def begin(self) -> Picture:
        """Give the memory of the next frame, to be filled and completed with `commit`."""
        picture, word, _ = self._slots[self.head % self._count]
        self._words[word] = 2 * self.head + 3
        return picture

    def commit(self, metadata: bytes, figures: tuple[float, float, float], length: int | None = None) -> None:
        """Let readers have the frame that was begun.

        Args:
            metadata: About the frame, behind the lead; cut to the room there is.
            figures: About the run.
            length: Bytes of the frame, where it does not fill its place; only in a ring without a lead.
        """
        _, word, behind = self._slots[self.head % self._count]
        about = len(metadata)
        if about > self._room:
            metadata, about = metadata[: self._room], self._room
        if length is None:
            length = self._length
        behind += length
        self._bytes[behind : behind + about] = metadata
        words, doubles = self._words, self._doubles
        words[word + 1] = length | self._lead + about << 32
        self.head = number = self.head + 1
        words[word] = 2 * number + 2
        doubles[_FIGURE], doubles[_FIGURE + 1], doubles[_FIGURE + 2] = figures
        words[_NEWEST] = number

    def invalidate(self) -> None:
        """Tell readers that this ring is over."""
        self._bytes[FLAGS_AT : FLAGS_AT + 4] = INVALIDATED.to_bytes(4, "little")

    def close(self) -> None:
        """Let go of the memory."""
        self._slots.clear()
        for view in (self._words, self._doubles, self._bytes):
            view.release()


class Read(NamedTuple):
    """A frame as it was read.

    Attributes:
        number: Counted from 1 in its ring.
        picture: Height, width and channels; the caller's own.
        figures: About the run, at this frame or a moment later.
        metadata: About the frame, as its writer gave it.
        length: Bytes of the picture that its writer gave; the others are black.
    """

    number: int
    picture: Picture
    figures: Figures
    metadata: bytes
    length: int


class RingReader:
    """Reads the newest frame of a ring, whoever writes it.

    It asks the kernel for bytes instead of mapping the file: one that somebody cuts short then gives an error, where
    a mapping would end this process.

    Args:
        fd: The file, which stays the caller's.
        path: Where it is, for messages.

    Raises:
        Damaged: It is not a ring.
    """

    def __init__(self, fd: int, path: str) -> None:
        check_machine()
        self._fd = fd
        self._path = path
        self._header = bytearray(HEADER.size)
        self._slot = bytearray(SLOT.size)
        self.form = self._read_form()

    @property
    def is_invalidated(self) -> bool:
        """Whether the writer has said that this ring is over."""
        return bool(self._values()[FLAGS] & INVALIDATED)

    @property
    def head(self) -> int:
        """The number of the newest frame; 0 where there is none yet."""
        return int(self._values()[HEAD])

    @property
    def figures(self) -> Figures:
        """The numbers about the run."""
        return Figures(*self._values()[FIGURES:])

    @property
    def trailer(self) -> bytes:
        """What lies behind the last slot, where its writer says something there."""
        return os.pread(self._fd, _MOST_TRAILER, self.form.size)

    def newest(self) -> Read | None:
        """Copy the newest frame; None where there is none, or where none stayed whole long enough.

        Raises:
            Damaged: The file was cut short, or a slot says more than it can hold.
        """
        for _ in range(_TRIES):
            values = self._values()
            number = int(values[HEAD])
            if number == 0:
                return None
            found = self._copied(number, is_seen=True)
            if found is not None:
                picture, metadata, length = found
                return Read(number, picture, Figures(*values[FIGURES:]), metadata, length)
        return None

    def about(self) -> tuple[int, bytes] | None:
        """Give the number and the metadata of the newest frame, and copy nothing of the frame; else as `newest`."""
        for _ in range(_TRIES):
            number = self.head
            if number == 0:
                return None
            found = self._copied(number, is_seen=False)
            if found is not None:
                return number, found[1]
        return None

    def _copied(self, number: int, *, is_seen: bool) -> tuple[Picture, bytes, int] | None:
        """Copy a frame, or only its metadata; None where another one is in its place, or gets there meanwhile."""
        form, at = self.form, self.form.slot_at(number)
        is_true = os.preadv(self._fd, [self._slot], at) == SLOT.size
        sequence, length, about = SLOT.unpack(self._slot)
        if is_true and sequence != 2 * number + 2:
            return None
        is_true = is_true and length <= form.frame and about <= form.payload - length
        picture = np.empty(form.shape if is_true and is_seen else (0, 0, 0), np.uint8)
        if picture.size:
            is_true = os.preadv(self._fd, [picture.data], at + SLOT.size) == form.frame
        metadata = b""
        if is_true and about:
            metadata = os.pread(self._fd, min(about, _MOST_METADATA), at + SLOT.size + length)
        if is_true and os.pread(self._fd, _WORD, at) != self._slot[:_WORD]:
            return None
        if not is_true:
            raise Damaged(self._path, f"slots of {form.payload} bytes", f"{length} and {about} in frame {number}")
        picture.reshape(-1)[length:] = 0
        return picture, metadata, length

    def _values(self) -> tuple[Any, ...]:
        if os.preadv(self._fd, [self._header], 0) != HEADER.size:
            raise Damaged(self._path, f"a header of {HEADER.size} bytes", "less", "Its writer cut the file short")
        return HEADER.unpack(self._header)

    def _read_form(self) -> Form:
        # The MOSAIC program writes zeros over its header for a moment at each frame.
        for left in reversed(range(_TRIES)):
            self._values()
            try:
                return Form.unpack(self._header, os.fstat(self._fd).st_size, self._path)
            except Damaged:
                if not left:
                    raise
        raise AssertionError
