"""`playhead compact`: seal journals, make the store smaller."""

from __future__ import annotations

import click

from playhead.cli import output, words
from playhead.cli.episode import progress
from playhead.cli.errors import complain
from playhead.cli.options import examples, json_option, open_to_change, store_option


@click.command(
    "compact",
    epilog=examples(
        "playhead compact --store path/to/store",
        "playhead compact --recompress 15 --older-than 30",
    ),
)
@click.option(
    "--recompress",
    type=click.IntRange(1, 19),
    metavar="LEVEL",
    help="Also compress sealed replays with this level of Zstandard, 1 to 19. Slow, and as quick to read as before.",
)
@click.option(
    "--older-than",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="DAYS",
    help="Compress only replays that were sealed so many days ago.",
)
@json_option
@store_option
def command(recompress: int | None, older_than: float, as_json: bool, store_path: str | None) -> None:
    """Seal what crashes left in journals, and make the store smaller.

    Playhead reads journals as they are: sealing is for other programs, which read HDF5 files only. Then the catalogue
    is written without holes. With --recompress, replays are written anew with a stronger compression, compared with
    what they were, and only then replaced. Recordings in progress are left alone. Ends with exit code 1 if something is
    damaged; all else is done.
    """
    with open_to_change(store_path) as store:
        from playhead.care import optimizing

        bar = progress.bar("Compressing")
        done = optimizing.compact(store._home, level=recompress, older_than=older_than * 86400, watch=bar)
    if as_json:
        problems = [str(problem) for problem in done.problems]
        saved = {"recompressed": done.recompressed, "vacuumed": done.vacuumed}
        output.print_json({"sealed": done.sealed, **saved, "problems": problems})
    else:
        _print(done.sealed, done.recompressed, done.vacuumed)
        for problem in done.problems:
            complain(str(problem))
    if done.problems:
        raise click.exceptions.Exit(1)


def _print(sealed: list[str], recompressed: dict[str, int], vacuumed: int) -> None:
    click.echo(f"Sealed {words.counted(len(sealed), 'replay')}.")
    if recompressed:
        saved = words.size(sum(recompressed.values()))
        click.echo(f"Compressed {words.counted(len(recompressed), 'replay')}, {saved} smaller.")
    if vacuumed > 0:
        click.echo(f"The catalogue is {words.size(vacuumed)} smaller.")
