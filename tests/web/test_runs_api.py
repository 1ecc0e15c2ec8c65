"""Runs over HTTP: lists, columns, groups, one run, media, comparing, changing."""

from __future__ import annotations

import csv
import io
import json
import time
from pathlib import Path

import httpx
import numpy as np
import pyarrow.parquet as pq
import pytest

import playhead
from playhead.care import DAMAGE, verify
from playhead.web.app import make_app
from playhead.web.server import Background
from tests.elsewhere import start
from tests.web.conftest import DATASET, DELETED, EPISODES, FAILED, FIRST, PLAYED, POINTS, SECOND, SPIKE


def ids(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [run["id"] for run in answer.json()["runs"]]


def test_the_store_says_what_is_in_it(ask: httpx.Client, made_store: Path) -> None:
    assert ask.get("/api/store").json() == {
        "name": made_store.name,
        "version": playhead.__version__,
        "mode": "r",
        "runs": 4,
        "deleted": 1,
        "running": 0,
        "datasets": 2,
        "episodes": 3 + EPISODES,
    }


def test_runs_come_newest_first_with_what_a_list_shows(ask: httpx.Client) -> None:
    answer = ask.get("/api/runs").json()
    assert (answer["total"], answer["offset"], answer["columns"]) == (4, 0, [])
    assert [run["id"] for run in answer["runs"]] == [FAILED, PLAYED, SECOND, FIRST]
    run = answer["runs"][-1]
    assert run["tags"] == ["baseline", "paper"]
    assert run["notes"] == "first\ntry <b>bold</b>"
    assert run["best"] == {"name": "return", "value": POINTS - 1, "step": POINTS - 1}
    assert run["status"] == "finished"
    assert run["is_stale"] is False
    assert run["points"] == 2 * POINTS + 4
    assert run["duration"] == pytest.approx(run["ended_at"] - run["created_at"], abs=0.5)
    assert run["values"] == []
    assert run["spark"] is None
    assert "diverged" in answer["runs"][0]["exit_reason"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"project": "pong"}, [SECOND, FIRST]),
        ({"status": "failed"}, [FAILED]),
        ({"tag": ["paper", "baseline"]}, [FIRST]),
        ({"tag": "paper"}, [SECOND, FIRST]),
        ({"where": "config.lr < 5e-4"}, [SECOND]),
        ({"where": "'paper' in tags", "order": "created_at"}, [FIRST, SECOND]),
        ({"deleted": 1}, [DELETED]),
        ({"order": "project,-created_at"}, [FAILED, SECOND, FIRST, PLAYED]),
        ({"order": "-config.lr,id"}, [FIRST, PLAYED, SECOND, FAILED]),
        ({"order": "-metric.`odd, name`,name desc"}, [FIRST, PLAYED, FAILED, SECOND]),
        ({"offset": 1, "limit": 2}, [PLAYED, SECOND]),
        ({"offset": 100}, []),
        ({"project": "nothing"}, []),
    ],
)
def test_filters_order_and_pages(ask: httpx.Client, query: dict[str, object], expected: list[str]) -> None:
    assert ids(ask.get("/api/runs", params=query)) == expected  # type: ignore[arg-type]


def test_columns_have_the_values_of_the_runs(ask: httpx.Client) -> None:
    names = "config.lr,config.net.layers,config.limit,config.seed,summary.wins,metric.loss,max.loss,best,tags,metric.`odd, name`"
    answer = ask.get("/api/runs", params={"columns": names, "project": "pong", "order": "id"}).json()
    assert answer["columns"][-1] == "metric.`odd, name`"
    first, second = (run["values"] for run in answer["runs"])
    assert first[:5] == [1e-3, "[64,64]", "Infinity", str(2**62), 12]
    assert first[6:] == [SPIKE, POINTS - 1, ["baseline", "paper"], 1.0]
    assert second == [1e-4, "[64,64]", None, None, None, 0.04, 2.0, None, ["paper"], None]


