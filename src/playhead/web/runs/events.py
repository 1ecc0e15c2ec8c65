"""Server-sent events: what changes, told to a page that is open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import orjson
from starlette.responses import Response, StreamingResponse

from playhead.web.changes import Changes, listen
from playhead.web.liveness import Liveness
from playhead.web.routes import Answer, Ask, Route, flag, names
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
    """Tell what changes until the page is closed."""
    told = _told(changes_of(ask.site), ask["runs"], ask["list"])
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(told, headers=headers, media_type="text/event-stream")


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


ROUTES = (
    Route(
        "GET",
        "/api/events",
        tell_changes,
        "Tell what changes, as server-sent events: once at the start, then whenever something did.",
        parameters=(
            names("runs", "The runs to watch.", longest=128, most=MOST_RUNS),
            flag("list", "Watch the list of all runs too."),
        ),
        answer=Answer("Events named `change`.", types=("text/event-stream",)),
    ),
)
