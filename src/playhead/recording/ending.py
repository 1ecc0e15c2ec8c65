"""How a run ends: by what error, exit code or signal, and what is written about it."""

from __future__ import annotations

import signal

from playhead import clock, facts, strictjson
from playhead.catalog.schema import STATUSES
from playhead.home import Home
from playhead.layout import RunFolder

ENDINGS = tuple(status for status in STATUSES if status != "running")

# What shells and schedulers make of a program that a signal ended: a handler of the program may exit so.
_BY_SIGNAL = {128 + number: number.name for number in (signal.SIGINT, signal.SIGTERM)}


class Terminated(SystemExit):
    """SIGTERM, raised where the program was."""


def ending(error: BaseException | None) -> tuple[str, str | None]:
    """Return the status, and the reason, of a run that an error ended, or none."""
    if isinstance(error, Terminated):
        return "interrupted", "SIGTERM"
    if isinstance(error, SystemExit) and type(error.code) is int and error.code in _BY_SIGNAL:
        return "interrupted", f"SystemExit: {error.code} ({_BY_SIGNAL[error.code]})"
    if isinstance(error, SystemExit) and error.code in (None, 0):
        return "finished", None
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", "KeyboardInterrupt"
    if error is None or isinstance(error, GeneratorExit):  # a generator that nobody reads to its end was not wrong
        return "finished", None
    return "failed", f"{type(error).__name__}: {error}"


def end(home: Home, run_dir: str, status: str, reason: str | None, at: float | None = None) -> None:
    """Write how a run ended, first into its folder, then into the catalogue."""
    folder = home.layout.run_at(run_dir)
    note(folder, status, reason, at)
    home.index(folder, values=False)


def note(folder: RunFolder, status: str, reason: str | None, at: float | None = None) -> None:
    """Write into its folder how a run ended."""
    content = facts.load(folder.status) | {"status": status, "ended_at": clock.now() if at is None else at}
    if reason is not None:
        content["exit_reason"] = strictjson.plain(str(reason))
    else:
        content.pop("exit_reason", None)
    facts.write(folder.status, content)
