"""From arrays to pictures that a codec takes, and back.

A picture may be larger than the frame: colour at half resolution needs even sides, so the edge is repeated and cut off
again on reading. Grey is the luma plane of a full-range picture, byte for byte. Sixteen bits are two such planes in one
picture: the high bytes, which look like the frame, above the low ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.errors import WrongShape, WrongType
from playhead.lanes.video.encoding import Encoding
from playhead.lanes.video.pyav import Interpolation, VideoReformatter, av

Shape = tuple[int, ...]

_LEAST_SIDE = {"h264": 1, "hevc": 16}
_EXPECTED = {"rgb24": "(height, width, 3)", "gray8": "(height, width[, 1])", "gray16": "(height, width[, 1])"}
_FULL_RANGE = 2  # AVCOL_RANGE_JPEG
_VIDEO_RANGE = 1  # AVCOL_RANGE_MPEG
_BT601 = 6  # AVCOL_SPC_SMPTE170M, in which swscale converts where nothing else is said


def dtype_of(pixel_format: str) -> np.dtype[Any]:
    """Give the dtype of the frames of a pixel format."""
    return np.dtype(np.uint16 if pixel_format == "gray16" else np.uint8)


def check_frame(frame: Any, pixel_format: str, shape: Shape | None) -> NDArray[Any]:
    """Take a frame as an array.

    Args:
        frame: What was given.
        pixel_format: What it must be.
        shape: That of the frames before.

    Raises:
        WrongType: Another dtype.
        WrongShape: No such frame, or not like those before.
    """
    array = frame if isinstance(frame, np.ndarray) else np.asarray(frame)
    dtype = dtype_of(pixel_format)
    if array.dtype != dtype:
        raise WrongType(f"Expected {dtype} dtype, got {array.dtype}")
    if shape is not None and array.shape != shape:
        raise WrongShape(f"Frame shape {array.shape} differs from {shape}, that of the frames before")
    if shape is None:
        channels = {(3,)} if pixel_format == "rgb24" else {(), (1,)}
        if array.ndim < 2 or array.shape[2:] not in channels or 0 in array.shape:
            hint = "" if pixel_format != "rgb24" else "; grey and depth need pixel_format='gray8' or 'gray16'"
            raise WrongShape(f"Expected frame shape {_EXPECTED[pixel_format]}, got {array.shape}{hint}")
    return array


class Pictures(ABC):
    """Turns frames of one shape into pictures and back. Not for several threads at once.

    Attributes:
        shape: Of a frame.
        height: Of a picture.
        width: Of a picture.
        coded_format: What the encoder is told.
        colour: The colour space and range that the encoder notes, for players.
    """

    coded_format = "yuv420p"
    colour: tuple[int | None, int | None] = (None, _FULL_RANGE)

    def __init__(self, shape: Shape, height: int, width: int) -> None:
        self.shape = shape
        self.height = height
        self.width = width

    @abstractmethod
    def draw(self, frame: NDArray[Any]) -> av.VideoFrame:
        """Make the picture of a frame. It may share the frame's memory."""

    @abstractmethod
    def read(self, picture: av.VideoFrame, frame: NDArray[Any]) -> None:
        """Fill a frame from a picture."""


def pictures_of(encoding: Encoding, shape: Shape) -> Pictures:
    """Choose the pictures for frames of a shape."""
    height, width = shape[:2]
    if encoding.pixel_format == "gray16":
        height *= 2
    least, exact_colour = _LEAST_SIDE[encoding.codec], encoding.lossless and encoding.pixel_format == "rgb24"
    height, width = max(height, least), max(width, least)
    if not exact_colour:
        height, width = height + height % 2, width + width % 2
    if encoding.pixel_format == "gray8":
        return _Grey(shape, height, width)
    if encoding.pixel_format == "gray16":
        return _Deep(shape, height, width)
    if exact_colour:
        return _ExactColour(shape, height, width, "rgb24" if encoding.codec == "h264" else "gbrp")
    return Colour(shape, height, width)


