"""The one background thread of a recording, and how its errors reach the caller."""

from __future__ import annotations

import threading
from collections.abc import Callable


class BackgroundWriter:
    """Does a piece of work again and again beside the caller's thread.

    The work never runs twice at once. An error is kept and raised at the next `check`; the work is tried again, and
    `stop` does it a last time in the caller's thread, so that what still fails is raised there.

    Args:
        work: What to do; called every `interval` seconds.
        interval: Seconds between two rounds.
        name: The thread's name.
    """

    def __init__(self, work: Callable[[], None], interval: float, name: str) -> None:
        self._work = work
        self._interval = interval
        self._turn = threading.Lock()
        self._stopping = threading.Event()
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def _loop(self) -> None:
        # The first round waits a moment too: the caller has just begun, and both would share one interpreter lock.
        self._stopping.wait(min(0.05, self._interval))
        while not self._stopping.is_set():
            with self._turn:
                try:
                    self._work()
                except BaseException as error:  # noqa: BLE001  raised in the caller's thread by `check`
                    self.error = error
            self._stopping.wait(self._interval)

    def check(self) -> None:
        """Raise what went wrong in the background since the last check."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error

    def run_now(self) -> None:
        """Do the work in the caller's thread, once; its errors are raised here."""
        with self._turn:
            self._work()
            self.error = None

    def stop(self) -> None:
        """End the thread, then do the work a last time. Stopping twice is fine."""
        if not self._stopping.is_set():
            self._stopping.set()
            self._thread.join()
        self.run_now()
