"""What a server bears: many event streams, requests that never end, and too many connections at once."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import playhead
from playhead.web.app import make_app
from playhead.web.limits import Limits
from playhead.web.server import Background

FILES = 256  # what the server's process may have open
HEAD = "Host: localhost\r\nContent-Type: application/json\r\n"
Socket = socket.socket


def connect(address: str, text: str = "") -> Socket:
    host, port = address.removeprefix("http://").strip("/").split(":")
    found = socket.create_connection((host, int(port)), timeout=10)
    if text:
        found.sendall(text.encode())
    return found


def status(connection: Socket) -> int:
    """Give the status of the answer; 0 where the connection ended without one."""
    with contextlib.suppress(OSError):
        line = connection.recv(4096).split(b"\r\n", 1)[0]
        return int(line.split()[1]) if line else 0
    return 0


def stream(address: str, query: str = "list=1") -> Socket:
    return connect(address, f"GET /api/events?{query} HTTP/1.1\r\n{HEAD}\r\n")


@pytest.fixture
def small_server(made_store: Path, page_folder: Path) -> Iterator[str]:
    """The address of a server in a process of its own that may have few files open."""
    command = [sys.executable, "-m", "playhead", "serve", str(made_store), "--no-open", "--port", "0", "--json"]
    shell = ["bash", "-c", f'ulimit -n {FILES}; exec "$@"', "limited", *command, "--page", str(page_folder)]
    with subprocess.Popen(shell, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        text = ""
        while not text.endswith("}\n"):
            line = process.stdout.readline()
            assert line, process.stderr.read()
            text += line
        try:
            yield json.loads(text)["url"].rstrip("/")
        finally:
            process.terminate()
            complaints = process.communicate(timeout=20)[1]
    assert "Traceback" not in complaints, complaints


def answers_within(address: str, seconds: float) -> bool:
    """Ask until the server answers as it should."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(f"{address}/api/store", timeout=2).status_code == 200:
                return True
        time.sleep(0.1)
    return False


@pytest.mark.timeout(90)
def test_many_event_streams_leave_room_for_others(small_server: str) -> None:
    with contextlib.ExitStack() as stack:
        open_ones = [stack.enter_context(stream(small_server)) for _ in range(120)]
        statuses = [status(one) for one in open_ones]
        assert set(statuses) == {200, 503}
        refused = httpx.get(f"{small_server}/api/events", params={"list": "1"}, timeout=5)
        assert refused.status_code == 503
        assert int(refused.headers["retry-after"]) > 0
        assert "event streams" in refused.json()["error"]["message"]
        assert answers_within(small_server, 3)
        asked = httpx.get(f"{small_server}/api/changes", params={"list": "1"}, timeout=5).json()
        assert asked["list"]["total"] > 0  # what a page asks for instead
    until = time.monotonic() + 10
    while True:  # their places are free again
        with stream(small_server) as once_more:
            if status(once_more) == 200:
                break
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.mark.timeout(90)
def test_half_sent_requests_leave_room_for_others(small_server: str) -> None:
    half = f"POST /api/runs/tag HTTP/1.1\r\n{HEAD}Content-Length: 1000\r\n\r\n{{"
    with contextlib.ExitStack() as stack:
        for number in range(300):
            with contextlib.suppress(OSError):
                stack.enter_context(connect(small_server, half if number % 2 else half[: number % 40]))
        assert answers_within(small_server, 8)


@pytest.fixture
def strict(made_store: Path, page_folder: Path) -> Iterator[str]:
    """The address of a server that waits half a second for a request, and holds few connections."""
    limits = Limits(connections=12, head_s=0.5, body_s=0.5, spared_s=0.2)
    with playhead.open(made_store, mode="r") as store:
        with Background(make_app(store, page=page_folder), limits=limits) as server:
            yield server.address


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "GET /api/store HTT",
        f"GET /api/store HTTP/1.1\r\n{HEAD}",
        f"POST /api/runs/tag HTTP/1.1\r\n{HEAD}Content-Length: 1000\r\n\r\n{{",
        f"POST /api/runs/tag HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\n{{",
        f"GET /api/store HTTP/1.1\r\n{HEAD}Content-Length: 1000\r\n\r\n",
        f"GET /api/events?list=1 HTTP/1.1\r\n{HEAD}Content-Length: 1000\r\n\r\n",
    ],
)
def test_a_request_that_does_not_end_is_ended(strict: str, sent: str) -> None:
    began = time.monotonic()
    with connect(strict, sent) as connection, contextlib.suppress(ConnectionError):
        received = b""
        while block := connection.recv(65536):
            received += block
    assert 0.3 < time.monotonic() - began < 5
    if not sent.startswith("GET /api/events") and "GET /api/store HTTP/1.1\r\n" + HEAD + "Content" not in sent:
        assert b" 408 " in received.split(b"\r\n", 1)[0]
        assert b"in time" in received


def test_bytes_that_trickle_do_not_hold_a_connection(strict: str) -> None:
    began = time.monotonic()
    with connect(strict) as connection, contextlib.suppress(OSError):
        for char in "GET /api/store HTTP/1.1\r\nHost: localhost\r\nX-Long: " + "a" * 200:
            connection.sendall(char.encode())
            time.sleep(0.05)
    assert time.monotonic() - began < 5


def test_a_request_in_pieces_and_many_on_one_connection_are_answered(strict: str) -> None:
    whole = f"GET /api/store HTTP/1.1\r\n{HEAD}\r\n"
    with connect(strict) as connection:
        for _ in range(4):
            for piece in (whole[:7], whole[7:30], whole[30:]):
                connection.sendall(piece.encode())
                time.sleep(0.1)
            assert status(connection) == 200
        time.sleep(0.7)  # a connection that waits for the next request is not cut so soon
        connection.sendall(whole.encode())
        assert status(connection) == 200
        connection.sendall((whole * 3).encode())
        received = b""
        while received.count(b"HTTP/1.1 200") < 3:
            received += connection.recv(65536)


def test_connections_that_only_wait_make_room(strict: str) -> None:
    whole = f"GET /api/store HTTP/1.1\r\n{HEAD}\r\n"
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            one = stack.enter_context(connect(strict, whole))
            assert status(one) == 200


def test_too_many_streams_of_connections_are_told(strict: str) -> None:
    with contextlib.ExitStack() as stack:
        statuses = [status(stack.enter_context(stream(strict))) for _ in range(12)]
        assert statuses.count(200) == Limits(connections=12).streams_of_one
        assert answers_within(strict, 3)


@pytest.mark.parametrize(("files", "connections", "streams"), [(256, 128, 64), (1024, 512, 256), (1 << 20, 512, 256)])
def test_limits_follow_what_a_process_may_open(files: int, connections: int, streams: int) -> None:
    found = Limits.of_files(files)
    assert (found.connections, found.streams) == (connections, streams)
    assert found.streams_of_one < found.streams
