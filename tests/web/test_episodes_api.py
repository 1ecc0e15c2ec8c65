"""Episodes over HTTP: manifests, times, values, steps, lists; also while they are recorded, cut short or gone."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import playhead
from playhead.web.app import make_app
from playhead.web.server import Background
from tests.check.making import START
from tests.web import material
from tests.web.conftest import EPISODES, FIRST, PLAYED, UID
from tests.web.material import HOLES, MANY, OTHER_STEPS, RUN, STEP_NS, STEPS, fails, picture, pixels

KINDS = f"/api/episodes/replay/{RUN}-ep0000"
CURVES = "/api/episodes/dataset/odd/curves1"
ROW = {
    "address", "id", "title", "kind", "number", "run_id", "steps", "total_reward", "how", "is_unfinished", "created_ns",
    "duration_s", "frame_ref", "last_ref",
}  # fmt: skip


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return material.make(tmp_path_factory.mktemp("episodes") / "store")


@pytest.fixture(scope="module")
def get(path: Path) -> Iterator[httpx.Client]:
    with playhead.open(path, mode="r") as store, Background(make_app(store)) as server:
        with httpx.Client(base_url=server.address, timeout=30) as client:
            yield client


def signals_of(manifest: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {signal["name"]: signal for signal in manifest["signals"]}


def doubles(answer: httpx.Response) -> np.ndarray:
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/octet-stream"
    return np.frombuffer(answer.content, "<f8")


# -- manifests --------------------------------------------------------------------------------------------------------


def test_the_manifest_of_what_an_agent_played(get: httpx.Client) -> None:
    manifest = get.get(KINDS).json()
    assert set(manifest) >= ROW | {"origin_ns", "has_wall_clock", "static", "signals", "marks", "rate_hz"}
    assert (manifest["address"], manifest["kind"], manifest["number"]) == (f"replay/{RUN}-ep0000", "replay", 0)
    assert (manifest["steps"], manifest["total_reward"], manifest["how"]) == (STEPS, 4.0, "terminated")
    assert (manifest["origin_ns"], manifest["has_wall_clock"]) == (str(START), True)
    assert (manifest["previous"], manifest["next"]) == (None, f"replay/{RUN}-ep0001")
    assert manifest["static"]["seed"] == STEPS
    assert (manifest["frame_ref"], manifest["last_ref"]) == (f"h5://{RUN}/frames/0", f"h5://{RUN}/frames/{STEPS - 1}")
    signals = signals_of(manifest)
    frame = signals["frame"]
    assert (frame["kind"], frame["length"], frame["width"], frame["height"]) == ("picture", STEPS, 24, 20)
    assert (frame["ref"], frame["place0"], frame["holes"]) == (f"h5://{RUN}/frames/", 0, True)
    assert frame["start_s"] == 0
    assert frame["stop_s"] == pytest.approx((STEPS - 1) * STEP_NS / 1e9)
    assert frame["rate_hz"] == pytest.approx(50)
    kinds = {name: signal["kind"] for name, signal in signals.items()}
    assert kinds == {
        "frame": "picture",
        "observation.grey": "picture",
        "observation.stack": "picture",
        "observation.float": "picture",
        "observation.wide": "picture",
        "observation.depth": "picture",
        "observation.rgba": "picture",
        "observation.first": "picture",
        "observation.flow": "other",
        "observation.vector": "vector",
        "observation.text": "text",
        "action.move": "vector",
        "action.grip": "scalar",
        "reward": "scalar",
        "terminated": "scalar",
        "truncated": "scalar",
    }
    assert signals["observation.stack"]["shape"] == [4, 16, 18]
    second = get.get(f"/api/episodes/replay/{RUN}-ep0001").json()
    assert (second["previous"], second["next"]) == (f"replay/{RUN}-ep0000", None)
    assert (signals_of(second)["frame"]["place0"], signals_of(second)["frame"]["length"]) == (STEPS, OTHER_STEPS)


def test_the_manifest_of_an_episode_of_a_dataset(ask: httpx.Client) -> None:
    manifest = ask.get("/api/episodes/dataset/lab%2Fleft%20arm/cccc3333").json()
    assert manifest["address"] == "dataset/lab%2Fleft%20arm/cccc3333"
    assert ask.get(f"/api/episodes/{manifest['address']}").status_code == 200
    assert (manifest["kind"], manifest["steps"], manifest["has_wall_clock"]) == ("dataset", None, True)
    signals = signals_of(manifest)
    assert {name: signal["kind"] for name, signal in signals.items()} == {
        "cam": "picture", "joint": "vector", "force": "scalar", "count": "scalar", "closed": "scalar", "label": "text",
    }  # fmt: skip
    assert signals["cam"]["ref"] == "ep://lab%2Fleft%20arm/cccc3333/cam/"
    assert (signals["cam"]["width"], signals["cam"]["height"], signals["cam"]["is_lossy"]) == (64, 48, True)
    assert manifest["rate_hz"] == pytest.approx(30, rel=0.01)
    assert manifest["duration_s"] == pytest.approx(0.99, abs=0.02)
    assert manifest["static"]["task"] == "pick up the cube"


def test_an_episode_without_a_wall_clock_and_with_an_edit(get: httpx.Client) -> None:
    manifest = get.get("/api/episodes/dataset/odd/relative1").json()
    assert (manifest["origin_ns"], manifest["has_wall_clock"]) == ("0", False)
    assert manifest["static"]["grade"] == "A"
    assert signals_of(manifest)["cam"]["start_s"] == 0.005
    assert manifest["next"] == "dataset/odd/curves1"
    assert get.get(CURVES).json()["next"] is None  # the others are cut short, or dropped


def test_a_manifest_is_not_sent_twice(get: httpx.Client) -> None:
    first = get.get(KINDS)
    assert get.get(KINDS, headers={"If-None-Match": first.headers["etag"]}).status_code == 304


# -- times, values, steps, at -----------------------------------------------------------------------------------------


def test_times_are_those_of_all_samples(get: httpx.Client, path: Path) -> None:
    assert (doubles(get.get(f"{KINDS}/times/frame")) == np.arange(STEPS) * STEP_NS / 1e9).all()
    assert len(doubles(get.get("/api/episodes/replay/duel-ep0000/times/red.frame"))) == 20
    with playhead.open(path, mode="r") as store:
        stamps = store.dataset("odd").by_uid("curves1").signals["spiky"].timestamps
    answer = get.get(f"{CURVES}/times/spiky")
    assert (doubles(answer) == (stamps - START) / 1e9).all()
    tag = {"If-None-Match": answer.headers["etag"]}
    assert get.get(f"{CURVES}/times/spiky", headers=tag).status_code == 304


def test_spikes_survive_and_gaps_stay_gaps(get: httpx.Client) -> None:
    content = get.get(f"{CURVES}/values/spiky", params={"points": 300}).json()
    assert (content["total"], content["is_sampled"]) == (50_000, True)
    times, values = content["times"], content["columns"][0]
    assert len(times) == len(values) < 700
    assert max(value for value in values if value is not None) == 99.0
    assert (times[0], times[-1]) == (0.0, 49.999)
    assert any(30 <= time < 30.5 for time, value in zip(times, values, strict=True) if value is None)
    assert times == sorted(times)
    part = get.get(f"{CURVES}/values/spiky", params={"from_s": 12.34, "to_s": 12.35, "points": 1000}).json()
    assert (part["total"], part["is_sampled"], len(part["times"])) == (11, False, 11)
    assert part["columns"][0][5] == 99.0


def test_vectors_have_all_columns(get: httpx.Client) -> None:
    content = get.get(f"{CURVES}/values/vector", params={"points": 200}).json()
    first, second, third = content["columns"]
    assert min(first) == -50.0
    assert second == sorted(second)
    assert third.count("Infinity") == 1
    assert signals_of(get.get(CURVES).json())["vector"]["names"] == ["x", "y", "z"]
    long = get.get(f"{CURVES}/values/long").json()
    assert (len(long["columns"]), len(long["times"])) == (64, 20)
    matrix = get.get(f"{CURVES}/values/matrix").json()
    assert (matrix["names"], matrix["columns"][5][0]) == (["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"], 5.0)
    assert "no numbers" in fails(get.get(f"{CURVES}/values/board"), 422)
    assert "pictures" in fails(get.get(f"{KINDS}/values/frame"), 422)


def test_values_of_agents_and_texts(get: httpx.Client) -> None:
    move = get.get(f"{KINDS}/values/action.move").json()
    assert move["columns"] == [list(range(STEPS)), [-step for step in range(STEPS)]]
    texts = get.get(f"{KINDS}/values/observation.text", params={"from_s": 0.1, "to_s": 0.14}).json()
    assert (texts["total"], texts["texts"]) == (3, ["s005", "s006", "s007"])
    assert get.get(f"{KINDS}/values/terminated").json()["columns"] == [[0.0] * (STEPS - 1) + [1.0]]
    nothing = get.get(f"{KINDS}/values/reward", params={"from_s": 99, "to_s": 98}).json()
    assert (nothing["total"], nothing["times"], nothing["columns"]) == (0, [], [[]])


def test_steps_say_what_was_done_and_what_came_of_it(get: httpx.Client) -> None:
    content = get.get(f"{KINDS}/steps", params={"start": 4, "stop": 12}).json()
    assert (content["start"], content["stop"], len(content["rows"])) == (4, 12, 8)
    row = content["rows"][6]
    assert row == {
        "index": 10, "time_s": 0.2, "action": {"move": [10.0, -10.0], "grip": 0}, "reward": 5.0, "return": 5.0,
        "terminated": False, "truncated": False, "info": {"lives": 3, "x": None}, "agent": None, "has_frame": True,
        "action_name": None,
    }  # fmt: skip
    assert [row["index"] for row in content["rows"] if not row["has_frame"]] == [5, 6, 7]
    last = get.get(f"{KINDS}/steps", params={"start": 59, "stop": 2000}).json()
    assert (last["stop"], last["rows"][0]["terminated"], last["rows"][0]["return"]) == (60, True, 4.0)
    assert get.get(f"{KINDS}/steps", params={"start": 10_000}).json()["rows"] == []
    duel = get.get("/api/episodes/replay/duel-ep0000/steps", params={"start": 0, "stop": 4}).json()["rows"]
    assert [(row["agent"], row["action"], row["return"], row["has_frame"]) for row in duel] == [
        ("red", 0, 0.0, True), ("blue", 1, 1.0, True), ("red", 2, 0.0, True), ("blue", 3, 2.0, True),
    ]  # fmt: skip
    assert get.get(f"{CURVES}/steps").json() == {"start": 0, "stop": 0, "rows": []}
    assert "at most 2000" in fails(get.get(f"{KINDS}/steps", params={"start": 0, "stop": 2001}), 413)


def test_at_gives_the_newest_sample_of_each_signal(get: httpx.Client) -> None:
    found = get.get(f"{KINDS}/at", params={"time_s": 0.145}).json()["signals"]
    assert (found["frame"]["index"], found["frame"]["value"]) == (4, None)  # 5 to 7 are holes
    assert found["frame"]["age_s"] == pytest.approx(0.065)
    assert (found["action.move"]["index"], found["action.move"]["value"]) == (7, [7.0, -7.0])
    assert found["observation.text"]["value"] == "s007"
    relative = get.get("/api/episodes/dataset/odd/relative1/at", params={"time_s": 0.001}).json()["signals"]
    assert set(relative) == {"force"}  # the camera has not begun
    assert get.get(f"{KINDS}/at", params={"time_s": -1e30}).json()["signals"] == {}
    assert get.get(f"{KINDS}/at", params={"time_s": 1e30}).json()["signals"]["frame"]["index"] == STEPS - 1


# -- lists ------------------------------------------------------------------------------------------------------------


def test_the_episodes_of_a_run(ask: httpx.Client) -> None:
    played = ask.get(f"/api/runs/{PLAYED}/episodes").json()
    assert (played["total"], len(played["episodes"])) == (EPISODES, EPISODES)
    assert set(played["episodes"][0]) == ROW
    assert [row["number"] for row in played["episodes"]] == [0, 1, 2]
    assert (pixels(ask.get("/api/frame", params={"ref": played["episodes"][1]["last_ref"]})).shape) == (16, 24, 3)
    recorded = ask.get(f"/api/runs/{FIRST}/episodes").json()
    assert [row["address"] for row in recorded["episodes"]] == [f"dataset/teleop/{UID}"]
    fails(ask.get("/api/runs/nobody/episodes"), 404)
    fails(ask.get("/api/runs/..%2F..%2Fx/episodes"), 404)


def test_pages_and_orders(get: httpx.Client) -> None:
    def ids(**asked: Any) -> list[int]:
        return [row["number"] for row in get.get(f"/api/runs/{MANY}/episodes", params=asked).json()["episodes"]]

    assert ids() == list(range(30))
    assert ids(offset=10, limit=5) == [10, 11, 12, 13, 14]
    assert ids(order="-began", limit=3) == [29, 28, 27]
    assert ids(order="-return", limit=2) == [29, 26]
    assert ids(order="steps", limit=11) == [*range(0, 30, 3), 1]
    assert ids(offset=1000) == []
    fails(get.get(f"/api/runs/{MANY}/episodes", params={"order": "id; DROP TABLE runs"}), 400)
    fails(get.get(f"/api/runs/{MANY}/episodes", params={"limit": 1001}), 400)


def test_returns(get: httpx.Client) -> None:
    content = get.get(f"/api/runs/{MANY}/returns").json()
    assert (content["total"], content["numbers"]) == (30, list(range(30)))
    assert content["returns"] == [float(number * (1 + number % 3)) for number in range(30)]
    assert content["lengths"] == [1 + number % 3 for number in range(30)]
    assert np.diff(content["times"]) == pytest.approx([1.0] * 29, abs=1e-3)
    assert content["ids"][7] == f"{MANY}-ep0007"
    few = get.get(f"/api/runs/{MANY}/returns", params={"points": 4}).json()
    assert few["total"] == 30
    assert len(few["returns"]) < 30
    assert max(few["returns"]) == 87.0


def test_datasets_and_their_episodes(get: httpx.Client, ask: httpx.Client) -> None:
    datasets = {one["name"]: one for one in ask.get("/api/datasets").json()["datasets"]}
    assert set(datasets) == {"teleop", "lab/left arm"}
    assert (datasets["teleop"]["episodes"], datasets["teleop"]["bytes"] > 1000) == (2, True)
    listed = ask.get("/api/datasets/lab%2Fleft%20arm/episodes").json()
    assert (listed["total"], listed["episodes"][0]["id"]) == (1, "cccc3333")
    odd = get.get("/api/datasets/odd/episodes").json()
    assert odd["total"] == 3  # one was dropped
    assert [(row["id"], row["is_unfinished"]) for row in odd["episodes"]] == [
        ("relative1", False), ("curves1", False), ("cut1", True),
    ]  # fmt: skip
    assert len(get.get("/api/datasets/odd/episodes", params={"offset": 1, "limit": 1}).json()["episodes"]) == 1
    fails(get.get("/api/datasets/nothing/episodes"), 404)
    fails(get.get("/api/datasets/..%2F..%2Freplay/episodes"), 404)
    assert "cut short" in fails(get.get("/api/episodes/dataset/odd/cut1"), 409)
    assert get.get("/api/episodes/dataset/odd/dropped1").status_code == 200  # a link to it still works


def test_a_dataset_that_is_being_recorded(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "store") as store, Background(make_app(store)) as server:
        client = httpx.Client(base_url=server.address)
        writer = store.dataset("arm").new_episode(uid="now1")
        writer.append("force", 1.0, START)
        rows = client.get("/api/datasets/arm/episodes").json()["episodes"]
        assert [(row["id"], row["is_unfinished"]) for row in rows] == [("now1", True)]
        assert "being recorded" in fails(client.get("/api/episodes/dataset/arm/now1"), 409)
        writer.close()
        assert client.get("/api/episodes/dataset/arm/now1").json()["is_unfinished"] is False
        client.close()


# -- hostile, live and gone -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/api/episodes/replay/nobody", 404),
        ("/api/episodes/replay/..%2F..%2Fetc%2Fpasswd", 404),
        ("/api/episodes/replay/%2e%2e", 404),
        ("/api/episodes/replay/kinds-ep0000%00", 400),
        ("/api/episodes/replay/kinds-ep9999", 404),
        ("/api/episodes/replay/%ff", 400),
        ("/api/episodes/replay/" + "a" * 300, 400),
        ("/api/episodes/replay/kinds-ep0000' OR 1=1 --", 404),
        ("/api/episodes/dataset/odd/..", 404),
        ("/api/episodes/dataset/odd/%2e%2e%2f%2e%2e", 404),
        ("/api/episodes/dataset/%2e%2e/x", 404),
        ("/api/episodes/dataset/nothing/x", 404),
        ("/api/episodes/dataset/odd/nobody", 404),
        ("/api/episodes/other/odd", 404),
        ("/api/episodes/replay", 404),
        ("/api/episodes/replay/kinds-ep0000/times/nothing", 404),
        ("/api/episodes/replay/kinds-ep0000/times/..%2f..%2fmeta.json", 404),
        ("/api/episodes/replay/kinds-ep0000/values/frame%00", 400),
        ("/api/episodes/replay/kinds-ep0000/values/reward?points=1", 400),
        ("/api/episodes/replay/kinds-ep0000/values/reward?from_s=nan", 400),
        ("/api/episodes/replay/kinds-ep0000/values/reward?from_s=inf", 400),
        ("/api/episodes/replay/kinds-ep0000/steps?start=-1", 400),
        ("/api/episodes/replay/kinds-ep0000/steps?start=99999999999999999999", 400),
        ("/api/episodes/replay/kinds-ep0000/at", 400),
        ("/api/episodes/replay/kinds-ep0000/nothing", 404),
        ("/api/runs/kinds/returns?points=x", 400),
    ],
)
def test_addresses_that_lead_nowhere(get: httpx.Client, address: str, status: int) -> None:
    assert fails(get.get(address), status)


def test_a_recording_of_another_process_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with playhead.open(path) as store, Background(make_app(store)) as server:
        command = [sys.executable, "-m", "tests.web.recording_worker", str(path), "elsewhere"]
        worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert worker.stdin is not None
        assert worker.stdout is not None
        client = httpx.Client(base_url=server.address, timeout=30)
        address = "/api/episodes/replay/elsewhere-ep0000"
        tags = set()
        for count in (10, 20, 30):
            print("more", file=worker.stdin, flush=True)
            assert worker.stdout.readline().strip() == str(count)
            time.sleep(0.15)
            manifest = client.get(address)
            content = manifest.json()
            assert (content["steps"], content["is_unfinished"], content["is_final"]) == (count, True, False)
            assert content["how"] is None
            assert content["last_ref"] == f"h5://elsewhere/frames/{count - 1}"
            assert len(doubles(client.get(f"{address}/times/frame"))) == count
            assert len(client.get(f"{address}/steps").json()["rows"]) == count
            shown = client.get(
                "/api/frame", params={"ref": f"h5://elsewhere/frames/{count - 1}", "v": content["version"]}
            )
            assert (pixels(shown) == picture(count - 1)).all()
            assert shown.headers["cache-control"] == "private, no-cache"
            tags.add(manifest.headers["etag"])
        assert len(tags) == 3
        print("end", file=worker.stdin, flush=True)
        assert worker.wait(30) == 0
        worker.stdin.close()
        worker.stdout.close()
        content = client.get(address).json()
        assert (content["is_unfinished"], content["is_final"], content["how"]) == (False, True, "terminated")
        client.close()


def test_an_episode_whose_folder_is_gone(tmp_path: Path) -> None:
    import shutil

    with playhead.open(tmp_path / "store") as store, Background(make_app(store)) as server:
        with store.dataset("arm").new_episode(uid="gone1") as episode:
            episode.append("force", 1.0, START)
        client = httpx.Client(base_url=server.address)
        assert client.get("/api/episodes/dataset/arm/gone1").status_code == 200
        shutil.rmtree(episode.path)
        assert "removed" in fails(client.get("/api/episodes/dataset/arm/gone1"), 404)
        fails(client.get("/api/episodes/dataset/arm/gone1/values/force"), 404)
        client.close()


def test_a_damaged_signal_says_so_and_the_others_are_there(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "store") as store, Background(make_app(store)) as server:
        with store.dataset("arm").new_episode(uid="hurt1") as episode:
            for number in range(50):
                episode.append("force", float(number), START + number)
                episode.append("speed", float(number), START + number)
        (episode.path / "force.parquet").write_bytes(b"PAR1 not any more")
        client = httpx.Client(base_url=server.address)
        signals = signals_of(client.get("/api/episodes/dataset/arm/hurt1").json())
        assert "force.parquet is damaged" in signals["force"]["error"]
        assert str(tmp_path) not in signals["force"]["error"]
        assert (signals["speed"]["error"], signals["speed"]["length"]) == (None, 50)
        assert "cannot be read" in fails(client.get("/api/episodes/dataset/arm/hurt1/values/force"), 404)
        assert "cannot be read" in fails(client.get("/api/episodes/dataset/arm/hurt1/times/force"), 404)
        assert client.get("/api/episodes/dataset/arm/hurt1/values/speed").status_code == 200
        assert set(client.get("/api/episodes/dataset/arm/hurt1/at?time_s=1").json()["signals"]) == {"speed"}
        client.close()


def test_frames_in_parts_and_observations_that_are_pictures(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "store") as store, Background(make_app(store)) as server:
        with store.run("a", "b", run_id="parts", environment=False) as run:
            reel = run.new_reel()
            reel.begin()
            for step in range(4):
                arrays = {"frames.left": picture(step), "frames.right": picture(step + 50)}
                reel.step(arrays, 0.0, False, False)
            reel.end("closed")
        with httpx.Client(base_url=server.address) as client:
            manifest = client.get("/api/episodes/replay/parts-ep0000").json()
            assert {"frame.left", "frame.right"} <= set(signals_of(manifest))
            assert (pixels(client.get("/api/frame", params={"ref": manifest["frame_ref"]})) == picture(0)).all()
            assert (pixels(client.get("/api/frame", params={"ref": manifest["last_ref"]})) == picture(3)).all()
            right = signals_of(manifest)["frame.right"]
            shown = client.get("/api/frame", params={"ref": f"{right['ref']}{right['place0'] + 2}"})
            assert (pixels(shown) == picture(52)).all()
            assert [
                row["has_frame"] for row in client.get("/api/episodes/replay/parts-ep0000/steps").json()["rows"]
            ] == [True] * 4
            fails(client.get("/api/frame", params={"ref": "h5://parts/frames/0"}), 404)


def test_holes_are_known(get: httpx.Client) -> None:
    marks = [mark for mark in get.get(KINDS).json()["marks"] if mark["kind"] == "missing"]
    assert [(mark["index"], mark["text"]) for mark in marks] == [(5, "frame: 3 missing"), (20, "frame: missing")]
    assert {index for mark in marks for index in range(mark["index"], mark["index"] + 3)} >= set(HOLES)


def test_actions_have_the_names_that_the_environment_knows(tmp_path: Path) -> None:
    path = tmp_path / "store"
    own = {"red": {"action_meanings": ["LEFT", "RIGHT"]}, "blue": {}}
    with playhead.open(path) as store, store.run("p", "n", run_id="named", environment=False) as run:
        for facts, agents in (
            ({"action_meanings": ["NOOP", "FIRE"]}, (None, None)),
            ({"agents": own}, ("red", "blue")),
        ):
            reel = run.new_reel(facts=facts)
            reel.begin()
            for step, agent in enumerate(agents):
                reel.step({"actions": np.int64(step if agent is None else 1)}, 0.0, False, False, agent=agent)
            reel.end("closed")
    with playhead.open(path, mode="r") as store, Background(make_app(store)) as server:
        client = httpx.Client(base_url=server.address)
        for name, expected in (("named", ["NOOP", "FIRE"]), ("named.1", ["RIGHT", None])):
            rows = client.get(f"/api/episodes/replay/{name}-ep0000/steps").json()["rows"]
            assert [row["action_name"] for row in rows] == expected
        client.close()
