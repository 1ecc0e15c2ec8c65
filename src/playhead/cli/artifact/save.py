"""`playhead artifact save`: a new version of files or folders."""

from __future__ import annotations

from typing import Any

import click

from playhead import strictjson
from playhead.cli import output, words
from playhead.cli.options import PathType, examples, json_option, open_to_change, store_option

_TYPES = ("model", "dataset", "config", "code", "custom")


@click.command(
    "save",
    epilog=examples(
        "playhead artifact save policy model.pt --alias best --meta accuracy=0.93",
        "playhead artifact save frames data/ --type dataset --exclude '*.tmp'",
        "playhead artifact save imagenet --type dataset --ref s3://bucket/imagenet.tar",
        "playhead artifact save training --type dataset --ref playhead://tables/pong",
    ),
)
@click.argument("name")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=PathType())
@click.option("--type", "kind", type=click.Choice(_TYPES), default="model", show_default=True, help="What it is.")
@click.option("--alias", "aliases", multiple=True, metavar="WORD", help="A word that names this version from now on.")
@click.option("--tag", "tags", multiple=True, metavar="WORD", help="A word to find it by.")
@click.option("--meta", multiple=True, metavar="KEY=VALUE", help="A value of your own; JSON, else a text.")
@click.option("--about", default="", metavar="TEXT", help="A description.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out of folders what fits, such as '*.tmp'.")
@click.option("--ref", "refs", multiple=True, metavar="URI[=CHECKSUM]", help="What lies elsewhere, without a copy.")
@json_option
@store_option
def command(
    name: str,
    paths: tuple[str, ...],
    kind: str,
    aliases: tuple[str, ...],
    tags: tuple[str, ...],
    meta: tuple[str, ...],
    about: str,
    exclude: tuple[str, ...],
    refs: tuple[str, ...],
    as_json: bool,
    store_path: str | None,
) -> None:
    """Save files or folders as a new version.

    A folder alone gives its files; of several PATHs, folders keep their names. Contents that the store has already take
    no space, and files that are as they were when they were last saved are not read again.
    """
    if not paths and not refs:
        raise click.UsageError("say what to save: files, folders, or --ref.")
    from playhead.artifact import Artifact
    from playhead.artifacts import drafted

    draft = Artifact(name, kind, description=about, metadata=dict(_value(text) for text in meta))
    for text in refs:
        uri, _, checksum = text.partition("=sha256:")
        draft.add_reference(uri, f"sha256:{checksum}" if checksum else None)
    drafted(draft, paths[0] if len(paths) == 1 else paths, tags=tags, exclude=exclude)
    with open_to_change(store_path) as store:
        version = store.artifacts.save(draft, aliases=aliases)
        if as_json:
            output.print_json(version.summary())
            return
    size = f"{words.size(version.size)} in {words.counted(version.num_files, 'file')}"
    click.echo(f"Saved {version.ref}, {size}.")
    click.echo(f"To get it back: playhead artifact get {name}:v{version.version} FOLDER")


def _value(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise click.UsageError(f"--meta is KEY=VALUE, not {text!r}.")
    try:
        return key, strictjson.decode(value)
    except strictjson.JSONDecodeError:
        return key, value
