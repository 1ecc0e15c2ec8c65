"""`playhead du`: what takes the space."""

from __future__ import annotations

import click

from playhead.cli import output, words
from playhead.cli.options import examples, json_option, store_option
from playhead.cli.output import Column

_COLUMNS = (Column("size", right=True), Column("share", right=True), Column("what", shrinks=True))


@click.command("du", epilog=examples("playhead du", "playhead du -n 50", "playhead du --json"))
@click.option("-n", "--limit", default=10, show_default=True, help="How many of each kind; 0 for all.")
@json_option
@store_option
def command(limit: int, as_json: bool, store_path: str | None) -> None:
    """Show what takes the space: by lane, project and run.

    A run counts with its replays and traces; a file with several names counts once.
    """
    from pathlib import Path

    from playhead import opening
    from playhead.care import usage
    from playhead.errors import NotAStore
    from playhead.layout import Layout

    layout = Layout(Path(opening.locate(store_path)).absolute())
    if not layout.marker.exists():
        raise NotAStore(f"{layout.root} is not a Playhead store: it has no {layout.marker.name}")
    found = usage.measure(layout)
    if as_json:
        output.print_json({"path": str(layout.root), **found.described()})
        return
    click.echo(f"{layout.root}: {words.size(found.total)}")
    for title, sizes in (("lanes", found.lanes), ("projects", found.projects), ("runs", found.runs)):
        _print(title, sizes, found.total, limit)
    _print("datasets, tables, artifacts", found.things, found.total, limit)
    if found.saved > 0:
        click.echo(f"\nKeeping each content of artifacts once has saved {words.size(found.saved)}.")


def _print(title: str, sizes: dict[str, int], total: int, limit: int) -> None:
    if not sizes:
        return
    largest = sorted(sizes.items(), key=lambda item: -item[1])
    shown = largest[: limit or None]
    output.print_heading(title)
    rows = [(words.size(size), f"{size / max(1, total):.0%}", words.one_line(name)) for name, size in shown]
    output.print_table(_COLUMNS, rows, indent=2)
    if len(largest) > len(shown):
        click.echo(f"  and {len(largest) - len(shown):,} more")
