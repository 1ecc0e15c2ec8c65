"""Other ways to choose rows of a table: by priority, and as sequences within runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from playhead.errors import OutOfRange, WrongShape, WrongType
from playhead.order import Order
from playhead.train.table_columns import Columns

if TYPE_CHECKING:
    from playhead.table import Table

MASK = "mask"

_CHILDREN = 16  # of a node in the tree of sums
_TOP = 4096  # so many sums, or fewer, are added up and searched at once


class PrioritizedSampler:
    """Rows by priority: row i is drawn with the probability p_i^alpha / Σ p^alpha (Schaul et al., 2016).

    A tree of sums finds the rows of a batch in a few steps, all at once; a batch is stratified, as in the paper: the
    sum is cut into as many equal parts as rows are wanted, and each gives one.

    Args:
        rows: How many rows there are, or a table.
        alpha: How much priorities matter; 0 draws all alike.
        beta: How much the weights make up for it; 1 is all.
        priority: Of every row at first.
        seed: Which draws.
    """

    def __init__(
        self, rows: int | Table, *, alpha: float = 0.6, beta: float = 0.4, priority: float = 1.0, seed: int = 0
    ) -> None:
        self._n = int(rows) if isinstance(rows, (int, np.integer)) else len(rows)
        if self._n < 1 or not alpha >= 0 or not 0 <= priority < np.inf:
            raise WrongType(
                "a sampler has rows, an alpha of at least 0, and priorities that are finite and not negative"
            )
        self.alpha, self.beta = alpha, beta
        self._random = np.random.default_rng(seed)
        leaves = np.zeros(-(-self._n // _CHILDREN) * _CHILDREN)
        leaves[: self._n] = _powers(np.array(priority, np.float64), alpha)
        self._levels = [leaves]
        while len(self._levels[-1]) > _TOP:
            sums = self._levels[-1].reshape(-1, _CHILDREN).sum(axis=1)
            self._levels.append(np.concatenate([sums, np.zeros(-len(sums) % _CHILDREN)]))

    def __len__(self) -> int:
        """Count the rows."""
        return self._n

    def sample(self, count: int, beta: float | None = None) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Draw rows.

        Returns:
            Their numbers, and the weights that make up for how they were drawn, the largest of which is 1.

        Raises:
            WrongType: There cannot be so many, or all priorities are 0, or too large to be added up.
        """
        if not isinstance(count, (int, np.integer)) or count < 0:
            raise WrongType(f"a number of rows is drawn, not {count!r}")
        if count == 0:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        with np.errstate(over="ignore"):
            top = np.cumsum(self._levels[-1])
        total = float(top[-1])
        if total == np.inf:
            raise WrongType("the priorities are too large to be added up: divide them by something")
        if not total > 0:
            raise WrongType("all priorities are 0: no row can be drawn")
        left = (np.arange(count) + self._random.random(count)) * (total / count)
        np.minimum(left, np.nextafter(total, 0), out=left)  # rounding leads to no row of priority 0
        nodes = np.searchsorted(top, left, "right")
        left -= top[nodes] - self._levels[-1][nodes]
        lines = np.arange(count) * _CHILDREN
        for level in reversed(self._levels[:-1]):
            children = level.reshape(-1, _CHILDREN).take(nodes, axis=0)
            sums = np.cumsum(children, axis=1)
            np.clip(left, 0, np.nextafter(sums[:, -1], 0), out=left)
            child = (sums > left[:, None]).argmax(axis=1)
            at = lines + child
            left -= sums.reshape(-1)[at] - children.reshape(-1)[at]
            nodes = nodes * _CHILDREN + child
        drawn = self._levels[0][nodes] / total * self._n
        weights = drawn ** -(self.beta if beta is None else beta)
        return nodes, (weights / weights.max()).astype(np.float32)

    def update(self, numbers: ArrayLike, priorities: ArrayLike) -> None:
        """Set the priorities of rows; of one that is named twice, the last counts."""
        nodes = _numbered(numbers, "rows")
        given = np.broadcast_to(np.asarray(priorities, np.float64), nodes.shape)
        if not nodes.size:
            return
        if nodes.min() < 0 or nodes.max() >= self._n:
            raise OutOfRange(f"rows are numbered from 0 to {self._n - 1:,}, not {nodes.min()} to {nodes.max()}")
        if not (given >= 0).all() or np.isinf(given).any():
            raise WrongType("priorities are finite and not negative: add a little to what may be 0, and look for NaN")
        self._levels[0][nodes] = _powers(given, self.alpha)
        for lower, upper in zip(self._levels, self._levels[1:], strict=False):
            nodes = nodes // _CHILDREN
            with np.errstate(over="ignore"):
                upper[nodes] = lower.reshape(-1, _CHILDREN)[nodes].sum(axis=1)  # anew, so that rounding does not add up

    def state_dict(self) -> dict[str, Any]:
        """Say which priorities there are, and which draws come next."""
        return {"powers": self._levels[0][: self._n].copy(), "random": self._random.bit_generator.state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where a checkpoint was made."""
        if len(state["powers"]) != self._n:
            raise WrongShape(f"the state is of {len(state['powers']):,} rows, and this sampler of {self._n:,}")
        self._levels[0][: self._n] = state["powers"]
        for lower, upper in zip(self._levels, self._levels[1:], strict=False):
            sums = lower.reshape(-1, _CHILDREN).sum(axis=1)
            upper[: len(sums)] = sums
        self._random.bit_generator.state = state["random"]


def _powers(priorities: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        found: NDArray[np.float64] = priorities**alpha
    if np.isinf(found).any():
        raise WrongType(f"{priorities.max():g} to the power of {alpha:g} is too large: divide priorities by something")
    return found


def _numbered(given: ArrayLike, what: str) -> NDArray[np.int64]:
    numbers = np.asarray(given)
    if numbers.size and numbers.dtype.kind not in "iu":
        raise WrongType(f"{what} are numbered by integers, not by {numbers.dtype}")
    return numbers.astype(np.int64, copy=False)


class SequenceSampler:
    """Windows of rows that follow one another within one run, and never reach from one run into the next.

    Of a view, windows lie within rows that it shows without a gap.

    Args:
        table: The table, or a view of it.
        length: Rows of a window.
        stride: Rows from the beginning of one window to that of the next.
        padded: Whether windows may reach over the end of a run. They then repeat its last row, which the mask says.
    """

    def __init__(self, table: Table, length: int, *, stride: int = 1, padded: bool = False) -> None:
        if length < 1 or stride < 1:
            raise WrongType(f"windows have at least one row and are at least one row apart, not {length} and {stride}")
        self._table, self._window, self._stride = table, length, stride
        sizes = stretches(table)
        self._ends = np.cumsum(sizes)
        self._starts = self._ends - sizes
        counts = -(-sizes // stride) if padded else np.maximum(0, (sizes - length) // stride + 1)
        self._counts = np.cumsum(counts)

    def __len__(self) -> int:
        """Count the windows."""
        return int(self._counts[-1]) if len(self._counts) else 0

    def rows(self, windows: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Give the numbers of the rows in windows, one line each, and whether each is one and not padding."""
        numbers = _numbered(windows, "windows").reshape(-1)
        if numbers.size and (numbers.min() < 0 or numbers.max() >= len(self)):
            raise OutOfRange(f"windows are numbered from 0 to {len(self) - 1:,}")
        of = np.searchsorted(self._counts, numbers, "right")
        before = np.where(of > 0, self._counts[of - 1], 0)
        first = self._starts[of] + (numbers - before) * self._stride
        found = first[:, None] + np.arange(self._window)
        last = self._ends[of][:, None] - 1
        return np.minimum(found, last), found <= last

    def get(self, windows: ArrayLike, columns: Sequence[str] | None = None) -> dict[str, NDArray[Any]]:
        """Give windows as arrays, [window, row, …] for each column, and their `mask`.

        Raises:
            WrongType: A column is called `mask` itself.
        """
        wanted = Columns(self._table.dtype, columns, for_torch=False)
        if any(column.name == MASK for column in wanted.all):
            raise WrongType(
                f"the column {MASK!r} has the name under which windows tell their padding: name other columns=, and "
                "take this one by table.get_batch, of the numbers that rows() gives"
            )
        rows, mask = self.rows(windows)
        packed = wanted.pack(self._table.get_batch(rows.reshape(-1)))
        return {name: values.reshape(*rows.shape, *values.shape[1:]) for name, values in packed.items()} | {MASK: mask}

    def batches(
        self, batch_size: int, *, seed: int | None = 0, epoch: int = 0, start: int = 0, drop_last: bool = False
    ) -> Iterator[NDArray[np.int64]]:
        """Give the numbers of windows, each once in an epoch, in an order of that seed and epoch, from a batch on."""
        order = None if seed is None else Order(len(self), seed, epoch)
        for first in range(start * batch_size, len(self), batch_size):
            numbers = np.arange(first, min(first + batch_size, len(self)))
            if len(numbers) == batch_size or not drop_last:
                yield numbers if order is None else order[numbers]


def stretches(table: Table) -> NDArray[np.int64]:
    """Give how many rows of a table follow one another within one run, for all such stretches in their order."""
    known = table._opened.index.runs.spans(before=table._opened.state.runs)
    known = known[np.argsort(known[:, 1], kind="stable")]
    starts, stops, shown = known[:, 1], known[:, 1] + known[:, 2], table.spans
    first = np.searchsorted(shown.stops, starts, "right")
    counts = np.maximum(np.searchsorted(shown.starts, stops, "left") - first, 0)
    run = np.repeat(np.arange(len(known)), counts)
    span = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts - first, counts)
    sizes = np.minimum(stops[run], shown.stops[span]) - np.maximum(starts[run], shown.starts[span])
    found: NDArray[np.int64] = sizes[sizes > 0]
    return found


