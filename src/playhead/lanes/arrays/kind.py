"""What an array of a reel looks like: its dtype, the shape of a row, and how many rows are compressed together."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from playhead.errors import BadName, Damaged, WrongType

STEPS = "steps"  # a row a step
FINALS = "finals"  # a row for each end of an episode: what was seen after its last step
PREFIXES = "prefixes"  # a row for each begin of one: the frames that its first stack holds from before
KEYFRAMES = "keyframes"  # a row for each step at which the state of a simulator was saved
AXES = (STEPS, FINALS, PREFIXES, KEYFRAMES)

CHECKS = "checks"  # `checks.frames` tells of each row what `frames` was, which is not stored, but made when it is read

GROUPS = ("frames", "observations", "actions")  # the first bits of `has`; others follow as they come
MOST_GROUPS = 16

# Measured on six games: over these sizes compression gains little, and a single row costs more to read.
_CHUNK_BYTES = 1_750_000
_MOST_ROWS = 64
_MOST_SMALL_ROWS = 1024
_SMALL = 4096

_FOLDERS = {STEPS: "", FINALS: "episodes/final/", PREFIXES: "episodes/prefix/", KEYFRAMES: "episodes/keyframe/"}

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}")
_RESERVED = ("episodes", "steps", "rewards", "dones", "playhead")


@dataclass(frozen=True, slots=True)
class ArrayKind:
    """One array.

    Attributes:
        name: Its name: `frames`, `observations`, `observations.camera`.
        axis: What its rows are: `steps`, `finals`, `prefixes` or `keyframes`.
        dtype: NumPy's text for the type of its values.
        shape: Of a row.
        chunk: Rows that are compressed together.
        stack: How many rows one observation is made of; 1 where it is a row.
    """

    name: str
    axis: str
    dtype: str
    shape: tuple[int, ...]
    chunk: int
    stack: int = 1

    @classmethod
    def of(cls, name: str, axis: str, sample: NDArray[Any], *, chunk: int | None = None, stack: int = 1) -> Self:
        """Describe an array by its first row.

        Raises:
            WrongType: Rows of this type cannot be recorded.
            BadName: An array cannot be called so.
        """
        check_name(name)
        if sample.dtype.kind not in "biufcS" or sample.dtype.itemsize == 0:
            raise WrongType(
                f"{name} has the dtype {sample.dtype}, which cannot be recorded; "
                "numbers, booleans and bytes of a fixed length can"
            )
        dtype = sample.dtype.newbyteorder("<") if sample.dtype.byteorder == ">" else sample.dtype
        rows = rows_for(sample.nbytes) if chunk is None else chunk
        return cls(name, axis, dtype.str, tuple(sample.shape), rows, stack)

    @property
    def group(self) -> str:
        """What the array is a part of: `observations` for `observations.camera`."""
        return self.name.partition(".")[0]

    @property
    def row_bytes(self) -> int:
        """The bytes of a row."""
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize

    @property
    def path(self) -> str:
        """Where the array lies in the HDF5 file."""
        return _FOLDERS[self.axis] + self.name

    def to_json(self) -> dict[str, Any]:
        """Give what a file says of the array."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Read what a file says; it may come from elsewhere.

        Raises:
            Damaged: It cannot be an array of ours.
        """
        try:
            kind = cls(**(data | {"shape": tuple(map(int, data["shape"]))}))
            is_sound = min(kind.chunk, kind.stack) > 0 and min(kind.shape, default=0) >= 0
            if is_sound and np.dtype(kind.dtype).kind in "biufcS" and kind.axis in AXES:
                return kind
        except (TypeError, ValueError, KeyError):
            pass
        raise Damaged("a replay", "the description of an array", repr(data)[:200])

    def describe(self) -> str:
        """Say type and shape, for people."""
        return f"{np.dtype(self.dtype).name}{list(self.shape)}"


def rows_for(row_bytes: int) -> int:
    """Choose how many rows are compressed together: a power of two."""
    most = _MOST_ROWS if row_bytes >= _SMALL else _MOST_SMALL_ROWS
    rows = max(1, min(most, _CHUNK_BYTES // max(1, row_bytes)))
    return 1 << (rows.bit_length() - 1)


def check_name(name: str) -> str:
    """Check the name of an array, which is a part of refs and of HDF5 paths.

    Raises:
        BadName: It cannot be one.
    """
    if not is_name(name):
        raise BadName(
            f"{name!r} cannot name an array of a replay: use letters, digits and '_', parts joined by '.', "
            f"and none of {', '.join(_RESERVED)}"
        )
    return name


def is_name(name: object) -> bool:
    """Tell whether an array can be called so."""
    return isinstance(name, str) and bool(_NAME.fullmatch(name)) and name.partition(".")[0] not in _RESERVED
