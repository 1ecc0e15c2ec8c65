"""The page: what the server takes to answer, and what a person waits for in Chromium.

    python -m benchmarks.page [--runs 10000] [--points 10000000] [--steps 18000]

One store with many runs, a metric of a million points, and an Atari episode of many steps. Server times are whole
requests over HTTP on this machine, nothing remembered from the request before; those of Chromium are the page's own
clock, from the start of navigation to what is named.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from playwright.sync_api import Page, sync_playwright

import playhead
from benchmarks.catalogue import CLONE, METRICS
from benchmarks.measure import report
from playhead.catalog import points
from playhead.web.app import make_app
from playhead.web.runs.sampling import Sampler
from playhead.web.server import Background
from tests.web.conftest import CHROMIUM, CHROMIUM_FLAGS
from tests.web.long_episode import LONG_EPISODE, LONG_RUN, make_long_episode

LONG_METRIC = 1_000_000
COLUMNS = "config.p1,config.p2,metric.metric_0,min.metric_1,max.metric_2,hostname"
REPEATS, SEEKS = 7, 100


def build(path: Path, runs: int, count: int, steps: int) -> None:
    """Make the store."""
    make_long_episode(path, steps)
    with playhead.open(path) as store:
        with store.run("bench", "million", environment=False, run_id="million", config={"p1": 0.5}) as run:
            run.log({"short": 1.0})
            run.flush()
            key, begin = run._row.key, round(run.created_at * 1e9)
        numbers = np.arange(LONG_METRIC)
        values = np.exp(-numbers / 2e5) + np.random.default_rng(0).normal(0, 0.05, LONG_METRIC)
        values[123_456] = 50.0
        stamps = begin + numbers.astype(np.int64) * 5_000_000
        batch = points.SeriesBatch("loss", "", stamps.tolist(), numbers.tolist(), values.tolist())
        with store._home.database.write() as connection:
            points.add(connection, key, 1, [batch], points.states(connection, key, 1))
        per_series = max(1, count // runs // METRICS)
        given = {"runs": runs, "per_series": per_series, "per_run": per_series * METRICS}
        for statement in CLONE:
            with store._home.database.write() as connection:
                connection.exec_driver_sql(statement, {k: v for k, v in given.items() if f":{k}" in statement} or ())


def answers(server: Background, app: Any) -> None:
    """Print what requests take."""
    print("\n1. The server, a whole request")
    questions = {
        "a page of runs, six columns and a curve": (f"/api/runs?columns={COLUMNS}&spark=metric_3", 300),
        "the same, sorted by a metric": (f"/api/runs?columns={COLUMNS}&spark=metric_3&order=-metric.metric_4", 300),
        "the same, filtered": (
            f"/api/runs?columns={COLUMNS}&where=config.p3%20%3C%200.5%20and%20points%20%3E%205",
            300,
        ),
        "the names of all columns": ("/api/runs/fields", 300),
        "groups": ("/api/runs/groups?by=project&columns=metric.metric_0,metric.metric_1", 300),
        "a run": ("/api/runs/million", 300),
        "a chart of a million points": ("/api/runs/million/metrics?name=loss", 150),
        "  and a zoom into 400,000 of them": ("/api/runs/million/metrics?name=loss&from=100000&to=500000", 150),
        "a moment of a run": (f"/api/runs/{LONG_RUN}/moment?time_s=3", 300),
        "a long episode": (f"/api/episodes/replay/{LONG_EPISODE}", 300),
        "  the times of its frames": (f"/api/episodes/replay/{LONG_EPISODE}/times/frame", 300),
        "  a strip of thumbnails": (f"/api/episodes/replay/{LONG_EPISODE}/strip/frame?count=16", 300),
    }
    sampler = app.state.site.keep(Sampler, lambda: Sampler(app.state.site.store._home.database))
    with httpx.Client(base_url=server.address, timeout=60) as client:
        for what, (address, bar) in questions.items():
            report(what, _median(lambda address=address: _ask(client, address), sampler._known.clear), "ms", bar)
        chance, taken = np.random.default_rng(0), []
        for number in chance.integers(0, 17_000, SEEKS):
            start = time.perf_counter()
            _ask(client, f"/api/frame?ref=h5%3A%2F%2F{LONG_RUN}%2Fframes%2F{number}")
            taken.append((time.perf_counter() - start) * 1e3)
        report("a random frame, median", statistics.median(taken), "ms", 50)
        report("  the slowest of a hundred", max(taken), "ms", 50)


def _ask(client: httpx.Client, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 200, (address, answer.text[:300])


def _median(work: Callable[[], object], before: Callable[[], object]) -> float:
    taken = []
    for _ in range(REPEATS):
        before()
        start = time.perf_counter()
        work()
        taken.append((time.perf_counter() - start) * 1e3)
    return statistics.median(taken)


# What is there when a person sees what the page is for.
SEEN = {
    "the table of runs": ("/", "[role=row] a, tbody tr a"),
    "a run with a million points": ("/run/million", "canvas"),
    "the player": (f"/play/replay/{LONG_EPISODE}?t=20", "canvas[data-index]"),
}


def seen(server: Background) -> None:
    """Print what a person waits for."""
    print("\n2. In Chromium, from the start of navigation")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        for what, (address, selector) in SEEN.items():
            cold, warm = [], []
            for _ in range(5):
                context = browser.new_context(viewport={"width": 1440, "height": 900})
                page = context.new_page()
                for found in (cold, warm):
                    found.append(_first_paint(page, server.address.rstrip("/") + address, selector))
                context.close()
            report(f"{what}, nothing cached", statistics.median(cold), "ms", 1000)
            report("  again", statistics.median(warm), "ms", 1000)
        browser.close()


def _first_paint(page: Page, address: str, selector: str) -> float:
    page.goto(address, wait_until="commit")
    page.wait_for_selector(selector, state="visible")
    found: float = page.evaluate("performance.now()")
    return found


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--points", type=int, default=10_000_000)
    parser.add_argument("--steps", type=int, default=18_000)
    options, _ = parser.parse_known_args()
    print(f"The page: {options.runs:,} runs, {options.points:,} points, an episode of {options.steps:,} steps")
    with tempfile.TemporaryDirectory(prefix="bench-page-", dir=".") as scratch:
        path = Path(scratch) / "store"
        build(path, options.runs, options.points, options.steps)
        with playhead.open(path) as store:
            app = make_app(store)
            with Background(app) as server:
                answers(server, app)
                seen(server)


if __name__ == "__main__":
    main()
