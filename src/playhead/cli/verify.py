"""`playhead verify`: check the whole store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from playhead.cli import output, words
from playhead.cli.episode import progress
from playhead.cli.options import examples, json_option, store_option

if TYPE_CHECKING:
    from playhead.care import Finding
    from playhead.care.finding import Thing

STYLES = {"damage": "red", "warning": "yellow", "note": "cyan"}


@click.command(
    "verify",
    epilog=examples(
        "playhead verify",
        "playhead verify --full --json",
        "playhead verify --full --subset 1/30      # each night: a month for all of it",
    ),
)
@click.option(
    "--fast/--full", "is_fast", default=True, help="Look at what is there, or read every byte. Default: fast."
)
@click.option("--subset", metavar="1/N", help="Check this share of the store, from where the last such check stopped.")
@json_option
@store_option
def command(is_fast: bool, subset: str | None, as_json: bool, store_path: str | None) -> None:
    """Check every file of the store against what is known of it.

    Nothing is mended, and nothing but the place where a --subset stopped is written. Each finding says what was
    expected where, what was found, and the command that mends it. Ends with exit code 1 if there is any that is not
    harmless.
    """
    from playhead import opening
    from playhead.care import subset as subsets
    from playhead.care import verify

    path = opening.locate(store_path)
    share = None if subset is None else subsets.parse(subset)
    bar, checked = progress.bar(f"Checking {words.one_line(str(path))}"), 0

    def watch(things: Sequence[Thing]) -> Iterable[Thing]:
        nonlocal checked
        checked = len(things)
        return bar(things)

    found = list(verify(path, full=not is_fast, share=share, watch=watch))
    wrong = [finding for finding in found if not finding.is_harmless]
    if as_json:
        said = [finding.described() for finding in found]
        output.print_json({"path": str(path), "full": not is_fast, "checked": checked, "findings": said})
    else:
        print_findings(found, path)
        how = " Bytes were not read; --full does that too." if is_fast else ""
        click.echo(f"{words.counted(checked, 'thing')} checked: {summed(found)}.{how}")
    if wrong:
        raise click.exceptions.Exit(1)


def print_findings(found: Sequence[Finding], store: Path) -> None:
    """Print findings, those of one file or folder under its name."""
    grouped: dict[Path, list[Finding]] = {}
    for finding in found:
        grouped.setdefault(finding.path, []).append(finding)
    for path, group in grouped.items():
        inside = path.is_relative_to(store) and path != store
        click.secho(words.one_line(str(path.relative_to(store) if inside else path)), bold=True)
        for finding in group:
            kind = click.style(finding.severity, fg=STYLES[finding.severity])
            text = f"expected {finding.expected}, found {finding.found}"
            click.echo(f"  {kind}  {words.one_line(text)}{'. ' + finding.mend if finding.mend else ''}")


def summed(found: Sequence[Finding]) -> str:
    """Say how much was found."""
    counts = Counter(finding.severity for finding in found)
    said = [
        f"{counts['damage']:,} damaged" if counts["damage"] else "",
        words.counted(counts["warning"], "warning") if counts["warning"] else "",
        words.counted(counts["note"], "note") if counts["note"] else "",
    ]
    return ", ".join(filter(None, said)) or "all is well"
