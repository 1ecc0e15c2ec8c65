"""Downloads of episodes: right, bounded, and gone from the disk afterwards."""

from __future__ import annotations

import csv
import io
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

import playhead
from playhead.web.app import make_app
from playhead.web.episodes import exports, films
from playhead.web.server import Background
from tests.check.making import START
from tests.web import material
from tests.web.long_episode import make_robot_episode
from tests.web.material import RUN, STEP_NS, STEPS, fails

KINDS = f"/api/episodes/replay/{RUN}-ep0000/export"
ROBOT = "/api/episodes/dataset/arm/reach0001/export"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("exports") / "store"
    with playhead.open(path) as store:
        material.play_kinds(store)
    make_robot_episode(path, seconds=2.0)
    return path


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary files are made; a test fails where some stay."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    for _ in range(100):
        if not list(folder.iterdir()):
            return
        time.sleep(0.05)
    pytest.fail(f"left behind: {list(folder.rglob('*'))}")


@pytest.fixture
def get(path: Path, scratch: Path) -> Iterator[httpx.Client]:
    with playhead.open(path, mode="r") as store, Background(make_app(store)) as server:
        with httpx.Client(base_url=server.address, timeout=60) as client:
            yield client


def saved_as(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    return answer.headers["content-disposition"].removeprefix('attachment; filename="').removesuffix('"')


def film_of(answer: httpx.Response) -> list[np.ndarray]:
    import av

    assert answer.status_code == 200, answer.text
    with av.open(io.BytesIO(answer.content)) as container:
        return [picture.to_ndarray(format="rgb24") for picture in container.decode(video=0)]


def test_a_film_of_a_stretch(get: httpx.Client) -> None:
    answer = get.get(KINDS, params={"format": "mp4", "from_s": 0.5, "to_s": 0.7})
    assert answer.headers["content-type"] == "video/mp4"
    assert saved_as(answer) == "kinds-all-of-them-ep0000-0.5s-0.7s.mp4"
    shown = film_of(answer)
    assert len(shown) == 11
    assert shown[0].shape == (480, 576, 3)
    for place, step in enumerate(range(25, 36)):
        truth = material.picture(step).repeat(24, axis=0).repeat(24, axis=1).astype(int)
        others = [np.abs(one.astype(int) - truth).mean() for one in shown]
        assert int(np.argmin(others)) == place


def test_a_film_with_figures_below_the_pictures(get: httpx.Client) -> None:
    bare = film_of(get.get(KINDS, params={"format": "mp4", "to_s": 0.1}))
    told = film_of(get.get(KINDS, params={"format": "mp4", "to_s": 0.1, "hud": 1}))
    assert len(bare) == len(told) == 6
    assert told[0].shape[0] > bare[0].shape[0] == 480


@pytest.mark.parametrize("hud", [0, 1])
def test_an_animation(get: httpx.Client, hud: int) -> None:
    answer = get.get(KINDS, params={"format": "gif", "from_s": 1.0, "hud": hud})
    assert saved_as(answer) == "kinds-all-of-them-ep0000-1s.gif"
    with Image.open(io.BytesIO(answer.content)) as animation:
        assert animation.n_frames == 10
        assert hud or animation.size == (576, 480)


def test_films_of_cameras(get: httpx.Client) -> None:
    wrist = film_of(get.get(ROBOT, params={"format": "mp4", "signals": "wrist", "from_s": 0.5, "to_s": 1.0}))
    assert wrist[0].shape == (480, 640, 3)
    assert 14 <= len(wrist) <= 17
    first = film_of(get.get(ROBOT, params={"format": "mp4", "to_s": 0.5}))
    assert first[0].shape == (540, 720, 3)  # overview, enlarged three times
    assert "one signal" in fails(get.get(ROBOT, params={"format": "mp4", "signals": "wrist,overview"}), 400)
    assert "not pictures" in fails(get.get(ROBOT, params={"format": "gif", "signals": "joints"}), 422)


def test_tables(get: httpx.Client) -> None:
    answer = get.get(KINDS, params={"format": "csv", "signals": "reward,action.move", "from_s": 0.2, "to_s": 0.24})
    assert answer.headers["content-type"].startswith("text/csv")
    lines = list(csv.reader(io.StringIO(answer.text)))
    assert lines[0] == ["signal", "ts_ns", "value"]
    assert [line for line in lines if line[0] == "reward"] == [
        ["reward", str(START + step * STEP_NS), value] for step, value in ((10, "5"), (11, "0"), (12, "0"))
    ]
    assert len(lines) == 7
    parquet = get.get(ROBOT, params={"format": "parquet", "rate": 10})
    assert saved_as(parquet) == "arm-ep0000.parquet"
    table = pq.read_table(io.BytesIO(parquet.content))
    assert {"ts_ns", "joints", "force"} <= set(table.column_names)
    assert "wrist" not in table.column_names
    assert "no table holds" in fails(get.get(ROBOT, params={"format": "csv", "signals": "wrist"}), 422)


def test_archives(get: httpx.Client, path: Path) -> None:
    answer = get.get(ROBOT, params={"format": "npz", "signals": "joints,wrist", "from_s": 0.0, "to_s": 0.2})
    assert saved_as(answer) == "arm-ep0000-0s-0.2s.npz"
    with playhead.open(path, mode="r") as store, np.load(io.BytesIO(answer.content)) as found:
        episode = store.dataset("arm").by_uid("reach0001")
        origin = episode.signals["joints"].start_ts
        for name in ("joints", "wrist"):
            part = episode.signals[name].time[origin : origin + 200_000_001]
            assert (found[f"values/{name}"] == part.values).all()
            assert (found[f"timestamps/{name}"] == part.timestamps).all()


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({}, 400),
        ({"format": "exe"}, 400),
        ({"format": "csv", "signals": "nothing"}, 404),
        ({"format": "csv", "from_s": "2", "to_s": "1"}, 400),
        ({"format": "mp4", "from_s": "500"}, 404),
        ({"format": "csv", "rate": "0"}, 400),
        ({"format": "parquet", "rate": "100000", "from_s": "-1e9", "to_s": "1e9"}, 413),
        ({"format": "mp4", "signals": "../../etc"}, 404),
    ],
)
def test_what_cannot_be_exported(get: httpx.Client, asked: dict[str, str], status: int) -> None:
    assert fails(get.get(KINDS, params=asked), status)
    assert "nobody" in fails(get.get("/api/episodes/replay/nobody/export", params={"format": "csv"}), 404)


