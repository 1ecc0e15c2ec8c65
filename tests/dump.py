"""All that a catalogue answers, in a form that two catalogues of the same folders share."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import playhead

QUERIES = {
    "runs": "SELECT * FROM experiments ORDER BY id",
    "notes": "SELECT id, notes FROM runs ORDER BY id",
    "metrics": "SELECT * FROM metrics ORDER BY experiment_id, ts_ns, metric_name",
    "values": "SELECT id, run_values.key, number, text FROM runs JOIN run_values ON run = runs.key ORDER BY 1, 2",
    "tags": "SELECT id, tag FROM runs JOIN run_tags ON run = runs.key ORDER BY 1, 2",
    "media": "SELECT id, ts_ns, step, kind, media.key, path, caption FROM runs JOIN media ON run = runs.key ORDER BY 1, 2",
    "episodes": "SELECT * FROM episode_folders ORDER BY dataset, number",
    "replay": "SELECT * FROM steps ORDER BY reel, row",
    "played": "SELECT * FROM episodes ORDER BY episode_id",
    "reels": "SELECT id, number, steps, facts FROM reels ORDER BY id",
    "sources": "SELECT id, part, offset, last_ns, last_step, bad_lines FROM runs JOIN sources ON run = runs.key "
    "WHERE offset > 0 ORDER BY 1, 2",
    "series": "SELECT id, series.name, stage, part, points, last_ns, last_step, last_value, min_value, min_step, max_value, "
    "max_step FROM runs JOIN series ON run = runs.key ORDER BY 1, 2, 3, 4",
}


def dump(store: playhead.Store) -> dict[str, str]:
    """Give every row of the catalogue, without its integer keys."""
    return {name: repr(store.sql(query).to_pylist()) for name, query in QUERIES.items()}


def assert_catalogue_agrees_with_folders(path: Path) -> None:
    """Rebuild a copy of the store and compare all answers."""
    with playhead.open(path, mode="r") as store:
        answers = dump(store)
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch, "copy")
        shutil.copytree(path, copy, ignore=shutil.ignore_patterns("playhead.db*"))
        problems = playhead.rebuild(copy)
        assert problems == []
        with playhead.open(copy, mode="r") as rebuilt:
            for name, rows in dump(rebuilt).items():
                assert rows == answers[name], f"{name}: rebuilt {rows} but the catalogue says {answers[name]}"
