"""The OpenAPI 3.1 description, made from the routes themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import playhead
from playhead.web import errors, security
from playhead.web.routes import Parameter, Route
from playhead.web.schema import Schema

_INTRODUCTION = """\
One Playhead store over HTTP.

Times within runs and episodes are seconds relative to an origin, which stands beside them as `origin_ns`. Names that
end in `_ns` are nanoseconds since 1970 as decimal text, those in `_at` seconds since 1970. NaN is null, the infinities
are the texts "Infinity" and "-Infinity". Integers past 2^53 in what was recorded are decimal text.
"""


def description(routes: Iterable[Route]) -> dict[str, Any]:
    """Describe all routes."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Playhead", "version": playhead.__version__, "description": _INTRODUCTION},
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": {"Error": errors.SCHEMA},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": security.cookie_name(8765),
                    "description": "The number in its name is the port at which the server is reached.",
                },
            },
        },
        "security": [{}, {"token": []}, {"cookie": []}],
    }


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": _identifier(route),
        "summary": route.summary,
        "parameters": [_parameter(one, "path") for one in route.in_path]
        + [_parameter(one, "query") for one in route.in_query],
        "responses": _responses(route),
    }
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": _body(route.body)}}}
    return operation


def _identifier(route: Route) -> str:
    parts = [part.strip("{}") for part in route.path.removeprefix("/api").replace(".", "/").split("/") if part]
    return "_".join([route.method.lower(), *(parts or ["api"])])


def _parameter(parameter: Parameter, where: str) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": parameter.name,
        "in": where,
        "required": parameter.required,
        "description": parameter.about,
        "schema": _schema(parameter, where),
    }
    if parameter.many == "repeated":
        described |= {"style": "form", "explode": True}
    return described


def _schema(parameter: Parameter, where: str) -> Schema:
    one = _schema_of_one(parameter)
    if parameter.many == "listed" and where == "query":
        return {"type": "string", "description": "Names with commas between them; one with a comma in backquotes."}
    if parameter.many:
        return {
            "type": "array",
            "items": one,
            "minItems": int(parameter.least or 0),
            "maxItems": int(parameter.most or 0),
        }
    if parameter.default is not None:
        one = one | {"default": parameter.default}
    return one


def _schema_of_one(parameter: Parameter) -> Schema:
    match parameter.kind:
        case "text":
            least = {"minLength": 1} if parameter.required else {}
            if parameter.choices:
                choices: Schema = {"enum": list(parameter.choices)}
            else:
                choices = {"maxLength": parameter.longest, "pattern": "^[^\\u0000]*$"}
            return {"type": "string"} | choices | least
        case "flag":
            return {"type": "boolean"}
        case _:
            limits = {"minimum": parameter.least, "maximum": parameter.most}
            return {"type": parameter.kind} | {name: value for name, value in limits.items() if value is not None}


def _body(members: tuple[Parameter, ...]) -> Schema:
    return {
        "type": "object",
        "properties": {one.name: _member(one) | {"description": one.about} for one in members},
        "required": [one.name for one in members if one.required],
        "additionalProperties": False,
    }


def _member(member: Parameter) -> Schema:
    """Describe a member of a body; one that may be left out may be null, too."""
    schema = _schema(member, "body")
    return schema if member.required else schema | {"type": [schema["type"], "null"]}


def _responses(route: Route) -> dict[str, Any]:
    content: dict[str, Any] = {
        kind: {"schema": route.answer.schema} if kind == "application/json" else {} for kind in route.answer.types
    }
    failure = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
    responses: dict[str, Any] = {"200": {"description": route.answer.about, "content": content}}
    if route.may_be_nothing:
        responses["204"] = {"description": "There is nothing of it now."}
    if route.may_be_unchanged:
        responses["304"] = {"description": "What the asker has, by If-None-Match, is what there is."}
    responses["4XX"] = {"description": "The request cannot be answered; the message says why.", **failure}
    responses["503"] = {"description": "The server cannot answer this now; the message says why.", **failure}
    return responses