class NStep(NamedTuple):
    """What follows the first row of each window.

    Attributes:
        returns: The discounted sum of the next rewards.
        discounts: What the value of the row at `last` counts for; 0 behind the end of an episode.
        last: The row of the window whose value goes on where the rewards end.
    """

    returns: NDArray[np.float64]
    discounts: NDArray[np.float64]
    last: NDArray[np.int64]


def n_step(
    rewards: ArrayLike,
    terminated: ArrayLike,
    gamma: float,
    *,
    n: int | None = None,
    mask: ArrayLike | None = None,
) -> NStep:
    """Give n-step returns: `returns + discounts * value(row at last)` is the target of the first row of each window.

    Args:
        rewards: What each row's action earned, [window, row].
        terminated: Whether it ended the episode.
        gamma: The discount.
        n: How many rewards; by default one less than a window has rows, so that there is a row to go on from.
        mask: Which rows are no padding. A run that ends without being terminated is cut: its last row is gone on from,
            and the reward of that row, after which nothing is known, is not used.
    """
    given, ends = np.asarray(rewards, np.float64), np.asarray(terminated, bool)
    if given.ndim != 2 or given.shape != ends.shape:
        raise WrongShape(f"rewards and ends are [window, row], not {given.shape} and {ends.shape}")
    length = given.shape[1]
    most = length - 1 if n is None else n
    if not 1 <= most < length:
        raise WrongType(f"windows of {length} rows have from 1 to {length - 1} steps, not {most}")
    there = np.ones_like(ends) if mask is None else np.asarray(mask, bool)
    has_end = (ends & there)[:, :most]
    is_over = has_end.any(axis=1)
    cut = np.minimum(most, np.maximum(there.sum(axis=1) - 1, 0))
    last = np.where(is_over, has_end.argmax(axis=1) + 1, cut)
    counted = np.arange(length) < last[:, None]
    returns = (np.where(counted, given, 0) * gamma ** np.arange(length)).sum(axis=1)
    return NStep(returns, np.where(is_over, 0.0, gamma**last), np.minimum(last, length - 1).astype(np.int64))
