"""Agents that play: reels in journals, sealed into HDF5, gone on with, purged, compacted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import playhead
from tests.crash.power.workloads.whole import hold_together, most
from tests.crash.replays import CONFIG, FACTS, check_steps, play


def work(path: Path, tell: Callable[[str], None]) -> None:
    """Play, flush, end, purge, go on, compact, rebuild."""
    with playhead.open(path) as store:
        with store.run("p", "played", run_id="played", environment=False) as run:
            reel = run.new_reel(facts=FACTS, config=CONFIG)
            for number in range(5):
                play(reel, 8)
                run.flush(sync=number % 2 == 1)
                if number % 2 == 1:
                    tell(f"steps {reel.row}")
        tell(f"steps {reel.row}")
        with store.run("p", "gone", run_id="gone", environment=False) as run:
            play(run.new_reel(config=CONFIG), 2)
        store.runs["gone"].delete()
        store.purge()
        tell("purged gone")
        with store.run("p", "played", run_id="played", resume=True, environment=False) as run:
            reel = run.new_reel(facts=FACTS, config=CONFIG)
            play(reel, 6)
            run.flush(sync=True)
            tell(f"steps {reel.row}")
            play(reel, 20)
        tell(f"steps {reel.row}")
        store.compact()
    playhead.rebuild(path)
    tell("rebuilt")


def hold(path: Path, told: Sequence[str]) -> None:
    """Every step is as it was played, all that were promised are there, and the run goes on behind them."""
    least = most(told, "steps")
    with playhead.open(path) as store:
        assert list((path / ".recording").glob("*.json")) == []
        if "purged gone" in told:
            assert "gone" not in store.runs
            assert "gone" not in store.runs.deleted
            assert not (path / "p/gone/runs/gone").exists(), "what was purged is there again"
            assert not [*(path / "replay").glob("gone*")], "the replays of what was purged are there again"
        length = check_steps(store) if "played" in store.runs else 0
        assert length >= least, f"{least} steps were promised, {length} are there"
        with store.run("p", "played", run_id="played", resume=True, environment=False) as run:
            reel = run.new_reel(facts=FACTS, config=CONFIG)
            assert reel.row == length, (reel.row, length)
            play(reel, 4)
        assert check_steps(store) == length + 4
        assert not (path / "replay" / "played.journal").exists()
    hold_together(path)
