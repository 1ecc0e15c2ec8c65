"""`playhead episode plot`: the signals of an episode."""

from __future__ import annotations

import click

from playhead.cli.episode.options import episode_argument, output_option, signals_option
from playhead.cli.episode.source import find_episode
from playhead.cli.options import examples, store_option


@click.command(
    "plot",
    epilog=examples(
        "playhead episode plot teleop/0",
        "playhead episode plot teleop/0 --signals force,gripper -o grasp.svg",
    ),
)
@episode_argument
@output_option("plot.png")
@signals_option
@store_option
def command(episode: str, target: str, signals: list[str], store_path: str | None) -> None:
    """Draw the signals of an episode.

    All but the images, one below the other on the same time. EPISODE is DATASET/INDEX, DATASET/UID or a path.
    """
    found = find_episode(store_path, episode)
    opened = found.open()

    from playhead import plots

    plots.plot_signals(opened, target, signals=signals or None, title=found.label)
    click.echo(f"Wrote {target}.")
