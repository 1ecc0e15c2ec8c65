"""What Schemathesis makes of the description: no 5xx, and answers as they are described."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import playhead
from playhead.web import openapi
from playhead.web.app import all_routes, make_app
from playhead.web.server import Background
from tests.web.conftest import DATASET, FIRST, PLAYED, UID

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
EXAMPLES = 8

# What never ends has tests of its own.
routes = [route for route in all_routes() if route.path != "/api/events"]
quiet = schemathesis.Config.from_dict({"cache": {"enabled": False}})
schema = schemathesis.openapi.from_dict(openapi.description(routes), config=quiet)
schema.config.generation.update(modes=[GenerationMode.POSITIVE, GenerationMode.NEGATIVE])


@pytest.fixture(scope="module")
def served(made_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server on a copy of the store that may be changed."""
    path = Path(shutil.copytree(made_store, tmp_path_factory.mktemp("fuzzed") / "store"))
    with playhead.open(path) as store, Background(make_app(store)) as server:
        yield server.address


def _with_real_names(case: Any) -> None:
    """Let half of the requests name what is there; of others nearly all are answered with 404."""
    names = {"id": PLAYED if "/episodes" in case.path else FIRST, "name": DATASET, "uid": UID, "index": "0"}
    if case.path.startswith("/api/episodes/replay"):
        names["id"] = f"{PLAYED}-ep0001"
    names["signal"] = "force" if "dataset" in case.path else "reward"
    for name, given in list((case.path_parameters or {}).items()):
        if len(str(given)) % 2 == 0 and name in names:
            case.path_parameters[name] = names[name]


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_what_is_described_is_what_is_answered(case: Any, served: str) -> None:
    _with_real_names(case)
    answer = case.call_and_validate(base_url=served.rstrip("/"), checks=CHECKS, timeout=30)
    assert answer.status_code < 500
