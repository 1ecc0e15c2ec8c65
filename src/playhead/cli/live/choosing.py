"""Which of the runs that are live is meant."""

from __future__ import annotations

from typing import Any

from playhead import clock
from playhead.cli.resolve import LAST
from playhead.errors import NotFound
from playhead.live import LiveRun


def fitting(runs: list[LiveRun], text: str | None) -> list[LiveRun]:
    """Give the runs that a text may mean."""
    if text is None:
        return runs
    if text == LAST:
        return _newest_first(runs)[:1]
    exact = [one for one in runs if text in (one.run_id, one.metadata.run_id)]
    return exact or [one for one in runs if one.run_id.startswith(text)]


def chosen(runs: list[LiveRun], text: str | None) -> str:
    """Give the id of the one run that a text means; without a text, of the one that published last.

    Raises:
        NotFound: None is live, none is meant, or more than one.
    """
    found = fitting(runs, text) if text else _newest_first(runs)[:1]
    if not runs:
        raise NotFound("no run is live on this machine. Recorder(env, run, live=True) makes one so")
    if not found:
        raise NotFound.among("live run", text, [one.run_id for one in runs])
    if len(found) > 1:
        raise NotFound(f"{text!r} is the beginning of several: {', '.join(one.run_id for one in found[:10])}")
    return found[0].run_id


def described(run: LiveRun) -> dict[str, Any]:
    """Give a run as JSON."""
    about = run.metadata
    return {
        "run_id": run.run_id,
        "state": run.state,
        "width": run.width,
        "height": run.height,
        "reward": run.figures.reward,
        "rolling_return": run.figures.rolling_return,
        "step_rate": run.figures.step_rate,
        "step": about.step,
        "episode": about.episode,
        "episode_return": about.episode_return,
        "published_at": None if about.ts_ns is None else about.ts_ns / clock.SECOND,
        "pid": None if about.writer is None else about.writer.pid,
        "facts": dict(about.facts),
    }


def _newest_first(runs: list[LiveRun]) -> list[LiveRun]:
    return sorted(runs, key=lambda one: (one.metadata.ts_ns or 0, one.run_id), reverse=True)
