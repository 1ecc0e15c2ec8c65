"""Take the pictures of the page that the README shows.

    .venv/bin/python web/pictures.py

The examples record what is on them, and a sweep of runs that go down a noisy slope.
"""

from __future__ import annotations

import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Page, sync_playwright

import playhead
from playhead.web.app import make_app
from playhead.web.server import Background

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "docs" / "pictures"
CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]


def record(place: Path) -> None:
    """Record what the pictures show."""
    with playhead.open(place) as store:
        for seed in range(24):
            descend(store, seed)
    for example, options in (("pendulum", []), ("atari", []), ("cartpole", ["--seed", "1"])):
        command = [sys.executable, str(HERE.parent / "examples" / f"{example}.py"), "--store", str(place), *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def descend(store: playhead.Store, seed: int) -> None:
    """Go down a noisy slope, with a rate of its own."""
    chance = random.Random(seed)  # noqa: S311
    config = {"lr": 10.0 ** -(1 + seed % 4), "momentum": [0.0, 0.9][seed // 4 % 2], "seed": seed // 8}
    tags = ["sweep", *(["baseline"] if seed == 5 else [])]
    with store.run("slope", f"sgd-{seed:02}", config=config, tags=tags, environment=False) as run:
        run.set_primary_metric("loss", mode="min")
        place, speed = 3.0, 0.0
        for step in range(400):
            loss = place * place + 0.02
            accuracy = 1 / (1 + math.exp(loss - 3)) + chance.gauss(0, 0.015)
            run.log({"loss": loss * math.exp(chance.gauss(0, 0.12)), "train/accuracy": accuracy}, step=step)
            run.log({"train/rate": config["lr"] * (1 - step / 400), "train/norm": abs(speed) + 0.01}, step=step)
            speed = config["momentum"] * speed - config["lr"] * (2 * place + chance.gauss(0, 0.5))
            place += speed


def pages(store: playhead.Store) -> dict[str, tuple[str, str]]:
    """Say what to look at: the name of each picture, with address and colour scheme."""
    played = next(run for run in reversed(store.runs) if run.project == "atari")
    best = max(played.episodes, key=lambda episode: episode.total_reward)
    late = best.duration_ns * 0.86e-9
    slope = store.runs("slope", order="best")[0]
    name = store.datasets[0]
    uid = quote(store.dataset(name)[-1].uid or "", safe="")
    return {
        "runs": ("/?cols=status,name,project,tags,created,config.lr,config.momentum,best,spark&spark=loss", "light"),
        "run": (f"/run/{slope.id}?tab=charts&smooth=0.8", "light"),
        "player": (f"/play/replay/{best.id}?t={late:.3f}", "dark"),
        "episode": (f"/play/dataset/{quote(name, safe='')}/{uid}?t=0.6", "light"),
    }


def take(page: Page, url: str, path: Path) -> None:
    """Open an address, wait until nothing moves any more, and take a picture of it."""
    page.goto(url)
    page.wait_for_load_state("load")
    page.wait_for_timeout(2500)
    page.screenshot(path=path)


def main() -> None:
    """Record, then take all pictures."""
    TARGET.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "lab"
        record(place)
        with playhead.open(place) as store, Background(make_app(store)) as server:
            take_all(store, server.address.rstrip("/"))


def take_all(store: playhead.Store, address: str) -> None:
    """Take a picture of each page."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name, (path, scheme) in pages(store).items():
            context = browser.new_context(
                viewport={"width": 1280, "height": 800}, color_scheme="dark" if scheme == "dark" else "light"
            )
            take(context.new_page(), address + path, TARGET / f"{name}.png")
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
