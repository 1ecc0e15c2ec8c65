"""A video by itself: recorded beside its place, sealed into it when it is closed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import disk
from playhead.lanes.video.encoding import Encoding
from playhead.lanes.video.recorder import VideoRecorder
from playhead.lanes.video.sealer import VideoSealer
from playhead.paths import GivenPath, as_path
from playhead.signal.solo import SoloWriter, recover, seal
from playhead.tape import Declaration

LANE = "video"


class VideoSignalWriter(SoloWriter[NDArray[np.uint8]]):
    """Records frames into an MP4 and an index of their times.

    While it records, encoded frames go to a tape in a hidden folder beside the video, which a kill of the process
    leaves behind whole: `recover` makes the files from it. The first frame fixes the size of all. Odd sizes are padded
    to even ones in the MP4 and cut to size by `VideoSignal`; other readers see at most one row and column more.

    Args:
        video_path: The MP4 to make, in place of one that is there.
        frames_index_path: The index to make.
        codec: "h264" or "h265"; see `Encoding` for this and what follows.
        gop_size: Frames from one keyframe to the next.
        fps: The rate at which players show it.
        quality: The constant rate factor, from 0 (best) to 51.
        preset: From "ultrafast" to "veryslow".
        lossless: Give back exactly the bytes that were appended.
        pixel_format: "gray8" or "gray16" for frames that are not H×W×3 uint8.
        threads: Of the encoder.

    Raises:
        StoreLocked: Somebody records this video now.
        Exists: A crash left a recording of this video behind.
        WrongType: A setting that there is not.
    """

    def __init__(
        self,
        video_path: GivenPath,
        frames_index_path: GivenPath,
        codec: str = "h264",
        gop_size: int = 30,
        fps: float = 100,
        *,
        quality: int | None = None,
        preset: str | None = None,
        lossless: bool = False,
        pixel_format: str | None = None,
        threads: int = 1,
    ) -> None:
        encoding = Encoding(codec, gop_size, fps, quality, preset, lossless, pixel_format, threads)
        self.video_path, self.frames_index_path = as_path(video_path), as_path(frames_index_path)
        disk.make_folders(self.frames_index_path.parent)
        super().__init__(self.video_path)
        self._recorder = VideoRecorder(encoding, self._tape.check)
        self._tape.add(Declaration(LANE, self.video_path.stem, encoding.facts()), self._recorder)

    def append(self, data: NDArray[Any], ts_ns: int) -> None:
        """Add a frame; see `SignalWriter.append`. It may be changed as soon as this returns."""
        self._check_open()
        self._recorder.append(data, ts_ns)

    def _seal(self) -> None:
        _seal(self._folder, self.video_path, self.frames_index_path)

    @staticmethod
    def recover(video_path: GivenPath, frames_index_path: GivenPath) -> bool:
        """Finish the files of a recording that died; tell whether there was one.

        Raises:
            StoreLocked: It is still being recorded.
            Damaged: What was recorded cannot be read.
        """
        video, frames = as_path(video_path), as_path(frames_index_path)
        return recover(video, lambda folder: _seal(folder, video, frames))


def _seal(folder: Path, video_path: Path, frames_index_path: Path) -> None:
    seal(folder, lambda found: VideoSealer(found, video_path, frames_index_path), video_path, frames_index_path)
