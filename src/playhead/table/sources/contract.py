"""What a source of rows is: things that are read one after another, each a few runs or a part of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from playhead.errors import PlayheadError, WrongType
from playhead.table.writing import RUN, STEP
from playhead.wording import counted

PLACE = ((RUN, "<u4"), (STEP, "<u4"))  # what every row has, where its source does not say it
BLOCK_BYTES = 32 << 20  # about what is read at a time

Run = dict[str, Any]
Rows = NDArray[Any]
Make = str | Callable[[Any], Any]
Columns = Mapping[str, Make]


class Block(NamedTuple):
    """Rows, and the runs that they are of; no runs where the rest of a run is yet to come."""

    rows: Rows
    runs: Sequence[Run]


class Item(Protocol):
    """One thing to read: a file, an episode, a table. It can be sent to another process where `travels`."""

    @property
    def name(self) -> str:
        """What to call it in messages."""

    @property
    def size(self) -> int:
        """About how much there is to read, in the unit of its plan."""

    @property
    def travels(self) -> bool:
        """Whether another process can read it."""

    def blocks(self, dtype: np.dtype[Any]) -> Iterator[Block]:
        """Read it, as rows of this type."""


@dataclass(frozen=True)
class Plan:
    """What is read, and what becomes of it.

    Attributes:
        dtype: Of a row.
        known: What is known of a run, by the column of the database, with its type.
        items: What is read, in this order.
        about: What the table tells of it, as JSON.
        unit: What the sizes of the items count.
        where: Which runs to take, if that is still to be looked at.
    """

    dtype: np.dtype[Any]
    known: Mapping[str, str]
    items: Sequence[Item]
    about: Mapping[str, Any] = field(default_factory=dict)
    unit: str = "bytes"
    where: str | None = None


class TooNarrow(WrongType):
    """A `step_index` that its column has no room for."""

    @classmethod
    def of(cls, name: str, step: int, kind: np.dtype[Any]) -> TooNarrow:
        """Say which step of what does not fit, and what to do."""
        return cls(f"{name}: {STEP} {step:,} does not fit {kind}; pass widen=True to count steps in 32 bits")


class Failure(NamedTuple):
    """An error in a form that any process can be told of."""

    kind: type[Exception]
    args: tuple[Any, ...]
    state: dict[str, Any]

    @classmethod
    def of(cls, error: PlayheadError | OSError) -> Failure:
        """Take an error."""
        file = error.filename if isinstance(error, OSError) else None  # which `args` leave out
        return cls(type(error), error.args if file is None else (*error.args, file), dict(vars(error)))

    def error(self) -> Exception:
        """Give the error again."""
        error: Exception = self.kind.__new__(self.kind, *self.args)
        error.args = self.args[:2]
        vars(error).update(self.state)
        return error


def as_mapping(columns: Any) -> Columns | None:
    """Take what a caller says of columns: names, or new names with what each is made of.

    Raises:
        WrongType: It is something else.
    """
    if columns is None:
        return None
    if isinstance(columns, str):
        columns = [columns]
    found = dict(columns) if isinstance(columns, Mapping) else {name: name for name in columns}
    for name, make in found.items():
        if not isinstance(name, str) or not (isinstance(make, str) or callable(make)):
            raise WrongType(f"columns are names, or new names with a name or a function each; not {name!r}: {make!r}")
    return found


def spelled(columns: Columns | None) -> Any:
    """Give columns as JSON has them; None where a function is among them that only its author knows."""
    if columns is None or not all(isinstance(make, str) for make in columns.values()):
        return None
    return dict(columns)


def can_travel(columns: Columns | None) -> bool:
    """Tell whether other processes can find the functions: those that have a name in a module."""
    names = [getattr(make, "__qualname__", "") for make in (columns or {}).values() if not isinstance(make, str)]
    return not any("<" in name for name in names)


def as_array(name: str, values: Any) -> NDArray[Any]:
    """Take the values of a column, one a row.

    Raises:
        WrongType: They differ in shape, or a mask says that some are not there.
    """
    gaps = int(np.count_nonzero(np.ma.getmaskarray(values))) if isinstance(values, np.ma.MaskedArray) else 0
    if gaps:
        raise WrongType(f"{name} has {counted(gaps, 'gap')}, and a row has a value in every column; fill them first")
    try:
        return np.asarray(values)
    except ValueError as error:
        raise WrongType(f"{name}: a column holds numbers, alone or in arrays of one shape; {error}") from error


def type_of(name: str, values: Any, count: int) -> tuple[str, np.dtype[Any], tuple[int, ...]]:
    """Give the column that values would be, one a row.

    Raises:
        WrongType: They are not numbers, or not so many.
    """
    array = as_array(name, values)
    if array.ndim < 1 or len(array) != count:
        raise WrongType(f"{name}: a column has a value for each of the {count} rows, not shape {array.shape}")
    if array.dtype.kind not in "biufc":
        raise WrongType(f"{name}: a column holds numbers, alone or in arrays of one shape, not {array.dtype}")
    return name, array.dtype.newbyteorder("<"), array.shape[1:]


def put(rows: Rows, name: str, values: Any) -> None:
    """Fill a column, which values of another type or shape are not let into; only the order of bytes may differ.

    Raises:
        WrongType: They differ.
    """
    array = as_array(name, values)
    base, shape = rows.dtype[name].subdtype or (rows.dtype[name], ())
    if array.shape != (len(rows), *shape) or array.dtype.newbyteorder("<") != base:
        found = f"{array.dtype}{list(array.shape[1:]) or ''}"
        raise WrongType(f"{name} is {base}{list(shape) or ''} in this table, and {found} here")
    rows[name] = array


def differences(one: np.dtype[Any], other: np.dtype[Any]) -> str:
    """Say how two types of rows differ."""
    left, right = ({name: kind[name] for name in kind.names or ()} for kind in (one, other))
    said = [f"{name} is missing" for name in left if name not in right]
    said += [f"{name} ({right[name]}) is new" for name in right if name not in left]
    said += [
        f"{name} is {right[name]}, not {left[name]}" for name in left if name in right and left[name] != right[name]
    ]
    return ", ".join(said) or f"the order of the columns: {', '.join(right)}, not {', '.join(left)}"


def returns_of(rows: Rows) -> float | None:
    """Sum the rewards, where there is a column for them."""
    if "reward" not in (rows.dtype.names or ()) or rows.dtype["reward"].shape:
        return None
    return float(rows["reward"].sum(dtype=np.float64))
