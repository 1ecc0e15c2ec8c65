"""Finding things among 100,000 runs and 10 million points.

    python -m benchmarks.catalogue [--runs N] [--points N]

A few runs are made through the API, the rest are cloned inside the catalogue with values of their own.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import playhead
from benchmarks.measure import cpu_seconds, median_ms, report

METRICS = 10
CONFIG = 10

CLONE = [
    """
    INSERT INTO runs (id, project, name, created_at, updated_at, status, started_at, ended_at, run_dir,
                      duration_seconds, best_metric_name,
                      best_metric_mode, best_metric_value, best_metric_step, metric_count)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :runs)
    SELECT printf('clone_%07d', i), 'project' || (i % 20), 'run' || (i % 500), 1.7e9 + i, 1.7e9 + i,
           CASE WHEN i % 50 = 0 THEN 'failed' ELSE 'finished' END, 1.7e9 + i, 1.7e9 + i + 60,
           printf('project%d/run%d/runs/clone_%07d', i % 20, i % 500, i), 60.0,
           'metric_0', 'min', abs(random() % 1000000) / 1e6, 5, :per_run FROM n""",
    """
    INSERT INTO run_values (run, key, number, text)
    WITH RECURSIVE k(j) AS (SELECT 0 UNION ALL SELECT j + 1 FROM k WHERE j < 9)
    SELECT runs.key, 'config.p' || j, abs(random() % 1000000) / 1e6, NULL FROM runs, k WHERE id LIKE 'clone_%'""",
    "INSERT INTO run_tags (run, tag) SELECT key, 'tag' || (key % 100) FROM runs WHERE id LIKE 'clone_%'",
    """
    INSERT INTO series (run, name, stage, part, points, last_ns, last_step, last_value, min_value, min_step,
                        max_value, max_step)
    WITH RECURSIVE k(j) AS (SELECT 0 UNION ALL SELECT j + 1 FROM k WHERE j < 9)
    SELECT runs.key, 'metric_' || j, '', 1, :per_series, 1, :per_series, abs(random() % 1000000) / 1e6, 0.0, 1, 1.0, 1
    FROM runs, k WHERE id LIKE 'clone_%'""",
    """
    INSERT INTO points (series, ts_ns, step, value)
    WITH RECURSIVE k(j) AS (SELECT 1 UNION ALL SELECT j + 1 FROM k WHERE j < :per_series)
    SELECT series.key, 1700000000000000000 + j, j, (series.key * 31 + j * 17) % 1000 / 7.0
    FROM series CROSS JOIN k WHERE series.name LIKE 'metric_%'""",
]


def build(path: Path, runs: int, points: int) -> str:
    """Make the store; give the id of a run with a metric of 10,000 points."""
    per_series = max(1, points // runs // METRICS)
    with playhead.open(path) as store:
        with store.run("bench", "long", environment=False, config={f"p{n}": n / 10 for n in range(CONFIG)}) as run:
            for value in range(10_000):
                run.log({"loss": value / 7, "other": -value})
        values = {"runs": runs, "per_series": per_series, "per_run": per_series * METRICS}
        for statement in CLONE:
            with store._home.database.write() as connection:
                connection.exec_driver_sql(statement, {k: v for k, v in values.items() if f":{k}" in statement} or ())
    return run.id


def figures(path: Path, long_run: str) -> None:
    """Print how long each question takes."""

    def reopened() -> None:
        playhead.open(path).close()

    report("opening the store", median_ms(reopened), "ms", 50)
    with playhead.open(path) as store:
        questions = {
            "first page of ls": {},
            "filter by project": {"project": "project3"},
            "filter by status": {"status": "failed"},
            "filter by tag": {"tags": ["tag7"]},
            "filter by config, half of all fit": {"where": "config.p3 < 0.5"},
            "filter by config, one in 100,000 fits": {"where": "config.p3 < 0.00001"},
            "filter by two config values": {"where": "config.p3 < 0.1 and config.p4 > 0.9"},
            "filter by best": {"where": "best < 0.01"},
            "filter by the last value of a metric": {"where": "metric.metric_3 > 0.5"},
            "filter by name": {"where": "name = 'run77'"},
        }
        for what, question in questions.items():
            ask = store.runs(order="-created_at", limit=20, **question)  # type: ignore[arg-type]
            report(what, median_ms(lambda ask=ask: list(ask)), "ms", 10)  # type: ignore[misc]
        report("sort by best", median_ms(lambda: list(store.runs(order="best", limit=20))), "ms", 10)
        report("sort by best, good first", median_ms(lambda: list(store.runs(order="best", limit=20))), "ms", 10)
        report("one metric of one run, 10,000 points", median_ms(lambda: store.runs[long_run]["loss"].values), "ms", 10)
        report("counting all runs", median_ms(lambda: len(store.runs)), "ms")
        report("listing 10,000 runs", median_ms(lambda: list(store.runs(limit=10_000)), 7), "ms")
    command = [sys.executable, "-m", "playhead", "ls", "--store", str(path)]
    before = cpu_seconds()
    for _ in range(3):
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    report("playhead ls from a cold start, CPU", (cpu_seconds() - before) / 3 * 1000, "ms", 450)
    report("bytes of the catalogue", (path / "playhead.db").stat().st_size / 1e6, "MB")


def main() -> None:
    """Build the store and print all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--points", type=int, default=10_000_000)
    arguments = parser.parse_args()
    print(f"Finding things among {arguments.runs:,} runs and {arguments.points:,} points")
    with tempfile.TemporaryDirectory(dir=".") as scratch:
        long_run = build(Path(scratch, "store"), arguments.runs, arguments.points)
        figures(Path(scratch, "store"), long_run)


if __name__ == "__main__":
    main()
