"""`playhead gc`: remove what nothing needs any more."""

from __future__ import annotations

import click

from playhead.cli import output, words
from playhead.cli.errors import complain
from playhead.cli.options import examples, json_option, open_to_change, store_option


@click.command("gc", epilog=examples("playhead gc --dry-run", "playhead gc", "playhead gc --older-than 24"))
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option(
    "--older-than",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    metavar="HOURS",
    help="Leave alone what somebody touched within this time.",
)
@json_option
@store_option
def command(dry_run: bool, older_than: float, as_json: bool, store_path: str | None) -> None:
    """Remove what nothing needs any more.

    Contents that no version of an artifact holds, leftovers of processes that died, journals of runs that are gone.
    Programs may record and save meanwhile. What is in the recycle bin stays (playhead purge), and so does what a repair
    moved aside.
    """
    with open_to_change(store_path) as store:
        from playhead.care import collecting

        done = collecting.collect(store._home, dry_run=dry_run, older_than=older_than * 3600)
    total = sum(found.bytes for found in done.garbage)
    if as_json:
        said = [found.described() for found in done.garbage]
        output.print_json({"dry_run": dry_run, "bytes": total, "garbage": said, "problems": done.problems})
    else:
        for found in done.garbage:
            click.echo(f"{words.one_line(str(found.path))}  {words.size(found.bytes)}, {found.why}")
        verb = "Would remove" if dry_run else "Removed"
        click.echo(f"{verb} {words.counted(len(done.garbage), 'thing')}, {words.size(total)}.")
        for problem in done.problems:
            complain(problem)
    if done.problems:
        raise click.exceptions.Exit(1)
