"""Server-sent events: what changes, told to a page that is open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import orjson
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from playhead.web.changes import Changes, listen
from playhead.web.errors import Refused
from playhead.web.limits import RETRY_S, Streams
from playhead.web.liveness import Liveness
from playhead.web.routes import Answer, Ask, Route, flag, names
from playhead.web.schema import FLAG, FLOAT, INTEGER, TEXT, by_name, maybe, record, several
from playhead.web.site import Site

QUIET_SECONDS = 15  # after so long a comment is sent, by which both sides notice a dead connection
MOST_RUNS = 1_000


def changes_of(site: Site) -> Changes:
    """Give what watches the store."""

    def make() -> Changes:
        made = Changes(site.home, site.keep(Liveness, lambda: Liveness(site.home.layout)))
        site.before_end(made.end)
        return made

    return site.keep(Changes, make)


async def tell_changes(ask: Ask) -> Response:
    """Tell what changes until the page is closed.

    Raises:
        Refused: This client, or all together, have too many streams.
    """
    streams = ask.site.keep(Streams, lambda: Streams(ask.site.limits))
    if not streams.enter(ask.client):
        message = "the server has too many event streams; ask for /api/changes now and then instead"
        raise Refused(503, message, {"Retry-After": str(RETRY_S)})
    told = _told(changes_of(ask.site), ask["runs"], ask["list"])
    return _Stream(told, streams, ask.client)


class _Stream(StreamingResponse):
    """An answer that goes on until either side ends it, and then gives its place back."""

    def __init__(self, told: AsyncIterator[bytes], streams: Streams, client: str) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(told, headers=headers, media_type="text/event-stream")
        self._streams = streams
        self._client = client

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.leave(self._client)


def read_changes(ask: Ask) -> Any:
    """Give how everything is now, as the first event does."""
    return changes_of(ask.site).now(ask["runs"], wants_list=ask["list"])


async def _told(changes: Changes, runs: tuple[str, ...], wants_list: bool) -> AsyncIterator[bytes]:
    listener = listen(changes, runs, wants_list=wants_list)
    cursor = 0
    try:
        yield b"retry: 2000\n\n"
        while not listener.is_over:
            try:
                await asyncio.wait_for(listener.ready.wait(), QUIET_SECONDS)
            except TimeoutError:
                yield b": still here\n\n"
                continue
            news = listener.take()
            if news is not None:
                cursor += 1
                yield b"event: change\nid: %d\ndata: %b\n\n" % (cursor, orjson.dumps(news))
    finally:
        changes.leave(listener)


_WATCHED = (
    names("runs", "The runs to watch.", longest=128, most=MOST_RUNS),
    flag("list", "Watch the list of all runs too."),
)
_PULSE = record(
    {
        "points": INTEGER,
        "status": TEXT,
        "is_stale": FLAG,
        "live": several(TEXT),
        "log_bytes": INTEGER,
        "episodes": INTEGER,
        "media": INTEGER,
        "updated_at": FLOAT,
    }
)
_LIST = record({"total": INTEGER, "running": INTEGER, "deleted": INTEGER, "newest": maybe(TEXT)})

ROUTES = (
    Route(
        "GET",
        "/api/changes",
        read_changes,
        "Tell how runs are now, as the first event of `/api/events` does: for who cannot listen.",
        parameters=_WATCHED,
        answer=Answer(
            "The runs, and the list if it was asked for.",
            record({"runs": by_name(_PULSE)}, optional={"list": _LIST}),
        ),
    ),
    Route(
        "GET",
        "/api/events",
        tell_changes,
        "Tell what changes, as server-sent events: once at the start, then whenever something did.",
        parameters=_WATCHED,
        answer=Answer("Events named `change`.", types=("text/event-stream",)),
    ),
)
