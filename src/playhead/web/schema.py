"""Words for the JSON schemas of answers, as OpenAPI 3.1 writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
SECONDS: Schema = {"type": "number", "description": "Seconds."}
STAMP: Schema = {
    "type": "string",
    "pattern": "^-?[0-9]+$",
    "description": "Nanoseconds since 1970, as decimal text: they do not fit a double.",
}
# What a float becomes in JSON: NaN is null.
FLOAT: Schema = {"anyOf": [{"type": ["number", "null"]}, {"enum": ["Infinity", "-Infinity"]}]}
ANYTHING: Schema = {}
MAPPING: Schema = {"type": "object"}


def record(members: Mapping[str, Schema], *, optional: Mapping[str, Schema] | None = None) -> Schema:
    """Describe an object.

    Args:
        members: What it always has.
        optional: What it may have.
    """
    return {
        "type": "object",
        "properties": {**members, **(optional or {})},
        "required": list(members),
        "additionalProperties": False,
    }


def several(item: Schema, *, most: int | None = None) -> Schema:
    """Describe a list of things alike."""
    return {"type": "array", "items": item} | ({} if most is None else {"maxItems": most})


def by_name(item: Schema) -> Schema:
    """Describe an object of things alike under any names."""
    return {"type": "object", "additionalProperties": item}


def maybe(schema: Schema) -> Schema:
    """Describe what may be null."""
    return {"anyOf": [schema, {"type": "null"}]}
