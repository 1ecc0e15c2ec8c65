"""`playhead episode sheet`: a contact sheet of an episode."""

from __future__ import annotations

import click

from playhead.cli.episode.options import episode_argument, output_option, signals_option
from playhead.cli.episode.source import find_episode
from playhead.cli.options import examples, store_option


@click.command(
    "sheet",
    epilog=examples(
        "playhead episode sheet teleop/0",
        "playhead episode sheet teleop/-1 -o last.png --frames 12",
    ),
)
@episode_argument
@output_option("sheet.png")
@signals_option
@click.option(
    "--frames",
    type=click.IntRange(1, 12),
    default=8,
    metavar="N",
    help="At most so many frames a camera; 8 by default.",
)
@store_option
def command(episode: str, target: str, signals: list[str], frames: int, store_path: str | None) -> None:
    """Draw a contact sheet: frames and signals on one page.

    For each camera a strip of frames, and below them the other signals on the same time. EPISODE is DATASET/INDEX,
    DATASET/UID or a path.
    """
    found = find_episode(store_path, episode)
    opened = found.open()

    from playhead import plots

    plots.contact_sheet(opened, target, signals=signals or None, frames=frames, title=found.label)
    click.echo(f"Wrote {target}.")
