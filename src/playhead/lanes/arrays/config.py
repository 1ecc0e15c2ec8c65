"""ReplayConfig: how a reel is recorded and sealed."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

from playhead.errors import WrongType
from playhead.lanes.arrays import codec

SEGMENT_BYTES = 256 << 20
SEGMENT_STEPS = 2_000_000  # of steps without large arrays; what sealing holds in memory is bounded by it

_LONGEST = 10**9  # seconds; a lock cannot be waited for ten times as long


@dataclass(frozen=True, slots=True)
class ReplayConfig:
    """How a replay is recorded and sealed.

    Attributes:
        codec: What the sealed file is compressed with: `zstd`, the smallest and fastest, which other HDF5 tools read
            with the Zstandard filter (32015); `gzip` or `lzf`, which they read without; None for nothing.
        level: Of the codec; higher is slower. None is 1 for `zstd`, the best on games in speed and nearly in size, and
            4 for `gzip`, as h5py and the files of MOSAIC have it.
        chunk: Rows that are compressed together; None chooses by their size: 16 for Atari's frames, 64 for 84 × 84.
        queue: Bytes that may wait to be written before recording waits for the disk. Whoever records faster than they
            can be written writes them himself, and waits at once.
        interval: Seconds after which a step survives a kill of the process, at the latest.
        sync: Seconds after which it also survives a power cut; None leaves that to the kernel.
        segment_bytes: How much lies in one part of the file.
        background: A thread beside the caller compresses and writes. False leaves that to the caller, which takes less
            of the processor in all: for many actors, which keep all cores busy anyway.
    """

    codec: str | None = "zstd"
    level: int | None = None
    chunk: int | None = None
    queue: int = 64 << 20
    interval: float = 1.0
    sync: float | None = None
    segment_bytes: int = SEGMENT_BYTES
    background: bool = True

    def __post_init__(self) -> None:
        """See that all of this can be done.

        Raises:
            WrongType: A value is out of its range.
        """
        codec.check(self.codec)
        if not isinstance(self.strength, int) or not 1 <= self.strength <= (19 if self.codec == codec.ZSTD else 9):
            raise WrongType(f"level is a whole number from 1 to 9 (19 for zstd), not {self.level!r}")
        if self.chunk is not None and (not isinstance(self.chunk, int) or self.chunk < 1):
            raise WrongType(f"chunk is a number of rows, or None, not {self.chunk!r}")
        if not isinstance(self.background, bool):
            raise WrongType(f"background is True or False, not {self.background!r}")
        for name in ("queue", "segment_bytes"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise WrongType(f"{name} is a number of bytes, not {getattr(self, name)!r}")
        for name, seconds in (("interval", self.interval), ("sync", self.sync)):
            is_left_out = name == "sync" and seconds is None
            if not is_left_out and not (isinstance(seconds, Real) and 0 < seconds <= _LONGEST):
                raise WrongType(f"{name} is a number of seconds above 0 and up to {_LONGEST:,}, not {seconds!r}")

    @property
    def strength(self) -> int:
        """The level that is used: the one that was given, or the codec's own."""
        return codec.level_of(self.codec) if self.level is None else self.level


def check_config(config: object) -> None:
    """See that what was given as `config` of a recorder is one.

    Raises:
        WrongType: If it is something else, such as the parameters of a run.
    """
    if config is not None and not isinstance(config, ReplayConfig):
        raise WrongType(
            f"config is a playhead.ReplayConfig, not {type(config).__name__}; parameters go to store.run(…, config=…)"
        )
