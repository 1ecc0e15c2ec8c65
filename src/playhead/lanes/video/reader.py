"""VideoSignal: frames by index and by time."""

from __future__ import annotations

import itertools
import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playhead.errors import Damaged, NoSuchFile
from playhead.lanes.video import cursor, index
from playhead.lanes.video.cursor import Cursor
from playhead.lanes.video.packets import Packets, foreign_packets, our_packets
from playhead.lanes.video.pictures import Colour, Pictures, Shape, dtype_of, pictures_of
from playhead.lanes.video.pyav import av
from playhead.owner import Fields, Owner
from playhead.paths import GivenPath, as_path
from playhead.signal import Positions, Signal


class Loss(NamedTuple):
    """By how much the frames of a recording differ from what was appended, as measured while it was recorded.

    Attributes:
        psnr_db: The peak signal-to-noise ratio in decibels; None where no difference was found.
        largest: The largest difference of any value.
        frames: How many frames were compared.
    """

    psnr_db: float | None
    largest: int
    frames: int


class _Video(NamedTuple):
    identity: tuple[int, ...] | None
    packets: Packets
    shape: Shape
    dtype: np.dtype[Any]
    pictures: Callable[[], Pictures]


class VideoSignal(Signal[NDArray[np.uint8]]):
    """A video and the times of its frames; RGB, or what was appended with another `pixel_format`.

    Nothing is opened before it is needed, and no file stays open. A frame costs the decoding of at most one GOP;
    reading on from where the last read ended costs no more than the new frames. Threads may share a signal, forked and
    spawned processes too.

    Frames of a video that Playhead recorded are compared with checksums before they are given. Those of other programs
    have none: what cannot be decoded raises `Damaged`, but a flipped bit may show.

    Args:
        video_path: The MP4.
        frames_index_path: The index of frames.
        seek_threshold: Not needed any more: whether to seek is decided by where the keyframes are.
        owner: Whose the files must be; None for files that stand alone.
    """

    _BLOCK = 16

    def __init__(
        self,
        video_path: GivenPath,
        frames_index_path: GivenPath,
        seek_threshold: int | None = None,  # noqa: ARG002
        *,
        owner: Owner | None = None,
    ) -> None:
        self._owner = owner
        self.video_path = as_path(video_path)
        self.frames_index_path = as_path(frames_index_path)
        self._loaded_index: index.FrameIndex | None = None
        self._loaded_video: _Video | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.video_path, self.frames_index_path, self._owner)

    @property
    def _index(self) -> index.FrameIndex:
        if self._loaded_index is None:
            try:
                found = index.read(self.frames_index_path)
            except FileNotFoundError:
                if not self.video_path.exists():
                    said = f"no video at {self.video_path}, and no index of it at {self.frames_index_path}"
                    raise NoSuchFile(said) from None
                raise Damaged(self.frames_index_path, f"the index of {self.video_path.name}", "no file") from None
            if self._owner is not None:
                self._owner.check(self.frames_index_path, found.owner)
            self._loaded_index = found
        return self._loaded_index

    @property
    def timestamps(self) -> NDArray[np.int64]:
        """The time of each frame in nanoseconds."""
        return self._index.stamps

    @property
    def owner(self) -> Fields | None:
        """Whose the index says it is; None if it stands alone, or was written before files said so."""
        return self._index.owner

    @property
    def loss(self) -> Loss | None:
        """By how much frames differ from what was appended; None where nothing was lost, or nobody measured."""
        facts = self._index.facts
        if facts is None or facts.loss is None:
            return None
        squared, largest, frames = facts.loss
        return Loss(index.psnr(squared), largest, frames)

    @property
    def shape(self) -> Shape:
        """The shape of a frame."""
        return self._video.shape if len(self) else (0, 0, 3)

    @property
    def codec(self) -> str:
        """How frames are encoded, such as "h264"."""
        return self._video.packets.codec if len(self) else "none"

    @property
    def _video(self) -> _Video:
        video = self._loaded_video
        if video is None or video.identity != _identity(self.video_path):
            video = self._loaded_video = self._open()
            weakref.finalize(self, cursor.forget, video.packets).atexit = False
        return video

    def _open(self) -> _Video:
        facts, rows, identity = self._index.facts, len(self._index.stamps), _identity(self.video_path)
        if facts is not None:
            shape, encoding = facts.shape, facts.encoding
            dtype = dtype_of(str(encoding.pixel_format))
            packets = our_packets(self.video_path, facts, rows)
            return _Video(identity, packets, shape, dtype, lambda: pictures_of(encoding, shape))
        packets = foreign_packets(self.video_path, rows)
        height, width = packets.height, packets.width
        shape = (height, width, 3)
        return _Video(identity, packets, shape, np.dtype(np.uint8), lambda: Colour(shape, height, width))

    def _values_at(self, positions: Positions) -> NDArray[Any]:
        if not len(self.timestamps):
            return np.empty((0, 0, 0, 3), np.uint8)
        video = self._video
        frames = np.empty((len(positions), *video.shape), video.dtype)
        if isinstance(positions, range):
            self._read(video, np.arange(positions.start, positions.stop, positions.step), frames, range(len(positions)))
            return frames
        wanted, rows, sources = np.unique(positions, return_index=True, return_inverse=True)
        self._read(video, wanted, frames, rows.tolist())
        for row in np.flatnonzero(rows[sources] != np.arange(len(positions))):
            frames[row] = frames[rows[sources[row]]]
        return frames

    def _read(self, video: _Video, wanted: NDArray[np.int64], frames: NDArray[Any], rows: Any) -> None:
        """Decode positions, which ascend, each into its row of `frames`."""
        if not len(wanted):
            return
        row_of = dict(zip(wanted.tolist(), rows, strict=True))
        gops = video.packets.gops_of(wanted)
        decoder = cursor.borrow(video.packets, int(gops[0]), int(wanted[0])) or Cursor(video.packets, video.pictures())
        pictures = decoder.pictures

        def show(position: int, picture: av.VideoFrame) -> None:
            if (picture.height, picture.width) != (pictures.height, pictures.width):
                raise Damaged(
                    self.video_path,
                    f"pictures of {pictures.width}×{pictures.height}",
                    f"frame {position} of {picture.width}×{picture.height}",
                )
            pictures.read(picture, frames[row_of[position]])

        borders = [0, *(np.flatnonzero(np.diff(gops)) + 1).tolist(), len(wanted)]
        try:
            with video.packets.open() as file:
                for start, stop in itertools.pairwise(borders):
                    decoder.read(file, int(gops[start]), wanted[start:stop].tolist(), show)
        except av.error.FFmpegError as error:
            raise Damaged(self.video_path, f"{video.packets.codec} video", str(error)) from error
        cursor.give_back(decoder)

    def verify(self) -> None:
        """Compare all of the video with its checksums; of a video of others only the number of frames is known.

        Raises:
            Damaged: Something differs.
        """
        if len(self.timestamps):
            packets = self._video.packets
            with packets.open() as file:
                for gop in range(len(packets.keys)):
                    packets.check(gop, file.fd)

    def _description(self) -> str:
        try:
            if not len(self):
                return super()._description()
            height, width = self.shape[:2]
            return f"{width}×{height} {self.codec}, {super()._description()}"
        except (Damaged, OSError) as error:
            return str(error)


def _again(kind: type[VideoSignal], video: Path, frames_index: Path, owner: Owner | None) -> VideoSignal:
    """Open a video in another process."""
    return kind(video, frames_index, owner=owner)


def _identity(path: Path) -> tuple[int, ...] | None:
    """Tell a file from one that came in its place: what was checked of the one is not known of the other."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