class Colour(Pictures):
    """Pictures of any kind as RGB; drawn as luma and half as much colour."""

    colour: tuple[int | None, int | None] = (_BT601, _VIDEO_RANGE)

    def __init__(self, shape: Shape, height: int, width: int) -> None:
        super().__init__(shape, height, width)
        self._into = VideoReformatter()
        self._back = VideoReformatter()

    def draw(self, frame: NDArray[Any]) -> av.VideoFrame:
        """Average the colour of each four pixels: the error is least with the way it is read."""
        source = av.VideoFrame.from_numpy_buffer(_padded(frame, self.height, self.width), format="rgb24")
        return self._into.reformat(source, format=self.coded_format, interpolation=Interpolation.AREA, threads=1)

    def read(self, picture: av.VideoFrame, frame: NDArray[Any]) -> None:
        """Convert as PyAV does when nothing is said, so that other readers see the same pixels."""
        rows = _rows(self._back.reformat(picture, format="rgb24", threads=1).planes[0])
        height, width = self.shape[:2]
        frame.reshape(height, width * 3)[...] = rows[:height, : width * 3]


class _ExactColour(Colour):
    colour: tuple[int | None, int | None] = (None, None)

    def __init__(self, shape: Shape, height: int, width: int, coded_format: str) -> None:
        super().__init__(shape, height, width)
        self.coded_format = coded_format

    def draw(self, frame: NDArray[Any]) -> av.VideoFrame:
        source = av.VideoFrame.from_numpy_buffer(_padded(frame, self.height, self.width), format="rgb24")
        return self._into.reformat(source, format=self.coded_format, threads=1)


class _Grey(Pictures):
    def draw(self, frame: NDArray[Any]) -> av.VideoFrame:
        picture = self._blank()
        _luma(picture)[...] = _padded(frame.reshape(self.shape[:2]), self.height, self.width)
        return picture

    def read(self, picture: av.VideoFrame, frame: NDArray[Any]) -> None:
        height, width = self.shape[:2]
        frame.reshape(height, width)[...] = _luma(picture)[:height, :width]

    def _blank(self) -> av.VideoFrame:
        picture = av.VideoFrame(self.width, self.height, self.coded_format)
        picture.color_range = _FULL_RANGE
        for plane in picture.planes[1:]:
            _rows(plane)[...] = 128
        return picture


class _Deep(_Grey):
    def draw(self, frame: NDArray[Any]) -> av.VideoFrame:
        height, width = self.shape[:2]
        picture = self._blank()
        luma = _luma(picture)
        # The bytes of a pixel lie low, high on every machine that Playhead runs on; "<u2" says so to NumPy.
        parts = frame.reshape(height, width).astype("<u2", copy=False).view(np.uint8).reshape(height, width, 2)
        luma[:height, :width], luma[height : 2 * height, :width] = parts[..., 1], parts[..., 0]
        luma[2 * height :, :width] = luma[2 * height - 1, :width]
        luma[:, width:] = luma[:, width - 1 : width]
        return picture

    def read(self, picture: av.VideoFrame, frame: NDArray[Any]) -> None:
        height, width = self.shape[:2]
        luma, target = _luma(picture), frame.reshape(height, width)
        np.left_shift(luma[:height, :width], 8, out=target, dtype=np.uint16)
        target |= luma[height : 2 * height, :width]


def _luma(picture: av.VideoFrame) -> NDArray[np.uint8]:
    return _rows(picture.planes[0])[:, : picture.width]


def _rows(plane: Any) -> NDArray[np.uint8]:
    """Give the bytes of a plane, with those that fill up each row."""
    return np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, plane.line_size)


def _padded(frame: NDArray[Any], height: int, width: int) -> NDArray[Any]:
    missing = [(0, height - frame.shape[0]), (0, width - frame.shape[1])]
    if missing == [(0, 0), (0, 0)]:
        return frame
    return np.pad(frame, missing + [(0, 0)] * (frame.ndim - 2), mode="edge")
