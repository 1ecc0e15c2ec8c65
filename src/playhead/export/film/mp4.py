"""A film as MP4: H.264 that every player shows, each picture at its own time."""

from __future__ import annotations

from collections import deque
from fractions import Fraction
from typing import Any

from playhead import disk
from playhead.export.film.pictures import RGB
from playhead.lanes.video.pyav import Interpolation, VideoReformatter, av

UNIT = 1e-3  # seconds
LEAST = 1 / 60  # more pictures a second are not seen

_TICKS = Fraction(1, 1000)
_OPTIONS = {"preset": "fast", "crf": "16"}
_KEYFRAMES = 120  # frames between those at which a player can begin: seeking is quick
_BT601, _VIDEO_RANGE = 6, 1  # AVCOL_SPC_SMPTE170M and AVCOL_RANGE_MPEG: what swscale makes, and players are told


class Mp4:
    """Writes pictures of one size into an MP4.

    Args:
        draft: The file.
        width: Of the pictures; even.
        height: Of the pictures; even.
        rate: Pictures a second, on the whole.

    Raises:
        MissingExtra: PyAV is not installed.
    """

    def __init__(self, draft: disk.Draft, width: int, height: int, rate: float) -> None:
        self._container: Any = av.open(draft, "w", format="mp4")
        self._track = self._container.add_stream("libx264", rate=Fraction(rate).limit_denominator(1000) or 1)
        context = self._track.codec_context
        context.width, context.height, context.pix_fmt = width, height, "yuv420p"
        context.time_base = _TICKS
        context.gop_size = _KEYFRAMES
        context.max_b_frames = 0  # packets in the order of their times, so that the last one says when the film ends
        context.colorspace = context.color_primaries = context.color_trc = _BT601
        context.color_range = _VIDEO_RANGE
        context.options = _OPTIONS
        self._into = VideoReformatter()
        self._time = 0
        self._durations: deque[int] = deque()

    def add(self, picture: RGB, duration: int) -> None:
        """Add a picture that is shown for so many units."""
        source = av.VideoFrame.from_ndarray(picture, format="rgb24")
        frame: Any = self._into.reformat(source, format="yuv420p", interpolation=Interpolation.AREA)
        frame.pts, frame.time_base = self._time, _TICKS
        self._durations.append(duration)
        self._time += duration
        self._mux(frame)

    def finish(self) -> None:
        """Write what is still held back, and the end of the file."""
        self._mux(None)
        self._container.close()

    def _mux(self, frame: Any) -> None:
        for packet in self._track.encode(frame):
            packet.duration = self._durations.popleft()
            self._container.mux(packet)
