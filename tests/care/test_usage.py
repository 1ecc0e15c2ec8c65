"""`du`: every byte is counted once, and under the right name."""

from __future__ import annotations

from pathlib import Path

from playhead import filesystem
from playhead.care.usage import measure
from playhead.layout import Layout


def test_every_byte_is_counted_once(everything: Path) -> None:
    found = measure(Layout(everything))
    assert found.total == filesystem.size_of(everything) == sum(found.lanes.values())
    assert set(found.lanes) >= {"runs", "replay", "episodes", "tables", "artifacts", "catalogue"}
    assert sum(found.runs.values()) == sum(found.projects.values())
    assert set(found.projects) == {"pong"}
    assert set(found.runs) == {"run_a", "run_b", "run_c"}
    folder = filesystem.size_of(everything / "pong/dqn/runs/run_b")
    journal = filesystem.size_of(everything / "replay/run_b.journal")
    assert found.runs["run_b"] == folder + journal + (everything / "replay/run_b.h5").stat().st_size
    assert found.things["tables/numbers"] == found.lanes["tables"]
    assert found.things["episodes/teleop"] == found.lanes["episodes"]


def test_what_deduplication_saved(everything: Path) -> None:
    """Two versions share two of three files."""
    assert measure(Layout(everything)).saved == len(b"same" * 500) + len(b"{}")


def test_the_largest_come_first(everything: Path) -> None:
    sizes = list(measure(Layout(everything)).described()["lanes"].values())
    assert sizes == sorted(sizes, reverse=True)
