"""Runicorn 0.7.2's own viewer, asked over HTTP, shows the runs of a store."""

from __future__ import annotations

import contextlib
import json
import math
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead.integrations import runicorn
from tests.integrations.conftest import RunicornFolder, tree


class Get:
    """Asks the viewer at an address."""

    def __init__(self, address: str) -> None:
        self.address = address

    def __call__(self, path: str) -> Any:
        with urllib.request.urlopen(self.address + path, timeout=WAITING_SECONDS) as answer:
            return json.load(answer)


IMPORTED = "20261115_072340_aaaaaa"
WAITING_SECONDS = 60


def interpreter() -> str | None:
    """Find a Python that has Runicorn."""
    default = Path(__file__).parents[2] / ".peers" / "runicorn" / "bin" / "python"
    chosen = os.environ.get("PLAYHEAD_RUNICORN_PYTHON", str(default))
    return chosen if Path(chosen).is_file() else None


pytestmark = pytest.mark.skipif(
    interpreter() is None,
    reason="no Python with Runicorn: run `make bench-peers`, or name one in PLAYHEAD_RUNICORN_PYTHON",
)


@contextlib.contextmanager
def viewer(store: Path, home: Path) -> Iterator[Get]:
    """Run the viewer on a store; its settings and logs go to a folder of their own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    home.mkdir()
    command = [str(interpreter()), "-m", "runicorn", "viewer", "--storage", str(store), "--port", str(port)]
    environment = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    with (home / "viewer.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, cwd=home, stdout=log, stderr=log)
    try:
        yield Get(f"http://127.0.0.1:{port}")
    finally:
        process.kill()  # asked to end, it waits for whoever followed a log
        process.wait(WAITING_SECONDS)


_FOLLOW = """
import sys
from websockets.sync.client import connect
with connect(sys.argv[1]) as connection:
    for _ in range(int(sys.argv[2])):
        print(connection.recv(timeout=20).rstrip())
"""


def followed(address: str, run_id: str, lines: int) -> list[str]:
    """Give the first lines of the text log, as the viewer sends them to its page."""
    command = [
        str(interpreter()),
        "-c",
        _FOLLOW,
        f"ws{address.removeprefix('http')}/api/runs/{run_id}/logs/ws",
        str(lines),
    ]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=WAITING_SECONDS
    ).stdout.splitlines()


def listed(get: Get, wanted: set[str]) -> dict[str, dict[str, Any]]:
    """Wait until the viewer has read the folders, and give the runs it lists."""
    deadline = time.monotonic() + WAITING_SECONDS
    runs: dict[str, dict[str, Any]] = {}
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):  # it is not up yet
            runs = {run["id"]: run for run in get("/api/runs")}
            if wanted <= set(runs):
                return runs
        time.sleep(0.1)
    raise AssertionError(f"the viewer lists {sorted(runs)}, not {sorted(wanted)}")


def test_the_viewer_lists_the_runs_of_a_store_and_shows_their_metrics(folder: RunicornFolder, tmp_path: Path) -> None:
    folder.new("demo/expA", IMPORTED)
    with playhead.open(tmp_path / "store") as store:
        with store.run("pong", "dqn/v2", config={"lr": 0.1}, tags=["good"]) as run:
            run.set_primary_metric("loss", "min")
            run.log({"loss": 0.5, "acc": math.inf}, stage="train")
            run.log({"loss": 0.25}, step=7)
            run.log({"loss": math.nan}, step=8)
            run.log({"loss": -math.inf, "acc": math.nan, "other": 1.5}, step=9)
            run.summary({"final": math.nan, "worst": [1.0, math.inf], "text": "x"})
            run.log_text("hello\nworld")
        with store.run("pong", "dqn") as deleted:
            deleted.log({"loss": 1.0})
        store.runs[deleted.id].delete("no good")
        with pytest.raises(RuntimeError), store.run("replay", "crash") as failed:
            raise RuntimeError("on purpose")
        assert runicorn.migrate(folder.path, store).is_complete
    files = tree(tmp_path / "store" / "pong")

    with viewer(tmp_path / "store", tmp_path / "home") as get:
        runs = listed(get, {run.id, failed.id, IMPORTED})
        assert set(runs) == {run.id, failed.id, IMPORTED}
        assert {run_id: shown["status"] for run_id, shown in runs.items()} == {
            run.id: "finished",
            failed.id: "failed",
            IMPORTED: "finished",
        }
        assert get(f"/api/runs/{run.id}/metrics_step")["rows"] == [
            {"global_step": 1, "loss": 0.5, "acc": None, "other": None, "stage": "train"},
            {"global_step": 7, "loss": 0.25, "acc": None, "other": None, "stage": None},
            {"global_step": 8, "loss": None, "acc": None, "other": None, "stage": None},
            {"global_step": 9, "loss": None, "acc": None, "other": 1.5, "stage": None},
        ]
        assert followed(get.address, run.id, 2) == run.logs().splitlines()
        shown = get(f"/api/runs/{run.id}")["summary"]
        assert (shown["final"], shown["worst"], shown["text"]) == (None, [1.0, None], "x")
        imported = get(f"/api/runs/{IMPORTED}/metrics_step")["rows"]
        assert [row["loss"] for row in imported] == [*(1 / (i + 1) for i in range(5)), None]
        assert [gone["id"] for gone in get("/api/recycle-bin")["deleted_runs"]] == [deleted.id]

    assert tree(tmp_path / "store" / "pong") == files  # looking changes nothing
    with playhead.open(tmp_path / "store") as store:  # what the viewer leaves in the store does not disturb it
        assert {found.id for found in store.runs} == {run.id, failed.id, IMPORTED}
        assert store.runs[run.id].best == -math.inf
        summary = store.runs[run.id].summary()
        assert math.isnan(summary["final"])
        assert (summary["worst"], summary["best_metric_value"]) == ([1.0, math.inf], -math.inf)
