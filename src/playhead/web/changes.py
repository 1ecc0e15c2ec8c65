"""What changes in a store while a page is open: one thread looks, however many ask.

The thread looks four times a second while anybody listens. It first asks SQLite whether any other connection wrote, and
the size of the logs of the runs that are watched; only where something did change are the runs looked at. A listener
holds what changed since it was last sent: one that is slow misses states in between, never the last.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from playhead import clock
from playhead.catalog import browse
from playhead.catalog.database import Connection
from playhead.errors import Damaged, PlayheadError
from playhead.home import Home
from playhead.web.files import plain_size
from playhead.web.liveness import Liveness

INTERVAL = 0.25
_LIVENESS_EVERY = 8  # looks
_PAUSE_S = 1.0  # after something went wrong

_log = logging.getLogger(__name__)

State = dict[str, Any]


@dataclass(eq=False)
class Listener:
    """One open connection that is told what changes.

    Attributes:
        runs: The runs that it watches.
        wants_list: Whether it watches the list of all runs.
        loop: The event loop in which it waits.
    """

    runs: frozenset[str]
    wants_list: bool
    loop: asyncio.AbstractEventLoop
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    is_over: bool = False
    _runs_news: dict[str, State] = field(default_factory=dict)
    _list_news: State | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, runs: Mapping[str, State], listed: State | None) -> None:
        """Take in what changed; from any thread."""
        mine = {run_id: state for run_id, state in runs.items() if run_id in self.runs}
        with self._lock:
            self._runs_news |= mine
            if self.wants_list and listed is not None:
                self._list_news = listed
            is_new = bool(self._runs_news) or self._list_news is not None
        if is_new:
            self._wake()

    def end(self) -> None:
        """Tell that nothing will come any more."""
        self.is_over = True
        self._wake()

    def _wake(self) -> None:
        try:
            self.loop.call_soon_threadsafe(self.ready.set)
        except RuntimeError:  # the loop has ended, and the connection with it
            self.is_over = True

    def take(self) -> State | None:
        """Give what changed since this was last called, if anything did; from the loop."""
        self.ready.clear()
        with self._lock:
            runs, self._runs_news = self._runs_news, {}
            listed, self._list_news = self._list_news, None
        if not runs and listed is None:
            return None
        return {"runs": runs} | ({} if listed is None else {"list": listed})


class Changes:
    """Watches a store for all who listen. Safe in threads.

    Args:
        home: The store.
        liveness: Tells which runs are being recorded.
    """

    def __init__(self, home: Home, liveness: Liveness) -> None:
        self._home = home
        self._liveness = liveness
        self._changed = threading.Condition()
        self._listeners: set[Listener] = set()
        self._joined: list[Listener] = []
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._states: dict[str, State] = {}
        self._marks: dict[str, int] = {}
        self._looks_with_news = 0
        self._list: State | None = None
        self._folders: dict[str, str] = {}

    def join(self, listener: Listener) -> None:
        """Begin to tell a listener; the first thing that it hears is how everything is now."""
        with self._changed:
            if self._is_closed:
                listener.end()
                return
            self._listeners.add(listener)
            self._joined.append(listener)
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="playhead-changes", daemon=True)
                self._thread.start()
            self._changed.notify()

    def leave(self, listener: Listener) -> None:
        """Tell a listener nothing more."""
        with self._changed:
            self._listeners.discard(listener)
            self._joined = [one for one in self._joined if one is not listener]

    @property
    def listeners(self) -> int:
        """How many listen."""
        return len(self._listeners)

    def now(self, runs: Iterable[str], *, wants_list: bool) -> State:
        """Tell how runs are now to somebody who does not listen."""
        with self._home.database.read() as connection:
            states = {state.id: self._state(state) for state in browse.states(connection, sorted(set(runs)))}
            listed = self._look_at_list(connection) if wants_list else None
        return {"runs": states} | ({} if listed is None else {"list": listed})

    def mark(self, run_id: str) -> int | None:
        """Give a number that is another one whenever those who watch a run are told of a change; None if nobody does.

        An answer that was made under a mark has all that was told before: it serves everybody who asks under it.
        """
        return self._marks.get(run_id)

    def end(self) -> None:
        """End all listening; from any thread, without waiting."""
        with self._changed:
            self._is_closed = True
            for listener in self._listeners:
                listener.end()
            self._listeners.clear()
            self._changed.notify()

    def close(self) -> None:
        """End, and wait for the thread."""
        self.end()
        if self._thread is not None:
            self._thread.join()

    # -- in the thread ------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        is_known = False  # whether a mistake has been reported, and nothing went well since
        while self._wait_for_listeners():
            try:
                with self._home.database.read() as connection:
                    self._watch_with(connection)
                is_known = False
            except (PlayheadError, OSError):  # the store is gone or locked; it may come back
                self._states, self._marks = {}, {}  # everybody is told anew
                clock.sleep(_PAUSE_S)
            except Exception:  # noqa: BLE001  whatever it was, the pages that are open must not go silent for good
                if not is_known:
                    _log.exception("looking for changes failed; it is tried again each second")
                self._states, self._marks = {}, {}
                is_known = True
                clock.sleep(_PAUSE_S)

    def _wait_for_listeners(self) -> bool:
        with self._changed:
            while not self._listeners and not self._is_closed:
                self._changed.wait()
            return not self._is_closed

    def _watch_with(self, connection: Connection) -> None:
        """Look again and again while anybody listens."""
        looks, version = 0, -1
        while True:
            with self._changed:
                if self._is_closed or not self._listeners:
                    self._states, self._marks, self._list = {}, {}, None
                    return
                watched = sorted({run_id for listener in self._listeners for run_id in listener.runs})
                wants_list = any(listener.wants_list for listener in self._listeners)
                joined = list(self._joined)
            connection.rollback()  # a transaction would go on seeing what was there at its begin
            before, version = version, browse.version(connection)
            is_due = bool(joined) or version != before or looks % _LIVENESS_EVERY == 0
            with connection.begin():
                self._tell(connection, watched, wants_list, joined, is_due)
            looks += 1
            with self._changed:
                self._joined = [listener for listener in self._joined if listener not in joined]
                if not self._is_closed and not self._joined:
                    self._changed.wait(INTERVAL)

    def _tell(
        self, connection: Connection, watched: list[str], wants_list: bool, joined: list[Listener], is_due: bool
    ) -> None:
        states = self._look(connection, watched) if is_due else self._look_at_logs()
        listed = self._look_at_list(connection) if wants_list and is_due else self._list
        news = {run_id: state for run_id, state in states.items() if self._states.get(run_id) != state}
        list_news = listed if listed != self._list else None
        self._looks_with_news += bool(news)
        new_marks = dict.fromkeys(news, self._looks_with_news)
        self._marks = {run_id: self._marks[run_id] for run_id in states.keys() - news.keys()} | new_marks
        self._states, self._list = states, listed
        with self._changed:
            for listener in self._listeners:
                if listener in joined:
                    listener.put(states, listed)
                else:
                    listener.put(news, list_news)

    def _look(self, connection: Connection, watched: list[str]) -> dict[str, State]:
        found = browse.states(connection, watched)
        self._folders = {state.id: state.run_dir for state in found}
        return {state.id: self._state(state) for state in found}

    def _state(self, state: browse.State) -> State:
        return {
            "points": state.points,
            "status": state.status,
            "is_stale": self._liveness.is_stale(state.id, state.status),
            "live": self._liveness.shown(state.id),
            "log_bytes": self._log_bytes(state.run_dir),
            "episodes": state.episodes,
            "media": state.media,
            "updated_at": self._updated_at(state),
        }

    def _updated_at(self, state: browse.State) -> float:
        """Return when a run last changed, or gave a sign that it lives, in whole seconds; never less than before."""
        before: float = self._states.get(state.id, {}).get("updated_at", 0.0)
        return max(state.updated_at, float(state.last_sign_ns // clock.SECOND), before)

    def _look_at_logs(self) -> dict[str, State]:
        return {
            run_id: state | {"log_bytes": self._log_bytes(self._folders[run_id])}
            for run_id, state in self._states.items()
        }

    def _log_bytes(self, run_dir: str) -> int:
        try:
            return plain_size(self._home.layout.run_at(run_dir).logs)
        except (OSError, Damaged):
            return 0

    @staticmethod
    def _look_at_list(connection: Connection) -> State:
        counts = browse.counts(connection)
        return {
            "total": counts.runs,
            "running": counts.running,
            "deleted": counts.deleted,
            "newest": browse.newest(connection),
        }


def listen(changes: Changes, runs: Iterable[str], *, wants_list: bool) -> Listener:
    """Make a listener in the running event loop, and let it join."""
    listener = Listener(frozenset(runs), wants_list, asyncio.get_running_loop())
    changes.join(listener)
    return listener
