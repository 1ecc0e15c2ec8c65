"""One frame in, one packet out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playhead.errors import PlayheadError, WrongShape
from playhead.lanes.video.encoding import Encoding
from playhead.lanes.video.pictures import Shape, pictures_of
from playhead.lanes.video.pyav import av, packet_of

_MOST_DECODED = 30  # frames for one measurement: the encoder waits meanwhile
_X265 = (
    "log-level=none:scenecut=0:bframes=0:open-gop=0:repeat-headers=1:frame-threads=1:no-deblock=1:no-sao=1:no-weightp=1"
)

# The presets in which x265 codes units of at most 32 pixels a side, and not 64. In a picture that is one unit wide it
# predicts from pixels beyond the edge that no decoder has, and other frames come out: there, each stands by itself.
_X265_SMALL_UNITS = ("ultrafast", "superfast")


class Loss(NamedTuple):
    """By how much a frame differs from what was appended.

    Attributes:
        squared: The mean of the squared differences.
        largest: The largest difference of any value.
    """

    squared: float
    largest: int


class Packet(NamedTuple):
    """An encoded frame.

    Attributes:
        data: In Annex B form; that of a keyframe has all that a decoder needs to begin.
        is_key: It can be decoded by itself.
        loss: Its error, where it was measured.
    """

    data: bytes
    is_key: bool
    loss: Loss | None


class Encoder:
    """Encodes frames of one shape, none later than the next, none depending on a later one.

    Of a lossy recording some frames are decoded again and compared with what went in: the first one, and one in the
    middle of the GOPs 0, 1, 3, 7 and so on, so that the cost fades while a recording goes on.

    Args:
        encoding: How.
        shape: Of the frames.

    Raises:
        WrongShape: The codec does not take frames of this size.
    """

    def __init__(self, encoding: Encoding, shape: Shape) -> None:
        self._encoding = encoding
        self._pictures = pictures_of(encoding, shape)
        self._count = 0
        self._sampled: list[bytes] = []
        self._scratch = None if encoding.lossless else np.empty(shape, np.uint8)
        self._context = self._open()

    def _open(self) -> av.VideoCodecContext:
        encoding, pictures = self._encoding, self._pictures
        context = av.CodecContext.create(_encoder_of(encoding), "w")
        if not isinstance(context, av.VideoCodecContext):
            raise TypeError(f"{encoding.codec} is no video codec")
        context.width, context.height = pictures.width, pictures.height
        context.pix_fmt = pictures.coded_format
        context.framerate, context.time_base = encoding.rate, 1 / encoding.rate
        gop_size = _gop_size(encoding, pictures.width)
        context.gop_size, context.max_b_frames = gop_size, 0
        context.thread_count = encoding.threads
        colour_space, colour_range = pictures.colour
        if colour_space is not None:
            context.colorspace = colour_space
        if colour_range is not None:
            context.color_range = colour_range
        context.options = _options(encoding, gop_size)
        try:
            context.open()
        except av.error.FFmpegError as error:
            raise WrongShape(
                f"{encoding.codec} does not take pictures of {pictures.width}×{pictures.height}: {error.strerror}"
            ) from error
        return context

    def encode(self, frame: NDArray[Any]) -> Packet:
        """Encode the next frame; its memory may be used for another one after that."""
        picture = self._pictures.draw(frame)
        picture.pts = self._count
        packets = self._context.encode(picture)
        if len(packets) != 1:
            raise PlayheadError(f"the {self._encoding.codec} encoder gave {len(packets)} packets for one frame")
        data, is_key = bytes(packets[0]), packets[0].is_keyframe
        loss = None if self._encoding.lossless else self._measure(frame, data)
        self._count += 1
        return Packet(data, is_key, loss)

    def _measure(self, frame: NDArray[Any], data: bytes) -> Loss | None:
        gop, offset = divmod(self._count, self._encoding.gop_size)
        middle = min(self._encoding.gop_size // 2, _MOST_DECODED)
        if gop & (gop + 1) or offset > middle:  # one less than a power of two
            return None
        self._sampled = [data] if offset == 0 else [*self._sampled, data]
        if offset != middle and self._count:
            return None
        assert self._scratch is not None
        decoder = av.CodecContext.create(self._encoding.codec, "r")
        decoder.thread_count = 1
        for packet in self._sampled:
            pictures = decoder.decode(packet_of(packet))  # type: ignore[attr-defined]
        self._pictures.read((pictures or decoder.decode(None))[0], self._scratch)  # type: ignore[attr-defined]
        difference = self._scratch.astype(np.int16) - frame
        return Loss(float(np.square(difference, dtype=np.int32).mean()), int(np.abs(difference).max()))


def _encoder_of(encoding: Encoding) -> str:
    if encoding.codec == "hevc":
        return "libx265"
    return "libx264rgb" if encoding.lossless and encoding.pixel_format == "rgb24" else "libx264"


def _gop_size(encoding: Encoding, width: int) -> int:
    unit = 0 if encoding.codec != "hevc" else 32 if encoding.preset in _X265_SMALL_UNITS else 64
    return encoding.gop_size if width > unit else 1


def _options(encoding: Encoding, gop_size: int) -> dict[str, str]:
    # Frames are read far more often than written. Without the filters and the arithmetic coding that make decoding slow
    # it is 1.6 times as fast, the error is smaller and the file 8 % larger (640×480, veryfast, quality 18).
    options = {"preset": str(encoding.preset), "crf": str(encoding.quality)}
    if encoding.codec == "h264":
        return options | {"tune": "zerolatency,fastdecode", "sc_threshold": "0"}
    settings = {
        "keyint": gop_size,
        "min-keyint": gop_size,
        "pools": "none" if encoding.threads == 1 else encoding.threads,
        "lossless": int(encoding.lossless),
    }
    text = ":".join([_X265, *(f"{name}={value}" for name, value in settings.items())])
    return options | {"tune": "zerolatency", "x265-params": text}