def test_a_film_that_is_too_long(get: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(films.MOST_PICTURES, "mp4", 20)
    assert "at most 20" in fails(get.get(KINDS, params={"format": "mp4"}), 413)
    assert get.get(KINDS, params={"format": "mp4", "to_s": 0.1}).status_code == 200
    monkeypatch.setattr(films, "MOST_PIXELS", 480 * 576 * 5)
    assert "at most 5" in fails(get.get(KINDS, params={"format": "mp4", "to_s": 0.3}), 413)


def test_a_third_export_at_once_is_told_to_come_again(get: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    going, go_on = threading.Semaphore(0), threading.Event()
    real = films.write

    def slow(*arguments: object, **options: object) -> None:
        going.release()
        assert go_on.wait(30)
        real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(films, "write", slow)
    found: list[int] = []

    def export() -> None:
        asked = {"format": "gif", "to_s": 0.1}
        found.append(httpx.get(f"{get.base_url}{KINDS.lstrip('/')}", params=asked, timeout=60).status_code)

    threads = [threading.Thread(target=export) for _ in range(exports.AT_ONCE)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert going.acquire(timeout=30)
    third = get.get(KINDS, params={"format": "csv"})
    assert "at once" in fails(third, 503)
    assert int(third.headers["retry-after"]) > 0
    assert get.get(KINDS.removesuffix("/export")).status_code == 200  # the rest goes on
    go_on.set()
    for thread in threads:
        thread.join()
    assert found == [200, 200]
    assert get.get(KINDS, params={"format": "csv"}).status_code == 200


def test_nothing_stays_where_the_client_goes_away(get: httpx.Client, scratch: Path) -> None:
    place = urlsplit(str(get.base_url))
    with socket.create_connection((place.hostname or "", place.port or 0)) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request = f"GET {ROBOT}?format=npz&signals=wrist HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n"
        connection.sendall(request.encode())
        assert b"200 OK" in connection.recv(1000)
        assert list(scratch.rglob("*.npz"))  # it waits for a client that does not read
    # `scratch` sees to it that the file goes


def test_names_are_safe(tmp_path: Path, scratch: Path) -> None:
    with playhead.open(tmp_path / "store") as store, Background(make_app(store)) as server:
        with store.run('a/b"c; rm -rf', "ü\u4e2d x" * 10, run_id="odd", environment=False) as run:
            reel = run.new_reel()
            reel.begin()
            reel.step({"actions": np.array(1)}, 1.0, True, False)
            reel.end("terminated")
        answer = httpx.get(f"{server.address}api/episodes/replay/odd-ep0000/export?format=csv")
        name = saved_as(answer)
        assert name.endswith("-ep0000.csv")
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-")
        assert len(name) < 130


def test_a_film_of_all_of_an_episode_has_its_end(get: httpx.Client) -> None:
    assert len(film_of(get.get(KINDS, params={"format": "mp4"}))) == STEPS


def test_who_takes_nothing_holds_a_turn_for_a_while_only(
    get: httpx.Client, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "_STALLED_S", 2.0)
    place = urlsplit(str(get.base_url))
    lazy = []
    for _ in range(exports.AT_ONCE):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((place.hostname or "", place.port or 0))
        request = f"GET {ROBOT}?format=npz&signals=wrist HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n"
        connection.sendall(request.encode())
        assert b"200 OK" in connection.recv(1000)
        lazy.append(connection)
    assert len(list(scratch.rglob("*.npz"))) == exports.AT_ONCE
    assert "at once" in fails(get.get(KINDS, params={"format": "csv"}), 503)
    end = time.monotonic() + 10
    while get.get(KINDS, params={"format": "csv"}).status_code == 503:
        assert time.monotonic() < end
        time.sleep(0.1)
    while list(scratch.rglob("*.npz")):
        assert time.monotonic() < end + 20
        time.sleep(0.1)
    for connection in lazy:
        connection.close()
