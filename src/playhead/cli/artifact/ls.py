"""`playhead artifact ls`: list artifacts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from playhead import strictjson
from playhead.cli import output, words
from playhead.cli.artifact.options import name_argument
from playhead.cli.options import examples, json_option, open_to_read, store_option
from playhead.cli.output import Cell, Column

if TYPE_CHECKING:
    from playhead.artifact import ArtifactVersion
    from playhead.catalog.artifacts import Listed

_EXAMPLE = "    playhead artifact save policy model.pt"


@click.command(
    "ls",
    epilog=examples(
        "playhead artifact ls",
        "playhead artifact ls policy",
        "playhead artifact ls --alias best",
        "playhead artifact ls --type dataset --json",
    ),
)
@name_argument
@click.option("--type", "kind", metavar="TYPE", help="Only artifacts of this type.")
@click.option("--alias", metavar="WORD", help="Only versions with this alias, of all artifacts or of NAME.")
@click.option("--deleted", is_flag=True, help="Of one artifact: also versions that are deleted and can be restored.")
@json_option
@store_option
def command(
    name: str | None, kind: str | None, alias: str | None, deleted: bool, as_json: bool, store_path: str | None
) -> None:
    """List artifacts, or with NAME the versions of one."""
    with open_to_read(store_path) as store:
        if alias is not None:
            found = store.artifacts.named(alias, kind)
            one = None if name is None else {version.ref for version in store.artifacts.versions(name, kind)}
            _print_versions([version for version in found if one is None or version.ref in one], as_json, name is None)
            return
        if name is not None:
            _print_versions(list(store.artifacts.versions(name, kind, deleted=deleted)), as_json)
            return
        rows = store.artifacts.list(kind)
        if as_json:
            output.print_json([_described(row) for row in rows])
        elif not rows:
            click.echo(f"No artifacts in {store.path} yet. Save one:\n\n{_EXAMPLE}", err=True)
        else:
            _print_artifacts(rows)


def _described(row: Listed) -> dict[str, Any]:
    lists = {name: strictjson.decode(getattr(row, name) or "[]") for name in ("aliases", "tags")}
    return row._asdict() | lists


def _print_artifacts(rows: Any) -> None:
    columns = [
        Column("artifact", style="bold", shrinks=True),
        Column("type"),
        Column("latest", right=True),
        Column("versions", right=True, leaves=1),
        Column("files", right=True, leaves=2),
        Column("size", right=True),
        Column("saved", leaves=3),
        Column("aliases", shrinks=True, leaves=4),
    ]
    output.print_table(columns, [_row(row) for row in rows])


def _row(row: Listed) -> list[str | Cell]:
    name = words.one_line(row.name)
    if row.problem is not None:
        return [name, row.type, "", "", "", "", "", Cell(words.one_line(row.problem), "red")]
    if row.latest is None:
        return [name, row.type, "", "0", "", "", words.age(row.updated_at), Cell("all deleted", "dim")]
    aliases = [alias for alias in strictjson.decode(row.aliases or "[]") if alias != "latest"]
    return [
        name,
        row.type,
        f"v{row.latest}",
        f"{row.versions:,}",
        f"{row.num_files or 0:,}",
        words.size(row.size_bytes or 0),
        words.age(row.updated_at),
        words.one_line(", ".join(aliases)),
    ]


def _print_versions(versions: list[ArtifactVersion], as_json: bool, are_of_several: bool = False) -> None:
    if as_json:
        output.print_json([version.summary() for version in versions])
        return
    columns = [
        Column("version", style="bold", shrinks=are_of_several),
        Column("files", right=True),
        Column("size", right=True),
        Column("saved"),
        Column("by run", leaves=1),
        Column("aliases", shrinks=True),
    ]
    rows: list[list[str | Cell]] = [
        [
            words.one_line(version.ref) if are_of_several else f"v{version.version}",
            f"{version.num_files:,}",
            words.size(version.size),
            words.age(version.created_at),
            version.created_by_run or "",
            Cell("deleted", "dim") if version.is_deleted else words.one_line(", ".join(version.aliases)),
        ]
        for version in versions
    ]
    output.print_table(columns, rows)
