"""`playhead artifact alias`: words that name a version."""

from __future__ import annotations

import click

from playhead.cli import output
from playhead.cli.artifact.options import version_argument
from playhead.cli.options import examples, json_option, open_to_change, store_option


@click.command(
    "alias",
    epilog=examples(
        "playhead artifact alias policy:v3 best production",
        "playhead artifact alias policy:v3 production --remove",
    ),
)
@version_argument()
@click.argument("aliases", metavar="WORD...", nargs=-1, required=True)
@click.option("--remove", is_flag=True, help="Take the words away from it.")
@json_option
@store_option
def command(version: str, aliases: tuple[str, ...], remove: bool, as_json: bool, store_path: str | None) -> None:
    """Let words name a version; each is taken from the version that has it, in one step."""
    with open_to_change(store_path) as store:
        found = store.artifacts[version]
        if remove:
            found.unalias(*aliases)
        else:
            found.alias(*aliases)
    if as_json:
        output.print_json({"ref": found.ref, "aliases": found.aliases})
    else:
        click.echo(f"{found.ref} is now {', '.join(found.aliases) or 'without a name'}.")
