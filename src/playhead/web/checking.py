"""Checking of what is asked: every parameter is read and held to its declaration, or the request is refused."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from playhead.catalog.fields import split_names
from playhead.web.errors import BadRequest
from playhead.web.routes import Parameter, Route

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_NUMBER = re.compile(r"[+-]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][+-]?[0-9]{1,3})?")
_FLAGS = {"1": True, "true": True, "0": False, "false": False}


def path_values(route: Route, found: Mapping[str, str]) -> dict[str, Any]:
    """Read the parts of a path, which are still percent-encoded."""
    return {one.name: _read(one, _decoded(one, found[one.name])) for one in route.in_path}


def _decoded(parameter: Parameter, given: str) -> str:
    try:
        return unquote(given, errors="strict")
    except UnicodeDecodeError:
        raise BadRequest(f"{parameter.name} is not percent-encoded UTF-8") from None


def query_values(route: Route, pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Read a query; what it does not say gets its default."""
    declared = {one.name: one for one in route.in_query}
    given: dict[str, list[str]] = defaultdict(list)
    for name, value in pairs:
        if name not in declared:
            known = f"there is: {', '.join(declared)}" if declared else "there are none here"
            raise BadRequest(f"no parameter {name[:80]!r}; {known}")
        if value:
            given[name].append(value)
    return {name: _of_query(one, given.get(name, [])) for name, one in declared.items()}


def _of_query(parameter: Parameter, given: list[str]) -> Any:
    if not given:
        return _absent(parameter)
    if parameter.many == "repeated":
        return _limited(parameter, tuple(_read(parameter, value) for value in given))
    if len(given) > 1:
        raise BadRequest(f"{parameter.name} is given {len(given)} times")
    if parameter.many == "listed":
        return _limited(parameter, tuple(_read(parameter, value) for value in split_names(given[0])))
    return _read(parameter, given[0])


def _absent(parameter: Parameter) -> Any:
    if parameter.required:
        raise BadRequest(f"{parameter.name} is missing: {parameter.about}")
    return parameter.default


def _limited(parameter: Parameter, values: tuple[Any, ...]) -> tuple[Any, ...]:
    if parameter.least is not None and len(values) < parameter.least:
        raise BadRequest(f"{parameter.name} needs at least {parameter.least:g} values")
    if parameter.most is not None and len(values) > parameter.most:
        raise BadRequest(f"{parameter.name} has {len(values)} values; at most {parameter.most:g} are taken")
    return values


def _read(parameter: Parameter, given: str) -> Any:
    """Read the text of one value."""
    match parameter.kind:
        case "text":
            return _checked_text(parameter, given)
        case "flag":
            if given.lower() not in _FLAGS:
                raise BadRequest(f"{parameter.name} is 0 or 1, not {given[:80]!r}")
            return _FLAGS[given.lower()]
        case "integer":
            if not _INTEGER.fullmatch(given):
                raise BadRequest(f"{parameter.name} is a whole number, not {given[:80]!r}")
            return _in_range(parameter, int(given))
        case "number":
            if not _NUMBER.fullmatch(given):
                raise BadRequest(f"{parameter.name} is a number, not {given[:80]!r}")
            return _in_range(parameter, float(given))


def _checked_text(parameter: Parameter, given: str) -> str:
    if parameter.required and not given:
        raise BadRequest(f"{parameter.name} is empty: {parameter.about}")
    if len(given) > parameter.longest:
        raise BadRequest(f"{parameter.name} has {len(given)} characters; at most {parameter.longest} are taken")
    if "\x00" in given or any("\ud800" <= char <= "\udfff" for char in given):
        raise BadRequest(f"{parameter.name} holds a character that no text has")
    if parameter.choices and given not in parameter.choices:
        raise BadRequest(f"{parameter.name} is one of {', '.join(parameter.choices)}, not {given[:80]!r}")
    return given


def _in_range(parameter: Parameter, value: float) -> float:
    if not math.isfinite(value):
        raise BadRequest(f"{parameter.name} is too large")
    if parameter.least is not None and value < parameter.least:
        raise BadRequest(f"{parameter.name} is at least {parameter.least:g}, not {value:g}")
    if parameter.most is not None and value > parameter.most:
        raise BadRequest(f"{parameter.name} is at most {parameter.most:g}, not {value:g}")
    return value


def body_values(route: Route, content: Any) -> dict[str, Any]:
    """Read the members of a body that was decoded from JSON."""
    if not isinstance(content, dict):
        raise BadRequest("the body is a JSON object")
    declared = {one.name: one for one in route.body or ()}
    for name in content:
        if name not in declared:
            raise BadRequest(f"no member {name[:80]!r} in the body; there is: {', '.join(declared)}")
    return {name: _of_body(one, content.get(name)) for name, one in declared.items()}


def _of_body(parameter: Parameter, value: Any) -> Any:
    if value is None:
        return _absent(parameter)
    if parameter.many:
        if not isinstance(value, list):
            raise BadRequest(f"{parameter.name} is a list")
        return _limited(parameter, tuple(_typed(parameter, one) for one in value))
    return _typed(parameter, value)


def _typed(parameter: Parameter, value: Any) -> Any:
    """Check one value of a body, which has a type already."""
    match parameter.kind:
        case "text" if isinstance(value, str):
            return _checked_text(parameter, value)
        case "flag" if isinstance(value, bool):
            return value
        case "integer" if isinstance(value, int) and not isinstance(value, bool):
            return _in_range(parameter, value)
        case "number" if isinstance(value, (int, float)) and not isinstance(value, bool):
            return _in_range(parameter, value)
    raise BadRequest(f"{parameter.name} is a {parameter.kind}, not {type(value).__name__}")
