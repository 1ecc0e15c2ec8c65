"""`playhead compact`: seal what crashed recordings left in journals."""

from __future__ import annotations

import click

from playhead.cli import output, words
from playhead.cli.options import examples, json_option, store_option


@click.command(
    "compact",
    epilog=examples(
        "playhead compact --store path/to/store",
    ),
)
@json_option
@store_option
def command(as_json: bool, store_path: str | None) -> None:
    """Seal what crashed recordings left in journals into HDF5 files.

    Playhead reads journals as they are: this is for other programs, which read HDF5 files only.
    Recordings in progress are left alone. Ends with exit code 1 if a journal is damaged; all others are sealed.
    """
    from playhead import opening

    with opening.open(opening.locate(store_path)) as store:
        done = store.compact()
    if as_json:
        output.print_json({"sealed": done})
    else:
        click.echo(f"Sealed {words.counted(len(done), 'replay')}.")
