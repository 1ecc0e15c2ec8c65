"""Pictures over HTTP are those of the store, pixel by pixel, whoever asks and however many at once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import playhead
from playhead.lanes.arrays.pieces import Gone
from playhead.lanes.arrays.sealed import SealedFile
from playhead.web.app import make_app
from playhead.web.episodes import frames as frames_module
from playhead.web.episodes import opened as opened_module
from playhead.web.episodes.opened import Opened
from playhead.web.episodes.pictures import Pictures
from playhead.web.server import Background
from tests.check.making import START, flip, frame
from tests.web import material
from tests.web.long_episode import make_robot_episode
from tests.web.material import HOLES, REEL_CHUNK, RUN, STEPS, arrays_of, batch, fails, picture, pixels

FIRST, SECOND = f"/api/episodes/replay/{RUN}-ep0000", f"/api/episodes/replay/{RUN}-ep0001"
FOR_EVER = "private, max-age=31536000, immutable"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return material.make(tmp_path_factory.mktemp("frames") / "store")


@pytest.fixture(scope="module")
def get(path: Path) -> Iterator[httpx.Client]:
    with playhead.open(path, mode="r") as store, Background(make_app(store)) as server:
        with httpx.Client(base_url=server.address, timeout=30) as client:
            yield client


@pytest.fixture
def own(tmp_path: Path) -> Iterator[tuple[playhead.Store, httpx.Client, Any]]:
    """A store of its own with one run, a client, and the application."""
    with playhead.open(tmp_path / "store") as store:
        material.play_kinds(store)
        app = make_app(store)
        with Background(app) as server, httpx.Client(base_url=server.address, timeout=30) as client:
            yield store, client, app


def ref_of(array: str, step: int, run: str = RUN) -> dict[str, str]:
    return {"ref": f"h5://{run}/{array}/{step}"}


# -- one picture ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [0, 1, 15, 33, STEPS - 1])
def test_a_frame_is_what_was_recorded(get: httpx.Client, step: int) -> None:
    answer = get.get("/api/frame", params=ref_of("frames", step))
    assert answer.headers["content-type"] == "image/png"  # few colours
    assert (pixels(answer) == picture(step)).all()


def test_observations_are_shown_in_their_ways(get: httpx.Client) -> None:
    def shown(name: str, step: int = 9) -> np.ndarray:
        return pixels(get.get("/api/frame", params=ref_of(f"observations.{name}", step) | {"format": "png"}))

    arrays = arrays_of(9)
    assert (shown("grey") == arrays["observations.grey"]).all()
    assert (shown("stack") == arrays["observations.stack"]).all()  # the newest
    assert (shown("rgba") == arrays["observations.rgba"][..., :3]).all()
    assert (shown("first") == np.moveaxis(arrays["observations.first"], 0, -1)).all()
    scaled = (arrays["observations.float"] * 255 + 0.5).astype(np.uint8)
    assert (shown("float") == scaled).all()
    wide = shown("wide")
    assert wide.dtype == np.uint8
    assert wide[0, 0] < wide[8, 8] < wide[15, 17]


def test_exact_gives_all_bits(get: httpx.Client) -> None:
    def exact(name: str) -> np.ndarray:
        asked = ref_of(f"observations.{name}", 9) | {"exact": "1", "width": "8", "format": "jpeg"}
        return pixels(get.get("/api/frame", params=asked))

    arrays = arrays_of(9)
    assert (exact("rgba") == arrays["observations.rgba"]).all()
    assert (exact("depth") == arrays["observations.depth"]).all()
    assert (exact("grey") == arrays["observations.grey"]).all()


@pytest.mark.parametrize(("format", "type_"), [("jpeg", "image/jpeg"), ("png", "image/png"), ("webp", "image/webp")])
def test_formats_and_widths(get: httpx.Client, format: str, type_: str) -> None:
    answer = get.get("/api/frame", params=ref_of("frames", 3) | {"format": format, "width": "12"})
    assert answer.headers["content-type"] == type_
    assert pixels(answer).shape == (10, 12, 3)
    whole = get.get("/api/frame", params=ref_of("frames", 3) | {"format": format, "width": "5000", "quality": "95"})
    assert pixels(whole).shape == (20, 24, 3)


def test_a_camera_gives_what_the_store_has(ask: httpx.Client, made_store: Path) -> None:
    answer = ask.get("/api/frame", params={"ref": "ep://teleop/bbbb2222/cam/7"})
    with playhead.open(made_store, mode="r") as store:
        truth = store.resolve("ep://teleop/bbbb2222/cam/7").astype(int)
    found = pixels(answer).astype(int)
    assert np.abs(found - truth).mean() < 12
    exact = ask.get("/api/frame", params={"ref": "ep://teleop/bbbb2222/cam/7", "exact": "1"})
    assert (pixels(exact) == truth).all()


def test_a_camera_with_noise_is_sent_as_jpeg(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "store") as store:
        with store.dataset("cams").new_episode(uid="a1") as episode:
            for number in range(4):
                noise = np.random.default_rng(number).normal(0, 12, (64, 96, 3))
                grey = np.linspace(40, 200, 96)[None, :, None] + noise
                episode.append("real", np.clip(grey, 0, 255).astype(np.uint8), START + number)
        with Background(make_app(store)) as server:
            answer = httpx.get(f"{server.address}api/frame?ref=ep://cams/a1/real/2")
    assert answer.headers["content-type"] == "image/jpeg"


def test_a_hole_is_not_found_and_never_another_picture(get: httpx.Client) -> None:
    for step in HOLES:
        assert "recorded without one" in fails(get.get("/api/frame", params=ref_of("frames", step)), 404)
    held = get.get("/api/frame", params=ref_of("frames", 7) | {"hold": "1"})
    assert (pixels(held) == picture(4)).all()


def test_tags_and_how_long_a_picture_may_be_kept(get: httpx.Client) -> None:
    version = get.get(FIRST).json()["version"]
    plain = get.get("/api/frame", params=ref_of("frames", 3))
    assert plain.headers["cache-control"] == "private, no-cache"
    again = get.get("/api/frame", params=ref_of("frames", 3), headers={"If-None-Match": plain.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    kept = get.get("/api/frame", params=ref_of("frames", 3) | {"v": version})
    assert kept.headers["cache-control"] == FOR_EVER
    assert kept.headers["etag"] == plain.headers["etag"]
    assert get.get("/api/frame", params=ref_of("frames", 3) | {"v": "old"}).headers["cache-control"] != FOR_EVER
    smaller = get.get("/api/frame", params=ref_of("frames", 3) | {"width": "12"})
    assert smaller.headers["etag"] != plain.headers["etag"]


@pytest.mark.parametrize(
    ("ref", "status"),
    [
        ("h5://kinds/frames/75", 404),
        ("h5://kinds/frames/999999999999999999", 404),
        ("h5://kinds/frames/-1", 400),
        ("h5://kinds/frames/01", 400),
        ("h5://kinds/nothing/1", 404),
        ("h5://kinds/actions.move/1", 422),
        ("h5://kinds/observations.flow/1", 422),
        ("h5://kinds/rewards/1", 404),
        ("h5://nobody/frames/1", 404),
        ("h5://../frames/1", 400),
        ("h5://..%2F..%2Fetc/frames/1", 400),
        ("h5://kinds/..%2Fframes/1", 404),
        ("ep://odd/relative1/force/0", 422),
        ("ep://odd/relative1/cam/1", 404),
        ("ep://odd/nobody/cam/0", 404),
        ("ep://nothing/relative1/cam/0", 404),
        ("ep://..%2F..%2Freplay/x/cam/0", 404),
        ("ep://odd/cut1/force/0", 409),
        ("replay/kinds-ep0000/frame/60", 404),
        ("replay/kinds-ep0000/frame/1e9", 400),
        ("replay/..%2f..%2fx/frame/1", 404),
        ("dataset/odd/relative1/cam/99999999999999999999", 400),
        ("dataset/..%2Fodd/relative1/cam/0", 404),
        ("file:///etc/passwd", 400),
        ("/etc/passwd", 400),
        ("x" * 900, 400),
        ("x" * 2000, 400),
        ("h5://kinds/frames/1\x00", 400),
    ],
)
def test_addresses_that_lead_nowhere(get: httpx.Client, ref: str, status: int) -> None:
    assert fails(get.get("/api/frame", params={"ref": ref}), status)


@pytest.mark.parametrize(
    "more", [{"width": "0"}, {"width": "9e9"}, {"quality": "101"}, {"format": "bmp"}, {"exact": "yes"}, {"other": "1"}]
)
def test_options_that_are_none(get: httpx.Client, more: dict[str, str]) -> None:
    assert next(iter(more)) in fails(get.get("/api/frame", params=ref_of("frames", 1) | more), 400)


# -- several ----------------------------------------------------------------------------------------------------------


def test_a_batch_has_every_picture_and_says_where_none_is(get: httpx.Client) -> None:
    answer = get.get(f"{FIRST}/frames/frame", params={"start": 2, "count": 40})
    assert answer.headers["content-type"] == "application/x-playhead-frames"
    assert answer.headers["x-playhead-format"] == "image/png"
    found = batch(answer)
    assert [number for number, _ in found] == list(range(2, 42))
    for number, shown in found:
        if number in HOLES:
            assert shown is None
        else:
            assert shown is not None
            assert (shown == picture(number)).all()
    same = {"If-None-Match": answer.headers["etag"]}
    assert get.get(f"{FIRST}/frames/frame", params={"start": 2, "count": 40}, headers=same).status_code == 304


def test_a_batch_ends_where_the_episode_does(get: httpx.Client) -> None:
    assert [number for number, _ in batch(get.get(f"{SECOND}/frames/frame", params={"start": 10, "count": 64}))] == [
        10, 11, 12, 13, 14,
    ]  # fmt: skip
    assert batch(get.get(f"{SECOND}/frames/frame", params={"start": 5000})) == []
    assert (batch(get.get(f"{SECOND}/frames/frame", params={"start": 3, "count": 1}))[0][1] == picture(3)).all()
    fails(get.get(f"{SECOND}/frames/frame", params={"count": 65}), 400)
    fails(get.get(f"{SECOND}/frames/reward"), 422)
    fails(get.get(f"{SECOND}/frames/nothing"), 404)


def test_a_batch_of_large_pictures_ends_early(get: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames_module, "_BATCH_BYTES", 300)
    found = batch(get.get(f"{SECOND}/frames/frame", params={"count": 15}))
    assert 1 < len(found) < 15
    assert all(shown is not None and (shown == picture(number)).all() for number, shown in found)


def test_each_agent_has_frames_of_its_own(get: httpx.Client) -> None:
    manifest = get.get("/api/episodes/replay/duel-ep0000").json()
    signals = {signal["name"]: signal for signal in manifest["signals"]}
    for agent, offset in (("red", 0), ("blue", 1)):
        signal = signals[f"{agent}.frame"]
        assert signal["length"] == 20
        for number, shown in batch(get.get(f"/api/episodes/replay/duel-ep0000/frames/{agent}.frame?count=20")):
            assert (shown == picture(2 * number + offset)).all()
            alone = get.get("/api/frame", params={"ref": f"{signal['ref']}{signal['place0'] + number}"})
            assert (pixels(alone) == picture(2 * number + offset)).all()
    assert (pixels(get.get("/api/frame", params=ref_of("frames", 7, "duel"))) == picture(7)).all()


def test_a_strip_has_thumbnails_of_one_width(get: httpx.Client) -> None:
    answer = get.get(f"{FIRST}/strip/frame", params={"count": 6, "height": 40})
    width = int(answer.headers["x-playhead-width"])
    sheet = pixels(answer)
    assert (width, sheet.shape) == (48, (40, 48 * 6, 3))
    steps = [int(step) for step in np.linspace(0, STEPS - 1, 6)]
    for place in range(len(steps)):
        cell = sheet[:, place * width : (place + 1) * width].astype(int)
        others = [np.abs(cell - enlarged(one).astype(int)).mean() for one in steps]
        assert int(np.argmin(others)) == place
    part = get.get(f"{FIRST}/strip/frame", params={"count": 2, "height": 40, "from_s": 0.4, "to_s": 0.4})
    assert np.abs(pixels(part)[:, :48].astype(int) - enlarged(19).astype(int)).mean() < 25  # 20 is a hole
    fails(get.get(f"{FIRST}/strip/reward"), 422)
    fails(get.get(f"{FIRST}/strip/frame", params={"count": 1000}), 400)
    assert "fewer" in fails(get.get(f"{FIRST}/strip/frame", params={"count": 128, "height": 512}), 413)


def enlarged(step: int) -> np.ndarray:
    return picture(step).repeat(2, axis=0).repeat(2, axis=1)


def test_strips_of_cameras(ask: httpx.Client) -> None:
    answer = ask.get("/api/episodes/dataset/lab%2Fleft%20arm/cccc3333/strip/cam", params={"count": 4, "height": 24})
    assert pixels(answer).shape == (24, 32 * 4, 3)


# -- many at once -----------------------------------------------------------------------------------------------------


def test_sixteen_threads_get_what_each_asked_for(get: httpx.Client, path: Path) -> None:
    def look(seed: int) -> int:
        generator = np.random.default_rng(seed)
        wrong = 0
        with httpx.Client(base_url=get.base_url, timeout=30) as client:
            for _ in range(25):
                step = int(generator.choice([s for s in range(STEPS) if s not in HOLES]))
                if seed % 3 == 0:
                    start = int(generator.integers(0, STEPS - 4))
                    found = batch(client.get(f"{FIRST}/frames/frame", params={"start": start, "count": 4}))
                    wrong += sum(s is not None and not (s == picture(n)).all() for n, s in found)
                elif seed % 3 == 1:
                    asked = ref_of("observations.stack", step) | {"format": "png"}
                    wrong += not (
                        pixels(client.get("/api/frame", params=asked)) == arrays_of(step)["observations.stack"]
                    ).all()
                else:
                    asked = ref_of("frames", step) | {"exact": str(step % 2)}
                    wrong += not (pixels(client.get("/api/frame", params=asked)) == picture(step)).all()
        return wrong

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(look, range(16))) == 0


def test_threads_that_look_at_two_cameras(tmp_path: Path) -> None:
    path = tmp_path / "store"
    make_robot_episode(path, seconds=1.0)
    with playhead.open(path, mode="r") as store, Background(make_app(store)) as server:
        episode = store.dataset("arm").by_uid("reach0001")
        truth = {name: episode.signals[name].values for name in ("wrist", "overview")}

        def look(seed: int) -> int:
            generator, wrong = np.random.default_rng(seed), 0
            with httpx.Client(base_url=server.address, timeout=30) as client:
                for _ in range(8):
                    name = ("wrist", "overview")[int(generator.integers(2))]
                    place = int(generator.integers(len(truth[name])))
                    asked = {"ref": f"ep://arm/reach0001/{name}/{place}", "exact": "1"}
                    wrong += not (pixels(client.get("/api/frame", params=asked)) == truth[name][place]).all()
            return wrong

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(look, range(8))) == 0


# -- what changes, breaks or goes -------------------------------------------------------------------------------------


def test_a_damaged_chunk_is_said_and_the_others_are_right(own: tuple[playhead.Store, httpx.Client, Any]) -> None:
    store, client, _ = own
    file = store.path / "replay" / f"{RUN}.h5"
    truth = file.read_bytes()
    offset = int(SealedFile(file).datasets["frames"].table[2][0])
    flip(file, offset + 20)
    damaged = range(2 * REEL_CHUNK, 3 * REEL_CHUNK)
    for step in (16, 23):
        message = fails(client.get("/api/frame", params=ref_of("frames", step)), 422)
        assert "damaged" in message
        assert str(store.path) not in message
    answer = client.get(f"{FIRST}/frames/frame", params={"count": 60, "format": "png"})
    assert answer.headers["cache-control"] == "no-store"
    for number, shown in batch(answer):
        if number in damaged or number in HOLES:
            assert shown is None
        else:
            assert shown is not None
            assert (shown == picture(number)).all()
    assert client.get(f"{FIRST}/strip/frame").status_code == 200
    file.write_bytes(truth)
    assert (pixels(client.get("/api/frame", params=ref_of("frames", 2))) == picture(2)).all()


def test_a_purged_run_is_gone_at_once_and_keeps_no_file(own: tuple[playhead.Store, httpx.Client, Any]) -> None:
    store, client, app = own
    assert client.get("/api/frame", params=ref_of("frames", 2)).status_code == 200
    assert client.get(FIRST).status_code == 200
    run = store.runs[RUN]
    run.delete()
    assert client.get("/api/frame", params=ref_of("frames", 3)).status_code == 200  # in the bin it can be looked at
    run.purge()
    fails(client.get("/api/frame", params=ref_of("frames", 2)), 404)
    fails(client.get(FIRST), 404)
    fails(client.get(f"{FIRST}/frames/frame"), 404)
    opened = app.state.site.keep(Opened, lambda: None)
    opened.sweep()
    assert len(opened) == 0


def test_a_journal_of_a_crash_is_read_and_let_go_after_a_purge(tmp_path: Path) -> None:
    path = tmp_path / "store"
    playhead.open(path).close()
    command = [sys.executable, "-m", "tests.web.recording_worker", str(path), "crashed"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        print("more", file=worker.stdin, flush=True)
        assert worker.stdout.readline() == "10\n"
        worker.kill()

    def held() -> list[str]:
        links = [os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
        return [link for link in links if f"{path}/replay" in link]

    with playhead.open(path) as store, Background(make_app(store)) as server:
        with httpx.Client(base_url=server.address) as client:
            assert (pixels(client.get("/api/frame", params=ref_of("frames", 9, "crashed"))) == picture(9)).all()
            manifest = client.get("/api/episodes/replay/crashed-ep0000").json()
            assert (manifest["is_unfinished"], manifest["steps"]) == (True, 10)
            assert held()
            store.runs["crashed"].delete()
            store.runs.deleted["crashed"].purge()
            for _ in range(400):  # nobody asks any more
                if not held():
                    break
                time.sleep(0.05)
            assert held() == []


def test_only_so_much_stays_open(
    own: tuple[playhead.Store, httpx.Client, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, client, app = own
    monkeypatch.setattr(opened_module, "MOST_OPEN", 3)
    monkeypatch.setattr(opened_module, "MOST_BYTES", 20_000)
    for number in range(8):
        with store.dataset("many").new_episode(uid=f"e{number}") as episode:
            for sample in range(1000):
                episode.append("force", float(sample), sample)
    opened = app.state.site.keep(Opened, lambda: Opened(store._home))
    for number in [*range(8), 0, 7, 3]:
        assert client.get(f"/api/episodes/dataset/many/e{number}/values/force?points=2000").json()["total"] == 1000
        assert (pixels(client.get("/api/frame", params=ref_of("frames", 30 + number))) == picture(30 + number)).all()
        assert len(opened) <= 3


def test_a_run_recorded_again_under_its_id_shows_the_new_pictures(
    own: tuple[playhead.Store, httpx.Client, Any],
) -> None:
    store, client, _ = own
    before = client.get("/api/frame", params=ref_of("frames", 2))
    version = client.get(FIRST).json()["version"]
    store.runs[RUN].delete()
    store.runs.deleted[RUN].purge()
    with store.run("kinds", "again", run_id=RUN, environment=False) as run:
        reel = run.new_reel()
        reel.begin()
        for step in range(5):
            reel.step({"frames": picture(step + 10)}, 0.0, False, False)
        reel.end("closed")
        reel.close()
    asked = ref_of("frames", 2) | {"v": version}
    after = client.get("/api/frame", params=asked, headers={"If-None-Match": before.headers["etag"]})
    assert (pixels(after) == picture(12)).all()
    assert after.headers["cache-control"] != FOR_EVER
    assert client.get(FIRST).json()["version"] != version


def test_a_recording_is_followed_while_it_grows(own: tuple[playhead.Store, httpx.Client, Any]) -> None:
    store, client, _ = own
    seen: list[str] = []
    with store.run("live", "grows", run_id="growing", environment=False) as run:
        reel = run.new_reel()
        reel.begin()
        for step in range(60):
            reel.step({"frames": picture(step)}, 1.0, False, False)
            if step % 20 == 19:
                reel.flush()
                run.flush()
                answer = client.get("/api/frame", params=ref_of("frames", step, "growing"))
                assert (pixels(answer) == picture(step)).all()
                assert answer.headers["cache-control"] == "private, no-cache"
                fails(client.get("/api/frame", params=ref_of("frames", step + 1, "growing")), 404)
                seen.append(answer.headers["etag"])
        reel.end("terminated")
        reel.close()
    for step in (0, 19, 59):
        assert (pixels(client.get("/api/frame", params=ref_of("frames", step, "growing"))) == picture(step)).all()


def test_reading_while_another_thread_records(own: tuple[playhead.Store, httpx.Client, Any]) -> None:
    store, client, _ = own
    ended = threading.Event()
    problems: list[str] = []

    def look() -> None:
        with httpx.Client(base_url=client.base_url, timeout=30) as own_client:
            generator = np.random.default_rng(0)
            while not ended.is_set():
                step = int(generator.integers(0, 400))
                answer = own_client.get("/api/frame", params=ref_of("frames", step, "busy"))
                if answer.status_code == 200 and not (pixels(answer) == picture(step)).all():
                    problems.append(f"wrong picture of {step}")
                if answer.status_code not in (200, 404):
                    problems.append(answer.text)

    watchers = [threading.Thread(target=look) for _ in range(4)]
    for watcher in watchers:
        watcher.start()
    with store.run("live", "busy", run_id="busy", environment=False) as run:
        reel = run.new_reel(config=playhead.ReplayConfig(interval=0.05, segment_bytes=20_000))
        for step in range(400):
            if step % 50 == 0:
                reel.begin()
            reel.step({"frames": picture(step)}, 1.0, False, False)
            if step % 10 == 0:
                reel.flush()
        reel.close()
    ended.set()
    for watcher in watchers:
        watcher.join()
    assert problems == []
    assert (pixels(client.get("/api/frame", params=ref_of("frames", 399, "busy"))) == picture(399)).all()


def test_the_picture_of_a_camera_whose_video_is_gone(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "store") as store:
        with store.dataset("cams").new_episode(uid="a1") as episode:
            for number in range(6):
                episode.append("cam", frame(number), START + number)
                episode.append("force", float(number), START + number)
        video = next((store.path / "episodes").rglob("cam.mp4"))
        with Background(make_app(store)) as server, httpx.Client(base_url=server.address) as client:
            assert client.get("/api/frame?ref=ep://cams/a1/cam/3").status_code == 200
            content = bytearray(video.read_bytes())
            middle = len(content) // 2
            content[middle : middle + 40] = bytes(40)
            video.write_bytes(content)
            manifest = client.get("/api/episodes/dataset/cams/a1")
            assert manifest.status_code == 200
            answer = client.get("/api/frame?ref=ep://cams/a1/cam/3&width=31")
            assert answer.status_code in (404, 422)
            video.unlink()
            assert client.get("/api/episodes/dataset/cams/a1").status_code in (200, 404, 422)
            assert client.get("/api/frame?ref=ep://cams/a1/cam/3&width=33").status_code in (404, 422)
            assert client.get("/api/episodes/dataset/cams/a1/values/force").status_code in (200, 422)


def test_a_replay_that_moves_all_the_time_is_asked_for_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_arguments: object) -> None:
        raise Gone

    with playhead.open(path, mode="r") as store, Background(make_app(store)) as server:
        monkeypatch.setattr(Pictures, "raw", gone)
        answer = httpx.get(f"{server.address}api/frame", params={"ref": f"h5://{RUN}/frames/3"})
        assert "ask again" in fails(answer, 503)
        assert int(answer.headers["retry-after"]) > 0


def test_the_tag_of_a_picture_holds_how_it_was_scaled(tmp_path: Path) -> None:
    """While an episode grows, what is black and what is white depends on when it was first looked at."""

    def asked(store: playhead.Store) -> httpx.Response:
        with Background(make_app(store)) as server:  # a new server looks anew
            return httpx.get(f"{server.address}api/frame", params={"ref": "h5://grows/observations/0"})

    with playhead.open(tmp_path / "store") as store:
        with store.run("p", "r", run_id="grows", environment=False) as run:
            reel = run.new_reel()
            reel.begin()
            ramp = np.linspace(0, 10, 20 * 24, dtype=np.float32).reshape(20, 24)
            for scale in (1.0, 50.0):
                for _ in range(REEL_CHUNK * 3):
                    reel.step({"observations": ramp * scale, "actions": np.array(1)}, 0.0, False, False)
                run.flush()
                if scale == 1.0:
                    before = asked(store)
            after = asked(store)
            reel.end("terminated")
    assert before.status_code == after.status_code == 200, before.text
    assert before.content != after.content
    assert before.headers["etag"] != after.headers["etag"]
