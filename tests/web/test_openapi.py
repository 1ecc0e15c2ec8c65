"""The description of the API."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

import playhead
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


@pytest.mark.parametrize("kind", ["application/json", "text/plain"])
def test_a_method_that_is_not_described_is_answered_with_those_that_are(ask: httpx.Client, kind: str) -> None:
    described = ask.get("/api/openapi.json").json()["paths"]
    for path, item in described.items():
        known = {method.upper() for method in item} | ({"HEAD"} if "get" in item else set())
        asked = re.sub(r"\{\w+\}", "0", path)
        for method in {"GET", "POST", "PATCH", "PUT", "DELETE", "TRACE", "OPTIONS", "QUERY"} - known:
            if kind == "text/plain" and method in ("POST", "PATCH"):
                continue  # what could change something is refused for its kind first
            answer = ask.request(method, asked, headers={"Content-Type": kind})
            assert (answer.status_code, answer.json()["error"]["type"]) == (405, "WrongMethod"), (method, path)
            assert set(answer.headers["Allow"].split(", ")) == known, (method, path)


def test_what_may_be_left_out_of_a_body_may_be_null(own_ask: httpx.Client, live_run: playhead.RunWriter) -> None:
    paths = own_ask.get("/api/openapi.json").json()["paths"]
    body = paths["/api/runs/{id}"]["patch"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["properties"]["notes"]["type"] == ["string", "null"]
    assert own_ask.patch(f"/api/runs/{live_run.id}", json={"notes": None}).status_code == 200


@pytest.mark.parametrize("name", ["0" * 200, "..", " x", "a\x1bb", "con"])
def test_a_dataset_that_cannot_be_is_not_found(ask: httpx.Client, name: str) -> None:
    quoted = quote(name, safe="").replace(".", "%2E")
    for path in (f"/api/datasets/{quoted}/episodes", f"/api/episodes/dataset/{quoted}/0"):
        answer = ask.get(path)
        assert (answer.status_code, answer.json()["error"]["type"]) == (404, "NotFound")


def test_ids_of_runs_are_as_short_and_long_as_described(own_ask: httpx.Client) -> None:
    paths = own_ask.get("/api/openapi.json").json()["paths"]
    body = paths["/api/runs/delete"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    ids = body["properties"]["ids"]["items"]
    for wrong in ("0" * (ids["minLength"] - 1), "0" * (ids["maxLength"] + 1)):
        assert own_ask.post("/api/runs/delete", json={"ids": [wrong]}).status_code == 400
    right = own_ask.post("/api/runs/delete", json={"ids": ["0" * ids["maxLength"]]})
    assert [one["id"] for one in right.json()["failed"]] == ["0" * ids["maxLength"]]


def test_the_document_names_every_route_of_runs() -> None:
    text = DOCUMENT.read_text()
    missing = [
        f"{route.method} {route.path}"
        for route in all_routes()
        if not route.path.startswith(("/api/episodes", "/api/datasets", "/api/frame"))
        and not re.search(re.escape(f"{route.method} {route.path}") + r"(?![\w/{])", text)
    ]
    assert not missing
