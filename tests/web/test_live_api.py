"""What is live over HTTP: the runs of this store, and nobody else's."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from PIL import Image

import playhead
from playhead import clock, live
from playhead.web.app import make_app
from playhead.web.server import Background

FRAME = np.arange(40 * 60 * 3, dtype=np.uint8).reshape(40, 60, 3)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, str]]:
    path: Path = tmp_path_factory.mktemp("live") / "store"
    with playhead.open(path) as store, store.run("pong", "dqn", environment=False) as run:
        with Background(make_app(store)) as server, httpx.Client(base_url=server.address, timeout=30) as client:
            yield client, run.id


def test_only_runs_of_the_store_are_listed(served: tuple[httpx.Client, str]) -> None:
    get, run_id = served
    assert get.get("/api/live").json() == {"items": []}
    with live.LiveWriter(run_id) as ours, live.LiveWriter(f"{run_id}.1") as second, live.LiveWriter("other") as theirs:
        ours.step(FRAME, 1.5)
        for writer in (second, theirs):
            writer.publish(FRAME)
        items = get.get("/api/live").json()["items"]
        assert [item["id"] for item in items] == [run_id, f"{run_id}.1"]
        assert [item["run"] for item in items] == [run_id, run_id]
        assert (items[0]["reward"], items[0]["width"], items[0]["state"], items[0]["step"]) == (1.5, 60, "live", 1)
        assert get.get("/api/live/other/frame").status_code == 404


def test_the_newest_frame_is_given_and_not_sent_twice(served: tuple[httpx.Client, str]) -> None:
    get, run_id = served
    with live.LiveWriter(run_id, rate=None, facts={"env_id": "Pöng\r\nX: y"}) as writer:
        writer.publish(FRAME)
        path = f"/api/live/{run_id}/frame"
        answer = get.get(path, params={"format": "png"})
        assert np.array_equal(np.asarray(Image.open(io.BytesIO(answer.content))), FRAME)
        assert answer.headers["X-Playhead-Number"] == "1"
        figures = json.loads(answer.headers["X-Playhead-Figures"])
        assert list(figures) == ["env_id", "reward", "rolling_return", "step_rate", "step", "episode"]
        assert (figures["env_id"], figures["reward"], figures["step"]) == ("Pöng\r\nX: y", 0.0, 0)
        again = get.get(path, params={"format": "png"}, headers={"If-None-Match": answer.headers["ETag"]})
        assert again.status_code == 304
        writer.publish(FRAME // 2)
        answer = get.get(path, params={"format": "png"}, headers={"If-None-Match": answer.headers["ETag"]})
        assert np.array_equal(np.asarray(Image.open(io.BytesIO(answer.content))), FRAME // 2)
        small = Image.open(io.BytesIO(get.get(path, params={"width": 30}).content))
        assert small.size == (30, 20)
    gone = get.get(path)
    assert (gone.status_code, gone.content) == (204, b"")
    assert get.get("/api/live/..%2F..%2Fetc%2Fpasswd/frame").status_code == 404
    assert get.get("/api/live/a%00b/frame").status_code in (400, 404)


def test_a_run_says_what_of_it_is_live(served: tuple[httpx.Client, str]) -> None:
    get, run_id = served

    def said() -> list[str]:
        return list(get.get(f"/api/runs/{run_id}").json()["live"])

    def becomes(wanted: list[str]) -> bool:
        end = clock.elapsed_ns() + 5 * clock.SECOND
        while said() != wanted and clock.elapsed_ns() < end:
            clock.sleep(0.1)
        return said() == wanted

    assert becomes([])
    with live.LiveWriter(f"{run_id}.1") as second, live.LiveWriter("other") as theirs:
        second.publish(FRAME)
        theirs.publish(FRAME)
        assert becomes([f"{run_id}.1"])
    assert becomes([])
