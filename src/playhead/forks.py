"""A fork waits until no other thread is at work that it must not cut.

A forked child has a copy of the memory of its parent, and one thread. What another was about to give back, nobody
gives back there: a mutex of SQLite, for which `connect` then waits for ever; a lock that SQLite notes as held by this
process, for which a write waits; a module that is half loaded; the pipe on whose end the parent itself waits. So such
work is done within `Working`. A fork waits until what began before it is done, and what would begin meanwhile waits for
the fork.

A fork waits for at most `MOST_SECONDS`. What is not done by then, as a write for which another process has to make
room, is cut off, and does not hold up the next fork. A query that is older than `LONG_SECONDS` pauses while others
fork, at one of the moments at which SQLite asks whether it is to go on. The child of a fork that cut off or paused work
may have notes of locks that nobody gives back: in it, Playhead opens no database, and raises `Forked`. Work of the
forking thread itself is never waited for, and counts as cut off.
"""

from __future__ import annotations

import os
import threading
import weakref

from playhead import clock
from playhead.errors import Forked

LONG_SECONDS, MOST_SECONDS = 2.0, 5.0
_LOOK_SECONDS = 0.0005

_working: set[weakref.ref[Working]] = set()
_forking: set[int] = set()  # the threads that fork
_was_cut = False


class Working:
    """A piece of work of one thread, for a `with` statement. Within it, others may begin."""

    __slots__ = ("__weakref__", "_noted", "began_ns", "holds_up", "thread")

    def __enter__(self) -> None:
        self.thread = threading.get_ident()
        self.began_ns = clock.elapsed_ns()
        self.holds_up = True
        # An exception of a signal may come before `__exit__` does: what nobody holds is no longer noted.
        self._noted = weakref.ref(self, _working.discard)
        _working.add(self._noted)
        if _forking:
            self._begin_after_forks()

    def __exit__(self, *error: object) -> None:
        _working.discard(self._noted)

    def _begin_after_forks(self) -> None:
        if self.thread in _forking or len(_works_of(self.thread)) > 1:
            return
        until = _from_now(MOST_SECONDS)
        # Noted before each look, as a fork is noted before it looks. Not for ever: it may wait for what is held here.
        while _forking and clock.elapsed_ns() < until:
            _working.discard(self._noted)
            clock.sleep(_LOOK_SECONDS)
            self.began_ns = clock.elapsed_ns()
            _working.add(self._noted)


def pause() -> None:
    """Let others fork in the middle of work that takes long. Call it where no mutex is held that a child may need."""
    if not _forking:
        return
    works = _works_of(threading.get_ident())
    if not works or works[0].began_ns > _from_now(-LONG_SECONDS):
        return
    until = _from_now(MOST_SECONDS)
    while _forking and clock.elapsed_ns() < until:
        for work in works:
            work.holds_up = False
        clock.sleep(_LOOK_SECONDS)
        for work in works:
            work.holds_up = True


def was_cut() -> bool:
    """Return whether the fork of this process cut off work of its parent."""
    return _was_cut


def check() -> None:
    """Check that this process can open databases.

    Raises:
        Forked: If its fork cut off work of its parent.
    """
    if _was_cut:
        said = "this process was forked in the middle of a long query of its parent, and cannot open a catalogue"
        raise Forked(f"{said}; fork before or after that, or start it with spawn or forkserver")


def _from_now(seconds: float) -> float:
    return clock.elapsed_ns() + seconds * clock.SECOND


def _under_way() -> list[Working]:
    """Return what was begun, the oldest first."""
    works = [work for noted in tuple(_working) if (work := noted()) is not None]
    return sorted(works, key=lambda work: work.began_ns)


def _works_of(thread: int) -> list[Working]:
    return [work for work in _under_way() if work.thread == thread]


def _awaited() -> list[Working]:
    return [work for work in _under_way() if work.holds_up and work.thread not in _forking]


def _before_fork() -> None:
    _forking.add(threading.get_ident())
    until = _from_now(MOST_SECONDS)
    while _awaited() and clock.elapsed_ns() < until:
        clock.sleep(_LOOK_SECONDS)
    for work in _awaited():
        work.holds_up = False


def _after_in_parent() -> None:
    _forking.discard(threading.get_ident())


def _after_in_child() -> None:
    global _was_cut
    _was_cut = _was_cut or bool(_under_way())
    _working.clear()
    _forking.clear()


os.register_at_fork(before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
