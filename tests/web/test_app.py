"""The page's files, compression, caching, and what the server does when things go wrong."""

from __future__ import annotations

import gzip
import re
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

import playhead
from playhead.errors import Damaged, MissingExtra, NotFound, PlayheadError, QueryStopped
from playhead.web import answers, errors
from playhead.web.app import all_routes, make_app
from playhead.web.server import Background, address_of, bind, is_loopback
from tests.web.conftest import FIRST, Serve


def test_every_address_of_the_page_is_the_page(ask: httpx.Client) -> None:
    for path in ("/", "/run/x", f"/run/{FIRST}?tab=log", "/play/dataset/a%2Fb/c", "/compare", "/anything/else"):
        answer = ask.get(path)
        assert answer.status_code == 200
        assert "<title>Playhead</title>" in answer.text
        assert answer.headers["cache-control"] == "no-cache"


def test_assets_are_packed_and_kept_for_ever(ask: httpx.Client) -> None:
    answer = ask.get("/assets/a-1.js", headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["content-type"].startswith("text/javascript")
    assert "immutable" in answer.headers["cache-control"]
    assert answer.text.startswith("document.title")
    bare = ask.get("/assets/a-1.js", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in bare.headers
    assert bare.text == answer.text
    assert ask.get("/assets/a-1.js", headers={"If-None-Match": answer.headers["etag"]}).status_code == 304
    assert ask.get("/assets/gone-2.js").status_code == 404
    assert ask.get("/icon.svg").headers["content-type"] == "image/svg+xml"


def test_a_page_that_is_built_anew_is_served(made_store: Path, page_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(page_folder, tmp_path / "page"))
    with playhead.open(made_store, mode="r") as store, Background(make_app(store, page=folder)) as server:
        before = httpx.get(server.address)
        (folder / "index.html").write_text("<title>new</title>")
        (folder / "assets" / "b-2.js").write_text("1")
        after = httpx.get(server.address, headers={"If-None-Match": before.headers["etag"]})
        assert "new" in after.text
        assert httpx.get(f"{server.address}assets/b-2.js").text == "1"


def test_a_page_that_is_not_built_says_how(made_store: Path, tmp_path: Path) -> None:
    with playhead.open(made_store, mode="r") as store, Background(make_app(store, page=tmp_path)) as server:
        answer = httpx.get(server.address)
        assert answer.status_code == 503
        assert "make page" in answer.text
        assert httpx.get(f"{server.address}api/store").status_code == 200


def test_json_is_packed(ask: httpx.Client) -> None:
    answer = ask.get(f"/api/runs/{FIRST}/metrics?name=loss", headers={"Accept-Encoding": "br, gzip;q=0.5"})
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["vary"] == "Accept-Encoding"
    assert "content-encoding" not in ask.get("/api/store").headers
    image = ask.get(f"/api/runs/{FIRST}/media/0")
    assert "content-encoding" not in image.headers
    assert not answers.accepts_gzip("gzip;q=0, identity")


def test_head_has_the_headers_of_get(ask: httpx.Client) -> None:
    head, get = ask.head("/api/runs"), ask.get("/api/runs")
    assert head.status_code == 200
    assert head.content == b""
    assert head.headers["content-type"] == get.headers["content-type"]


@pytest.mark.parametrize("method", ["PUT", "DELETE", "POST"])
def test_a_wrong_method_is_told(ask: httpx.Client, method: str) -> None:
    answer = ask.request(method, "/api/store", headers={"Content-Type": "application/json"})
    assert answer.status_code == 405
    assert answer.json()["error"]["type"] == "WrongMethod"
    assert answer.headers["allow"] == "GET, HEAD"


def test_every_path_tells_which_methods_it_takes(ask: httpx.Client) -> None:
    declared: dict[str, set[str]] = {}
    for route in all_routes():
        declared.setdefault(route.path, set()).update(
            {route.method, "HEAD"} if route.method == "GET" else {route.method}
        )
    for path, methods in declared.items():
        real = re.sub(r"{\w+}", "x", path)
        for method in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} - methods:
            answer = ask.request(method, real, headers={"Content-Type": "application/json"})
            assert answer.status_code == 405, (method, path)
            assert answer.headers["allow"] == ", ".join(sorted(methods)), (method, path)
    for method in ("GET", "POST", "DELETE", "OPTIONS"):
        assert ask.request(method, "/api/none", headers={"Content-Type": "application/json"}).status_code == 404


def test_a_store_that_is_gone_is_told(own_store: playhead.Store, own_ask: httpx.Client, tmp_path: Path) -> None:
    own_store.path.rename(tmp_path / "elsewhere")
    answer = own_ask.get("/api/runs/fields")
    assert answer.status_code in (200, 503)  # SQLite may still have the file open
    (tmp_path / "elsewhere").rename(own_store.path)
    assert own_ask.get("/api/store").status_code == 200


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotFound("x"), 404),
        (Damaged("/s/f", "a", "b"), 422),
        (QueryStopped("x"), 503),
        (MissingExtra("av", "video"), 503),
        (errors.BadRequest("x"), 400),
        (errors.Refused(413, "x"), 413),
        (PlayheadError("x"), 400),
    ],
)
def test_errors_have_a_status(error: PlayheadError, status: int) -> None:
    answer = errors.answer_for(error, "/s")
    assert answer.status_code == status
    assert b"/s/" not in answer.body


