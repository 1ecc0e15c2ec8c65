"""`playhead artifact diff`: what differs between two versions."""

from __future__ import annotations

import click

from playhead.cli import output, words
from playhead.cli.artifact.options import version_argument
from playhead.cli.options import examples, json_option, open_to_read, store_option


@click.command("diff", epilog=examples("playhead artifact diff policy:v1 policy:latest"))
@version_argument("first")
@version_argument("second")
@json_option
@store_option
def command(first: str, second: str, as_json: bool, store_path: str | None) -> None:
    """Show what differs between two versions; no file is read."""
    with open_to_read(store_path) as store:
        found = store.artifacts[first].diff(store.artifacts[second])
    if as_json:
        output.print_json(found.to_json())
        return
    if found.is_empty:
        click.echo(f"{found.first} and {found.second} hold the same.")
        return
    marks = [("+", "green", found.added), ("-", "red", found.removed), ("~", "yellow", found.changed)]
    for mark, colour, paths in marks:
        for path in paths:
            click.secho(f"{mark} {words.one_line(path)}", fg=colour)
    for old, new in found.moved.items():
        click.secho(f"> {words.one_line(old)} is now {words.one_line(new)}", fg="blue")
    for uri in found.references:
        click.secho(f"~ {words.one_line(uri)}", fg="yellow")
    for key, (ours, theirs) in found.metadata.items():
        click.echo(f"  {words.one_line(key)}: {words.value(ours)} → {words.value(theirs)}")
    click.echo(f"{found.bytes:+,} bytes")
