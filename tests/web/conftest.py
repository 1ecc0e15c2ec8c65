"""A store with real runs, a real server on it, and a real browser."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import httpx
import numpy as np
import pytest
from gymnasium import spaces

import playhead
from playhead.integrations.gymnasium import Recorder
from playhead.web.app import make_app
from playhead.web.server import Background
from tests.check.making import START, usual

FIRST = "20260101_100000_aaaaaa"  # finished, with everything
SECOND = "20260101_110000_bbbbbb"  # finished, another config
PLAYED = "20260101_120000_eeeeee"  # an agent that played
FAILED = "20260102_090000_cccccc"
DELETED = "20260103_080000_dddddd"
LIVE = "20260104_080000_ffffff"  # in `live_run` only

SPIKE_STEP, SPIKE = 777, 1e6
NAN_STEPS = range(100, 110)
POINTS = 2_000
EPISODES = 3
DATASET, UID = "teleop", "aaaa1111"

CHROMIUM = "/usr/bin/chromium"
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def fill(store: playhead.Store) -> None:
    """Record everything that the tests look at."""
    _record_whole(store)
    _record_other(store)
    _play(store)
    with pytest.raises(ValueError, match="diverged"):
        _fail(store)
    with store.run("cartpole", "ppo", run_id=DELETED, environment=False) as run:
        run.log({"loss": 1.0})
    store.runs[DELETED].delete("wrong seed")


def _record_whole(store: playhead.Store) -> None:
    config = {"lr": 1e-3, "net": {"layers": [64, 64], "act": "relu"}, "limit": math.inf, "seed": 2**62}
    with store.run(
        "pong", "dqn", config=config, tags=["baseline", "paper"], notes="first\ntry <b>bold</b>", run_id=FIRST
    ) as run:
        run.set_primary_metric("return")
        for step in range(POINTS):
            loss = math.nan if step in NAN_STEPS else SPIKE if step == SPIKE_STEP else math.exp(-step / 500)
            run.log({"loss": loss, "return": float(step)}, step=step)
        run.log({"return": 55.5}, stage="eval", step=POINTS)
        run.log({"odd": math.inf}, step=0)
        run.log({"odd": -math.inf}, step=1)
        run.log({"odd, name": 1.0}, step=2)
        run.log_image("frame", np.full((4, 4, 3), 200, np.uint8), step=7, caption="grey")
        run.log_image("frame", np.zeros((4, 4, 3), np.uint8), step=8)
        for line in range(1_200):
            run.log_text(f"line {line} {'needle' if line == 600 else ''}".rstrip())
        run.log_text("<script>alert(1)</script> \x1b[31mred\x1b[0m")
        run.summary({"wins": 12, "final return": 1999.0})
        with run.new_episode(DATASET, uid=UID) as episode:
            episode.set_static("task", "pick up the cube")
            for number in range(10):
                episode.append("force", float(number), START + number * 10_000_000)
    with store.dataset(DATASET).new_episode(uid="bbbb2222", created_ts_ns=START) as episode:
        usual(episode)
    with store.dataset("lab/left arm").new_episode(uid="cccc3333", created_ts_ns=START) as episode:
        usual(episode)


def _record_other(store: playhead.Store) -> None:
    config = {"lr": 1e-4, "net": {"layers": [64, 64], "act": "tanh"}}
    with store.run("pong", "dqn", config=config, tags=["paper"], run_id=SECOND) as run:
        for step in range(50):
            run.log({"loss": 2.0 / (step + 1), "return": -float(step)}, step=step)
        run.log_text("only line")


class Walk(gymnasium.Env[np.ndarray, int]):
    """A small environment with pictures: a dot that walks; the second episode is longer than the others."""

    observation_space = spaces.Box(0, 255, (16, 24, 3), np.uint8)
    action_space = spaces.Discrete(3)
    render_mode = None

    def __init__(self) -> None:
        self.place = 0
        self.count = 0

    def picture(self) -> np.ndarray:
        """Draw the dot."""
        shown = np.zeros((16, 24, 3), np.uint8)
        shown[:, :, 2] = 40
        shown[4:12, self.place % 20 : self.place % 20 + 4] = (255, 160, 0)
        return shown

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = 0
        self.count += 1
        return self.picture(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.place += 1
        reward = 1.0 if self.place % 7 == 0 else 0.0
        done = self.place == (60 if self.count == 2 else 25)
        return self.picture(), reward, done, False, {"place": self.place}


def _play(store: playhead.Store) -> None:
    with store.run("walk", "random", config={"lr": 1e-3}, run_id=PLAYED, environment=False) as run:
        run.set_primary_metric("return")
        env = Recorder(Walk(), run)
        for number in range(EPISODES):
            env.reset(seed=number)
            total, done = 0.0, False
            while not done:
                _, reward, done, _, _ = env.step(number % 3)
                total += float(reward)
            run.log({"return": total}, step=number)
            run.log_text(f"episode {number}: {total}")
        env.close()


def _fail(store: playhead.Store) -> None:
    with store.run("cartpole", "ppo", run_id=FAILED, environment=False) as run:
        run.log({"loss": math.nan})
        raise ValueError("the loss diverged\nat once")


@pytest.fixture(scope="session")
def made_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store that no test changes."""
    path = tmp_path_factory.mktemp("web") / "store"
    with playhead.open(path) as store:
        fill(store)
    return path


