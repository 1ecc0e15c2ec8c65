"""Rows of the catalogue as they leave it: each value is of the type that its column has, or the row is refused.

SQLite puts any value into any column, and a catalogue may come from a stranger. So a row becomes a tuple with names
only if its values fit the annotations of that; `Database` turns `OddRow` into the error that names the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

from playhead import strictjson

T = TypeVar("T")

_NUMBERS = frozenset({float, int, NoneType})
_ALSO: dict[type, tuple[type, ...]] = {float: (int,), bool: (int,)}  # as SQLite gives them


class OddRow(TypeError):
    """A row of the catalogue with a value that Playhead does not put there."""


def rows_of(kind: type[T], rows: Iterable[Any]) -> list[T]:
    """Return rows as tuples with names.

    Args:
        kind: A named tuple or a dataclass with a field for each column.
        rows: The rows as the database gives them.

    Raises:
        OddRow: If a value is not of the type of its field.
    """
    several = list(rows)
    check(kind, several)
    return [kind(*row) for row in several]


def row_of(kind: type[T], row: Sequence[Any]) -> T:
    """Return one row as a tuple with names, as `rows_of` does."""
    check(kind, (row,))
    return kind(*row)


def check(kind: type, rows: Sequence[Sequence[Any]]) -> None:
    """Check that rows could become tuples with names.

    Raises:
        OddRow: If a value is not of the type of its field.
    """
    good = _seen(kind)
    if not good.issuperset({tuple(map(type, row)) for row in rows}):
        for row in rows:
            _check(kind, row)
            good.add(tuple(map(type, row)))


def numbers_in(rows: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """Return rows that hold nothing but numbers, and None in the place of NaN.

    Raises:
        OddRow: If one holds something else.
    """
    if not _NUMBERS.issuperset(map(type, chain.from_iterable(rows))):
        odd = next(value for value in chain.from_iterable(rows) if type(value) not in _NUMBERS)
        raise OddRow(f"{odd!r:.60} in place of a number")
    return rows


@cache
def _seen(kind: type) -> set[tuple[type, ...]]:  # noqa: ARG001  # one set a kind
    """Return the types of rows that were found to fit: there are few, so that most rows cost one look."""
    return set()


def _check(kind: type, row: Sequence[Any]) -> None:
    for (name, allowed), value in zip(_fields(kind).items(), row, strict=False):
        if not isinstance(value, allowed):
            raise OddRow(f"{value!r:.60} as {name} in a row")


@cache
def _fields(kind: type) -> dict[str, tuple[type, ...]]:
    """Return what the fields of a kind of row may be."""
    return {name: tuple(_types(hint)) for name, hint in get_type_hints(kind).items()}


def _types(hint: Any) -> Iterable[type]:
    if hint is Any:
        yield object
        return
    for one in get_args(hint) or (hint,):
        found: type = one if isinstance(one, type) else NoneType if one is None else object
        yield from (found, *_ALSO.get(found, ()))


def text_in(value: object) -> str:
    """Return a value that is a text.

    Raises:
        OddRow: If it is something else.
    """
    if not isinstance(value, str):
        raise OddRow(f"{value!r:.60} in place of a text")
    return value


def items_in(text: str) -> list[Any]:
    """Return the list that a text of the catalogue holds as JSON.

    Raises:
        OddRow: If it holds something else.
    """
    found = _decoded(text)
    if not isinstance(found, list):
        raise OddRow(f"{text!r:.60} in place of a list")
    return found


def object_in(text: str) -> Mapping[str, Any]:
    """Return the object that a text of the catalogue holds as JSON.

    Raises:
        OddRow: If it holds something else.
    """
    found = _decoded(text)
    if not isinstance(found, dict):
        raise OddRow(f"{text!r:.60} in place of an object")
    return found


def _decoded(text: str) -> Any:
    try:
        return strictjson.decode(text)
    except ValueError as error:
        raise OddRow(f"{text!r:.60}, which is not JSON") from error
