"""Logs and media as files: exactly as long as announced, in ranges, never through links."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

import playhead
from playhead.errors import NotFound
from playhead.web.app import make_app
from playhead.web.files import open_plain, plain_size
from playhead.web.runs.logfile import Days, LogFile
from playhead.web.server import Background

RUN = "20260101_100000_aaaaaa"
SECRET = b"root:x:0:0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a run with a picture and a log."""
    with playhead.open(tmp_path / "store") as store:
        with store.run("p", "r", run_id=RUN, environment=False) as run:
            run.log_image("picture", np.zeros((4, 4, 3), np.uint8))
            run.log_text("hello")
        return store.runs[RUN].path


@pytest.fixture
def get(tmp_path: Path, folder: Path) -> Iterator[httpx.Client]:
    with playhead.open(tmp_path / "store", mode="r") as store, Background(make_app(store)) as server:
        with httpx.Client(base_url=f"{server.address}api/runs/{RUN}/".replace("//api", "/api"), timeout=10) as client:
            yield client


def test_a_log_that_grows_is_sent_as_long_as_announced(folder: Path, get: httpx.Client) -> None:
    log = folder / "logs.txt"
    log.write_bytes(b"10:00:00 | hello\n" * 400_000)
    stop = threading.Event()

    def grow() -> None:
        with log.open("ab") as file:
            while not stop.is_set():
                file.write(b"10:00:01 | more\n" * 100)
                file.flush()
                time.sleep(0.0005)

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        for _ in range(3):
            answer = get.get("log/raw")
            assert answer.status_code == 200
            assert len(answer.content) == int(answer.headers["content-length"])
            assert answer.content.startswith(b"10:00:00 | hello\n")
    finally:
        stop.set()
        writer.join()


@pytest.mark.parametrize("way", ["link", "fifo"])
def test_a_log_that_is_no_plain_file_is_not_read(folder: Path, get: httpx.Client, tmp_path: Path, way: str) -> None:
    log = folder / "logs.txt"
    log.unlink()
    if way == "link":
        (tmp_path / "secret").write_bytes(SECRET + b"\n")
        log.symlink_to(tmp_path / "secret")
    else:
        os.mkfifo(log)
    assert get.get("log/raw").content == b""
    assert get.get("log", params={"tail": 5}).json()["lines"] == []
    assert get.get("log/search", params={"q": "root"}).json()["matches"] == []
    assert get.get("moment", params={"time_s": 1}).json()["lines"] == []
    assert plain_size(log) == 0
    with pytest.raises(NotFound):
        open_plain(log)


def test_a_file_is_given_in_ranges(folder: Path, get: httpx.Client) -> None:
    whole = get.get("media/0")
    assert whole.status_code == 200
    size, tag = len(whole.content), whole.headers["etag"]
    for asked, start, stop in (("2-5", 2, 6), ("10-", 10, size), ("-3", size - 3, size), (f"0-{size * 2}", 0, size)):
        part = get.get("media/0", headers={"Range": f"bytes={asked}"})
        assert part.status_code == 206
        assert part.content == whole.content[start:stop]
        assert part.headers["content-range"] == f"bytes {start}-{stop - 1}/{size}"
    for asked in ("5-2", "-", "x", "0-1,3-4"):
        assert get.get("media/0", headers={"Range": f"bytes={asked}"}).content == whole.content
    beyond = get.get("media/0", headers={"Range": f"bytes={size}-"})
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{size}")
    assert get.get("media/0", headers={"Range": "bytes=0-1", "If-Range": '"other"'}).status_code == 200
    assert get.get("media/0", headers={"Range": "bytes=0-1", "If-Range": tag}).status_code == 206
    head = get.head("media/0")
    assert (head.content, head.headers["content-length"]) == (b"", str(size))


def test_media_that_were_removed_are_not_found(folder: Path, get: httpx.Client) -> None:
    (found,) = folder.glob("**/*.png")
    found.unlink()
    assert get.get("media/0").status_code == 404


def test_a_log_that_was_cut_under_our_eyes_ends(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"10:00:00 | a\n" * 1000)
    log = LogFile(path)
    path.write_bytes(b"10:00:00 | a\n")
    days = Days(time.time())
    looking = threading.Thread(target=days.look, args=(log,), daemon=True)
    looking.start()
    looking.join(5)
    assert not looking.is_alive()
    days.look(LogFile(path))


def test_a_moment_within_a_very_long_line(folder: Path, get: httpx.Client) -> None:
    with (folder / "logs.txt").open("ab") as file:
        file.write(b"10:00:00 | start\n10:00:01 | " + b"x" * 300_000 + b"\n10:00:02 | end\n")
    lines = get.get("moment", params={"time_s": 1e6}).json()["lines"]
    assert [line["text"][:5] for line in lines][-3:] == ["start", "xxxxx", "end"]
    assert get.get("moment", params={"time_s": 0}).status_code == 200
