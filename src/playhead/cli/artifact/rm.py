"""`playhead artifact rm`: delete versions."""

from __future__ import annotations

import click

from playhead.cli import output, words
from playhead.cli.artifact.options import version_argument
from playhead.cli.options import examples, json_option, open_to_change, store_option


@click.command(
    "rm",
    epilog=examples(
        'playhead artifact rm policy:v3 --reason "wrong data"',
        "playhead artifact rm policy:v3 --restore",
        "playhead artifact rm policy:v3 --purge",
    ),
)
@version_argument("versions", many=True)
@click.option("--reason", metavar="TEXT", default="", help="Why; kept beside the version.")
@click.option("--restore", is_flag=True, help="Take deleted versions back.")
@click.option("--purge", is_flag=True, help="Remove for good, with the contents that no other version holds.")
@json_option
@store_option
def command(
    versions: tuple[str, ...], reason: str, restore: bool, purge: bool, as_json: bool, store_path: str | None
) -> None:
    """Delete versions, so that they can be restored, or remove them for good.

    The word latest then names the newest version that is left. Nothing is deleted unless every VERSION is found.
    """
    if restore and purge:
        raise click.UsageError("--restore and --purge exclude each other.")
    freed = 0
    with open_to_change(store_path) as store:
        found = [store.artifacts[version] for version in versions]
        for version in found:
            if restore:
                version.restore()
            elif purge:
                freed += version.purge()
            else:
                version.delete(reason)
    refs = [version.ref for version in found]
    done = "restored" if restore else "purged" if purge else "deleted"
    if as_json:
        output.print_json({done: refs} | ({"freed_bytes": freed} if purge else {}))
        return
    click.echo(f"{done.capitalize()} {', '.join(refs)}." + (f" The pool lost {words.size(freed)}." if purge else ""))
    if done == "deleted":
        click.echo(f"To undo: playhead artifact rm --restore {' '.join(refs)}")
