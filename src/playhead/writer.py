"""The one background thread of a recording, and how its errors reach the caller."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from playhead import clock
from playhead.errors import Forked

# The thread rests this many times as long as it worked: both share one interpreter lock, and the caller comes first.
REST = 4
QUIET_REST = 1  # if the caller has recorded nothing meanwhile


class Bell:
    """Wakes a thread that waits.

    One call of the interpreter each: an exception of a signal, Ctrl-C, comes before or behind it. Within `Event` and
    `Condition`, which are Python, it may come just after their lock was taken, which is then never given back.
    """

    __slots__ = ("_silent",)

    def __init__(self) -> None:
        self._silent = threading.Lock()
        self._silent.acquire()

    def ring(self) -> None:
        """Wake who waits, or the next who will."""
        with contextlib.suppress(RuntimeError):  # it was rung already
            self._silent.release()

    def wait(self, seconds: float) -> None:
        """Wait until it is rung, at most so long."""
        self._silent.acquire(timeout=seconds)


class BackgroundWriter:
    """Does a piece of work again and again beside the caller's thread.

    The work never runs twice at once. An error is kept and raised at the next `check`; the work is tried again, and
    `stop` does it a last time in the caller's thread, so that what still fails is raised there. Where the thread itself
    dies, every `check` says so, and nobody waits for it.

    Args:
        work: What to do; called every `interval` seconds. It does a small piece, and tells whether there is more.
        interval: Seconds between two rounds, where there is no more.
        name: The thread's name.
        rest: How many times as long as it worked the thread rests.
        is_busy: Whether the caller has recorded something since this was last asked; without it, always.
        is_late: Whether the work is so far behind that the thread does not rest; without it, never.
    """

    def __init__(
        self,
        work: Callable[[], bool],
        interval: float,
        name: str,
        *,
        rest: float = REST,
        is_busy: Callable[[], bool] = lambda: True,
        is_late: Callable[[], bool] = lambda: False,
    ) -> None:
        self._work = work
        self._interval = interval
        self._rest = rest
        self._is_busy = is_busy
        self._is_late = is_late
        self._turn = threading.Lock()
        self._called = Bell()
        self._stopping = False
        self._last: Callable[[], bool] = lambda: False
        self.error: BaseException | None = None
        self._death: BaseException | None = None
        self._thread = threading.Thread(target=self._live, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def _live(self) -> None:
        try:
            self._loop()
        except BaseException as error:  # noqa: BLE001  raised in the caller's thread by every `check`: nobody works here any more
            self.error = self._death = error

    def _loop(self) -> None:
        pause = min(0.05, self._interval)  # the caller has just begun, and is busy
        while True:
            self._called.wait(pause)
            if self._stopping:
                return
            if self._last():
                return
            started = clock.elapsed_ns()
            more = self._round()
            worked = (clock.elapsed_ns() - started) / clock.SECOND
            pause = max(0.0 if more else self._interval, self._rest_now() * worked)

    def _rest_now(self) -> float:
        is_busy = self._is_busy()
        if self._is_late():
            return 0.0
        return self._rest if is_busy else min(self._rest, QUIET_REST)

    def _round(self) -> bool:
        with self._turn:
            try:
                return self._work()
            except BaseException as error:  # noqa: BLE001  raised in the caller's thread by `check`
                self.error = error
                return False

    def check(self) -> None:
        """Raise what went wrong in the background since the last check, and always that its thread has died."""
        if self.error is not None:
            error = self.error
            if not isinstance(error, Forked):  # of which a child hears each time
                self.error = None
            raise error
        if self._death is not None:
            raise self._death.with_traceback(None)

    def wake(self) -> None:
        """Let the next round begin at once."""
        self._called.ring()

    def run_now(self) -> None:
        """Do all of the work in the caller's thread; its errors are raised here."""
        with self._turn:
            while self._work():
                pass
            self.error = None

    def abandon(self) -> None:
        """Let the thread end without a last round: whoever owned the work is gone."""
        self._stopping = True
        self._called.ring()

    def end_with(self, last: Callable[[], bool]) -> None:
        """Call something before each round, until it says that the thread has ended; it may stop the work.

        Safe anywhere, also where garbage is collected.
        """
        self._last = last
        self._called.ring()

    def await_end(self) -> None:
        """Wait until the thread has ended; that thread itself does not."""
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def stop(self) -> None:
        """End the thread, then do the work a last time. Stopping twice is fine."""
        if not self._stopping:
            self.abandon()
            self.await_end()
        self.run_now()
