"""How much a server holds at a time: connections, event streams, and requests that do not come to an end.

A server that holds all that it is sent can be stopped by one client, also by mistake: each connection is a file, and a
process may have only so many. Half of them are for connections, half of those for event streams, half of those for
the streams of one client. Where connections run out, those that only wait for a request make room for new ones.
"""

from __future__ import annotations

import asyncio
import resource
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import h11
import orjson
from starlette.datastructures import Address
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 512
FEWEST_CONNECTIONS = 16
RETRY_S = 10  # when to ask again for what there was no room for
BODY_S = 30.0

_HEAD_S = 10.0
_SPARED_S = 1.0
_REFUSED_AT_ONCE = 16
_LINGERS_S = 1.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server takes on.

    Attributes:
        connections: How many connections it holds.
        head_s: Seconds in which a request's line and headers have to come.
        body_s: Seconds in which its body has to come.
        spared_s: Seconds in which a connection that waits for a request is not closed to make room.
    """

    connections: int = MOST_CONNECTIONS
    head_s: float = _HEAD_S
    body_s: float = BODY_S
    spared_s: float = _SPARED_S

    @classmethod
    def of_files(cls, files: int | None = None) -> Limits:
        """Give the limits for a process that may have so many files open; without a number, for this one."""
        if files is None:
            files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        most = MOST_CONNECTIONS if files < 0 else files // 2  # there may be no limit
        return cls(max(FEWEST_CONNECTIONS, min(MOST_CONNECTIONS, most)))

    @property
    def at_once(self) -> int:
        """How many connections are taken before the first of them is looked at: so many files beyond the limit."""
        return max(FEWEST_CONNECTIONS, self.connections // 4)

    @property
    def streams(self) -> int:
        """How many event streams there are at most."""
        return self.connections // 2

    @property
    def streams_of_one(self) -> int:
        """How many of them one client has at most."""
        return self.streams // 2


class Streams:
    """Counts the event streams of a server; for its event loop alone.

    Args:
        limits: What the server takes on.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._of: Counter[str] = Counter()

    def enter(self, client: str) -> bool:
        """Take a place for a stream; False where there is none."""
        if self._of.total() >= self._limits.streams or self._of[client] >= self._limits.streams_of_one:
            return False
        self._of[client] += 1
        return True

    def leave(self, client: str) -> None:
        """Give a place back."""
        self._of[client] -= 1
        self._of = +self._of  # clients that have none are forgotten


def name_of(client: Address | None) -> str:
    """Name who asks: the address, without the port."""
    return "" if client is None else client.host


class Bounded(H11Protocol):
    """One connection, which is closed where a request does not come to an end, or where others need its place."""

    limits = Limits()

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._waits_for: str | None = None  # "head" or "body", while a part of a request has to come
        self._waits_since = 0.0
        self._is_refused = False

    # -- what asyncio and uvicorn call --------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, if there is room or some can be made."""
        super().connection_made(transport)
        self._waits_since = self.loop.time()
        self._expect("head")
        over = len(self.connections) - self.limits.connections
        if over <= 0 or self._make_room():
            return
        if over > _REFUSED_AT_ONCE:  # telling them takes files too
            transport.abort()
        self._is_refused = True

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._expect(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take in a piece of a request."""
        if self._is_refused:
            self._refuse()
            return
        super().data_received(data)
        state = self.conn.their_state
        self._expect("head" if state is h11.IDLE else "body" if state is h11.SEND_BODY else None)

    def on_response_complete(self) -> None:
        """Wait for the next request, which may be here already."""
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self._waits_since = self.loop.time()
            self._expect("head" if self.conn.trailing_data[0] else None)

    # -- deadlines ----------------------------------------------------------------------------------------------------

    def _expect(self, part: str | None) -> None:
        """Set the time by which a part of a request has to be here; more bytes of the same part do not move it."""
        if part == self._waits_for and part is not None:
            return
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._waits_for = part
        if part is not None and not self.transport.is_closing():
            self._waits_since = self.loop.time()
            seconds = self.limits.head_s if part == "head" else self.limits.body_s
            self._deadline = self.loop.call_later(seconds, self._expire)

    def _expire(self) -> None:
        self._deadline = None
        self._end(408, "TooSlow", "the request did not come to its end in time")

    # -- room ---------------------------------------------------------------------------------------------------------

    @property
    def _waits(self) -> bool:
        """Whether it only waits for a request, or for the rest of one."""
        if self.transport.is_closing():
            return False
        return self._waits_for is not None or self.cycle is None or self.cycle.response_complete

    def _make_room(self) -> bool:
        """Close a connection that waits: the longest idle one, else the one whose request has been coming longest."""
        now = self.loop.time()
        ours: Iterable[Any] = self.connections
        waiting = [one for one in ours if isinstance(one, Bounded) and one is not self and one._waits]
        idle = [one for one in waiting if one._waits_for is None]
        stuck = [one for one in waiting if one._waits_for and now - one._waits_since >= self.limits.spared_s]
        for some in (idle, stuck):
            if some:
                min(some, key=lambda one: one._waits_since)._end(
                    408, "TooSlow", "others needed this connection's place"
                )
                return True
        return False

    def _refuse(self) -> None:
        """Tell that there is no room; once a request begins to come, since a client may not listen before."""
        if not self.transport.is_closing():
            self.transport.write(_bare(503, "Busy", "the server has too many connections; ask again"))
            self.transport.close()

    def _end(self, status: int, kind: str, message: str) -> None:
        """Close the connection; with an answer, if a request had begun and nothing has been answered."""
        if self.transport.is_closing():
            return
        is_answered = self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete
        if is_answered:
            self.transport.abort()  # an answer that goes on for ever would keep it open
            return
        if self._waits_for is not None:
            self.transport.write(_bare(status, kind, message))
        self.transport.close()
        self.loop.call_later(_LINGERS_S, self.transport.abort)


def _bare(status: int, kind: str, message: str) -> bytes:
    """Spell an answer that is given below the application."""
    body = orjson.dumps({"error": {"type": kind, "message": message}})
    phrase = {408: b"Request Timeout", 503: b"Service Unavailable"}[status]
    return (
        b"HTTP/1.1 %d %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n"
        b"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nRetry-After: %d\r\n\r\n%b"
        % (status, phrase, len(body), RETRY_S, body)
    )
