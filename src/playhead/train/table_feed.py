"""Work that is done ahead in a thread, and taken when it is wanted.

A thread that Python kills as it ends takes the process with it where it is just in PyTorch, so all are ended before.
"""

from __future__ import annotations

import atexit
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from playhead.errors import Forked

T = TypeVar("T")

_LONGEST = 10.0  # seconds to wait for a thread at the end


class _Belt(Generic[T]):
    """What lies between the two threads; neither holds the other alive."""

    def __init__(self, most: int) -> None:
        self.changed = threading.Condition()
        self.ready: deque[T] = deque()
        self.most = most
        self.error: BaseException | None = None
        self.is_done = False
        self.is_stopped = False

    def stop(self) -> None:
        """Let the thread end after what it is just doing."""
        with self.changed:
            self.is_stopped = True
            self.ready.clear()
            self.changed.notify_all()


class Feed(Generic[T]):
    """An iterator that is worked off ahead in a thread; its errors are raised when their turn comes.

    Args:
        work: What is to be done; with 0 ahead, in the thread of who takes it.
        ahead: How many results wait at most.
    """

    def __init__(self, work: Iterator[T], ahead: int) -> None:
        self._work = work if ahead < 1 else None
        self._belt: _Belt[T] = _Belt(ahead)
        if ahead >= 1:
            self._thread = threading.Thread(target=_fill, args=(self._belt, work), name="playhead-feed", daemon=True)
            _working[self._thread] = self._belt
            self._thread.start()

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        if self._work is not None:
            return next(self._work)
        belt = self._belt
        with belt.changed:
            while not belt.ready and not belt.is_done:
                belt.changed.wait(1)
                if not belt.ready and not belt.is_done and not self._thread.is_alive():
                    raise Forked("a forked process has no thread that reads ahead: iterate over the loader anew")
            if belt.ready:
                found = belt.ready.popleft()
                belt.changed.notify_all()
                return found
        if belt.error is not None:
            raise belt.error
        raise StopIteration

    def close(self) -> None:
        """End the thread, without waiting for it."""
        self._work = iter(()) if self._work is not None else None
        self._belt.stop()

    def __del__(self) -> None:
        if hasattr(self, "_belt"):
            self.close()


def _fill(belt: _Belt[T], work: Iterator[T]) -> None:
    try:
        for result in work:
            with belt.changed:
                belt.changed.wait_for(lambda: belt.is_stopped or len(belt.ready) < belt.most)
                if belt.is_stopped:
                    return
                belt.ready.append(result)
                belt.changed.notify_all()
    except BaseException as error:  # noqa: BLE001 - it is raised where the work is taken
        belt.error = error
    finally:
        with belt.changed:
            belt.is_done = True
            belt.changed.notify_all()


def _end_all() -> None:
    working = [(thread, belt) for thread, belt in list(_working.items()) if thread.is_alive()]  # in a fork, none is
    for _, belt in working:
        belt.stop()
    for thread, _ in working:
        thread.join(_LONGEST)


_working: weakref.WeakKeyDictionary[threading.Thread, _Belt[Any]] = weakref.WeakKeyDictionary()
atexit.register(_end_all)
