"""Which lane holds a signal of an episode: how it is recorded, sealed and read."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from playhead.errors import BadName, MissingExtra, WrongType
from playhead.layout import EpisodeFolder
from playhead.owner import Fields, Owner
from playhead.signal import Signal
from playhead.tape import Declaration, Sealer, Tape

VECTORS, VIDEO = "vectors", "video"
EPISODE, SIGNAL = "episode", "signal"  # the fields of an owner


class Appending(Protocol):
    """What records one signal."""

    def append(self, data: Any, ts_ns: int) -> None:
        """Take a sample."""


def choose(data: Any) -> str:
    """Choose the lane of a signal by its first value: colour images are video, all else is not."""
    is_image = isinstance(data, np.ndarray) and data.dtype == np.uint8 and data.ndim == 3 and data.shape[2] == 3
    return VIDEO if is_image else VECTORS


def begin(lane: str, tape: Tape, name: str, options: dict[str, Any], data: Any, ts_ns: int) -> Appending:
    """Take up a signal by its first sample; where that is refused, the tape hears nothing of it.

    Args:
        lane: `vectors` or `video`.
        tape: Where it goes.
        name: The signal.
        options: How a video is encoded; see `VideoSignalWriter`.
        data: The first value.
        ts_ns: Its time.
    """
    if lane == VIDEO:
        return _begin_video(tape, name, options, data, ts_ns)
    from playhead.lanes.vectors import VectorRecorder

    if options:
        raise WrongType(f"the signal {name!r} is no video and takes no {', '.join(options)}; say lane='video'")
    recorder = VectorRecorder(tape, name)
    recorder.append(data, ts_ns)
    return recorder


def _begin_video(tape: Tape, name: str, options: dict[str, Any], data: Any, ts_ns: int) -> Appending:
    from playhead.lanes.video import Encoding, VideoRecorder

    recorder = VideoRecorder(Encoding.of(options), tape.check)
    try:
        recorder.append(data, ts_ns)
        tape.add(Declaration(VIDEO, name, recorder.encoding.facts()), recorder)
    except BaseException:
        recorder.stop()
        raise
    return recorder


def prepare() -> None:
    """Load what lanes will need, so that no sample waits for it: a third of a second, once in a process."""
    import pyarrow as pa

    import playhead.lanes.vectors

    with contextlib.suppress(MissingExtra):  # a camera will say so
        import playhead.lanes.video  # noqa: F401
    pa.array(np.zeros(1))  # the first array looks for pandas


def check(lane: str | None) -> str | None:
    """Check the name of a lane.

    Raises:
        BadName: An episode has no such lane.
    """
    if lane not in (None, VECTORS, VIDEO):
        raise BadName(f"an episode has the lanes {VECTORS!r} and {VIDEO!r}, not {lane!r}")
    return lane


def sealer(declaration: Declaration, folder: EpisodeFolder, uid: str | None) -> Sealer:
    """Make what turns a signal on a tape into files, which the caller syncs.

    Args:
        declaration: What the tape says of the signal.
        folder: Where the files go.
        uid: The episode that owns them; None if it has no identity.
    """
    name = declaration.name
    owner = None if uid is None else {EPISODE: uid, SIGNAL: name}
    if declaration.lane == VIDEO:
        from playhead.lanes.video import VideoSealer

        return VideoSealer(declaration, folder.video(name), folder.frames(name), owner=owner, durable=False)
    from playhead.lanes.vectors import VectorSealer

    return VectorSealer(declaration, folder.vector(name), keep_empty=False, owner=owner, durable=False)


def signal(folder: EpisodeFolder, name: str, *, is_video: bool, owner: Owner | None = None) -> Signal[Any]:
    """Open a signal; nothing is read yet."""
    if is_video:
        from playhead.lanes.video import VideoSignal

        return VideoSignal(folder.video(name), folder.frames(name), owner=owner)
    from playhead.lanes.vectors import SimpleSignal

    return SimpleSignal(folder.vector(name), owner=owner)


def check_whole(signal: Signal[Any]) -> None:
    """Read a signal as far as its checksums go.

    Raises:
        Damaged: Something is not as it was written.
    """
    if hasattr(signal, "verify"):
        if len(signal):
            signal.verify()
    else:
        _ = signal.timestamps, signal.values


def owner_of(signal: Signal[Any]) -> Fields | None:
    """Return whose the file of a signal says it is; None if it does not say."""
    found: Fields | None = getattr(signal, "owner", None)
    return found


def said_by(path: Path, *, is_video: bool) -> Fields | None:
    """Return whose a file says it is, by reading no more of it than that needs.

    Args:
        path: A Parquet file, or the index of a video.
        is_video: Whether it is an index.

    Raises:
        Damaged: It cannot be read.
    """
    if is_video:
        from playhead.lanes.video import index

        return index.read(path).owner
    from playhead.lanes.vectors.parquet import ParquetSamples

    return ParquetSamples(path).owner
