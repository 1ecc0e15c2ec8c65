"""The `where` language: one small way to say which runs, episodes or rows are meant.

    config.lr < 1e-3 and (best > 0.9 or status in ('failed', 'interrupted')) and not name like 'test%'

Comparisons (`=`, `==`, `!=`, `<>`, `<`, `<=`, `>`, `>=`), `in`, `not in`, `like`, `not like`, `is null`, `is not null`,
`and`, `or`, `not` and parentheses. Names are dotted, a part with other characters stands in backquotes
(``metric.`train/loss` ``). Values are numbers, 'text', "text", true, false, null. A thing of several values, such as
tags, is asked by `'baseline' in tags`.

A text is parsed into SQLAlchemy expressions with bound values; nothing of it is ever pasted into SQL. What a name means
is up to the `Resolver`: see `fields` for runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn, Protocol

from sqlalchemy import ColumnElement, and_, not_, or_

from playhead.errors import BadQuery

Value = float | int | str | bool | None


class Field(Protocol):
    """What a name stands for: something that can be compared with values."""

    def compare(self, operator: str, value: Value) -> ColumnElement[bool]:
        """Build `name operator value`; operators are `=`, `!=`, `<`, `<=`, `>`, `>=` and `like`."""

    def contains(self, value: Value) -> ColumnElement[bool]:
        """Build `value in name`."""


Resolver = Callable[[str], Field]

_TOKENS = re.compile(
    r"""\s*(?:
    (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
  | (?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")
  | (?P<name>(?:[^\W\d]\w*|`[^`]+`)(?:\.(?:[\w-]+|`[^`]+`))*)
  | (?P<symbol><=|>=|<>|!=|==|=|<|>|\(|\)|,)
  )""",
    re.VERBOSE,
)
_WORDS = {"and", "or", "not", "in", "like", "is", "null", "true", "false"}
_COMPARISONS = {"=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_DEEPEST = 100
_MOST = 200  # comparisons; SQLite takes about 500 of the costliest
_MOST_LISTED = 400  # values in lists


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # number, text, name, word, symbol or end
    text: str
    position: int


def parse(text: str, resolve: Resolver) -> ColumnElement[bool]:
    """Parse a text into a condition.

    Args:
        text: What the user wrote.
        resolve: Gives the field for a name, or raises `NotFound`.

    Raises:
        BadQuery: The text is not in the language; the message points at the character.
    """
    return _Parser(text, resolve).parse()


class _Parser:
    def __init__(self, text: str, resolve: Resolver) -> None:
        self._text = text
        self._resolve = resolve
        self._tokens = self._split()
        self._at = 0
        self._depth = 0
        self._count = 0
        self._listed = 0
        self._named_at = 0

    def parse(self) -> ColumnElement[bool]:
        condition = self._either()
        if self._next.kind != "end":
            self._fail("expected 'and', 'or' or the end here")
        return condition

    def _split(self) -> list[_Token]:
        if not isinstance(self._text, str):
            raise BadQuery(f"where is text, not {type(self._text).__name__}")
        tokens, position, end = [], 0, len(self._text.rstrip())
        while position < end:
            match = _TOKENS.match(self._text, position)
            if match is None or match.lastgroup is None:
                position += len(self._text[position:]) - len(self._text[position:].lstrip())
                self._fail(f"cannot read {self._text[position]!r}", position)
            kind, word = match.lastgroup, match[match.lastgroup]
            if kind == "name" and word.lower() in _WORDS:
                kind, word = "word", word.lower()
            tokens.append(_Token(kind, word, match.start(match.lastgroup)))
            position = match.end()
        return [*tokens, _Token("end", "", end)]

    def _fail(self, why: str, position: int | None = None) -> NoReturn:
        position = self._next.position if position is None else position
        error = BadQuery(f"{why}\n  {self._text}\n  {' ' * position}^")
        error.position = position
        raise error

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self, *texts: str) -> str | None:
        token = self._next
        if token.kind in ("word", "symbol") and token.text in texts:
            self._at += 1
            return token.text
        return None

    def _either(self) -> ColumnElement[bool]:
        conditions = [self._both()]
        while self._take("or"):
            conditions.append(self._both())
        return or_(*conditions) if len(conditions) > 1 else conditions[0]

    def _both(self) -> ColumnElement[bool]:
        conditions = [self._negation()]
        while self._take("and"):
            conditions.append(self._negation())
        return and_(*conditions) if len(conditions) > 1 else conditions[0]

    def _negation(self) -> ColumnElement[bool]:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._fail(f"more than {_DEEPEST} conditions lie inside each other")
        try:
            if self._take("not"):
                return not_(self._negation())
            if self._take("("):
                condition = self._either()
                if not self._take(")"):
                    self._fail("expected ')' here")
                return condition
            return self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> ColumnElement[bool]:
        self._count += 1
        if self._count > _MOST:
            self._fail(f"more than {_MOST} comparisons are too many; 'in' takes {_MOST_LISTED} values")
        if self._next.kind == "name":
            return self._after_name(self._name())
        value = self._value()
        if self._take("in"):
            if self._next.kind != "name":
                self._fail("expected a name such as tags here")
            return self._ask(self._name().contains, value)
        operator = self._operator()
        if self._next.kind != "name":
            self._fail("expected a name to compare the value with")
        return self._compare(self._name(), _MIRRORED[operator], value)

    def _after_name(self, field: Field) -> ColumnElement[bool]:
        if self._take("is"):
            return self._null_test(field)
        negated = self._take("not") is not None
        if self._take("like"):
            condition = self._compare(field, "like", self._value())
        elif self._take("in"):
            condition = or_(*[self._compare(field, "=", value) for value in self._list()])
        elif negated:
            self._fail("expected 'in' or 'like' after 'not'")
        else:
            operator = self._operator()
            if self._next.kind == "name":
                self._fail("a name can only be compared with a value; put text in quotes")
            condition = self._compare(field, operator, self._value())
        return not_(condition) if negated else condition

    def _null_test(self, field: Field) -> ColumnElement[bool]:
        operator = "!=" if self._take("not") else "="
        if not self._take("null"):
            self._fail("expected 'null' here")
        return self._compare(field, operator, None)

    def _operator(self) -> str:
        operator = self._take(*_COMPARISONS)
        if operator is None:
            self._fail("expected a comparison here (=, !=, <, <=, >, >=, in, like, is)")
        return _COMPARISONS[operator]

    def _list(self) -> list[Value]:
        if not self._take("("):
            self._fail("expected a list such as ('a', 'b') here")
        values = [self._value()]
        while self._take(","):
            values.append(self._value())
        self._listed += len(values)
        if self._listed > _MOST_LISTED:
            self._fail(f"more than {_MOST_LISTED} values in lists are too many")
        if not self._take(")"):
            self._fail("expected ',' or ')' here")
        return values

    def _name(self) -> Field:
        token = self._next
        self._at += 1
        self._named_at = token.position
        try:
            return self._resolve(token.text.replace("`", ""))
        except KeyError as error:
            self._fail(str(error), token.position)

    def _compare(self, field: Field, operator: str, value: Value) -> ColumnElement[bool]:
        if value is None and operator not in ("=", "!="):
            self._fail("null is neither smaller nor larger than anything; write: is null, is not null", self._named_at)
        return self._ask(field.compare, operator, value)

    def _ask(self, build: Callable[..., ColumnElement[bool]], *arguments: Value) -> ColumnElement[bool]:
        """Let a field build its condition; where it refuses, point at its name."""
        try:
            return build(*arguments)
        except BadQuery as error:
            self._fail(str(error), self._named_at)

    def _value(self) -> Value:
        token = self._next
        if token.kind == "number":
            self._at += 1
            return int(token.text) if re.fullmatch(r"[+-]?\d{1,18}", token.text) else float(token.text)
        if token.kind == "text":
            self._at += 1
            quote = token.text[0]
            return token.text[1:-1].replace(quote * 2, quote)
        word = self._take("true", "false", "null")
        if word is None:
            self._fail("expected a number or a 'text' here")
        return {"true": True, "false": False}.get(word)
