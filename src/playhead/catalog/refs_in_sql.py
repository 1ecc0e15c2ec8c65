"""Queries that look a step up by its ref, told where it is.

The view `steps` spells `frame_ref` and `obs_ref` out of numbers, so no index has them, and SQLite would spell the refs
of all steps to compare them. A ref says itself which reel and row it is of. So a condition `frame_ref = …` of a query
`SELECT … FROM steps …` gets a second one beside it that the first one implies: the episode and the row.

Only what is certain to be the view's own column is touched: everything else is asked as it was written.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from playhead.ref import FrameRef

_COLUMNS = {"frame_ref", "obs_ref"}
_MOST_INTEGER = (1 << 63) - 1  # of SQLite
_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?\*/)
      | (?P<value>'(?:[^']|'')*'|[:@$]\w+|\?\d*)
      | (?P<word>[^\W\d][\w$]*|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\])
      | (?P<other>==|.)""",
    re.VERBOSE | re.DOTALL,
)
# With these, a condition may be a part of something else than of what a row must fit.
_UNCLEAR = {"not", "is", "isnull", "notnull", "between", "case", "with", "union", "intersect", "except", "select"}
_BEFORE, _AFTER = {"where", "and", "or"}, {"", "and", "or", "order", "group", "limit", ";"}
_EPISODE = """(SELECT e.id FROM replay_episodes AS e JOIN reels AS r ON r.key = e.reel
    WHERE r.id = playhead_ref_reel({0}) AND e.first <= playhead_ref_row({0}) ORDER BY e.first DESC LIMIT 1)"""
_ROW = "playhead_ref_row({0})"


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    kind: str
    start: int

    @property
    def name(self) -> str:
        return self.text.lower()

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class _Condition:
    """A condition on refs.

    Attributes:
        start: Where it begins in the query.
        end: Where it ends.
        of: What stands before the column, with its point.
        values: The refs, as the query spells them.
    """

    start: int
    end: int
    of: str
    values: tuple[str, ...]

    def within(self, sql: str) -> str:
        """Return it, with what it implies."""
        episodes = ", ".join(map(_EPISODE.format, self.values))
        rows = ", ".join(map(_ROW.format, self.values))
        given = sql[self.start : self.end]
        return f"({given} AND {self.of}episode_id IN ({episodes}) AND {self.of}row IN ({rows}))"


def narrowed(connection: sqlite3.Connection, sql: str) -> str:
    """Return a query that gives the same rows, and finds them by their episodes if it asks for refs.

    Args:
        connection: It gets the functions that the query then needs.
        sql: The query.
    """
    if not any(column in sql.lower() for column in _COLUMNS):
        return sql
    numbered = _numbered(sql)
    tokens = [token for token in _tokens(numbered) if token.kind != "space"]
    name = _name_of_steps(tokens)
    conditions = [] if name is None else list(_conditions(tokens, name))
    if not conditions:
        return sql
    connection.create_function("playhead_ref_reel", 1, _of_ref(lambda ref: ref.run_id), deterministic=True)
    connection.create_function("playhead_ref_row", 1, _of_ref(lambda ref: ref.index), deterministic=True)
    for condition in reversed(conditions):
        numbered = numbered[: condition.start] + condition.within(numbered) + numbered[condition.end :]
    return numbered


def _of_ref(take: Callable[[FrameRef], Any]) -> Callable[[Any], Any]:
    def of(value: Any) -> Any:
        ref = FrameRef.parse(value)
        return None if ref is None or ref.index > _MOST_INTEGER else take(ref)

    return of


def _tokens(sql: str) -> Iterator[_Token]:
    for found in _TOKEN.finditer(sql):
        yield _Token(found[0], str(found.lastgroup), found.start())


def _numbered(sql: str) -> str:
    """Write out the number that SQLite gives each `?`, so that it can be said several times."""
    largest = 0
    names: set[str] = set()
    texts = []
    for token in _tokens(sql):
        text = token.text
        if text == "?":
            text = f"?{largest + 1}"
        if token.kind == "value" and text.startswith("?"):
            largest = max(largest, int(text[1:]))
        elif token.kind == "value" and text[0] != "'" and text not in names:
            names.add(text)
            largest += 1
        texts.append(text)
    return "".join(texts)


def _name_of_steps(tokens: Sequence[_Token]) -> str | None:
    """Return what a query calls the view, in lower case; None if it asks for more than the steps."""
    names = [token.name for token in tokens]
    if names[:1] != ["select"] or not _UNCLEAR.isdisjoint(names[1:]):
        return None
    if names.count("from") != 1 or names.count("where") != 1:
        return None
    match names[names.index("from") + 1 : names.index("where")]:
        case ["steps"]:
            return "steps"
        case ["steps", "as", alias] | ["steps", alias]:
            return alias
    return None


def _conditions(tokens: Sequence[_Token], name: str) -> Iterator[_Condition]:
    depth = 0
    for place, token in enumerate(tokens):
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth or token.name not in _COLUMNS:
            continue
        is_named = tokens[place - 1].text == "."
        first = place - 2 if is_named else place
        values, behind = _values(tokens, place + 1)
        before, after = tokens[first - 1].name, tokens[behind].name if behind < len(tokens) else ""
        if is_named and tokens[first].name != name:
            continue
        if values and before in _BEFORE and after in _AFTER:
            of = f"{tokens[first].text}." if is_named else ""
            yield _Condition(tokens[first].start, tokens[behind - 1].end, of, values)


def _values(tokens: Sequence[_Token], place: int) -> tuple[tuple[str, ...], int]:
    """Read `= value` or `IN (value, …)`: the values, none if it is something else, and the place behind them."""
    names = [token.name for token in tokens[place:]]
    if names[:1] in (["="], ["=="]) and len(names) > 1 and tokens[place + 1].kind == "value":
        return (tokens[place + 1].text,), place + 2
    if names[:2] == ["in", "("] and ")" in names:
        end = place + names.index(")")
        given = tokens[place + 2 : end]
        if all(token.kind == "value" if number % 2 == 0 else token.text == "," for number, token in enumerate(given)):
            return tuple(token.text for token in given[::2]), end + 1
    return (), place
