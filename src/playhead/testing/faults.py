"""Faults and crashes on purpose, for tests of anything that writes through `playhead.disk`.

Every change of the disk (a file made, written, synced, renamed, cut, removed) is one operation, counted from 0. A test
counts the operations of a piece of work, then runs it again and again with another one of them failing or fatal:

    for n in range(count_operations(lambda: work(fresh_folder()))):
        with failing_at(n, errno.ENOSPC):
            ...
        crash = killed_at(n, lambda acknowledge: work(folder, acknowledge))
        ...                                      # open again: all of crash.acknowledged must be there
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from playhead import disk

Work = Callable[[Callable[[Any], None]], object]

_MOST_SECONDS = 120  # after which a child that hangs ends itself


class Operation(NamedTuple):
    """One change of the disk."""

    name: str
    path: str
    size: int


class Crash(NamedTuple):
    """How a process ended that was to be killed.

    Attributes:
        killed: The operation was reached.
        acknowledged: What the work had acknowledged by then.
    """

    killed: bool
    acknowledged: list[Any]


def operations_of(work: Callable[[], object]) -> list[Operation]:
    """Do some work and list the changes of the disk that it made."""
    seen: list[Operation] = []

    def hook(operation: str, path: str, size: int) -> None:
        seen.append(Operation(operation, path, size))

    with disk.hooked(hook):
        work()
    return seen


def count_operations(work: Callable[[], object]) -> int:
    """Do some work and count the changes of the disk that it made."""
    return len(operations_of(work))


@contextlib.contextmanager
def failing_at(n: int, code: int = errno.EIO, *, lasting: bool = False, short: bool = False) -> Iterator[list[str]]:
    """Let the n-th change of the disk within the block fail; give a list that names each that did.

    Args:
        n: Which one, from 0.
        code: The error, such as `errno.ENOSPC`.
        lasting: All later ones fail too.
        short: A write first writes half of its bytes, and then fails for want of space.
    """
    count = -1
    failed: list[str] = []

    def hook(operation: str, path: str, size: int) -> int | None:
        nonlocal count
        count += 1
        if count != n and not (lasting and count > n):
            return None
        failed.append(operation)
        if short and operation == "write":
            return size // 2
        raise OSError(code, os.strerror(code), path)

    with disk.hooked(hook):
        yield failed


def killed_at(n: int, work: Work, *, torn: bool = False) -> Crash:
    """Do some work in a forked process and kill that process at its n-th change of the disk.

    Args:
        n: Which one, from 0; the kill comes before it takes place.
        work: Called in the child with a function that acknowledges: it takes anything that JSON can hold.
        torn: If it is a write, half of its bytes reach the file.

    Raises:
        AssertionError: The work failed by itself; the message has its traceback.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _work_until_killed(n, work, writing, torn=torn)
    os.close(writing)
    with open(reading, "rb") as pipe:
        lines = pipe.read().decode().splitlines()
    _, status = os.waitpid(pid, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    if not killed and status != 0:
        raise AssertionError(f"the work ended with status {status}:\n" + "\n".join(lines))
    return Crash(killed, [json.loads(line) for line in lines])


def _work_until_killed(n: int, work: Work, pipe: int, *, torn: bool) -> None:
    def acknowledge(what: Any) -> None:
        os.write(pipe, json.dumps(what).encode() + b"\n")

    killer, status = _Killer(n, torn=torn), 1
    try:
        signal.alarm(_MOST_SECONDS)
        with disk.hooked(killer):
            work(acknowledge)
        status = 0
    finally:
        # The child ends here whatever happened: what comes behind the fork is its parent's.
        if killer.has_torn:
            killer.kill()
        if status:
            os.write(pipe, "".join(traceback.format_exception(*sys.exc_info())).encode())
        os._exit(status)


class _Killer:
    def __init__(self, n: int, *, torn: bool) -> None:
        self._left = n
        self._torn = torn
        self.has_torn = False

    def __call__(self, operation: str, path: str, size: int) -> int | None:  # noqa: ARG002
        self._left -= 1
        if self._left >= 0:
            return None
        if self._torn and operation == "write" and not self.has_torn:
            self.has_torn = True
            return size // 2  # that write then fails, and the next change of the disk is not reached
        self.kill()
        return None

    def kill(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)
