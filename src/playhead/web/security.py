"""Who may ask: the guard in front of every route.

- The `Host` of a request must be one of this server's names, or a page elsewhere could reach a server on loopback
  through a name of its own that it points there.
- Where there is a token, each request has to show it: `Authorization: Bearer …`, the cookie, or once, on a page load,
  `?token=…`, which sets the cookie. A browser sends the cookies of a host name to every port of it. So the cookie's
  name has the port, or two servers would log each other out, and its value is made of the token, which no other
  server then learns.
- What changes something must be JSON, and from this very origin.

All answers carry the headers that keep what was recorded from running as script.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from typing import get_args
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from playhead.web import errors
from playhead.web.routes import Method

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
MOST_BODY = 1_000_000

_HOST = re.compile(r"(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9_.-]{1,253}))(?::([0-9]{1,5}))?")
_PORT = 80  # of a Host header that names none
_WRITING = frozenset(get_args(Method)) - {"GET"}  # no route has another; the others are answered with 405
_POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; style-src 'self' 'unsafe-inline'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; "
    # A notebook on this machine shows the player in a frame.
    "frame-ancestors 'self' http://localhost:* http://127.0.0.1:* https://localhost:* vscode-webview:"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Guard:
    """Lets through what may be asked, as an ASGI application around another.

    Args:
        app: The application.
        token: What each request has to show; None for nothing.
        hosts: The names under which this server may be asked; None for any.
    """

    def __init__(self, app: ASGIApp, *, token: str | None = None, hosts: Iterable[str] | None = LOOPBACK) -> None:
        self._app = app
        self._token = token
        self._hosts = None if hosts is None else frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, _dressed(send))
            return
        await self._app(scope, receive, _dressed(send))

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        name, port = _host_of(headers)
        if self._hosts is not None and name not in self._hosts:
            message = "this server answers on this machine's own names only, such as localhost"
            return errors.answer(403, "Forbidden", message)
        if self._token is not None and not self._shows_token(headers, port):
            return self._welcome(scope, port)
        return _refusal_of_write(headers) if scope["method"] in _WRITING else None

    def _shows_token(self, headers: Headers, port: int) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._is_token(given.strip()):
            return True
        shown = _cookie(headers, cookie_name(port))
        return shown is not None and hmac.compare_digest(shown.encode("utf-8", "replace"), self._ticket().encode())

    def _ticket(self) -> str:
        """Give the cookie's value, which shows that its bearer had the token, and does not tell it."""
        assert self._token is not None
        return hmac.digest(self._token.encode(), b"playhead cookie", "sha256").hex()

    def _is_token(self, given: str | None) -> bool:
        assert self._token is not None
        return given is not None and hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode())

    def _welcome(self, scope: Scope, port: int) -> Response:
        """Answer who has not shown the token: with the cookie, if the address of a page holds it."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for name, value in query if name == "token"), None)
        is_page = scope["method"] in ("GET", "HEAD") and not scope["path"].startswith("/api")
        if is_page and self._is_token(given):
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            # A path that begins with two slashes would be read as another host.
            path = "/" + scope.get("raw_path", b"/").decode("latin-1").lstrip("/")
            response = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
            response.set_cookie(cookie_name(port), self._ticket(), path="/", httponly=True, samesite="strict")
            response.headers["Cache-Control"] = "no-store"
            return response
        message = "this server wants its token: open the address that `playhead serve` printed"
        return errors.answer(401, "Unauthorized", message, headers={"WWW-Authenticate": "Bearer"})


def _refusal_of_write(headers: Headers) -> Response | None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        return errors.answer(415, "WrongType", "send JSON: Content-Type: application/json")
    origin = headers.get("origin")
    if origin is not None and _netloc(origin) != headers.get("host", "").lower():
        return errors.answer(403, "Forbidden", "this was asked by a page of another origin")
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return errors.answer(403, "Forbidden", "this was asked by a page of another origin")
    return None


def _netloc(origin: str) -> str | None:
    """Give host and port of an Origin header, in small letters; None for one that is no address."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _host_of(headers: Headers) -> tuple[str | None, int]:
    """Give the name and the port of a Host header; no name where it is not spelled as one."""
    found = _HOST.fullmatch(headers.get("host", "").strip().lower())
    if found is None:
        return None, _PORT
    return found[1] or found[2], int(found[3] or _PORT)


def cookie_name(port: int) -> str:
    """Name the cookie that shows the token to the server which a browser reaches at a port."""
    return f"playhead_token_{port}"


def _cookie(headers: Headers, name: str) -> str | None:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return None
    return None if found is None else found.value


def _dressed(send: Send) -> Send:
    """Put the headers of safety on an answer."""

    async def dressed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return dressed