def test_floats_of_json() -> None:
    inf, nan = float("inf"), float("nan")
    assert answers.plain({"a": [1.5, nan, inf, -inf, 2**53 + 1, True, None]}) == {
        "a": [1.5, None, "Infinity", "-Infinity", str(2**53 + 1), True, None]
    }


def test_many_requests_at_once(ask: httpx.Client, address: str) -> None:
    """More than there are threads and connections to the catalogue."""
    statuses: list[int] = []

    def load() -> None:
        with httpx.Client(base_url=address, timeout=30, verify=False) as client:
            statuses.extend(client.get(f"/api/runs/{FIRST}/metrics?name=loss").status_code for _ in range(5))

    threads = [threading.Thread(target=load) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 200


def test_paths_are_unique_and_known_before_parameters() -> None:
    routes = all_routes()
    assert len({(route.method, route.path) for route in routes}) == len(routes)
    paths = [route.path for route in routes]
    assert paths.index("/api/runs/fields") < paths.index("/api/runs/{id}")
    for route in routes:
        declared = {part.strip("{}") for part in route.path.split("/") if part.startswith("{")}
        assert {parameter.name for parameter in route.in_path} == declared, route.path
        assert route.summary.endswith(".")


def test_a_port_that_is_taken() -> None:
    with bind(port=0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match="cannot listen"):
            bind(port=port)
        assert address_of(taken) == f"http://127.0.0.1:{port}/"
        assert address_of(taken, "::1") == f"http://[::1]:{port}/"
    with bind() as first, bind() as second:
        assert first.getsockname()[1] != second.getsockname()[1]


@pytest.mark.parametrize(
    ("host", "expected"), [("127.0.0.1", True), ("localhost", True), ("::1", True), ("0.0.0.0", False), ("box", False)]
)
def test_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_the_page_runs_under_the_policy(open_page: Callable[..., Any], address: str, serving: Serve) -> None:
    page = open_page(address)
    assert page.title() == "it runs"
    stopped = page.evaluate(
        """() => { const script = document.createElement('script'); script.textContent = 'window.evil = 1';
        document.head.append(script); return window.evil === undefined; }"""
    )
    assert stopped
    open_page.complaints.clear()  # type: ignore[attr-defined]  # the browser says that it refused


def test_gzip_is_gzip() -> None:
    assert gzip.decompress(answers.gzipped(b"x" * 100)) == b"x" * 100


def test_a_store_that_is_gone_is_not_shown_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "gone"
    with playhead.open(path) as store, Background(make_app(store)) as server:
        assert httpx.get(f"{server.address}api/runs").status_code == 200
        shutil.rmtree(path)
        answer = httpx.get(f"{server.address}api/runs")
        assert answer.status_code == 503
        assert answer.json()["error"]["message"].startswith("the store was moved or deleted while it was open")
