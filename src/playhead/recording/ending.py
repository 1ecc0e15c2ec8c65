"""How a run ends: by what error or signal, and what is written about it."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

from playhead import clock, facts, strictjson
from playhead.catalog.schema import STATUSES
from playhead.home import Home

ENDINGS = tuple(status for status in STATUSES if status != "running")


class Terminated(SystemExit):
    """SIGTERM, raised where the program was."""


def ending(error: BaseException | None) -> tuple[str, str | None]:
    """Give the status, and the reason, of a run that an error ended, or none."""
    if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
        return "finished", None
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", "KeyboardInterrupt"
    if isinstance(error, Terminated):
        return "interrupted", "SIGTERM"
    return "failed", f"{type(error).__name__}: {error}"


def end(home: Home, run_dir: str, status: str, reason: str | None, at: float | None = None) -> None:
    """Write how a run ended, first into its folder, then into the catalogue."""
    folder = home.layout.run_at(run_dir)
    content = facts.load(folder.status) | {"status": status, "ended_at": clock.now() if at is None else at}
    if reason is not None:
        content["exit_reason"] = strictjson.plain(reason)
    else:
        content.pop("exit_reason", None)
    facts.write(folder.status, content)
    home.index(folder, values=False)


class Sigterm:
    """Lets SIGTERM end a `with` block, unless the program handles it itself or this is not the main thread."""

    def __init__(self) -> None:
        self._before: Any = None

    def catch(self) -> None:
        """Raise `Terminated` when it comes."""
        main = threading.current_thread() is threading.main_thread()
        if main and self._before is None and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            self._before = signal.signal(signal.SIGTERM, _raise_terminated)

    def restore(self) -> None:
        """Do what was done before."""
        if self._before is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._before)
            self._before = None


def _raise_terminated(signum: int, _frame: FrameType | None) -> None:
    raise Terminated(128 + signum)
