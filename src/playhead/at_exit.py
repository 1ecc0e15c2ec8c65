"""What is done when the program ends, while the libraries that it needs still work.

Python calls exit handlers from the newest to the oldest. Those here keep the place that they got when Playhead was
loaded, so handlers that the program registers later run before them and can still record. h5py is often imported later
too, and without its text types no file can be sealed: it takes itself apart after the handlers here.

A forked child of `multiprocessing` calls no exit handlers, only finalizers of that module.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator

from playhead.errors import Closed

_LAST_OF_CHILD = -99  # after the finalizers of the program, before the one that removes the child's temporary folder

_handlers: list[Callable[[], None]] = []
_teardowns: list[Callable[[], object]] = []  # of libraries that were imported later
_had_h5py = "h5py" in sys.modules
_SEALING_SECONDS = 10.0  # that the end of the program waits for files that daemon threads are sealing
_sealing = threading.Condition()
_sealed_now = 0  # how many are
_handled_at_fork: int | None = None  # the id of what the parent was handling: a child sees it as if it were its own
_is_watching_child = False
_raised_in_child: BaseException | None = None


def register(handler: Callable[[], None]) -> None:
    """Call a function when the program ends, before those that were registered earlier."""
    _handlers.append(handler)


def come_before_h5py() -> None:
    """Let h5py take itself apart after the handlers."""
    if _had_h5py or _teardowns:
        return
    import h5py  # only who records arrays needs it

    teardown = getattr(h5py, "_unregister_converters", None)
    if teardown is None:  # a version that names it otherwise: then also before the handlers of the program
        atexit.unregister(_at_exit)
        atexit.register(_at_exit)
        return
    atexit.unregister(teardown)
    _teardowns.append(teardown)


@contextlib.contextmanager
def keeping_h5py() -> Iterator[None]:
    """Keep h5py whole until the block is left, also if that is in a daemon thread while the program ends."""
    global _sealed_now
    with _sealing:
        _sealed_now += 1
    try:
        yield
    finally:
        with _sealing:
            _sealed_now -= 1
            _sealing.notify_all()


def watch_child() -> None:
    """Call the handlers at the end of this process also if it is a child of `multiprocessing`."""
    global _is_watching_child
    if _is_watching_child:
        return
    process = sys.modules.get("multiprocessing.process")  # always loaded in such a child
    if process is not None and process.parent_process() is not None:
        from multiprocessing.util import Finalize

        Finalize(None, _end_child, exitpriority=_LAST_OF_CHILD)
        _is_watching_child = True


def raised() -> BaseException | None:
    """Return the exception that ends the program, if it is known."""
    if _is_watching_child:
        return _raised_in_child
    return None if hasattr(sys, "ps1") else getattr(sys, "last_value", None)  # of a session, any earlier input


def _end_child() -> None:
    global _raised_in_child
    error = sys.exc_info()[1]
    _raised_in_child = None if id(error) == _handled_at_fork else error
    if sys.modules["multiprocessing"].get_start_method(allow_none=True) == "spawn":  # it calls exit handlers later
        return
    if _threads_of_program():
        threading.Thread(target=_outlast_threads, name="playhead-end").start()
    else:
        _call_all()


def _threads_of_program() -> list[threading.Thread]:
    """List the threads that a program waits for before it ends."""
    besides = threading.main_thread(), threading.current_thread()
    return [thread for thread in threading.enumerate() if not thread.daemon and thread not in besides]


def _outlast_threads() -> None:
    while threads := _threads_of_program():
        for thread in threads:
            thread.join()
    _call_all()


def _at_exit() -> None:
    with contextlib.ExitStack() as each:  # also if a handler fails
        for teardown in _teardowns:
            each.callback(teardown)
        if _teardowns:
            each.callback(_await_sealing)
        _call_all()


def _await_sealing() -> None:
    with _sealing:
        _sealing.wait_for(lambda: not _sealed_now, _SEALING_SECONDS)


def _call_all() -> None:
    _silence_daemons()
    with contextlib.ExitStack() as each:
        for handler in _handlers:
            each.callback(handler)


def _silence_daemons() -> None:
    """Let daemon threads, which may still record, end without a traceback if what they record into has ended."""
    said = threading.excepthook

    def say(args: threading.ExceptHookArgs, /) -> None:
        is_late = isinstance(args.exc_value, Closed) and args.thread is not None and args.thread.daemon
        if not is_late:
            said(args)

    threading.excepthook = say


def _after_fork() -> None:
    global _handled_at_fork, _is_watching_child, _raised_in_child, _sealing, _sealed_now
    _sealing, _sealed_now = threading.Condition(), 0
    error = sys.exc_info()[1]
    _handled_at_fork = None if error is None else id(error)
    _is_watching_child, _raised_in_child = False, None


atexit.register(_at_exit)
os.register_at_fork(after_in_child=_after_fork)
