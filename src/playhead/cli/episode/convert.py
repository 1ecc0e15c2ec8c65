"""`playhead episode convert`: episodes with stored frames made re-simulated ones, and back."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from playhead.cli import output, words
from playhead.cli.episode import played
from playhead.cli.options import examples, json_option, open_to_change, store_option

if TYPE_CHECKING:
    from playhead.integrations.gymnasium.converting import Converted
    from playhead.replay import ReplayEpisode
    from playhead.store import Store

_RESIMULATED, _STORED = "resimulated", "stored"


@click.command(
    "convert",
    epilog=examples(
        "playhead episode convert last --to resimulated",
        "playhead episode convert 20260101_120000_a1b2c3-ep0004 --to stored --json",
    ),
)
@click.argument("source", metavar="RUN|EPISODE")
@click.option(
    "--to",
    "target",
    type=click.Choice([_RESIMULATED, _STORED]),
    required=True,
    help="Without frames, which are then made from states of the simulator; or with all of them.",
)
@click.option(
    "--keyframe-every", type=click.IntRange(1), default=32, show_default=True, help="Steps from one state to the next."
)
@json_option
@store_option
def command(source: str, target: str, keyframe_every: int, as_json: bool, store_path: str | None) -> None:
    """Make episodes without frames of episodes with frames, or back.

    The result is a run of its own, in the same project and under the same name; what is there is not changed. Frames
    are compared one by one, and the command ends with an error where one differs, or where an episode cannot be played
    again: without a seed, or in an environment that Gymnasium and ale-py do not bring. Nothing is left of it then.
    """
    with open_to_change(store_path) as store:
        episodes = played.find(store, source)
        run_id, result = _convert(store, episodes, target, keyframe_every)
    if as_json:
        output.print_json({"run_id": run_id, "to": target, **result._asdict()})
    else:
        _print(run_id, result, target)


def _convert(store: Store, episodes: list[ReplayEpisode], target: str, keyframe_every: int) -> tuple[str, Converted]:
    from playhead.integrations.gymnasium import converting
    from playhead.progress import watching

    origin = store.runs[episodes[0].run_id]
    steps = sum(episode.length for episode in episodes)
    options: dict[str, Any] = {"tags": [target], "notes": f"converted from {origin.id}", "config": origin.config}
    run = store.run(origin.project, origin.name, **options)
    try:
        with run, watching("Converting", steps, sys.stderr.isatty(), unit="steps") as watch:
            if target == _STORED:
                return run.id, converting.to_stored(episodes, run, watch=watch)
            return run.id, converting.to_resimulated(episodes, run, keyframe_every=keyframe_every, watch=watch)
    except BaseException:
        half = store.runs[run.id]
        half.delete("its conversion failed")
        half.purge()
        raise


def _print(run_id: str, result: Converted, target: str) -> None:
    before, after, steps = result.bytes_before, result.bytes_after, max(1, result.steps)
    click.echo(
        f"{words.counted(result.episodes, 'episode')}, {words.counted(result.steps, 'step')} {target} in {run_id}"
    )
    click.echo(f"{before:,} bytes before, {before / steps:,.0f} a step; {after:,} after, {after / steps:,.0f} a step")
    if after and before >= after:
        click.echo(f"{before / after:.1f} times smaller")
    elif before:
        click.echo(f"{after / before:.1f} times larger")
