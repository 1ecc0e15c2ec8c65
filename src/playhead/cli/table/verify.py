"""`playhead table verify`: check every byte."""

from __future__ import annotations

import click

from playhead.cli import output, words
from playhead.cli.options import examples, json_option, store_option
from playhead.cli.table import naming
from playhead.cli.table.options import table_argument


@click.command("verify", epilog=examples("playhead table verify 2048", "playhead table verify path/to/table --json"))
@table_argument
@json_option
@store_option
def command(table: str, as_json: bool, store_path: str | None) -> None:
    """Check every byte against what was written.

    Nothing is written. Ends with exit code 1 if something is wrong, and not for what is only odd.
    """
    path = naming.find(store_path, table)
    from playhead.table import verifying

    found = verifying.verify(path)
    wrong = [finding for finding in found if not finding.is_harmless]
    if as_json:
        said = [finding._asdict() | {"path": str(finding.path)} for finding in found]
        output.print_json({"path": str(path), "findings": said})
    else:
        for finding in found:
            click.secho(words.one_line(str(finding.path)), bold=True)
            kind = click.style("note", fg="cyan") if finding.is_harmless else click.style("damage", fg="red")
            click.echo(f"  {kind}  expected {finding.expected}, found {finding.found}. {finding.remedy}")
        click.echo(f"{path}: {words.counted(len(wrong), 'problem') if wrong else 'all is well'}.")
    if wrong:
        raise click.exceptions.Exit(1)
