"""The application: all routes around one store, behind the guard."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import starlette.routing
from anyio import CapacityLimiter
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from playhead import strictjson
from playhead.errors import PlayheadError
from playhead.lanes.arrays.pieces import Gone
from playhead.web import about, answers, checking, episodes, errors, live, runs
from playhead.web.built import Page
from playhead.web.errors import BadRequest, Refused
from playhead.web.limits import BODY_S, name_of
from playhead.web.routes import Ask, Route
from playhead.web.security import LOOPBACK, MOST_BODY, Guard
from playhead.web.site import Site

if TYPE_CHECKING:
    from playhead.store import Store

MAPPED = 1 << 30  # bytes of the catalogue: many connections read it, and each would have a cache of its own
THREADS = 16  # fewer than the catalogue has connections, so that none waits for one in vain


def all_routes() -> tuple[Route, ...]:
    """Collect the routes of all rooms, in the order in which they are looked at."""
    return tuple(sorted((*about.ROUTES, *runs.ROUTES, *episodes.ROUTES, *live.ROUTES), key=Route.rank))


def make_app(
    store: Store, *, page: Path | None = None, token: str | None = None, hosts: Iterable[str] | None = LOOPBACK
) -> Starlette:
    """Make the application that serves a store.

    Args:
        store: The store; it stays open when the application ends.
        page: The folder of the built page; the one in this package if it is left out.
        token: What each request has to show; None for nothing, which is for loopback only.
        hosts: The names under which it may be asked; None for any.
    """
    routes = all_routes()
    site = Site(store, routes)
    root = str(store.path)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        threading.Thread(target=episodes.prepare, name="playhead-prepare", daemon=True).start()
        yield
        await anyio.to_thread.run_sync(site.close)

    app = Starlette(
        routes=[*_all_mounted(routes, site), _mounted_page(Page(page))],
        lifespan=lifespan,
        middleware=[Middleware(Guard, token=token, hosts=hosts), Middleware(EncodedPaths)],
        exception_handlers={
            PlayheadError: lambda _request, error: errors.answer_for(error, root),
            OSError: lambda _request, error: errors.answer_for_system(error, root),
            Gone: lambda _request, _error: errors.answer_for_moving(),
            HTTPException: _answer_for_http,
            Exception: lambda _request, _error: errors.answer(
                500, "ProgramError", "a mistake of the server; see its log"
            ),
        },
    )
    app.state.site = site
    site.home.database.map(MAPPED)
    return app


class EncodedPaths:
    """Hands paths on as they were sent, percent-encoded: a slash within a name then does not part it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http" and scope.get("raw_path"):
            scope = {**scope, "path": scope["raw_path"].decode("latin-1")}
        await self._app(scope, receive, send)


def _mounted(route: Route, site: Site) -> starlette.routing.Route:
    limiter: CapacityLimiter | None = None

    async def endpoint(request: Request) -> Response:
        nonlocal limiter
        if limiter is None:
            limiter = site.keep(CapacityLimiter, lambda: CapacityLimiter(THREADS))
        values = checking.path_values(route, request.path_params)
        values |= checking.query_values(route, request.query_params.multi_items())
        if route.body is not None:
            values |= checking.body_values(route, await _content(request))
        ask = Ask(site, values, request.headers, name_of(request.client))
        if route.is_async and request.method == "HEAD":  # the answer itself would never end
            return Response(media_type=route.answer.types[0])
        if route.is_async:
            return _response(await route.handler(ask))
        return await anyio.to_thread.run_sync(functools.partial(_handled, route, ask), limiter=limiter)

    return starlette.routing.Route(route.path, endpoint, methods=[route.method])


def _handled(route: Route, ask: Ask) -> Response:
    ask.store._check()  # one that is gone or was made anew would be shown as it was
    return answers.packed(_response(route.handler(ask)), ask.headers.get("accept-encoding", ""))


def _response(found: Any) -> Response:
    if isinstance(found, Response):
        return found
    return answers.json(found, headers={"Cache-Control": "no-store"})


async def _content(request: Request) -> Any:
    """Read a body of JSON, up to a limit.

    Raises:
        Refused: It is too large, or does not come to its end.
        BadRequest: It is not JSON.
    """
    body = b""
    try:
        async with asyncio.timeout(BODY_S):
            async for block in request.stream():
                body += block
                if len(body) > MOST_BODY:
                    raise Refused(413, f"the body is larger than {MOST_BODY} bytes")
    except TimeoutError:
        raise Refused(408, "the body did not come to its end in time", {"Connection": "close"}) from None
    except ClientDisconnect:
        raise BadRequest("the body ended too early") from None
    try:
        return strictjson.decode(body)
    except strictjson.JSONDecodeError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None


class _Other:
    """Answers what no route does: 405 with the methods there are, or 404 for a path that is none of ours."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._known = [(starlette.routing.compile_path(route.path)[0], route.method) for route in routes]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        methods = {method for path, method in self._known if path.match(scope["path"])}
        if methods:
            allowed = ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))
            message = f"this path takes {allowed}"
            response = errors.answer(405, "WrongMethod", message, headers={"Allow": allowed})
        else:
            response = errors.answer(404, "NotFound", "there is no such route; GET /api lists all")
        await response(scope, receive, send)


def _all_mounted(routes: Sequence[Route], site: Site) -> list[starlette.routing.Route]:
    """Mount all routes; a path without parameters is never taken for one with them, whatever the method."""
    plain = {route.path: [other for other in routes if other.path == route.path] for route in routes}
    found: list[starlette.routing.Route] = []
    for path, ours in plain.items():
        found += [_mounted(route, site) for route in ours]
        if "{" not in path:
            found.append(starlette.routing.Route(path, _Other(ours)))
    return [*found, starlette.routing.Route("/api/{rest:path}", _Other(routes))]


def _mounted_page(page: Page) -> starlette.routing.Route:
    def endpoint(request: Request) -> Response:
        return page.answer(request)

    return starlette.routing.Route("/{rest:path}", endpoint, methods=["GET"])


def _answer_for_http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = "this path cannot be asked so" if error.status_code == 405 else error.detail
    return errors.answer(
        error.status_code, errors.name_of(error.status_code), message, headers=dict(error.headers or {})
    )
