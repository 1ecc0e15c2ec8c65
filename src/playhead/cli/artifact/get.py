"""`playhead artifact get`: the files of a version."""

from __future__ import annotations

from pathlib import Path

import click

from playhead.cli import output, words
from playhead.cli.artifact.options import version_argument
from playhead.cli.options import PathType, examples, json_option, open_to_read, store_option


@click.command(
    "get", epilog=examples("playhead artifact get policy:latest", "playhead artifact get policy:v3 models/ --overwrite")
)
@version_argument()
@click.argument("target", metavar="[FOLDER]", required=False, type=PathType(path_type=Path))
@click.option("--link", is_flag=True, help="Give the store's own files, without a copy: never write to them.")
@click.option("--overwrite", is_flag=True, help="Replace files that are there with another content.")
@json_option
@store_option
def command(
    version: str, target: Path | None, link: bool, overwrite: bool, as_json: bool, store_path: str | None
) -> None:
    """Write the files of a version into a folder.

    Each file is compared with its checksum on the way; if one is not what was saved, none is written. Without FOLDER,
    a new one is made here, named after the version.
    """
    with open_to_read(store_path) as store:
        found = store.artifacts[version]
        folder = found.download(target or Path(f"{found.name}-v{found.version}"), link=link, overwrite=overwrite)
        if as_json:
            output.print_json({"ref": found.ref, "folder": str(folder.absolute()), "files": found.files})
            return
    click.echo(f"Wrote {words.counted(found.num_files, 'file')} of {found.ref} into {folder}, each checked.")
