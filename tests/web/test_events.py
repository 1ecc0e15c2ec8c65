"""Server-sent events: what changes reaches a page, whoever else listens."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

import playhead
from playhead.web.app import make_app
from playhead.web.changes import Changes
from playhead.web.server import Background
from tests.web.conftest import FIRST, LIVE, SECOND


class Stream:
    """An open connection, whose events a thread collects."""

    def __init__(self, address: str, **query: Any) -> None:
        self.events: queue.Queue[dict[str, Any]] = queue.Queue()
        self.lines: list[str] = []
        self.ended = threading.Event()
        host, port = address.removeprefix("http://").strip("/").split(":")
        self._socket = socket.create_connection((host, int(port)))
        path = f"/api/events?{urlencode(query)}"
        self._socket.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._socket.makefile("rb") as file:
            in_head = True
            for raw in file:
                line = raw.decode().strip()
                if in_head:
                    in_head = bool(line)
                    continue
                if not line or all(char in "0123456789abcdef" for char in line):  # the sizes of chunks
                    continue
                self.lines.append(line)
                if line.startswith("data: "):
                    self.events.put(json.loads(line[6:]))
        self.ended.set()

    def next(self, timeout: float = 5) -> dict[str, Any]:
        return self.events.get(timeout=timeout)

    def until(self, fits: Callable[[dict[str, Any]], bool], timeout: float = 5) -> dict[str, Any]:
        end = time.monotonic() + timeout
        while True:
            event = self.next(max(0.01, end - time.monotonic()))
            if fits(event):
                return event

    def close(self) -> None:
        with contextlib.suppress(OSError):  # the server was quicker
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._socket.close()


@pytest.fixture
def listen(own_address: str) -> Iterator[Callable[..., Stream]]:
    opened: list[Stream] = []

    def open_one(**query: Any) -> Stream:
        opened.append(Stream(own_address, **query))
        return opened[-1]

    yield open_one
    for stream in opened:
        stream.close()


def test_the_first_event_tells_how_everything_is(listen: Callable[..., Stream], live_run: playhead.RunWriter) -> None:
    stream = listen(runs=f"{FIRST},{LIVE},nothing", list=1)
    event = stream.next()
    assert set(event["runs"]) == {FIRST, LIVE}
    state = event["runs"][LIVE]
    assert (state["status"], state["is_stale"], state["points"]) == ("running", False, 1)
    assert state["log_bytes"] > 0
    assert event["runs"][FIRST]["media"] == 2
    assert event["runs"][FIRST]["episodes"] == 1
    assert event["list"]["total"] == 5
    assert event["list"]["running"] == 1
    assert event["list"]["newest"] == LIVE
    assert stream.lines[0] == "retry: 2000"
    assert "event: change" in stream.lines
    assert "id: 1" in stream.lines


def test_new_points_lines_and_the_end_are_told(listen: Callable[..., Stream], live_run: playhead.RunWriter) -> None:
    stream = listen(runs=LIVE)
    begin = stream.next()["runs"][LIVE]
    live_run.log({"loss": 0.5})
    live_run.flush()
    event = stream.until(lambda event: event["runs"][LIVE]["points"] == begin["points"] + 1)
    assert "list" not in event
    live_run.log_text("a line")  # the log is a file, and not in the catalogue
    stream.until(lambda event: event["runs"][LIVE]["log_bytes"] > begin["log_bytes"])
    live_run.finish()
    stream.until(lambda event: event["runs"][LIVE]["status"] == "finished")


def test_followers_share_answers_and_are_never_behind_what_they_were_told(
    listen: Callable[..., Stream], live_run: playhead.RunWriter, own_ask: httpx.Client
) -> None:
    def read(client: httpx.Client, **query: Any) -> httpx.Response:
        return client.get(f"/api/runs/{LIVE}/metrics", params={"name": "loss", **query})

    stream = listen(runs=LIVE)
    points = stream.next()["runs"][LIVE]["points"]
    asked, known = ({"after_ns": 0}, {}), dict[int, str]()
    for step in range(1, 6):
        live_run.log({"loss": 1 / step})
        live_run.flush()
        stream.until(lambda event, least=points + step: event["runs"][LIVE]["points"] == least)
        for number, query in enumerate(asked):
            answers = [read(own_ask, **query) for _ in range(3)]
            assert len({answer.content for answer in answers}) == 1
            assert answers[0].json()["series"][0]["total"] == points + step
            known[number], before = answers[0].headers["etag"], known.get(number)
            assert known[number] != before
            again = own_ask.get(answers[0].url, headers={"If-None-Match": known[number]})
            assert again.status_code == 304
            assert own_ask.get(answers[0].url, headers={"Accept-Encoding": "identity"}).json() == answers[0].json()


def test_what_others_change_is_not_told(
    listen: Callable[..., Stream], live_run: playhead.RunWriter, own_ask: httpx.Client
) -> None:
    stream = listen(runs=SECOND)
    stream.next()
    live_run.log({"loss": 0.5})
    live_run.flush()
    with pytest.raises(queue.Empty):
        stream.next(timeout=0.8)
    own_ask.post("/api/runs/tag", json={"ids": [SECOND], "add": ["x"]})
    assert stream.next()["runs"][SECOND]["updated_at"] > 0


_DYING = """
import sys, time, playhead
run = playhead.open(sys.argv[1]).run("p", "n", run_id="dies", environment=False)
run.log({"x": 1}); run.log_text("begun"); run.flush()
print("begun", flush=True); time.sleep(60)
"""


def test_the_last_sign_of_life_never_goes_back(listen: Callable[..., Stream], own_store: playhead.Store) -> None:
    recorder = subprocess.Popen([sys.executable, "-c", _DYING, own_store.path], stdout=subprocess.PIPE)
    try:
        assert recorder.stdout is not None
        recorder.stdout.readline()
        stream = listen(runs="dies")
        began = stream.next()["runs"]["dies"]["updated_at"]
        beat = int(began) + 15
        os.utime(own_store.path / ".recording" / "dies.1.json", (beat, beat))
        stream.until(lambda event: event["runs"]["dies"]["updated_at"] == beat)
    finally:
        recorder.kill()
        recorder.communicate()
    died = stream.until(lambda event: event["runs"]["dies"]["is_stale"])
    assert died["runs"]["dies"]["updated_at"] == beat
    later = listen(runs="dies")  # of somebody who did not see it before
    assert later.next()["runs"]["dies"]["updated_at"] == beat
    playhead.open(own_store.path).close()
    settled = stream.until(lambda event: event["runs"]["dies"]["status"] == "failed")
    assert settled["runs"]["dies"]["updated_at"] == beat


def test_the_list_is_told(listen: Callable[..., Stream], own_store: playhead.Store, own_ask: httpx.Client) -> None:
    stream = listen(list=1)
    assert stream.next()["list"]["total"] == 4
    with own_store.run("p", "n", run_id="newest", environment=False):
        stream.until(lambda event: event["list"]["newest"] == "newest" and event["list"]["running"] == 1)
    stream.until(lambda event: event["list"]["running"] == 0)
    own_ask.post("/api/runs/delete", json={"ids": [SECOND]})
    assert stream.until(lambda event: event["list"]["total"] == 4)["list"]["deleted"] == 2


def test_at_most_four_events_a_second(listen: Callable[..., Stream], live_run: playhead.RunWriter) -> None:
    stream = listen(runs=LIVE)
    stream.next()
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        live_run.log_text("a line")
        time.sleep(0.01)
    time.sleep(0.5)
    assert 2 <= stream.events.qsize() <= 9
    last = None
    while not stream.events.empty():
        last = stream.next()
    assert last is not None
    assert last["runs"][LIVE]["log_bytes"] == (live_run.path / "logs.txt").stat().st_size


def test_many_listeners_share_one_thread_and_leave(own_store: playhead.Store, live_run: playhead.RunWriter) -> None:
    app = make_app(own_store)
    with Background(app) as server:
        before = threading.active_count()
        streams = [Stream(server.address, runs=LIVE, list=1) for _ in range(50)]
        for stream in streams:
            stream.next()
        changes = app.state.site.keep(Changes, lambda: pytest.fail("it was not made"))
        assert changes.listeners == 50
        ours = [thread.name for thread in threading.enumerate() if thread.name == "playhead-changes"]
        assert len(ours) == 1
        assert threading.active_count() - before <= 50 + 1 + 16  # the readers here, the watcher, the handlers
        for stream in streams[1:]:
            stream.close()
        live_run.log({"loss": 0.1})
        live_run.flush()
        streams[0].until(lambda event: LIVE in event["runs"])
        end = time.monotonic() + 5
        while changes.listeners > 1 and time.monotonic() < end:
            time.sleep(0.05)
        assert changes.listeners == 1
        for stream in streams:
            stream.close()


def test_a_slow_listener_gets_the_last_state(own_address: str, live_run: playhead.RunWriter) -> None:
    """One that does not read for a while, and then does, ends with what is true then."""
    host, port = own_address.removeprefix("http://").strip("/").split(":")
    with socket.create_connection((host, int(port))) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        slow.sendall(f"GET /api/events?runs={LIVE} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        for number in range(20):
            live_run.log({"loss": float(number)})
            live_run.flush()
            time.sleep(0.05)
        slow.settimeout(3)
        text, points = b"", -1
        end = time.monotonic() + 5
        while points != live_run.points and time.monotonic() < end:
            live_run.reload()
            text += slow.recv(65536)
            found = [line for line in text.split(b"\n") if line.startswith(b"data: ") and line.endswith(b"}")]
            points = json.loads(found[-1][6:])["runs"][LIVE]["points"]
        assert points == live_run.points == 21


def test_the_server_ends_at_once_although_somebody_listens(own_store: playhead.Store) -> None:
    server = Background(make_app(own_store))
    server.start()
    streams = [Stream(server.address, list=1) for _ in range(3)]
    for stream in streams:
        stream.next()
    begin = time.monotonic()
    server.stop()
    assert time.monotonic() - begin < 1.5
    for stream in streams:
        assert stream.ended.wait(2)
        stream.close()


def test_a_server_that_ends_takes_no_new_listener(own_store: playhead.Store) -> None:
    app = make_app(own_store)
    with Background(app) as server:
        stream = Stream(server.address, list=1)
        stream.next()
        app.state.site.announce_end()
        assert stream.ended.wait(2)
        late = Stream(server.address, list=1)
        assert late.ended.wait(2)
        for one in (stream, late):
            one.close()


def test_too_many_runs_are_refused(ask: httpx.Client) -> None:
    assert ask.get("/api/events", params={"runs": ",".join(map(str, range(1001)))}).status_code == 400


def test_a_browser_hears(open_page: Callable[..., Any], own_address: str, live_run: playhead.RunWriter) -> None:
    page = open_page(own_address)
    heard = """([run, points]) => new Promise(resolve => {
        window.events ??= new EventSource(`/api/events?runs=${run}`);
        window.events.addEventListener('change', event => {
            const state = JSON.parse(event.data).runs[run];
            if (state.points === points) resolve(state.status);
        });
    })"""
    assert page.evaluate(heard, [LIVE, 1]) == "running"
    live_run.log({"loss": 0.5})
    live_run.flush()
    page.evaluate("() => window.events.close()")
    page.evaluate("() => { window.events = undefined; }")
    assert page.evaluate(heard, [LIVE, 2]) == "running"


def test_the_head_of_the_events_ends(ask: httpx.Client) -> None:
    answer = ask.head("/api/events?list=1", timeout=5)
    assert answer.headers["content-type"].startswith("text/event-stream")


def test_the_watcher_survives_what_nobody_expected(
    own_store: playhead.Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real, fails = Changes._look_at_list, [True]

    def look(connection: Any) -> Any:
        if fails[0]:
            raise ZeroDivisionError("a mistake")
        return real(connection)

    monkeypatch.setattr(Changes, "_look_at_list", staticmethod(look))
    monkeypatch.setattr(sys.modules[Changes.__module__], "_PAUSE_S", 0.05)
    with Background(make_app(own_store)) as server:
        stream = Stream(server.address, list=1)
        with pytest.raises(queue.Empty):
            stream.next(0.5)
        fails[0] = False
        assert "list" in stream.next()  # the first state, which it never got
        stream.close()
    assert len([record for record in caplog.records if "looking for changes failed" in record.message]) == 1


def test_one_error_of_the_catalogue_silences_nobody(
    listen: Callable[..., Stream], live_run: playhead.RunWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Was a bug: a run that had not changed since kept all others from being told of."""
    from playhead.catalog import browse

    stream = listen(runs=f"{FIRST},{LIVE}")
    points = stream.next()["runs"][LIVE]["points"]
    real = browse.version

    def failing(connection: Any) -> int:
        monkeypatch.setattr(browse, "version", real)
        raise OSError("gone for a moment")

    monkeypatch.setattr(browse, "version", failing)
    for number in range(1, 3):
        live_run.log({"loss": 0.5})
        live_run.flush()
        stream.until(lambda event, due=points + number: event["runs"].get(LIVE, {}).get("points") == due, timeout=10)
    assert browse.version is real  # the error came


def test_answers_that_failed_are_not_remembered() -> None:
    from playhead.web import shared

    kept = shared.Shared()

    def fail() -> Any:
        raise ValueError("wrong")

    for number in range(3 * shared.KEPT):
        with pytest.raises(ValueError, match="wrong"):
            kept.answer({}, number, fail)
    assert len(kept._slots) <= shared.KEPT
