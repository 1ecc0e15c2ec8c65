"""`playhead repair`: mend what can be mended, move aside what cannot."""

from __future__ import annotations

import click

from playhead.cli import output, words
from playhead.cli.episode import progress
from playhead.cli.options import examples, json_option, store_option


@click.command("repair", epilog=examples("playhead repair", "playhead repair --fast --dry-run"))
@click.option("--fast/--full", "is_fast", default=False, help="Which check comes before it. Default: full.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@json_option
@store_option
def command(is_fast: bool, dry_run: bool, as_json: bool, store_path: str | None) -> None:
    """Mend what can be mended, move aside what cannot.

    Checks the store, then writes anew what other files say as well (the catalogue, lists, manifests), and moves what is
    damaged to .quarantine, with a note of where it came from and why. Nothing is deleted. Ends with exit code 1 if
    something is left to do.
    """
    from pathlib import Path

    from playhead import opening
    from playhead.care import verify
    from playhead.care.repairing import Deed, Repair
    from playhead.layout import Layout

    path = Path(opening.locate(store_path)).absolute()
    found = list(verify(path, full=not is_fast, watch=progress.bar(f"Checking {words.one_line(str(path))}")))
    if dry_run:
        deeds = [Deed(one.path, one.cure and f"would: {one.cure}", "" if one.cure else one.mend) for one in found]
        deeds = [deed for deed, one in zip(deeds, found, strict=True) if not one.is_harmless]
    else:
        deeds = list(Repair(Layout(path)).mend(found))
    left = [deed for deed in deeds if deed.left]
    if as_json:
        output.print_json({"path": str(path), "deeds": [deed.described() for deed in deeds]})
    else:
        for deed in deeds:
            click.secho(words.one_line(str(deed.path)), bold=True)
            kind = click.style("left", fg="yellow") if deed.left else click.style("done", fg="green")
            click.echo(f"  {kind}  {words.one_line(deed.left or deed.done)}")
        click.echo(f"{words.counted(len(deeds) - len(left), 'thing')} mended, {len(left):,} left to do.")
    if left:
        raise click.exceptions.Exit(1)