@pytest.fixture(scope="session")
def page_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that looks like a built page; the real one is built by `make page`."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "assets").mkdir()
    (folder / "index.html").write_text(
        "<!doctype html><title>Playhead</title><script type=module src=/assets/a-1.js></script>"
    )
    (folder / "assets" / "a-1.js").write_text("document.title = 'it runs';\n" * 100)
    (folder / "icon.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    return folder


Serve = Callable[..., str]


@pytest.fixture(scope="session")
def serving() -> Iterator[Serve]:
    """Serve stores for the whole session: `serving(store, page=…, token=…)` gives the address."""
    running: list[Background] = []

    def serve(store: playhead.Store, **options: Any) -> str:
        server = Background(make_app(store, **options))
        running.append(server)
        server.start()
        return server.address

    yield serve
    for server in running:
        server.stop()


@pytest.fixture(scope="session")
def address(made_store: Path, page_folder: Path, serving: Serve) -> Iterator[str]:
    """The address of a server on the store that no test changes, opened for reading."""
    with playhead.open(made_store, mode="r") as store:
        yield serving(store, page=page_folder)


@pytest.fixture(scope="session")
def ask(address: str) -> Iterator[httpx.Client]:
    """Asks that server."""
    with httpx.Client(base_url=address, timeout=30, verify=False) as client:
        yield client


@pytest.fixture
def own_store(made_store: Path, tmp_path: Path) -> Iterator[playhead.Store]:
    """A copy of the store that a test may change."""
    with playhead.open(Path(shutil.copytree(made_store, tmp_path / "store"))) as store:
        yield store


@pytest.fixture
def own_address(own_store: playhead.Store, page_folder: Path) -> Iterator[str]:
    """The address of a server on that copy."""
    with Background(make_app(own_store, page=page_folder)) as server:
        yield server.address


@pytest.fixture
def own_ask(own_address: str) -> Iterator[httpx.Client]:
    """Asks that server."""
    with httpx.Client(base_url=own_address, timeout=30, verify=False) as client:
        yield client


@pytest.fixture
def live_run(own_store: playhead.Store) -> Iterator[playhead.RunWriter]:
    """A run of the copy that is being recorded."""
    with own_store.run("pong", "live", run_id=LIVE, environment=False) as run:
        run.log({"loss": 1.0})
        run.log_text("begun")
        run.flush()
        yield run


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium; where it is missing the test is skipped, but not in CI."""
    if not Path(CHROMIUM).exists():
        if os.environ.get("CI"):
            pytest.fail(f"{CHROMIUM} is missing, and CI has to have it")
        pytest.skip(f"{CHROMIUM} is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open addresses in a browser: `open_page(url, width=1440, height=900, dark=False)` gives the page.

    A test fails where the page wrote an error to its console.
    """
    contexts: list[Any] = []
    complaints: list[str] = []

    def open_one(url: str, *, width: int = 1440, height: int = 900, dark: bool = False) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
        page.goto(url)
        return page

    open_one.complaints = complaints  # type: ignore[attr-defined]  # a test that expects some empties it
    yield open_one
    for context in contexts:
        context.close()
    assert not complaints
