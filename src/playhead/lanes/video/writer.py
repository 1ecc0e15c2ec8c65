"""A video by itself: recorded beside its place, sealed into it when it is closed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import disk, tape
from playhead.errors import Closed, Exists, Forked, StoreLocked
from playhead.journal.writer import LOCK_FILE
from playhead.lanes.video.encoding import Encoding
from playhead.lanes.video.recorder import VideoRecorder
from playhead.lanes.video.sealer import VideoSealer
from playhead.signal import SignalWriter

LANE = "video"


class VideoSignalWriter(SignalWriter[NDArray[np.uint8]]):
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
        video_path: disk.StrPath,
        frames_index_path: disk.StrPath,
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
        self.video_path = Path(video_path)
        self.frames_index_path = Path(frames_index_path)
        encoding = Encoding(codec, gop_size, fps, quality, preset, lossless, pixel_format, threads)
        self._folder = recording_folder(video_path)
        self._pid = os.getpid()
        self._ended: str | None = None
        self._is_closing = False
        disk.make_folders(self.video_path.parent)
        disk.make_folders(self.frames_index_path.parent)
        if tape.is_recorded(self._folder):
            raise StoreLocked(f"{self.video_path} is being recorded by another writer; close that one")
        if self._folder.exists():
            raise Exists(
                f"{self._folder} holds a recording that a crash left behind; make a video of it with "
                "playhead.lanes.video.recover, or remove it"
            )
        self._tape = tape.Tape(self._folder)
        self._recorder = VideoRecorder(encoding, self._tape.check)
        try:
            self._tape.add(tape.Declaration(LANE, self.video_path.stem, encoding.facts()), self._recorder)
        except OSError:
            self._tape.abandon()
            disk.remove_tree(self._folder)
            raise

    def append(self, data: NDArray[Any], ts_ns: int) -> None:
        """Add a frame; see `SignalWriter.append`. It may be changed as soon as this returns."""
        if self._ended is not None or self._is_closing:
            raise Closed(f"Cannot append to a finished writer: this one {self._ended or 'is being closed'}")
        self._refuse_in_child()
        self._tape.check()
        self._recorder.append(data, ts_ns)

    def flush(self, *, sync: bool = False) -> None:
        """Wait until every frame appended so far survives a kill of the process, or with `sync` a power cut."""
        if self._ended is not None:
            raise Closed(f"cannot flush: the writer {self._ended}")
        self._refuse_in_child()
        self._tape.flush(sync=sync)

    def close(self) -> None:
        """Make the MP4 and the index. Closing twice is fine.

        Raises:
            OSError: They could not be made. Nothing is lost; closing may be tried again.
        """
        if self._ended is not None:
            return
        self._refuse_in_child()
        self._is_closing = True
        self._tape.close()
        _seal(self._folder, self.video_path, self.frames_index_path)
        self._ended = "is closed"

    def abort(self) -> None:
        """Stop, and remove all that was recorded."""
        if self._ended == "is closed":
            raise Closed(f"cannot abort: {self.video_path} is finished; remove the file instead")
        if self._ended is None:
            self._refuse_in_child()
            self._ended = "was aborted"
            self._tape.abandon()
            disk.remove_tree(self._folder)

    def _refuse_in_child(self) -> None:
        if self._pid != os.getpid():
            raise Forked(f"{self.video_path} is recorded by the parent of this process; record into one of your own")


def recording_folder(video_path: disk.StrPath) -> Path:
    """Name the folder in which a video is recorded before it is sealed."""
    path = Path(video_path)
    return path.with_name(f".{path.stem}.recording")


def recover(video_path: disk.StrPath, frames_index_path: disk.StrPath) -> bool:
    """Make the files of a video whose recording was cut off.

    Args:
        video_path: What was given to the writer.
        frames_index_path: What was given to the writer.

    Returns:
        Whether there was anything to recover.

    Raises:
        StoreLocked: Somebody records it now.
        Damaged: The tape has a hole.
    """
    folder = recording_folder(video_path)
    lock = folder / LOCK_FILE
    if not lock.exists():
        if folder.exists():
            disk.remove_tree(folder)  # the crash came before anything was recorded
        return False
    with disk.locked(lock, wait=False) as mine:
        if not mine:
            raise StoreLocked(f"{video_path} is being recorded; close its writer")
        found = bool(tape.declarations(folder))
        _seal(folder, Path(video_path), Path(frames_index_path))
    return found


def _seal(folder: Path, video_path: Path, frames_index_path: Path) -> None:
    tape.seal(folder, lambda declaration: VideoSealer(declaration, video_path, frames_index_path))
    for parent in {video_path.parent, frames_index_path.parent}:
        disk.sync_folder(parent)
    disk.remove_tree(folder)
