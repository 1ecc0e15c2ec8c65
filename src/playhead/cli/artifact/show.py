"""`playhead artifact show`: one version in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from playhead.cli import output, words
from playhead.cli.artifact.options import version_argument
from playhead.cli.options import examples, json_option, open_to_read, store_option
from playhead.cli.output import Column
from playhead.layout import windows_problems

if TYPE_CHECKING:
    from playhead.artifact import ArtifactVersion

_MOST = 50


@click.command(
    "show", epilog=examples("playhead artifact show policy:latest", "playhead artifact show policy:v3 --json")
)
@version_argument()
@click.option("--verify", is_flag=True, help="Also read every file and compare it with its checksum.")
@json_option
@store_option
def command(version: str, verify: bool, as_json: bool, store_path: str | None) -> None:
    """Show one version: its files, metadata and checksums."""
    with open_to_read(store_path) as store:
        found = store.artifacts[version]
        problems = [str(problem) for problem in found.verify()] if verify else []
        if as_json:
            files = [{"path": entry.path, "size": entry.size, "digest": entry.digest} for entry in found.manifest.files]
            references = [{"uri": entry.uri, "checksum": entry.checksum} for entry in found.references]
            more = {"files": files, "references": references, "path": str(found.path)}
            output.print_json({**found.summary(), **more, **({"problems": problems} if verify else {})})
        else:
            _print(found)
            for problem in problems:
                click.secho(words.one_line(problem), fg="red")
            if verify and not problems:
                click.secho("Every file is as it was saved.", fg="green")
        if problems:
            raise SystemExit(1)


def _print(version: ArtifactVersion) -> None:
    click.secho(version.ref, bold=True)
    output.print_facts(
        [
            ("aliases", words.one_line(", ".join(version.aliases))),
            ("saved", words.moment(version.created_at)),
            ("by run", version.created_by_run or ""),
            ("used before", words.one_line(", ".join(version.parents))),
            ("size", f"{words.size(version.size)} in {words.counted(version.num_files, 'file')}"),
            ("tags", words.one_line(", ".join(version.tags))),
            ("about", words.one_line(version.description)),
            ("folder", words.one_line(str(version.path))),
            ("status", "deleted" if version.is_deleted else ""),
        ]
    )
    if version.metadata:
        output.print_heading("Metadata")
        output.print_facts((words.one_line(key), words.value(value)) for key, value in version.metadata.items())
    if version.files:
        output.print_heading("Files")
        shown = version.manifest.files[:_MOST]
        rows = [[words.one_line(entry.path), words.size(entry.size), entry.sha256[:16]] for entry in shown]
        output.print_table([Column("path", shrinks=True), Column("size", right=True), Column("sha256")], rows, indent=2)
        if len(version.files) > _MOST:
            click.echo(f"  … and {len(version.files) - _MOST:,} more; --json lists all")
    if version.references:
        output.print_heading("References")
        output.print_facts((words.one_line(entry.uri), entry.checksum or "no checksum") for entry in version.references)
    problems = list(windows_problems(version.files))
    if problems:
        click.echo()
        click.echo(f"Not for Windows: {words.one_line(problems[0])}" + (" …" if len(problems) > 1 else ""))
