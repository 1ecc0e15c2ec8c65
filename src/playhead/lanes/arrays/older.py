"""Sealed files of earlier versions, whose list of chunks does not say whose they are: HDF5's own attribute does.

Reading it takes the HDF5 library, so readers leave it alone. `verify` and `rebuild` compare it.
"""

from __future__ import annotations

from collections.abc import Iterable

from playhead import owner
from playhead.errors import Misplaced
from playhead.lanes.arrays.parts import Part, SealedPart
from playhead.layout import ReelFiles

RUN_ID = "run_id"  # the root attribute


def unnamed(parts: Iterable[Part]) -> list[SealedPart]:
    """Give the sealed files that do not say whose they are."""
    return [part for part in parts if isinstance(part, SealedPart) and part.owner is None]


def check(files: ReelFiles, parts: Iterable[Part]) -> None:
    """See that files that do not say whose they are have the attribute of this reel.

    Raises:
        Misplaced: One has that of another.
        Damaged: One cannot be read.
    """
    import h5py

    for part in unnamed(parts):
        if not part.is_sound_outside():  # the library may end the process over a damaged file; `flaws` reports it
            continue
        with h5py.File(part.path, "r") as file:
            found = file.attrs.get(RUN_ID)
        if isinstance(found, str) and found != files.id:
            due = {"reel": files.id}
            raise Misplaced(part.path, owner.spelled(due), owner.spelled({"reel": found}), owner.REMEDY)
