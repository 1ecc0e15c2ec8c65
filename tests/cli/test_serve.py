"""`playhead serve`."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cli.conftest import FIRST
from tests.cli.invoking import environment, invoke


@contextmanager
def serving(*arguments: str | Path, store: Path | None = None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run `playhead serve` and give the first line that it prints."""
    command = [sys.executable, "-m", "playhead", "serve", *map(str, arguments)]
    with subprocess.Popen(
        command, env=environment(store), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline()
        finally:
            if process.poll() is None:
                process.kill()


def ended(process: subprocess.Popen[str], number: int = signal.SIGINT) -> tuple[int, str]:
    """Send a signal; give the exit code and all that was said on stderr."""
    process.send_signal(number)
    _, errors = process.communicate(timeout=10)
    return process.returncode, errors


def as_json(process: subprocess.Popen[str], line: str) -> dict[str, Any]:
    assert process.stdout is not None
    text = line
    while True:
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            text += process.stdout.readline()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_told_to_end(path: Path, number: int) -> None:
    with serving(path) as (process, line):
        url = line.split(" at ")[1].split()[0]
        assert url.startswith("http://127.0.0.1:")
        assert "token" not in url
        assert httpx.get(f"{url}api/store").json()["mode"] == "a"
        with httpx.stream("GET", f"{url}api/events?list=1") as events:  # somebody listens
            next(events.iter_lines())
            assert ended(process, number) == (0, "")


def test_json_and_the_store_of_the_environment(path: Path) -> None:
    with serving("--json", "--port", "0", store=path) as (process, line):
        told = as_json(process, line)
        assert told["store"] == str(path)
        assert told["mode"] == "a"
        assert told["pid"] == process.pid
        assert httpx.get(f"{told['url']}api/runs/{FIRST}").status_code == 200
        assert ended(process) == (0, "")


def test_read_only(path: Path) -> None:
    with serving(path, "--read-only", "--port", "0") as (process, line):
        assert "(only to read)" in line
        url = line.split(" at ")[1].split()[0]
        body = {"ids": [FIRST], "add": ["x"]}
        assert httpx.post(f"{url}api/runs/tag", json=body).status_code == 409
        ended(process)


def test_a_store_that_cannot_be_written_is_read(path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everything")
    path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with serving(path, "--port", "0") as (process, line):
            assert "(only to read)" in line
            ended(process)
    finally:
        path.chmod(stat.S_IRWXU)


def test_another_address_gets_a_token(path: Path) -> None:
    with serving(path, "--host", "0.0.0.0", "--port", "0", "--json") as (process, line):
        url = as_json(process, line)["url"]
        token = url.partition("?token=")[2]
        assert len(token) >= 30
        port = url.partition("?")[0].rstrip("/").rpartition(":")[2]
        here = f"http://127.0.0.1:{port}"
        assert httpx.get(f"{here}/api/store").status_code == 401
        with httpx.Client(base_url=here) as client:
            assert client.get("/", params={"token": token}).status_code == 303
            assert client.get("/api/store").status_code == 200
        ended(process)


@pytest.mark.parametrize("token", ["käse", "a\nb"])
def test_a_token_that_no_header_can_hold_is_refused(path: Path, token: str) -> None:
    assert "printable" in invoke("serve", path, "--token", token, expect=2).stderr


def test_an_empty_token_protects_nothing_and_is_not_taken(path: Path) -> None:
    with serving(path, "--host", "0.0.0.0", "--port", "0", "--token", "") as (process, line):
        assert "?token=" in line
        ended(process)


def test_a_token_of_ones_own(path: Path) -> None:
    with serving(path, "--token", "a b", "--port", "0") as (process, line):
        assert "?token=a%20b" in line
        url = line.split(" at ")[1].split("?")[0]
        assert httpx.get(f"{url}api/store").status_code == 401
        assert httpx.get(f"{url}api/store", headers={"Authorization": "Bearer a b"}).status_code == 200
        ended(process)


def test_a_port_that_is_taken_is_told(path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = invoke("serve", path, "--port", str(taken.getsockname()[1]), expect=1)
    assert "cannot listen on 127.0.0.1 port" in result.stderr


def test_no_store_is_told(tmp_path: Path) -> None:
    assert "no store" in invoke("serve", tmp_path / "nothing", expect=1).stderr
    assert not (tmp_path / "nothing").exists()


def test_a_host_that_is_none_is_told(path: Path) -> None:
    result = invoke("serve", path, "--host", "no.such.host.invalid", expect=1)
    assert "playhead: " in result.stderr


def test_a_missing_extra_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [
        name
        for name in sys.modules
        if name.partition(".")[0] in ("starlette", "uvicorn") or name.startswith("playhead.web")
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.setitem(sys.modules, "starlette", None)
    assert "pip install 'playhead[web]'" in invoke("serve", path, expect=1).stderr


def test_the_store_may_be_named_as_for_every_other_command(path: Path) -> None:
    with serving("--store", path, "--port", "0", "--no-open", "--json") as (process, line):
        assert as_json(process, line)["store"] == str(path)
        ended(process)
    failed = invoke("serve", path, "--store", path, expect=2)
    assert "the store is named twice" in failed.stderr
