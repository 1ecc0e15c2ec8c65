"""`playhead info`: versions, extras, and the store."""

from __future__ import annotations

import platform
import re
import sqlite3
from collections.abc import Iterator
from importlib import metadata
from typing import Any

import click

import playhead
from playhead import wording
from playhead.cli import output, words
from playhead.cli.options import examples, json_option, store_option
from playhead.native import repeats

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)[^;]*(?:;.*extra\s*==\s*['\"](?P<extra>[\w-]+)['\"])?")


@click.command(
    "info",
    epilog=examples(
        "playhead info --json",
    ),
)
@json_option
@store_option
def command(as_json: bool, store_path: str | None) -> None:
    """Show versions, extras, and the store's format and size.

    Works without a store too.
    """
    software = _software()
    if not as_json:
        _print_software(software)
    store = _store(store_path)
    if as_json:
        output.print_json(software | {"store": store})
    else:
        _print_store(store)


def _software() -> dict[str, Any]:
    needed: dict[str | None, list[str]] = {}
    for text in metadata.requires("playhead") or []:
        if requirement := _REQUIREMENT.match(text):
            needed.setdefault(requirement["extra"], []).append(requirement["name"])
    return {
        "playhead": playhead.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "sqlite": sqlite3.sqlite_version,
        "native": repeats.missing() is None,
        "dependencies": _versions(needed.pop(None, [])),
        "extras": {str(extra): _versions(names) for extra, names in sorted(needed.items(), key=str)},
    }


def _versions(names: list[str]) -> dict[str, str | None]:
    return {name: _version(name) for name in names}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _store(given: str | None) -> dict[str, Any] | None:
    from playhead import opening
    from playhead.errors import NotAStore

    try:
        with opening.open(opening.locate(given), mode="r") as store:
            return store.info()
    except NotAStore as absence:
        click.echo(f"\nNo store: {absence}", err=True)
        return None


def _print_software(software: dict[str, Any]) -> None:
    click.secho(f"Playhead {software['playhead']}", bold=True)
    versions = {
        "python": f"{software['python']} on {software['platform']}",
        "sqlite": software["sqlite"],
        "part in C": repeats.missing() or "in use",
    }
    dependencies = {name: version or "missing" for name, version in software["dependencies"].items()}
    output.print_facts((versions | dependencies).items())
    output.print_heading("Extras")
    output.print_facts((extra, _extra(extra, found)) for extra, found in software["extras"].items())


def _extra(name: str, found: dict[str, str | None]) -> str:
    parts = ", ".join(f"{package} {version}" for package, version in found.items() if version)
    missing = ", ".join(package for package, version in found.items() if version is None)
    if not missing:
        return parts
    install = f"{missing} missing: pip install 'playhead[{name}]'"
    return f"{parts}; {install}" if parts else install


def _print_store(store: dict[str, Any] | None) -> None:
    if store is None:
        return
    output.print_heading("Store")
    journal = "a rollback journal, safe on a network" if store["network"] else "a write-ahead log"
    unreadable = store["unreadable_lines"]
    deleted = f", and {store['deleted_runs']:,} deleted" if store["deleted_runs"] else ""
    output.print_facts(
        [
            ("path", store["path"]),
            ("format", str(store["format"])),
            ("id", str(store["id"] or "")),
            ("runs", f"{store['runs']:,}{deleted}"),
            ("points", f"{store['points']:,}"),
            *_holdings(store),
            ("size", words.size(store["bytes"])),
            ("file system", f"{store['file_system'] or 'unknown'}; the catalogue keeps {journal}"),
            ("damage", f"{words.counted(unreadable, 'line')} of event files could not be read" if unreadable else ""),
        ]
    )


def _holdings(store: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Say how much there is of each kind, where there is any."""
    if store["replay_episodes"]:
        played = words.counted(store["replay_episodes"], "episode")
        yield "played", f"{played}, {words.counted(store['steps'], 'step')}"
    if store["datasets"]:
        yield "episodes", f"{store['episodes']:,} in {words.counted(store['datasets'], 'dataset')}"
    if store["traces"]:
        yield "traces", f"{store['traces']:,}"
    if store["tables"]:
        yield "tables", f"{store['tables']:,}"
    if store["artifacts"]:
        yield "artifacts", f"{store['artifacts']:,}, {words.counted(store['artifact_versions'], 'version')}"
    yield "live", wording.listed(store["live"])
