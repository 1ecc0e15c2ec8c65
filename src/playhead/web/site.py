"""What the handlers of one server share: the store, and things that are made once and kept."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from playhead.home import Home
from playhead.web.limits import Limits

if TYPE_CHECKING:
    from playhead.store import Store
    from playhead.web.routes import Route

Kept = TypeVar("Kept")


class Site:
    """One store that is served.

    Args:
        store: The store; it stays the caller's, and is not closed here.
        routes: All routes.

    Attributes:
        limits: What the server takes on; the server that runs it sets its own.
    """

    def __init__(self, store: Store, routes: tuple[Route, ...] = ()) -> None:
        self.store = store
        self.routes = routes
        self.limits = Limits.of_files()
        self._kept: dict[Any, Any] = {}
        self._lock = threading.RLock()
        self._before_end: list[Callable[[], None]] = []

    @property
    def home(self) -> Home:
        """The files and the catalogue of the store."""
        return self.store._home

    def keep(self, kind: type[Kept], make: Callable[[], Kept]) -> Kept:
        """Give the one object of a kind that this site has, made when it is first asked for.

        Args:
            kind: Its class, under which it is kept.
            make: Makes it; where it has `close`, that is called when the server ends.
        """
        with self._lock:
            if kind not in self._kept:
                self._kept[kind] = make()
            return cast(Kept, self._kept[kind])

    def before_end(self, call: Callable[[], None]) -> None:
        """Have something called when the server begins to end, from its event loop: for answers that would go on."""
        self._before_end.append(call)

    def announce_end(self) -> None:
        """Tell all who asked that the server is about to end."""
        for call in self._before_end:
            call()

    def close(self) -> None:
        """End everything that was kept."""
        with self._lock:
            kept, self._kept = list(self._kept.values()), {}
        for one in reversed(kept):
            if hasattr(one, "close"):
                one.close()
