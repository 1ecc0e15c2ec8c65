"""What the values of a signal say about it: whether they change, and whether they are numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.check.finding import NOTE, WARNING

_ENOUGH = 10  # samples from which a signal that never changes is worth a word


def look(values: NDArray[Any]) -> Iterator[tuple[str, str]]:
    """Look at all values of a signal.

    Args:
        values: One a row.

    Yields:
        A severity and what was found.
    """
    if not len(values):
        yield NOTE, "has no samples"
        return
    if values.dtype.kind == "f":
        yield from _not_finite(values)
    if len(values) >= _ENOUGH and _is_constant(values):
        yield NOTE, f"never changes: all {len(values):,} samples are {_shown(values[0])}"


def _not_finite(values: NDArray[Any]) -> Iterator[tuple[str, str]]:
    for word, is_so in (("NaN", np.isnan(values)), ("infinite", np.isinf(values))):
        if is_so.any():
            rows = int(is_so.reshape(len(values), -1).any(axis=1).sum())
            share = "all" if rows == len(values) else f"{rows:,} of {len(values):,}"
            yield WARNING, f"{share} samples hold values that are {word} ({int(is_so.sum()):,} values)"


def _is_constant(values: NDArray[Any]) -> bool:
    if values.dtype == object:
        first = values[0]
        return all(np.array_equal(value, first) for value in values)
    return bool((values == values[0]).all())


def _shown(value: Any) -> str:
    text = " ".join(str(np.asarray(value).tolist() if isinstance(value, np.ndarray) else value).split())
    return text if len(text) <= 60 else f"{text[:59]}…"
