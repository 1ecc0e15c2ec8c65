"""Runs parted by chance, the same way each time: by a hash of their ids."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from playhead.errors import WrongType
from playhead.table.table import Table

REST = "rest"
_WHOLE = 1 << 53  # a hash as a number from 0 on, of which a float knows every one
_NEAR = 1e-9  # shares that were added up as floats


def split(table: Table, shares: Mapping[str, float], seed: int = 0) -> tuple[Table, ...]:
    """Part the runs of a table.

    Which part a run is in depends on its id, the seed and the shares: not on the other runs, so that it stays there
    when the table grows, and in every view of the table.

    Args:
        table: The table.
        shares: For each part how much of the runs it gets, about; together at most 1.
        seed: Another one parts in another way.

    Returns:
        A view for each part, and where the shares are less than 1 together, one for the rest.

    Raises:
        WrongType: These are no shares, or more than there is.
    """
    _check(shares)
    bounds = np.cumsum(np.array([float(share) for share in shares.values()]))
    names = list(shares)
    if bounds[-1] < 1 - _NEAR:
        names.append(REST)
    else:
        bounds = bounds[:-1]
    found = table._opened.index.runs.spans(before=table._opened.state.runs)
    part = np.searchsorted(np.rint(bounds * _WHOLE).astype(np.int64), hashes(found[:, 0], seed), "right")
    return tuple(table._narrowed(f"{name} of seed {seed}", found[part == number]) for number, name in enumerate(names))


def _check(shares: Mapping[str, float]) -> None:
    if not shares:
        raise WrongType("name the parts with their shares: table.split(train=0.9, test=0.1)")
    for name, share in shares.items():
        if isinstance(share, bool) or not isinstance(share, (int, float, np.number)) or not 0 < share <= 1:
            raise WrongType(f"a share is a number above 0 and at most 1; {name} is {share!r}")
    if sum(shares.values()) > 1 + _NEAR:
        raise WrongType(f"the shares are {sum(shares.values()):g} together, and there is only 1 to part")


def hashes(ids: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Give a number for each id, that looks as if drawn from 0 up to 2⁵³ (the mixer of SplitMix64, twice)."""
    start = _mixed(np.array([seed & (2**64 - 1)], np.uint64) + np.uint64(0x9E3779B97F4A7C15))
    mixed = _mixed(_mixed(ids.astype(np.uint64) * np.uint64(0xD1342543DE82EF95) ^ start) + start)
    return (mixed >> np.uint64(11)).astype(np.int64)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
