"""`playhead artifact lineage`: where a version comes from, and what came from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from playhead.cli import output, words
from playhead.cli.artifact.options import version_argument
from playhead.cli.options import examples, json_option, open_to_read, store_option

if TYPE_CHECKING:
    from playhead.artifact.lineage import Lineage, Node
    from playhead.store import Store


@click.command(
    "lineage",
    epilog=examples(
        "playhead artifact lineage policy:latest",
        "playhead artifact lineage policy:v3 --dot | dot -Tsvg > lineage.svg",
    ),
)
@version_argument()
@click.option("--depth", type=click.IntRange(min=1), metavar="N", help="Go at most N steps.")
@click.option("--dot", "as_dot", is_flag=True, help="Print it in the language of Graphviz.")
@json_option
@store_option
def command(version: str, depth: int | None, as_dot: bool, as_json: bool, store_path: str | None) -> None:
    """Show which runs and versions a version comes from, and what came from it.

    A run comes from the versions that it used, and a version from the run that made it.
    """
    with open_to_read(store_path) as store:
        lineage = store.artifacts[version].lineage(depth=depth)
        if as_json:
            output.print_json(lineage.to_json())
        elif as_dot:
            click.echo(lineage.to_dot())
        else:
            _print(store, lineage)


def _print(store: Store, lineage: Lineage) -> None:
    click.secho(lineage.root.id, bold=True)
    for title, is_upstream in (("comes from", True), ("used for", False)):
        rows = list(lineage.tree(is_upstream=is_upstream))
        if not rows:
            click.echo(f"  {title}: nothing recorded")
            continue
        click.echo(f"  {title}:")
        for depth, node, was_shown in rows:
            again = click.style("  (see above)", dim=True) if was_shown else ""
            click.echo("  " + "  " * depth + _label(store, node) + again)


def _label(store: Store, node: Node) -> str:
    if node.kind == "artifact":
        return words.one_line(node.id)
    run = store.runs.get(node.id)
    name = "purged" if run is None else f"{run.project}/{run.name}, {run.status}"
    return f"run {node.id} " + click.style(f"({words.one_line(name)})", dim=True)
