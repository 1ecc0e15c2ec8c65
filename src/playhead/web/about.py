"""What the API says of itself."""

from __future__ import annotations

from typing import Any

from playhead.web import openapi
from playhead.web.routes import Answer, Ask, Route
from playhead.web.schema import MAPPING, TEXT, record, several


def list_routes(ask: Ask) -> Any:
    """List what can be asked."""
    return {
        "description": "/api/openapi.json",
        "routes": [{"method": route.method, "path": route.path, "summary": route.summary} for route in ask.site.routes],
    }


def describe(ask: Ask) -> Any:
    """Give the OpenAPI description."""
    return openapi.description(ask.site.routes)


_LISTED = record({"method": TEXT, "path": TEXT, "summary": TEXT})

ROUTES = (
    Route(
        "GET",
        "/api",
        list_routes,
        "List the routes.",
        answer=Answer("The routes.", record({"description": TEXT, "routes": several(_LISTED)})),
    ),
    Route(
        "GET",
        "/api/openapi.json",
        describe,
        "Give this description, in OpenAPI 3.1.",
        answer=Answer("The description.", MAPPING),
    ),
)
