"""The routes of episodes answer as their description says, whatever numbers are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import playhead
from playhead.web.app import make_app
from playhead.web.server import Background
from tests.web import material
from tests.web.material import MANY, RUN

jsonschema = pytest.importorskip("jsonschema_rs")

KINDS, DUEL = f"/api/episodes/replay/{RUN}-ep0000", "/api/episodes/replay/duel-ep0000"
CURVES, RELATIVE = "/api/episodes/dataset/odd/curves1", "/api/episodes/dataset/odd/relative1"
REPLAY, DATASET = "/api/episodes/replay/{id}", "/api/episodes/dataset/{name}/{uid}"


@pytest.fixture(scope="module")
def get(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    path: Path = material.make(tmp_path_factory.mktemp("described") / "store")
    with playhead.open(path, mode="r") as store, Background(make_app(store)) as server:
        with httpx.Client(base_url=server.address, timeout=30) as client:
            yield client


@pytest.fixture(scope="module")
def schemas(get: httpx.Client) -> dict[str, Any]:
    paths = get.get("/api/openapi.json").json()["paths"]
    return {
        path: methods["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        for path, methods in paths.items()
        if "get" in methods and "application/json" in methods["get"]["responses"]["200"]["content"]
    }


@pytest.mark.parametrize(
    ("address", "described"),
    [
        (KINDS, REPLAY),
        (DUEL, REPLAY),
        (CURVES, DATASET),
        (RELATIVE, DATASET),
        (f"{KINDS}/values/reward", f"{REPLAY}/values/{{signal}}"),
        (f"{KINDS}/values/observation.text", f"{REPLAY}/values/{{signal}}"),
        (f"{CURVES}/values/vector", f"{DATASET}/values/{{signal}}"),
        (f"{CURVES}/values/spiky", f"{DATASET}/values/{{signal}}"),
        (f"{KINDS}/steps", f"{REPLAY}/steps"),
        (f"{DUEL}/steps", f"{REPLAY}/steps"),
        (f"{CURVES}/steps", f"{DATASET}/steps"),
        (f"{KINDS}/at?time_s=0.3", f"{REPLAY}/at"),
        (f"{CURVES}/at?time_s=20", f"{DATASET}/at"),
        (f"/api/runs/{MANY}/episodes", "/api/runs/{id}/episodes"),
        (f"/api/runs/{RUN}/episodes", "/api/runs/{id}/episodes"),
        (f"/api/runs/{MANY}/returns", "/api/runs/{id}/returns"),
        ("/api/datasets", "/api/datasets"),
        ("/api/datasets/odd/episodes", "/api/datasets/{name}/episodes"),
    ],
)
def test_answers_are_as_described(get: httpx.Client, schemas: dict[str, Any], address: str, described: str) -> None:
    answer = get.get(address)
    assert answer.status_code == 200, answer.text
    jsonschema.Draft202012Validator(schemas[described]).validate(answer.json())


NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70), st.floats(), st.sampled_from(["", "x", "1e308", "-0", "0x10", "٣", " 1", "1_0"])
).map(str)
TAILS = {
    "values/reward": ("from_s", "to_s", "points"),
    "values/observation.vector": ("from_s", "to_s", "points"),
    "steps": ("start", "stop"),
    "at": ("time_s",),
    "frames/frame": ("start", "count", "width", "quality"),
    "strip/frame": ("from_s", "to_s", "count", "height"),
    "export": ("from_s", "to_s", "rate"),
}


@settings(max_examples=150, deadline=None)
@given(tail=st.sampled_from(list(TAILS)), numbers=st.lists(NUMBERS, min_size=4, max_size=4))
def test_any_numbers_are_answered(get: httpx.Client, tail: str, numbers: list[str]) -> None:
    asked = dict(zip(TAILS[tail], numbers, strict=False)) | ({"format": "csv"} if tail == "export" else {})
    answer = get.get(f"{KINDS}/{tail}", params=asked)
    assert answer.status_code in (200, 400, 404, 413, 422), (asked, answer.text)


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=30), place=st.sampled_from(["ref", "id", "uid", "name", "signal", "run"]))
def test_any_text_is_answered(get: httpx.Client, text: str, place: str) -> None:
    encoded = "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass")) or "%20"
    address = {
        "ref": f"/api/frame?ref={encoded}",
        "id": f"/api/episodes/replay/{encoded}",
        "uid": f"/api/episodes/dataset/odd/{encoded}",
        "name": f"/api/datasets/{encoded}/episodes",
        "signal": f"{KINDS}/values/{encoded}",
        "run": f"/api/runs/{encoded}/episodes",
    }[place]
    assert get.get(address).status_code in (400, 404), address
