"""The steps of an episode as JSON lines, for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from playhead import strictjson
from playhead.errors import Empty
from playhead.export.film.pictures import choose
from playhead.export.film.steps import Step, Steps

if TYPE_CHECKING:
    from playhead.episode import Episode

_LINES = 1000  # printed at once


def print_lines(episode: Episode, signal: str | None, first: int | None, stop: int | None) -> None:
    """Print a line a step.

    Args:
        episode: The episode.
        signal: Pictures whose times count where there are no rewards; none are needed.
        first: The first step.
        stop: The step before which it ends.
    """
    steps = _steps(episode, signal)
    chosen = steps.between(first, stop)
    for start in range(chosen.start, chosen.stop, _LINES):
        block = range(start, min(start + _LINES, chosen.stop))
        click.echo(b"\n".join(strictjson.encode(_described(steps[number])) for number in block))


def _steps(episode: Episode, signal: str | None) -> Steps:
    try:
        pictures = choose(episode, signal)
    except Empty:
        if signal is not None:
            raise
        return Steps(episode)
    return Steps(episode, pictures.timestamps)


def _described(step: Step) -> dict[str, Any]:
    described = {
        "step": step.number,
        "ts_ns": step.ts_ns,
        "action": strictjson.plain(step.action),
        "reward": strictjson.plain(step.reward),
        "terminated": step.terminated,
        "truncated": step.truncated,
    }
    if step.action_name is not None:
        described["action_name"] = step.action_name
    return described if step.agent is None else {"agent": strictjson.plain(step.agent)} | described
