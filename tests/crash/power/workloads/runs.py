"""Metrics, texts, images, edits, deletion and rebuilding of runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import playhead
from tests.crash.power.workloads.whole import hold_together, most

POINTS = 24
IMAGE = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)


def work(path: Path, tell: Callable[[str], None]) -> None:
    """Record, flush, end, edit, delete, restore, purge, resume, attach, rebuild."""
    with playhead.open(path) as store:
        with store.run("p", "first", run_id="first", config={"lr": 0.1}, tags=["a"], environment=False) as run:
            tell("made first")
            run.set_primary_metric("loss", "min")
            tell("measured first")
            for step in range(POINTS):
                run.log({"loss": POINTS - step, "x": step}, step=step)
                if step % 6 == 5:
                    run.flush(sync=step % 12 == 11)
                    if step % 12 == 11:
                        tell(f"points {step + 1}")
            run.log_text("hello")
            run.log_image("image", IMAGE)
            run.summary(note="x")
            tell("summed up first")
        tell("ended first")
        with store.run("p", "second", run_id="second", environment=False) as run:
            run.log({"loss": 1.0})
        store.runs["second"].delete("try")
        tell("deleted second")
        store.runs.deleted["second"].restore()
        tell("restored second")
        store.runs["second"].tag("kept")
        store.runs["second"].note("written")
        tell("tagged second")
        with store.run("p", "third", run_id="third", environment=False) as run:
            run.log({"loss": 2.0})
        store.runs["third"].delete()
        store.purge()
        tell("purged third")
        with store.run("p", "fourth", run_id="fourth", environment=False) as run:
            run.log({"loss": 3.0})
        store.runs["fourth"].delete("bad")
        tell("deleted fourth")
        with store.run("p", "first", run_id="first", resume=True, environment=False) as run:
            run.log({"loss": 0.5, "x": POINTS}, step=POINTS)
            with store.attach("first") as rank:
                rank.log({"rank": 1})
            tell("ranked first")
            run.flush(sync=True)
            tell(f"points {POINTS + 1}")
        tell("resumed first")
    playhead.rebuild(path)
    tell("rebuilt")


def hold(path: Path, told: Sequence[str]) -> None:
    """All that was promised is there, and nothing else than what was logged."""
    with playhead.open(path) as store:
        assert list((path / ".recording").glob("*.json")) == []  # nothing is left to recover
        if "made first" in told:
            run = store.runs["first"]
            assert run.status in ("finished", "failed"), run.status
            assert run.config == {"lr": 0.1}
            assert run.tags == ["a"]
            check_points(run, POINTS if "ended first" in told else most(told, "points"))
            if "measured first" in told:
                assert (run.primary_metric, *_best(run)) == ("loss", *expected_best(run))
            if "summed up first" in told:
                assert run.summary()["note"] == "x"
            if "ended first" in told:
                logs = (run.path / "logs.txt").read_text()
                assert "hello" in logs, f"the text that was logged is gone: {logs!r}"
                images = [image.path.read_bytes()[:4] for image in run.media]
                assert images == [b"\x89PNG"], f"the image is gone: {images}"
                assert run.status == "finished" or "resumed first" not in told
            if "ranked first" in told:
                assert run["rank"].values.tolist() == [1.0]
        if "tagged second" in told:
            assert store.runs["second"].tags == ["kept"]
            assert store.runs["second"].notes == "written"
            assert store.runs["second"]["loss"].values.tolist() == [1.0]
        elif "deleted second" in told:
            assert "second" in store.runs.deleted or "second" in store.runs
        if "restored second" in told:
            assert "second" in store.runs
            assert "second" not in store.runs.deleted
        if "purged third" in told:
            assert "third" not in store.runs
            assert "third" not in store.runs.deleted
            assert not (path / "p/third/runs/third").exists(), "what was purged is there again"
        if "deleted fourth" in told:
            assert "fourth" not in store.runs
            assert store.runs.deleted["fourth"]["loss"].values.tolist() == [3.0]
    hold_together(path)


def _best(run: playhead.Run) -> tuple[float | None, int | None]:
    return run.best, run.best_step


def expected_best(run: playhead.Run) -> tuple[float | None, int | None]:
    """Return the smallest loss that is there, and its step."""
    if "loss" not in run.metric_names():
        return None, None
    losses = [*zip(run["loss"].values.tolist(), run["loss"].steps.tolist(), strict=True)]
    return min(losses, default=(None, None))


def check_points(run: playhead.Run, least: int) -> None:
    """Every value is the one that was logged at its step; the first ones are all there."""
    found = (
        dict(zip(run["x"].steps.tolist(), run["x"].values.tolist(), strict=True)) if "x" in run.metric_names() else {}
    )
    assert all(step == value for step, value in found.items()), found
    assert {*range(least)} <= {*found}, f"{least} were promised, {sorted(found)} are there"
