"""The description of the API."""

from __future__ import annotations

import re
from pathlib import Path

import httpx

from playhead.web.app import all_routes

DOCUMENT = Path(__file__).parents[2] / "docs" / "api.md"


def test_the_description_lists_every_route(ask: httpx.Client) -> None:
    description = ask.get("/api/openapi.json").json()
    assert description["openapi"].startswith("3.1")
    described = {(method.upper(), path) for path, item in description["paths"].items() for method in item}
    assert described == {(route.method, route.path) for route in all_routes()}
    listed = ask.get("/api").json()["routes"]
    assert {(route["method"], route["path"]) for route in listed} == described


def test_operations_have_names_of_their_own(ask: httpx.Client) -> None:
    description = ask.get("/api/openapi.json").json()
    names = [operation["operationId"] for item in description["paths"].values() for operation in item.values()]
    assert len(set(names)) == len(names)


def test_the_description_of_parameters_says_what_is_checked(ask: httpx.Client) -> None:
    operation = ask.get("/api/openapi.json").json()["paths"]["/api/runs"]["get"]
    limit = next(parameter for parameter in operation["parameters"] if parameter["name"] == "limit")
    assert limit["schema"] == {"type": "integer", "minimum": 0, "maximum": 1000, "default": 100}
    assert ask.get("/api/runs?limit=1001").status_code == 400
    body = ask.get("/api/openapi.json").json()["paths"]["/api/runs/tag"]["post"]["requestBody"]
    assert body["content"]["application/json"]["schema"]["required"] == ["ids"]


def test_the_document_names_every_route_of_runs() -> None:
    text = DOCUMENT.read_text()
    missing = [
        f"{route.method} {route.path}"
        for route in all_routes()
        if not route.path.startswith(("/api/episodes", "/api/datasets", "/api/frame"))
        and not re.search(re.escape(f"{route.method} {route.path}") + r"(?![\w/{])", text)
    ]
    assert not missing