def test_a_spark_is_short_and_keeps_the_ends(ask: httpx.Client) -> None:
    runs = ask.get("/api/runs", params={"spark": "return", "order": "id"}).json()["runs"]
    sparks = {run["id"]: run["spark"] for run in runs}
    assert sparks[FAILED] is None
    assert len(sparks[SECOND]) == 48
    assert sparks[SECOND][0] == 0.0
    assert sparks[SECOND][-1] == -49.0
    assert len(sparks[PLAYED]) == EPISODES


def test_a_spark_of_a_long_metric_is_spread_over_its_life(ask: httpx.Client) -> None:
    spark = ask.get("/api/runs", params={"spark": "loss", "where": f"id = '{FIRST}'"}).json()["runs"][0]["spark"]
    assert len(spark) == 48
    assert spark[0] == 1.0
    assert spark[-1] < 0.05


def test_what_is_wrong_in_a_condition_is_pointed_at(ask: httpx.Client) -> None:
    answer = ask.get("/api/runs", params={"where": "config.lr << 3"})
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["type"] == "BadQuery"
    assert error["position"] == 11
    assert "\n" not in error["message"]


@pytest.mark.parametrize("query", [{"order": "-sideways"}, {"where": "sideways > 1"}])
def test_an_unknown_field_is_a_bad_query_wherever_it_is_named(ask: httpx.Client, query: dict[str, str]) -> None:
    answer = ask.get("/api/runs", params=query)
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "BadQuery")
    assert "no field 'sideways'; there is: id" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "query",
    [
        "order=sideways",
        "columns=nothing",
        "limit=-1",
        "limit=1001",
        "status=odd",
        "offset=x",
        "deleted=maybe",
        "colums=a",
    ],
)
def test_a_wrong_parameter_is_refused(ask: httpx.Client, query: str) -> None:
    answer = ask.get(f"/api/runs?{query}")
    assert answer.status_code in (400, 404)
    assert answer.json()["error"]["message"]


def test_fields_list_what_there_is(ask: httpx.Client) -> None:
    fields = ask.get("/api/runs/fields").json()
    assert fields["projects"] == [
        {"name": "cartpole", "count": 1},
        {"name": "pong", "count": 2},
        {"name": "walk", "count": 1},
    ]
    assert fields["statuses"] == [{"name": "failed", "count": 1}, {"name": "finished", "count": 3}]
    assert fields["tags"] == [{"name": "baseline", "count": 1}, {"name": "paper", "count": 2}]
    assert fields["config"] == ["config.limit", "config.lr", "config.net.act", "config.net.layers", "config.seed"]
    assert fields["summary"] == ["summary.final return", "summary.wins"]
    assert fields["metrics"] == ["loss", "odd", "odd, name", "return"]


def test_groups_tell_mean_and_extremes(ask: httpx.Client) -> None:
    answer = ask.get("/api/runs/groups", params={"by": "config.lr", "columns": "metric.return,max.loss"}).json()
    by_value = {group["value"]: group for group in answer["groups"]}
    assert set(by_value) == {1e-3, 1e-4, None}
    assert by_value[1e-3]["count"] == 2
    assert by_value[1e-4]["columns"][0] == {"mean": -49.0, "min": -49.0, "max": -49.0, "count": 1}
    assert by_value[1e-3]["columns"][1]["max"] == SPIKE
    tags = ask.get("/api/runs/groups", params={"by": "tags"}).json()["groups"]
    assert {group["value"]: group["count"] for group in tags} == {"paper": 2, "baseline": 1, None: 2}
    assert ask.get("/api/runs/groups", params={"by": "notes"}).status_code == 400
    filtered = ask.get("/api/runs/groups", params={"by": "project", "where": "config.lr < 5e-4"}).json()
    assert filtered["groups"] == [{"value": "pong", "count": 1, "columns": []}]


