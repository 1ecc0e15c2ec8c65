"""The signals of an episode as the player sees them: numbered samples, their times, and where pictures lie.

The samples of an array that an agent recorded are numbered as the steps are, so that one number means one moment in all
of them; a step without a value is a hole. Where several agents act, and in datasets, each signal counts its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.episode import DiskEpisode
from playhead.errors import NotFound, OutOfRange, PlayheadError
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.vectors import SimpleSignal
from playhead.ref import FrameRef
from playhead.replay.episode import ReplayEpisode, signal_name
from playhead.signal import Signal
from playhead.web.episodes.addresses import Address, sample_ref
from playhead.web.episodes.pictures import Form, Pictures

Reading = Callable[[], AbstractContextManager[None]]

PICTURE, SCALAR, VECTOR, TEXT, OTHER = "picture", "scalar", "vector", "text", "other"
MOST_COLUMNS = 64

_SCALARS = ("reward", "terminated", "truncated")
_NOTHING = np.empty(0, np.int64)


@dataclass(slots=True)
class Track:
    """One signal of an episode.

    Attributes:
        name: The signal.
        kind: `picture`, `scalar`, `vector`, `text` or `other`.
        signal: Its samples; None where it cannot be opened.
        stamps: The time of each number.
        dtype: The type of its values.
        shape: The shape of a value.
        ref: What stands before the place in the address of a sample.
        place0: The place of the first number in such an address.
        rows: The place of each number; None where it is the number itself.
        present: Which numbers have a value; None where all have.
        pictures: The pictures by place, where it has some.
        is_lossy: Whether pictures differ from what was recorded.
        same_as: Another signal that is stored once with it.
        error: Why it cannot be read.
    """

    name: str
    kind: str
    signal: Signal[Any] | None
    stamps: NDArray[np.int64]
    dtype: str = ""
    shape: tuple[int, ...] = ()
    ref: str = ""
    place0: int = 0
    rows: range | NDArray[np.int64] | None = None
    present: NDArray[np.bool_] | None = None
    pictures: Pictures | None = None
    is_lossy: bool = False
    same_as: str | None = None
    error: str | None = None
    _ranks: NDArray[np.int64] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.stamps)

    @property
    def columns(self) -> int:
        """The numbers in a value."""
        return int(np.prod(self.shape, dtype=np.int64)) if self.kind in (SCALAR, VECTOR) else 0

    def place(self, number: int) -> int:
        """Give the place of a number.

        Raises:
            NotFound: There are fewer.
        """
        if not 0 <= number < len(self):
            raise NotFound(f"no sample {number} of {self.name!r}: there are {len(self)}")
        return number if self.rows is None else int(self.rows[number])

    def has(self, number: int) -> bool:
        """Tell whether a number has a value."""
        return self.present is None or bool(self.present[number])

    def newest(self, number: int) -> int:
        """Give the newest number with a value, up to one; -1 where there is none."""
        if self.present is None:
            return number
        before = np.flatnonzero(self.present[: number + 1])
        return int(before[-1]) if len(before) else -1

    def number_at(self, stamp: int) -> int:
        """Give the newest number with a value at a time; -1 where there is none."""
        return self.newest(int(np.searchsorted(self.stamps, stamp, "right")) - 1)

    def position(self, number: int) -> int:
        """Give the position in the signal of a number that has a value."""
        if self.present is None:
            return number
        if self._ranks is None:
            self._ranks = np.cumsum(self.present) - 1
        return int(self._ranks[number])

    def samples(self) -> Signal[Any]:
        """Give the signal.

        Raises:
            NotFound: It cannot be opened.
        """
        if self.signal is None:
            raise NotFound(f"the signal {self.name!r} cannot be read: {self.error}")
        return self.signal


def kind_of(dtype: str, shape: tuple[int, ...]) -> str:
    """Tell what values of a type and shape are to the player."""
    if dtype == "str" or np.dtype(dtype).kind in "SUO":
        return TEXT if not shape else OTHER
    if np.dtype(dtype).kind not in "buif":
        return OTHER
    if not shape or shape == (1,):
        return SCALAR
    if Form.of(dtype, shape) is not None:
        return PICTURE
    is_small = int(np.prod(shape, dtype=np.int64)) <= MOST_COLUMNS
    return VECTOR if 0 not in shape and (len(shape) == 1 or is_small) else OTHER


class ReelPictures:
    """Makes the pictures of the arrays of a reel.

    Args:
        reel: The reel.
        reading: What surrounds each read.
    """

    def __init__(self, reel: Reel, reading: Reading) -> None:
        self._reel = reel
        self._reading = reading

    def of(self, array: str, places: NDArray[np.int64]) -> Pictures | None:
        """Give the pictures of an array, by row; None where it has none.

        Args:
            array: The array; where it is a stack of frames, the newest of each is the picture.
            places: Rows to find out by how they are shown.
        """
        kind = self._reel.kind(array)
        form = Form.of(kind.dtype, kind.shape)
        if form is None:
            return None

        def read(row: int) -> NDArray[Any] | None:
            with self._reading():
                try:
                    return self._reel.row(array, row)
                except OutOfRange as error:
                    raise NotFound(str(error)) from error

        return Pictures(form, read, places.tolist())


def of_replay(episode: ReplayEpisode, reel: Reel, reading: Reading, known: dict[str, Pictures]) -> dict[str, Track]:
    """Give the tracks of an episode that agents played. The caller holds the lock of the reel.

    Args:
        episode: The episode.
        reel: Its reel.
        reading: What surrounds each later read.
        known: The pictures by array that are there already; new ones are added.
    """
    rows, first = episode.steps, int(episode.meta["first_row"])
    maker = ReelPictures(reel, reading)
    found: dict[str, Track] = {}
    agents = np.unique(rows["agent"]).tolist() if reel.agents else [0]
    is_alone = len(agents) < 2
    everything = range(first, first + len(rows))
    for agent in agents:
        prefix = "" if is_alone else f"{reel.agents[agent]}."
        mine = rows["agent"] == agent
        for array, kind in sorted(reel.kinds.items(), key=lambda item: not item[0].startswith("frames")):
            has = rows["has"] & reel.bit(reel.kind(array)) != 0
            if not has.any():
                continue
            name = prefix + signal_name(array)
            shape = (kind.stack, *kind.shape) if kind.stack > 1 else kind.shape
            if array not in known and (made := maker.of(array, first + np.flatnonzero(has))) is not None:
                known[array] = made
            track = Track(name, kind_of(kind.dtype, kind.shape), episode.signals[name], _NOTHING)
            track.dtype, track.shape, track.pictures = _type_name(kind.dtype), shape, known.get(array)
            if track.kind in (SCALAR, VECTOR) and kind.stack > 1:
                track.kind = kind_of(kind.dtype, shape)
            if is_alone:
                track.stamps, track.rows = rows["ts_ns"], everything
                track.present = None if has.all() else has
                track.ref, track.place0 = str(FrameRef(reel.files.id, array, 0)).removesuffix("0"), first
            else:
                chosen = np.flatnonzero(mine & has)
                track.stamps, track.rows = rows["ts_ns"][chosen], first + chosen
                track.ref = sample_ref(Address(episode.id), name)
            found[name] = track
        for name in (prefix + scalar for scalar in _SCALARS):
            signal = episode.signals[name]
            kind_name = "float64" if name.endswith(_SCALARS[0]) else "bool"
            found[name] = Track(name, SCALAR, signal, signal.timestamps, kind_name)
    if is_alone:
        _note_same(found, reel)
    return found


def _note_same(tracks: dict[str, Track], reel: Reel) -> None:
    for array, other in reel.same.items():
        one, two = (tracks.get(signal_name(name)) for name in (array, other))
        if one is not None and two is not None:
            later = one if one.name > two.name else two  # `frame` is the one that is shown
            later.same_as = two.name if later is one else one.name


def of_dataset(episode: DiskEpisode, address: Address) -> dict[str, Track]:
    """Give the tracks of an episode in a dataset; one that cannot be opened says why."""
    found = {}
    for name in episode.signals:
        try:
            track = _opened(name, episode.signals[name])
        except (PlayheadError, FileNotFoundError) as error:
            track = Track(name, OTHER, None, _NOTHING, error=str(error))
        track.ref = sample_ref(address, name)
        found[name] = track
    return found


def _opened(name: str, signal: Signal[Any]) -> Track:
    track = Track(name, OTHER, signal, signal.timestamps)
    kind = signal.kind if isinstance(signal, SimpleSignal) else None
    if kind is not None:
        track.dtype, track.shape = kind.dtype, kind.shape or ()
    elif len(signal):
        first = signal[0][0]
        track.dtype = "str" if isinstance(first, str) else np.asarray(first).dtype.str
        track.shape = np.shape(first)
    else:
        track.dtype, track.shape = "|u1" if hasattr(signal, "codec") else "<f8", ()
    track.kind = kind_of(track.dtype, track.shape)
    track.is_lossy = getattr(signal, "loss", None) is not None
    if (form := None if track.kind != PICTURE else Form.of(track.dtype, track.shape)) is not None:

        def read(place: int) -> NDArray[Any]:
            return np.asarray(signal[place][0])

        track.pictures = Pictures(form, read, range(len(signal)))
    track.dtype = _type_name(track.dtype)
    return track


def _type_name(dtype: str) -> str:
    is_text = dtype == "str" or np.dtype(dtype).kind in "SUO"
    return "str" if is_text else np.dtype(dtype).name


def walk(tracks: dict[str, Track]) -> Iterator[Track]:
    """Walk over the tracks that can be read."""
    return (track for track in tracks.values() if track.error is None)
