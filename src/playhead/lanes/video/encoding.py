"""How frames are encoded: what the caller chooses, checked once, and kept with the recording."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from playhead.errors import WrongType

CODECS = {"h264": "h264", "avc": "h264", "libx264": "h264", "h265": "hevc", "hevc": "hevc", "libx265": "hevc"}
PRESETS = ("ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow")
PIXEL_FORMATS = {"rgb24": "rgb24", "gray8": "gray8", "gray16": "gray16", "depth16": "gray16"}

_QUALITY = {"h264": 18, "hevc": 20}
_PRESET = {"h264": "veryfast", "hevc": "superfast"}
_NO_AV1 = (
    "AV1 cannot be recorded: the encoder in this build of PyAV is SVT-AV1, which as root takes real-time priority for "
    "the whole process. Use codec='h265'; AV1 videos of others can be read"
)


@dataclass(frozen=True)
class Encoding:
    """The trade-off between size, speed and loss.

    Attributes:
        codec: "h264", which plays everywhere, or "h265" ("hevc"), smaller and several times slower.
        gop_size: Frames from one keyframe to the next; a random frame costs the decoding of half as many, on average.
        fps: The rate at which players show the video; the true times are in the index of frames.
        quality: The constant rate factor, from 0 (best) to 51; the default is near what the eye can tell.
        preset: From "ultrafast" to "veryslow": the time spent on making the video smaller.
        lossless: Give back exactly the bytes that were appended.
        pixel_format: None or "rgb24" for H×W×3 uint8, "gray8" for H×W or H×W×1 uint8, "gray16" ("depth16") for H×W
            or H×W×1 uint16, which is always lossless.
        threads: Of the encoder. One keeps up with a camera of 640×480 at more than 100 frames a second.

    Raises:
        WrongType: A setting that there is not; the message says which there are.
    """

    codec: str = "h264"
    gop_size: int = 30
    fps: float = 100
    quality: int | None = None
    preset: str | None = None
    lossless: bool = False
    pixel_format: str | None = None
    threads: int = 1

    def __post_init__(self) -> None:
        codec = str(self.codec).lower()
        if "av1" in codec:
            raise WrongType(_NO_AV1)
        self._settle("codec", _choice("codec", codec, CODECS))
        self._settle("pixel_format", _choice("pixel_format", self.pixel_format or "rgb24", PIXEL_FORMATS))
        self._settle("lossless", bool(self.lossless) or self.pixel_format == "gray16")
        default = "ultrafast" if self.lossless else _PRESET[self.codec]
        self._settle("preset", _choice("preset", self.preset or default, dict(zip(PRESETS, PRESETS, strict=True))))
        if self.lossless and self.quality:
            raise WrongType(f"quality={self.quality} is a loss; leave it out where lossless=True")
        self._settle("quality", 0 if self.lossless else _QUALITY[self.codec] if self.quality is None else self.quality)
        _check_number("quality", self.quality, 0, 51)
        _check_number("gop_size", self.gop_size, 1, 1 << 20)
        _check_number("threads", self.threads, 1, 64)
        if not isinstance(self.fps, (int, float, Fraction)) or not 1e-3 <= self.fps < 1e6:
            raise WrongType(f"fps is a rate in frames a second, not {self.fps!r}")
        self._settle("fps", float(self.fps))

    def _settle(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def rate(self) -> Fraction:
        """The frames a second, exactly."""
        return Fraction(self.fps).limit_denominator(100_000)

    def facts(self) -> dict[str, Any]:
        """Give the settings in a form that JSON holds."""
        return dataclasses.asdict(self)

    @classmethod
    def of(cls, options: dict[str, Any]) -> Self:
        """Take what the caller chose by name.

        Raises:
            WrongType: There is no such setting.
        """
        known = {field.name: field.name for field in dataclasses.fields(cls)}
        return cls(**{_choice("option", name, known): value for name, value in options.items()})

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> Self:
        """Take the settings that `facts` gave; what a later version added is left out."""
        known = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in facts.items() if name in known})


def _choice(what: str, asked: str, known: dict[str, str]) -> str:
    if asked not in known:
        raise WrongType(f"no {what} {asked!r}; there is: {', '.join(known)}")
    return known[asked]


def _check_number(what: str, value: Any, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise WrongType(f"{what} is a whole number from {least} to {most}, not {value!r}")