@pytest.mark.parametrize("kind", ["csv", "parquet", "json"])
def test_the_whole_view_can_be_downloaded(ask: httpx.Client, kind: str) -> None:
    query = {"format": kind, "columns": "config.lr,metric.loss", "order": "id", "project": "pong"}
    answer = ask.get("/api/runs/export", params=query)
    assert answer.headers["content-disposition"] == f'attachment; filename="runs.{kind}"'
    if kind == "csv":
        found = list(csv.DictReader(io.StringIO(answer.text)))
    elif kind == "parquet":
        found = pq.read_table(io.BytesIO(answer.content)).to_pylist()
    else:
        found = answer.json()
    assert [row["id"] for row in found] == [FIRST, SECOND]
    assert float(found[1]["config.lr"]) == 1e-4
    assert float(found[1]["metric.loss"]) == 0.04
    assert found[0]["tags"] in ("baseline, paper", ["baseline", "paper"])


def test_one_run(ask: httpx.Client) -> None:
    run = ask.get(f"/api/runs/{FIRST}").json()
    assert run["config"] == {
        "lr": 1e-3,
        "net": {"layers": [64, 64], "act": "relu"},
        "limit": "Infinity",
        "seed": str(2**62),
    }
    assert run["summary"] == {"wins": 12, "final return": 1999.0}
    assert run["environment"]["python"]
    assert int(run["origin_ns"]) == pytest.approx(run["created_at"] * 1e9, abs=1000)
    assert run["path"] == f"pong/dqn/runs/{FIRST}"
    assert (run["media"], run["episodes"], run["datasets"]) == (2, 1, {DATASET: 1})
    assert run["log_bytes"] > 10_000
    metrics = {(metric["name"], metric["stage"]): metric for metric in run["metrics"]}
    assert metrics["loss", ""]["points"] == POINTS
    assert metrics["loss", ""]["max_value"] == SPIKE
    assert metrics["return", "eval"]["last_value"] == 55.5
    assert metrics["odd", ""]["min_value"] == "-Infinity"
    assert 0 <= metrics["loss", ""]["last_s"] < 60


def test_a_run_in_the_bin_can_be_looked_at(ask: httpx.Client) -> None:
    assert ask.get(f"/api/runs/{DELETED}").json()["deleted_at"] is not None


@pytest.mark.parametrize(
    "run_id",
    ["nothing", "..", "%2e%2e%2fplayhead.json", "a%00b", "%ff", "x" * 300, "20260101_100000_aaaaab", "%F0%9F%99%82"],
)
def test_no_such_run(ask: httpx.Client, run_id: str) -> None:
    for tail in ("", "/metrics?name=a", "/log", "/log/raw", "/media", "/media/0", "/moment?time_s=1"):
        answer = ask.get(f"/api/runs/{run_id}{tail}")
        if run_id == "..":  # the client itself makes /api/ of it
            continue
        assert answer.status_code in (400, 404), answer.text
        assert answer.json()["error"]["message"]


