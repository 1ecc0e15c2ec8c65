"""`playhead serve`: the page and the API over one store."""

from __future__ import annotations

import os
import secrets
import sys
from typing import TYPE_CHECKING

import click

from playhead.cli import output
from playhead.cli.options import PathType, examples, json_option, store_option
from playhead.errors import MissingExtra, ReadOnly

if TYPE_CHECKING:
    from pathlib import Path

    from playhead.store import Store


def _checked_token(_context: click.Context, _parameter: click.Parameter, given: str | None) -> str | None:
    if given is not None and not (given.isascii() and given.isprintable()):
        raise click.BadParameter("a token is made of printable ASCII characters")
    return given


@click.command(
    "serve",
    epilog=examples(
        "playhead serve",
        "playhead serve demo-store --port 9000 --no-open",
        "playhead serve /data/store --host 0.0.0.0 --read-only",
    ),
)
@click.argument("folder", metavar="[STORE]", required=False, type=PathType())
@click.option("--host", default="127.0.0.1", metavar="NAME", help="The address to listen on; 127.0.0.1 by default.")
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="N", help="The port. Default: 8765, or the next that is free."
)
@click.option("--open/--no-open", "wants_browser", default=None, help="Open a browser, or not. Default: in a desktop.")
@click.option(
    "--token",
    metavar="TEXT",
    callback=_checked_token,
    help="What each request has to show. Made where others can reach the server.",
)
@click.option("--read-only", is_flag=True, help="Change nothing: no tags, no notes, no deleting.")
@click.option("--page", type=PathType(exists=True, file_okay=False), hidden=True, help="Another built page.")
@json_option
@store_option
def command(
    folder: str | None,
    host: str,
    port: int | None,
    wants_browser: bool | None,
    token: str | None,
    read_only: bool,
    page: str | None,
    as_json: bool,
    store_path: str | None,
) -> None:
    """Serve a store as a page in the browser, until Ctrl-C.

    STORE is a folder; without it, PLAYHEAD_STORE, else the store around the current folder, else ./store. On this
    machine alone anyone may look; with another --host each request has to show a token, which the printed address
    holds. /api/openapi.json describes the API.
    """
    if folder and store_path:
        raise click.UsageError("the store is named twice: as STORE and by --store.")
    try:
        from playhead.web import app, security, server
    except ImportError as error:
        raise MissingExtra(error.name or "starlette", "web") from error

    from pathlib import Path

    with _opened(folder or store_path, read_only) as store:
        is_local = server.is_loopback(host)
        if not token and not is_local:
            token = secrets.token_urlsafe(24)
        listening = server.bind(host, port)
        with listening:
            made = app.make_app(
                store,
                page=Path(page) if page else None,
                token=token or None,
                hosts=security.LOOPBACK | {host} if is_local else None,
            )
            url = _with_token(server.address_of(listening, _shown_name(host)), token)
            _announce(store, url, as_json)
            if _opens_browser() if wants_browser is None else wants_browser:
                click.launch(url)
            server.serve(made, listening)


def _opened(given: str | None, read_only: bool) -> Store:
    """Open the store to change it where that is possible, else to read it; one that does not exist is not made."""
    from playhead import opening
    from playhead.layout import Layout

    path: Path = opening.locate(given)
    if read_only or not Layout(path).marker.is_file():
        return opening.open(path, mode="r")
    try:
        return opening.open(path, mode="a")
    except ReadOnly:
        return opening.open(path, mode="r")


def _shown_name(host: str) -> str | None:
    """Give the name under which others reach a server that listens on all addresses."""
    if host in ("0.0.0.0", "::", ""):  # noqa: S104 - compared, not bound
        import socket

        return socket.gethostname()
    return host


def _with_token(url: str, token: str | None) -> str:
    from urllib.parse import quote

    return f"{url}?token={quote(token, safe='')}" if token else url


def _announce(store: Store, url: str, as_json: bool) -> None:
    if as_json:
        output.print_json({"url": url, "store": str(store.path), "mode": store.mode, "pid": os.getpid()})
    else:
        only = " (only to read)" if store.mode == "r" else ""
        click.echo(f"Serving {store.path}{only} at {url}  Ctrl-C ends it.")
    sys.stdout.flush()


def _opens_browser() -> bool:
    """Tell whether somebody sits in front of this: a terminal, and a screen to open a browser on."""
    screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")) or sys.platform == "darwin"
    return sys.stdout.isatty() and screen and "SSH_CONNECTION" not in os.environ
