"""What the campaign does to a store in which agents play, and what it holds the store to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import playhead
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.writer import ReelWriter
from tests.dump import assert_catalogue_agrees_with_folders

FRAMES = np.random.default_rng(0).integers(0, 256, (64, 8, 6, 3), dtype=np.uint8)
FACTS = {"env_id": "Toy-v0"}
# Segments of a few steps, so that sealing happens in mid-run too.
CONFIG = ReplayConfig(segment_bytes=3000, chunk=4, interval=0.05)


def arrays_of(row: int) -> dict[str, Any]:
    arrays: dict[str, Any] = {"observations": np.full((3,), row, np.float32), "actions": row % 5}
    if row % 3:
        arrays["frames"] = FRAMES[row % 64]
    return arrays


def play(reel: ReelWriter, steps: int) -> None:
    reel.begin({"first": reel.row})
    for place in range(steps):
        reel.step(arrays_of(reel.row), reel.row / 2, place == steps - 1, False, b'{"row":%d}' % reel.row)
    reel.end("terminated", {"observations": np.full((3,), reel.row, np.float32)})


def workload(path: Path, acknowledge: Callable[[str], None]) -> None:
    """Play, flush, end, go on, purge, compact, rebuild."""
    with playhead.open(path) as store:
        with store.run("p", "played", run_id="played", environment=False) as run:
            reel = run.new_reel(facts=FACTS, config=CONFIG)
            for number in range(2):
                play(reel, 8)
                run.flush(sync=number == 1)
                acknowledge(f"steps {reel.row}")
        acknowledge("ended")
        with store.run("p", "gone", run_id="gone", environment=False) as run:
            play(run.new_reel(config=CONFIG), 2)
        store.runs["gone"].delete()
        store.purge()
        acknowledge("purged")
        with store.run("p", "played", run_id="played", resume=True, environment=False) as run:
            reel = run.new_reel(facts=FACTS, config=CONFIG)
            play(reel, 6)
            run.flush()
            acknowledge(f"steps {reel.row}")
        store.compact()
    playhead.rebuild(path)
    acknowledge("rebuilt")


def verify(path: Path, acknowledged: list[str]) -> None:
    """Open the store as the next user would, and hold it to every acknowledgement."""
    least = max([0, *(int(line.split()[1]) for line in acknowledged if line.startswith("steps "))])
    with playhead.open(path) as store:
        assert list((path / ".recording").glob("*.json")) == []
        if "purged" in acknowledged:
            assert "gone" not in store.runs
            assert not list((path / "replay").glob("gone*"))
        length = check_steps(store) if "played" in store.runs else 0
        assert length >= least, (length, least)
        with store.run("p", "played", run_id="played", resume=True, environment=False) as run:
            reel = run.new_reel(facts=FACTS, config=CONFIG)
            assert reel.row == length
            play(reel, 4)
        assert check_steps(store) == length + 4
        assert not (path / "replay" / "played.journal").exists()
    assert_catalogue_agrees_with_folders(path)


def check_steps(store: playhead.Store) -> int:
    """See that every step of the run is as it was played; give how many there are."""
    rows = store.sql(
        "SELECT row, reward, frame_ref, info, action FROM steps WHERE run_id = 'played' ORDER BY row"
    ).to_pylist()
    assert [row["row"] for row in rows] == list(range(len(rows)))
    for row in rows:
        place = row["row"]
        assert row["reward"] == place / 2
        assert row["info"] == f'{{"row":{place}}}'
        assert row["action"] == place % 5
        assert store.resolve(f"h5://played/observations/{place}")[0] == place
        assert (row["frame_ref"] is None) == (place % 3 == 0)
        if row["frame_ref"] is not None:
            assert np.array_equal(store.resolve(row["frame_ref"]), FRAMES[place % 64])
    found = 0
    for episode in store.runs["played"].episodes:
        first = episode.meta["first_row"]
        assert episode.static["first"] == first
        assert np.array_equal(episode["observation"].values[:, 0], np.arange(first, first + episode.length))
        if episode.how is not None and episode.how != "closed":
            assert episode.final["observation"][0] == first + episode.length
        found += episode.length
    assert found == len(rows)
    return found
