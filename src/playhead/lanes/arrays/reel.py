"""Reel: everything that one environment recorded in a run, sealed or not, as one."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from playhead import memory
from playhead.errors import Damaged, NotFound, OutOfRange
from playhead.lanes.arrays.foreign import ForeignPart
from playhead.lanes.arrays.kind import CHECKS, FINALS, GROUPS, KEYFRAMES, PREFIXES, STEPS, ArrayKind
from playhead.lanes.arrays.live import Following, LivePart
from playhead.lanes.arrays.made import Maker, made_kinds
from playhead.lanes.arrays.parts import Part, SealedPart
from playhead.lanes.arrays.pieces import Gone, Piece, fill
from playhead.lanes.arrays.reeltape import Beginning
from playhead.lanes.arrays.rows import ROW
from playhead.lanes.arrays.sealed import Foreign, SealedFile, opened
from playhead.lanes.arrays.spans import Span, find_spans
from playhead.layout import ReelFiles
from playhead.signal.keys import LEAST

_KEPT_CHUNKS = 4
_PATIENCE = 20  # looks at files that are being sealed under our eyes


_Method = TypeVar("_Method", bound=Callable[..., Any])


def _looking_again(method: _Method) -> _Method:
    """Look at the files again where a segment was sealed and removed under our eyes."""

    @wraps(method)
    def patient(reel: Reel, *arguments: Any, **options: Any) -> Any:
        for _ in range(_PATIENCE):
            try:
                return method(reel, *arguments, **options)
            except Gone:
                reel.refresh()
        return method(reel, *arguments, **options)

    return cast("_Method", patient)


class _Decoded(NamedTuple):
    """The first rows of a piece, as they were last read."""

    first: int
    rows: NDArray[Any]


class Reel:
    """Reads a reel, also while it is recorded. For one thread at a time.

    Args:
        files: Where it lies.
        live: Also what is recorded and not sealed yet.
        is_named: The files belong to the reel that their name says. Without it, they may have been renamed.

    Raises:
        NotFound: There is no such reel.
        Misplaced: A file of another reel lies under its name.
        Damaged: A file of it cannot be read.

    Attributes:
        maker: Makes what reads arrays that are not stored, for a reel that has such.
    """

    maker: ClassVar[Callable[[Reel], Maker] | None] = None

    def __init__(self, files: ReelFiles, *, live: bool = True, is_named: bool = True) -> None:
        self.files = files
        self._is_named = is_named
        self._made: tuple[dict[str, Any], dict[str, ArrayKind]] = ({}, {})
        self._makes: Maker | None = None
        self._is_live = live
        self._sealed: list[Part] = []
        self._live: list[Part] = []
        self.parts: list[Part] = []  # in order
        self._following: Following | None = None
        self._identity: tuple[int, ...] | None = None
        self._kept: OrderedDict[tuple[str, str, int], _Decoded] = OrderedDict()
        self._spans: list[Span] | None = None
        if not files.exist():
            raise NotFound(f"no replay {files.id!r} in {files.folder}: there is no {files.file.name}")
        self.refresh()

    # -- what there is ----------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Look again: at a file that was sealed, and at what was recorded since."""
        for _ in range(_PATIENCE):
            self._load_sealed()
            is_whole = self._poll()
            if is_whole and self._identity == _identity(self.files.file):
                break
        self.parts = sorted([*self._sealed, *self._live], key=lambda part: part.bases[STEPS])
        self._spans = None

    def _load_sealed(self) -> None:
        identity = _identity(self.files.file)
        if identity == self._identity:
            return
        self.close()
        self._sealed = [] if identity is None else _opened(self.files, is_named=self._is_named)
        self._identity = identity

    def _poll(self) -> bool:
        """Read on in the journal; tell whether nothing was removed under our eyes, as when it has just been sealed."""
        if not self._is_live:
            return True
        if self._following is not None and self._following.is_gone:
            self._following.close()
            self._following = None
        is_whole = True
        found: list[LivePart] = []
        try:
            if self._following is None:
                self._following = Following(self.files.journal)
            found = self._following.poll()
            for part in found if self._is_named else ():
                part.check_owner(self.files)
        except (NotFound, FileNotFoundError):
            is_whole = not self.files.journal.exists()
            if self._following is not None:
                self._following.close()
                self._following = None
        sealed = {row for part in self._sealed for row in (part.bases[STEPS],) if part.lengths[STEPS]}
        end = max((part.span().stop for part in self._sealed), default=0)
        self._live = [
            part
            for part in found
            if any(part.lengths.values()) or part.notes
            if part.bases[STEPS] >= end or part.bases[STEPS] not in sealed
        ]
        return is_whole

    @property
    def damage(self) -> list[Damaged]:
        """What of the journal cannot be read."""
        return [] if self._following is None else self._following.damage

    @property
    def length(self) -> int:
        """How many steps there are."""
        return self._end(STEPS)

    def _end(self, axis: str) -> int:
        return max((part.span(axis).stop for part in self.parts), default=0)

    @property
    def kinds(self) -> dict[str, ArrayKind]:
        """The arrays that have a row a step, by name; also those that are made when they are read."""
        found = {
            kind.name: kind
            for part in self.parts
            for kind in part.kinds.values()
            if kind.axis == STEPS and kind.group != CHECKS
        }
        found |= self.made
        for name, other in self.same.items():
            if other in found:
                found[name] = found[other]
        return found

    @property
    def made(self) -> dict[str, ArrayKind]:
        """The arrays that are not stored, but made when they are read."""
        facts = self.facts
        if self._made[0] is not facts:
            self._made = facts, made_kinds(facts)
        return self._made[1]

    @property
    def makes(self) -> Maker:
        """What makes these."""
        if self._makes is None:
            if Reel.maker is None:
                raise NotFound(f"nothing makes {', '.join(self.made)} of {self.files.id}: import playhead.replay")
            self._makes = Reel.maker(self)
        return self._makes

    @makes.setter
    def makes(self, maker: Maker) -> None:
        if self._makes is not None:
            self._makes.close()
        self._makes = maker

    def _is_made(self, name: str, axis: str = STEPS) -> bool:
        return axis == STEPS and self.same.get(name, name) in self.made

    @property
    def same(self) -> dict[str, str]:
        """Arrays that are stored once under another name, as where the frame is the observation."""
        return dict(self.facts.get("same", {}))

    @property
    def facts(self) -> dict[str, Any]:
        """What does not change: the environment, its spaces."""
        parts = self.parts
        return parts[-1].facts if parts else {}

    @property
    def groups(self) -> list[str]:
        """The bits of `has`."""
        return max([*(part.groups for part in self.parts), list(GROUPS)], key=len)

    @property
    def agents(self) -> list[str]:
        """The agents."""
        return max((part.agents for part in self.parts), key=len, default=[])

    def beginning(self) -> Beginning:
        """Say where a recording goes on."""
        spans = self.spans
        kinds = {key: kind for part in self.parts for key, kind in part.kinds.items()}
        last = int(self.rows(self.length - 1, self.length)["ts_ns"][0]) if self.length else LEAST - 1
        last = max([last, *(span.ended_ns or span.began_ns or LEAST - 1 for span in spans[-1:])])
        return Beginning(
            row=self.length,
            episode=1 + max((note.get("begin", -1) for part in self.parts for note in part.notes), default=-1),
            finals=self._end(FINALS),
            prefixes=self._end(PREFIXES),
            keyframes=self._end(KEYFRAMES),
            last_ns=last,
            groups=list(self.groups),
            agents=list(self.agents),
            kinds=kinds,
        )

    # -- steps and episodes -----------------------------------------------------------------------------------------

    @_looking_again
    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Give steps as rows of `ROW`."""
        found = [part.rows(low, high) for part, low, high in self._within(start, stop, STEPS)]
        if len(found) == 1:
            return found[0]
        return np.concatenate(found) if found else np.empty(0, ROW)

    def stretch(self, start: int) -> range:
        """Give the first steps at or behind one that can be read, up to the next that was lost."""
        for part in self.parts:
            span = part.span()
            low = max(start, span.start)
            for lost, found in [*part.lost, (span.stop, span.stop)]:
                if low < lost:
                    return range(low, lost)
                low = max(low, found)
        return range(start, start)

    @_looking_again
    def infos(self, start: int, stop: int) -> list[bytes]:
        """Give the infos of steps, JSON each, nothing where there is none."""
        return [info for part, low, high in self._within(start, stop, STEPS) for info in part.infos(low, high)]

    @property
    def spans(self) -> list[Span]:
        """The episodes that have a step, in order; the last may be open."""
        if self._spans is None:
            self._spans = find_spans(self.parts)
        return self._spans

    # -- arrays -----------------------------------------------------------------------------------------------------

    def kind(self, name: str, axis: str = STEPS) -> ArrayKind:
        """Describe an array.

        Raises:
            NotFound: There is no such array.
        """
        stored = self.same.get(name, name)
        for part in reversed(self.parts):
            if (axis, stored) in part.kinds:
                return part.kinds[axis, stored]
        if self._is_made(name, axis):
            return self.made[stored]
        raise NotFound.among("array", name, sorted(self.kinds))

    def bit(self, kind: ArrayKind) -> int:
        """Give the bit of an array in `has`."""
        groups = self.groups  # a new array is declared before the step that says which group it is of
        return 1 << groups.index(kind.group) if kind.group in groups else 0

    @_looking_again
    def present(self, name: str, start: int, stop: int) -> NDArray[np.bool_] | None:
        """Tell which steps have a row of an array; None where all have."""
        kind = self.kind(name)
        bit = self.bit(kind)
        within = list(self._within(start, stop, STEPS))
        if all(part.always(bit) for part, _, _ in within):
            return None
        found = np.concatenate([part.has(low, high) for part, low, high in within]) & bit != 0
        return None if found.all() else found

    @_looking_again
    def read(
        self, name: str, start: int, stop: int, *, axis: str = STEPS, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Give rows of an array that follow one another; one that is empty is zero.

        Args:
            name: The array.
            start: The first row.
            stop: Behind the last.
            axis: What its rows are.
            out: Where to put them; without it, a new array.

        Raises:
            NotFound: There is no such array.
            OutOfRange: There are fewer rows.
            Damaged: Some cannot be read.
        """
        kind = self.kind(name, axis)
        self._refuse_outside(name, start, stop, axis)
        dtype = np.dtype(kind.dtype)
        if self._is_made(name, axis):
            made = self.makes.rows(kind.name, np.arange(start, stop))
            if out is None:
                return made
            out[:] = made
            return out
        if not kind.row_bytes:
            return np.empty((stop - start, *kind.shape), dtype)
        rows = memory.empty((stop - start, *kind.shape), dtype) if out is None else out
        for part, low, high in self._within(start, stop, axis):
            place = rows[low - start : high - start]
            if (axis, kind.name) not in part.kinds:
                missing: NDArray[np.bool_] | None = np.ones(high - low, np.bool_)
                place[:] = np.zeros((), dtype)
            else:
                missing = fill(place, low, part.pieces(kind, low, high))
            if missing is not None:
                part.refuse_lost(kind, low, high, missing)
        return rows

    @_looking_again
    def take(self, name: str, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Give rows at any positions, in their order; each stretch that is compressed together is read once."""
        kind = self.kind(name)
        if len(positions):
            self._refuse_outside(name, int(positions.min()), int(positions.max()) + 1, STEPS)
        if self._is_made(name):
            return self.makes.rows(kind.name, positions)
        out = memory.empty((len(positions), *kind.shape), kind.dtype)
        order = np.argsort(positions, kind="stable")
        at = 0
        while kind.row_bytes and at < len(order):
            first = int(positions[order[at]])
            piece = self._piece(kind, first)
            if piece is None:
                out[order[at]] = self.read(name, first, first + 1)[0]
                at += 1
                continue
            end = at + int(np.searchsorted(positions[order[at:]], piece.first + piece.length))
            chosen = order[at:end]
            last = int(positions[chosen[-1]])
            scratch = np.empty((last + 1 - piece.first, *kind.shape), out.dtype)
            piece.decode(scratch)
            out[chosen] = scratch[positions[chosen] - piece.first]
            at = end
        return out

    @_looking_again
    def row(self, name: str, position: int) -> NDArray[Any] | None:
        """Give one row; None where the step has none. What was read last is remembered, so that steps in order are
        read once.

        Raises:
            OutOfRange: There are fewer rows.
        """
        self._refuse_outside(name, position, position + 1, STEPS)
        present = self.present(name, position, position + 1)
        if present is not None:
            return None
        kind = self.kind(name)
        if self._is_made(name):
            made: NDArray[Any] = self.makes.rows(kind.name, np.array([position]))[0]
            return made
        piece = self._piece(kind, position) if kind.row_bytes else None
        if piece is None:
            return self.read(name, position, position + 1).reshape(kind.shape)
        key = (kind.name, piece.path, piece.first)
        kept = self._kept.get(key)
        place = position - piece.first
        if kept is None or len(kept.rows) <= place:
            # Asked for twice, a stretch is likely read to its end; a row asked for once needs only those before it.
            count = place + 1 if kept is None else piece.length
            rows = np.empty((count, *kind.shape), np.dtype(kind.dtype))
            piece.decode(rows)
            kept = self._kept[key] = _Decoded(piece.first, rows)
            while len(self._kept) > _KEPT_CHUNKS:
                self._kept.popitem(last=False)
        return kept.rows[place : place + 1].copy().reshape(kind.shape)

    def _piece(self, kind: ArrayKind, position: int) -> Piece | None:
        for part, low, high in self._within(position, position + 1, kind.axis):
            if (kind.axis, kind.name) in part.kinds:
                for piece in part.pieces(kind, low, high):
                    if piece.first <= position < piece.first + piece.length:
                        return piece
        return None

    def _within(self, start: int, stop: int, axis: str) -> list[tuple[Part, int, int]]:
        """Find the parts that hold rows.

        Raises:
            Damaged: None holds some of them.
        """
        found = []
        at = start
        for part in self.parts:
            span = part.span(axis)
            low, high = max(at, span.start), min(stop, span.stop)
            if low < high:
                if low > at:
                    break
                found.append((part, low, high))
                at = high
        if at < stop:
            raise Damaged(self.files.journal, f"rows {at} to {stop - 1} of {axis}", "no part that holds them")
        return found

    def _refuse_outside(self, name: str, start: int, stop: int, axis: str) -> None:
        end = self._end(axis)
        if start < 0 or stop > end:
            row = start if start < 0 or start >= end else stop - 1
            raise OutOfRange(f"no row {row} in {name} of {self.files.id}: there are {end}")

    def close(self) -> None:
        """Give all files back; `refresh` opens them again."""
        for part in [*self._sealed, *self._live]:
            part.close()
        if self._following is not None:
            self._following.close()
        self._sealed, self._live, self.parts, self._following, self._identity = [], [], [], None, None
        self._kept.clear()
        if self._makes is not None:
            self._makes.close()


def _identity(path: Path) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _opened(files: ReelFiles, *, is_named: bool) -> list[Part]:
    try:
        file = opened(files) if is_named else SealedFile(files.file)
    except FileNotFoundError:
        return []
    except Foreign:
        return [ForeignPart(files.file, files.episodes)]
    if "parts" not in file.head:
        return [SealedPart(file)]
    also = file.head.get("also", ())
    try:
        return [_part(files, number, crc, also, is_named=is_named) for number, crc in enumerate(file.head["parts"])]
    except Damaged:
        if SealedFile(files.file).crc == file.crc:
            raise
        return _opened(files, is_named=is_named)  # parts were compressed anew under our eyes


def _part(files: ReelFiles, number: int, crc: int, also: Sequence[int], *, is_named: bool) -> SealedPart:
    path = files.part(number)
    try:
        file = opened(files, number) if is_named else SealedFile(path)
    except FileNotFoundError as error:
        raise Damaged(path, "a part of a replay", "no file", "Restore it from a copy") from error
    if file.crc != crc and file.crc not in also:
        raise Damaged(path, f"the part that was sealed here, with CRC {crc:08x}", f"another, with {file.crc:08x}")
    return SealedPart(file)
