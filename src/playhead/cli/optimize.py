"""`playhead optimize`: keep the catalogue quick."""

from __future__ import annotations

import click

from playhead.cli import output
from playhead.cli.options import examples, json_option, open_to_change, store_option


@click.command("optimize", epilog=examples("playhead optimize --dry-run", "playhead optimize"))
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@json_option
@store_option
def command(dry_run: bool, as_json: bool, store_path: str | None) -> None:
    """Keep the catalogue quick: statistics, fragmentation and log.

    Says what would be good for it, and then does it.
    """
    with open_to_change(store_path) as store:
        from playhead.care import optimizing

        steps = optimizing.steps(store._home)
        for step in steps:
            if not as_json:
                click.echo(f"{click.style(step.name, bold=True)}  {step.why}")
            if not dry_run:
                step.do()
    if as_json:
        said = [{"name": step.name, "why": step.why} for step in steps]
        output.print_json({"dry_run": dry_run, "steps": said})
    elif not steps:
        click.echo("Nothing would make it quicker.")