def test_media_are_listed_and_given(ask: httpx.Client, made_store: Path) -> None:
    items = ask.get(f"/api/runs/{FIRST}/media").json()["items"]
    assert [(item["index"], item["key"], item["step"], item["caption"]) for item in items] == [
        (0, "frame", 7, "grey"),
        (1, "frame", 8, None),
    ]
    assert items[0]["type"] == "image/png"
    answer = ask.get(items[0]["url"])
    assert answer.headers["content-type"] == "image/png"
    assert answer.content.startswith(b"\x89PNG")
    again = ask.get(items[0]["url"], headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304
    assert again.content == b""
    for index in ("2", "-1", "a", "٣", "1e3", "9" * 18):
        assert ask.get(f"/api/runs/{FIRST}/media/{index}").status_code == 404


def test_media_that_could_run_are_saved_and_not_shown(
    own_store: playhead.Store, own_ask: httpx.Client, tmp_path: Path
) -> None:
    picture = tmp_path / "evil.svg"
    picture.write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
    with own_store.run("p", "n", run_id="evil", environment=False) as run:
        run.log_image("x", picture)
    (item,) = own_ask.get("/api/runs/evil/media").json()["items"]
    answer = own_ask.get(item["url"])
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_media_that_are_links_are_not_followed(
    own_store: playhead.Store, own_ask: httpx.Client, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(b"secret")
    item = own_store.runs[FIRST].media[0]
    item.path.unlink()
    item.path.symlink_to(secret)
    assert own_ask.get(f"/api/runs/{FIRST}/media/0").status_code == 404


def test_media_that_leave_the_run_leave_the_others_in_sight(
    own_store: playhead.Store, own_address: str, tmp_path: Path
) -> None:
    (tmp_path / "secret.png").write_bytes(b"secret")
    with own_store.run("p", "n", run_id="mixed", environment=False) as run:
        for step in range(3):
            run.log_image("x", np.full((4, 4, 3), step, np.uint8), step=step)
        folder = run.path
    name = run.media[1].path.relative_to(folder).as_posix()
    events = folder / "events.jsonl"
    events.write_text(events.read_text().replace(f'"{name}"', '"../../../../../secret.png"'))
    own_store.close()
    playhead.rebuild(own_store.path)
    with playhead.open(own_store.path, mode="r") as store, Background(make_app(store)) as server:
        items = httpx.get(f"{server.address}api/runs/mixed/media").json()["items"]
        assert [item["step"] for item in items] == [0, 2]
        for item in items:
            assert httpx.get(f"{server.address.rstrip('/')}{item['url']}").content.startswith(b"\x89PNG")
        assert httpx.get(f"{server.address}api/runs/mixed/moment?time_s=0").status_code == 200
        assert [item.step for item in store.runs["mixed"].media] == [0, 2]
    findings = [finding for finding in verify(own_store.path) if finding.severity == DAMAGE]
    assert any("secret.png" in str(finding) for finding in findings)


def test_an_empty_id_is_refused(own_ask: httpx.Client) -> None:
    for ids in ([""], ["x", ""]):
        answer = own_ask.post("/api/runs/tag", json={"ids": ids, "add": ["a"]})
        assert answer.status_code == 400, answer.text


def test_comparing_tells_what_differs(ask: httpx.Client) -> None:
    answer = ask.get("/api/compare", params={"id": [FIRST, SECOND]}).json()
    assert [run["id"] for run in answer["runs"]] == [FIRST, SECOND]
    assert {line["key"]: line["values"] for line in answer["config"]} == {
        "lr": [1e-3, 1e-4],
        "net.act": ["relu", "tanh"],
        "limit": ["Infinity", None],
        "seed": [str(2**62), None],
    }
    assert "python" not in [line["key"] for line in answer["environment"]]
    assert ask.get("/api/compare", params={"id": [FIRST, "nothing"]}).status_code == 404
    assert ask.get("/api/compare").status_code == 400


def test_a_damaged_environment_does_not_hide_the_run(own_store: playhead.Store, own_ask: httpx.Client) -> None:
    (own_store.runs[FIRST].path / "environment.json").write_text("{")
    run = own_ask.get(f"/api/runs/{FIRST}").json()
    assert "damaged" in run["environment"]["unreadable"]
    assert str(own_store.path) not in run["environment"]["unreadable"]


# -- changing -------------------------------------------------------------------------------------------------------


def test_runs_are_tagged(own_store: playhead.Store, own_ask: httpx.Client) -> None:
    body = {"ids": [FIRST, SECOND, "nothing"], "add": ["good", "new"], "remove": ["paper"]}
    answer = own_ask.post("/api/runs/tag", json=body).json()
    assert answer["done"] == [FIRST, SECOND]
    assert answer["failed"][0]["id"] == "nothing"
    assert own_store.runs[FIRST].tags == ["baseline", "good", "new"]
    assert own_store.runs[SECOND].tags == ["good", "new"]
    bad = own_ask.post("/api/runs/tag", json={"ids": [FIRST], "add": ["  "]}).json()
    assert bad["done"] == []
    assert "empty" in bad["failed"][0]["message"]


def test_runs_are_deleted_restored_and_purged(own_store: playhead.Store, own_ask: httpx.Client) -> None:
    assert own_ask.post("/api/runs/purge", json={"ids": [SECOND]}).json()["failed"][0]["id"] == SECOND
    assert own_ask.post("/api/runs/delete", json={"ids": [SECOND], "reason": "a try"}).json()["done"] == [SECOND]
    assert SECOND not in own_store.runs
    assert ids(own_ask.get("/api/runs?deleted=1")) == [SECOND, DELETED]
    assert own_ask.post("/api/runs/restore", json={"ids": [SECOND]}).json()["done"] == [SECOND]
    assert SECOND in own_store.runs
    assert own_ask.post("/api/runs/purge", json={"ids": [DELETED]}).json()["done"] == [DELETED]
    assert own_ask.get(f"/api/runs/{DELETED}").status_code == 404


def test_notes_are_set(own_store: playhead.Store, own_ask: httpx.Client) -> None:
    answer = own_ask.patch(f"/api/runs/{FIRST}", json={"notes": "<i>better</i>\nnow"})
    assert answer.json()["notes"] == "<i>better</i>\nnow"
    assert own_store.runs[FIRST].notes == "<i>better</i>\nnow"
    assert own_ask.patch(f"/api/runs/{FIRST}", json={"notes": ""}).json()["notes"] == ""


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/runs/delete", {}),
        ("/api/runs/delete", {"ids": []}),
        ("/api/runs/delete", {"ids": "all"}),
        ("/api/runs/delete", {"ids": [1]}),
        ("/api/runs/delete", {"ids": [FIRST], "force": True}),
        ("/api/runs/delete", {"ids": ["x"] * 1001}),
        ("/api/runs/delete", [FIRST]),
        ("/api/runs/tag", {"ids": [FIRST]}),
        ("/api/runs/tag", {"ids": [FIRST], "add": {"a": 1}}),
    ],
)
def test_a_wrong_body_is_refused(own_ask: httpx.Client, path: str, body: object) -> None:
    answer = own_ask.post(path, json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "BadRequest"


def test_a_body_that_is_not_json_or_too_large(own_ask: httpx.Client) -> None:
    headers = {"Content-Type": "application/json"}
    assert own_ask.post("/api/runs/delete", content=b"{nonsense", headers=headers).status_code == 400
    assert own_ask.post("/api/runs/delete", content=b"[" * 5000, headers=headers).status_code == 400
    large = json.dumps({"ids": ["x" * 100] * 20_000})
    assert own_ask.post("/api/runs/delete", content=large, headers=headers).status_code == 413


def test_a_store_that_is_read_only_says_so(ask: httpx.Client) -> None:
    for path, body in (("tag", {"add": ["x"]}), ("delete", {}), ("restore", {}), ("purge", {})):
        answer = ask.post(f"/api/runs/{path}", json={"ids": [FIRST], **body})
        assert answer.status_code == 409
        assert "only to read" in answer.json()["error"]["message"]
    assert ask.patch(f"/api/runs/{FIRST}", json={"notes": "x"}).status_code == 409


def test_a_run_whose_process_is_gone_is_stale(own_store: playhead.Store, own_ask: httpx.Client) -> None:
    code = """import sys, playhead
run = playhead.open(sys.argv[1]).run("pong", "dies", run_id="dies", environment=False)
run.log({"loss": 1.0})
run.flush()
print("ready", flush=True)
sys.stdin.read()"""
    recorder = start(code, own_store.path)
    run = own_ask.get("/api/runs/dies").json()
    assert (run["status"], run["is_stale"]) == ("running", False)
    assert run["duration"] >= 0
    recorder.kill()
    recorder.communicate()
    time.sleep(1.1)
    assert own_ask.get("/api/runs/dies").json()["is_stale"] is True
