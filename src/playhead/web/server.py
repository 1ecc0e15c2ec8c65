"""The server: a socket that is bound first, and uvicorn on it."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import signal
import socket
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Self

import uvicorn
from starlette.applications import Starlette

from playhead.web.limits import Bounded, Limits

PORT = 8765
LOCALHOST = "127.0.0.1"

_NEXT_PORTS = 100
_MOST_HEAD = 1 << 20  # bytes of a request without its body: the names of a thousand metrics
_PATIENCE_S = 2  # for answers that are under way when the server ends


def bind(host: str = LOCALHOST, port: int | None = None) -> socket.socket:
    """Bind a socket; without a port, to the first free one from `PORT` on.

    Raises:
        OSError: The port is taken, or the host is none of this machine.
    """
    wanted = range(PORT, PORT + _NEXT_PORTS) if port is None else [port]
    for place, number in enumerate(wanted):
        try:
            return _bound(host, number)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or place == len(wanted) - 1:
                raise OSError(error.errno, f"cannot listen on {host} port {number}: {error.strerror}") from error
    raise AssertionError("there is always a port to try")


def _bound(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    found = socket.socket(family, kind, protocol)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(socket.SOMAXCONN)  # until then another could bind it as well
        found.setblocking(False)
    except OSError:
        found.close()
        raise
    return found


def is_loopback(host: str) -> bool:
    """Tell whether a host is reached from this machine alone."""
    if host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def address_of(listening: socket.socket, host: str | None = None) -> str:
    """Give the address under which a socket is reached.

    Args:
        listening: The socket.
        host: The name to give, where the socket listens on all.
    """
    bound, port = listening.getsockname()[:2]
    name = host or bound
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/"


class Server(uvicorn.Server):
    """Serves an application until it is told to stop, by `stop`, Ctrl-C or SIGTERM.

    Args:
        app: What `app.make_app` made.
        limits: What it takes on; by default what the process may have open allows.
    """

    def __init__(self, app: Starlette, limits: Limits | None = None) -> None:
        self._site = app.state.site
        held = self._site.limits = limits or Limits.of_files()
        super().__init__(
            uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,
                server_header=False,
                ws="none",
                lifespan="on",
                timeout_keep_alive=30,
                backlog=held.at_once,
                http=type("Connection", (Bounded,), {"limits": held}),
                h11_max_incomplete_event_size=_MOST_HEAD,
                timeout_graceful_shutdown=_PATIENCE_S,
            )
        )

    def stop(self) -> None:
        """End soon; from any thread."""
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End: first the answers that never end by themselves."""
        self._site.announce_end()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End on Ctrl-C and SIGTERM, without raising them once more afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class Background:
    """A server in a thread of its own; a context manager.

    Args:
        app: What `app.make_app` made.
        listening: The socket; by default one on loopback.
        limits: What it takes on; by default what the process may have open allows.
    """

    def __init__(self, app: Starlette, listening: socket.socket | None = None, *, limits: Limits | None = None) -> None:
        self._socket = bind(port=0) if listening is None else listening
        self._server = Server(app, limits)
        self._thread = threading.Thread(target=self._run, name="playhead-serve", daemon=True)
        self.address = address_of(self._socket)

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])

    def start(self) -> None:
        """Begin to serve; the socket takes requests from now on."""
        self._thread.start()

    def stop(self) -> None:
        """End, and wait for it."""
        self._server.stop()
        self._thread.join()
        self._socket.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def serve(app: Starlette, listening: socket.socket) -> None:
    """Serve until Ctrl-C or SIGTERM."""
    Server(app).run(sockets=[listening])
