"""Who may ask, and what an answer may do in a browser."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

import playhead
from playhead.web import security
from playhead.web.app import make_app
from playhead.web.server import Background
from tests.web.conftest import FIRST

TOKEN = "correct horse/battery+staple"


@pytest.fixture
def guarded(made_store: Path, page_folder: Path) -> Iterator[str]:
    """A server that others can reach: any host, but with a token."""
    with playhead.open(made_store, mode="r") as store:
        with Background(make_app(store, page=page_folder, token=TOKEN, hosts=None)) as server:
            yield server.address


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.evil", "", "[::2]:80"),
        *("localhost:80@evil.com", "[::1]evil.com", "[::1]:80@evil.com", "localhost:1:2", "[::1", "::1", "localhost:"),
        *("localhost:port", "evil.com/localhost", "localhost#evil.com", "localhost evil.com", "[localhost]"),
    ],
)
def test_another_host_name_is_refused(ask: httpx.Client, host: str) -> None:
    for path in ("/", "/api/store", "/assets/a-1.js"):
        answer = ask.get(path, headers={"Host": host})
        assert answer.status_code in (400, 403)
        assert "Playhead" not in answer.text


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:9", "[::1]:8765", "[::1]"])
def test_names_of_this_machine_are_fine(ask: httpx.Client, host: str) -> None:
    assert ask.get("/api/store", headers={"Host": host}).status_code == 200


def test_without_the_token_nothing_is_answered(guarded: str) -> None:
    for path in ("/", "/api/store", "/assets/a-1.js", f"/run/{FIRST}", "/api/events", "/api/openapi.json"):
        answer = httpx.get(f"{guarded.rstrip('/')}{path}")
        assert answer.status_code == 401
        assert answer.json()["error"]["type"] == "Unauthorized"
        assert TOKEN not in answer.text
    name = security.cookie_name(httpx.URL(guarded).port or 0)
    wrong = [{"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}, {"Cookie": f"{name}=wrong"}]
    wrong += [{"Cookie": f'{name}="{TOKEN}"'}, {"Cookie": f'playhead_token="{TOKEN}"'}, {"Cookie": f"{name}=%FF"}]
    for headers in [*wrong, {"Authorization": "Bearer"}, {"Cookie": name}, {"Cookie": '"\\'}]:
        assert httpx.get(f"{guarded}api/store", headers=headers).status_code == 401


def test_a_token_in_the_address_becomes_a_cookie(guarded: str) -> None:
    with httpx.Client(base_url=guarded) as client:
        answer = client.get("/play/replay/x%2Fy", params={"t": "1.5", "token": TOKEN})
        assert answer.status_code == 303
        assert answer.headers["location"] == "/play/replay/x%2Fy?t=1.5"
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert client.get("/api/store").status_code == 200
        assert client.get("/").status_code == 200


def test_servers_on_one_host_name_do_not_log_each_other_out(made_store: Path, page_folder: Path) -> None:
    tokens = ["the first token", "the second token"]
    with playhead.open(made_store, mode="r") as store, contextlib.ExitStack() as stack, httpx.Client() as browser:
        made = [make_app(store, page=page_folder, token=token) for token in tokens]
        addresses = [stack.enter_context(Background(app)).address for app in made]
        for address, token in zip(addresses, tokens, strict=True):
            assert browser.get(address, params={"token": token}).status_code == 303
        assert [browser.get(f"{address}api/store").status_code for address in addresses] == [200, 200]
        sent = browser.get(f"{addresses[1]}api/store").request.headers["cookie"]  # to every port of the host name
        assert sent.count("playhead_token_") == 2
        for token in tokens:
            assert token not in sent
            assert quote(token) not in sent


def test_a_token_in_the_address_does_not_lead_elsewhere(guarded: str) -> None:
    host, port = guarded.removeprefix("http://").strip("/").split(":")
    with socket.create_connection((host, int(port))) as raw:
        raw.sendall(
            f"GET //evil.example/?token={'correct%20horse/battery%2Bstaple'} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
        )
        answer = raw.recv(65536).decode()
    assert "303" in answer.splitlines()[0]
    assert "location: /evil.example/" in answer.lower()


def test_a_token_in_the_address_of_the_api_is_not_taken(guarded: str) -> None:
    assert httpx.get(f"{guarded}api/store", params={"token": TOKEN}).status_code == 401


def test_the_header_opens(guarded: str) -> None:
    answer = httpx.get(f"{guarded}api/store", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "SAME"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://localhost:1"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
    ],
)
def test_changes_come_from_this_origin_and_as_json(own_ask: httpx.Client, headers: dict[str, str], status: int) -> None:
    same = str(own_ask.base_url).rstrip("/")
    sent = {"Content-Type": "application/json"} | {
        name: same if value == "SAME" else value for name, value in headers.items()
    }
    answer = own_ask.post("/api/runs/tag", content=f'{{"ids": ["{FIRST}"], "add": ["x"]}}', headers=sent)
    assert answer.status_code == status, answer.text


def test_every_answer_carries_the_headers_of_safety(ask: httpx.Client, guarded: str) -> None:
    answers = [
        ask.get(path) for path in ("/", "/api/store", "/api/none", "/assets/none.js", f"/api/runs/{FIRST}/media/0")
    ]
    for answer in [*answers, httpx.get(guarded)]:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "script" not in policy  # scripts only from here, and none inline
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../../../../etc/passwd",
        "/assets/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/assets/..%2f..%2f..%2fetc%2fpasswd",
        "/%2e%2e/playhead.json",
        "/assets//etc/passwd",
        "/assets/%00",
        "//etc/passwd",
    ],
)
def test_no_path_leads_out_of_the_page(address: str, made_store: Path, path: str) -> None:
    host, port = address.removeprefix("http://").strip("/").split(":")
    with socket.create_connection((host, int(port))) as raw:
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
        raw.settimeout(5)
        answer = b""
        while block := raw.recv(65536):
            answer += block
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b" 404 " in head.splitlines()[0] or b"<title>Playhead" in body, head
    assert b"root:" not in answer
    assert b'"format"' not in body


@pytest.mark.parametrize(
    "request_line",
    [
        b"GET http://evil.example/api/store HTTP/1.1",
        b"OPTIONS * HTTP/1.1",
        b"TRACE /api/store HTTP/1.1",
        b"PUT /api/store HTTP/1.1",
        b"DELETE /api/runs/x HTTP/1.1",
        b"GET /" + b"a" * 30_000 + b" HTTP/1.1",
        b"GET /api/runs?where=" + b"%28" * 3000 + b" HTTP/1.1",
        b"\x00\x01 nonsense",
    ],
)
def test_odd_requests_get_no_5xx(address: str, request_line: bytes) -> None:
    host, port = address.removeprefix("http://").strip("/").split(":")
    with socket.create_connection((host, int(port))) as raw:
        raw.sendall(request_line + f"\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
        raw.settimeout(5)
        answer = raw.recv(65536)
    assert answer.startswith(b"HTTP/1.1 ")
    assert answer.split()[1][:1] in (b"2", b"4"), answer[:200]


def test_errors_do_not_tell_where_the_store_is(own_store: playhead.Store, own_ask: httpx.Client) -> None:
    (own_store.runs[FIRST].path / "meta.json").write_text("{")
    answer = own_ask.post("/api/runs/tag", json={"ids": [FIRST], "add": ["x"]}).json()
    assert "meta.json" in answer["failed"][0]["message"]
    assert str(own_store.path) not in answer["failed"][0]["message"]


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "null", "http://evil", ""])
def test_an_origin_that_is_no_address_is_refused(ask: httpx.Client, origin: str) -> None:
    answer = ask.post("/api/runs/tag", json={"ids": [], "add": []}, headers={"Origin": origin})
    assert answer.status_code == 403
