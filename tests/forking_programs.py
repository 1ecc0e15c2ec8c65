"""Programs that fork while other threads are at work; run by `test_forks`.

`python forking_programs.py folder name …` runs one after the other, and prints what they found as JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import playhead
from playhead import disk

HUNG = -1


def child(work: Callable[[], object], seconds: float = 5) -> int:
    """Fork a child that does something; return its exit code, or that it hung."""
    return end_of(forked(work), seconds)


def forked(work: Callable[[], object]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
    except playhead.PlayheadError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        os._exit(1)
    os._exit(0)


def end_of(pid: int, seconds: float = 5) -> int:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return HUNG


def begin(work: Callable[..., object], *given: Any) -> threading.Thread:
    thread = threading.Thread(target=work, args=given, daemon=True)
    thread.start()
    return thread


def locks(folder: Path) -> Any:
    """A lock of the disk that another thread holds at a fork is given back; a child does not give that of its parent."""
    begun, on = threading.Event(), threading.Event()

    def hold() -> None:
        with disk.locked(folder):
            begun.set()
            on.wait()

    holding = begin(hold)
    begun.wait()
    pid = forked(lambda: time.sleep(60))
    on.set()
    holding.join()
    with disk.locked(folder, wait=False) as mine:
        found = [mine]
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with contextlib.ExitStack() as held:
        held.enter_context(disk.locked(folder))
        child(held.close)
        with disk.locked(folder, wait=False) as mine:
            found.append(mine)
    return found


if __name__ == "__main__":
    found = {}
    for name in sys.argv[2:]:
        (place := Path(sys.argv[1], name)).mkdir()
        found[name] = globals()[name](place)
    print(json.dumps(found), flush=True)
    os._exit(0)  # threads are still at work
