"""Who records, and whether that process is still alive."""

from __future__ import annotations

import contextlib
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MOST_PID = 1 << 31  # a claim may come from anywhere, and hold any number


@dataclass(frozen=True, slots=True)
class Process:
    """One process of one machine, told apart from any later one with the same number.

    Attributes:
        pid: Its number.
        started: Its start in clock ticks since boot; a number that is used again has another start.
        place: The boot and the process namespace in which the number means something.
        hostname: The machine's name, for people.
    """

    pid: int
    started: int
    place: str
    hostname: str

    @classmethod
    def current(cls) -> Process:
        """Describe the calling process."""
        pid, started = os.getpid(), None
        with contextlib.suppress(OSError):  # a system without /proc
            started = _start_of(pid)
        return cls(pid, started or 0, _place(), socket.gethostname())

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Process:
        """Read what `to_json` gave."""
        return cls(int(data["pid"]), int(data["started"]), str(data["place"]), str(data["hostname"]))

    def to_json(self) -> dict[str, Any]:
        """Give a form that survives in a file."""
        return {"pid": self.pid, "started": self.started, "place": self.place, "hostname": self.hostname}

    def is_here(self) -> bool:
        """Tell whether the number can be looked up on this machine, in this container, since this boot."""
        return self.place == _place()

    def is_of_earlier_boot(self) -> bool:
        """Tell whether this machine was started again since, as after a power cut: nothing of then runs now."""
        (boot, known, _), (now, knows, _) = self.place.partition("/"), _place().partition("/")
        return bool(known and knows) and boot != now and self.hostname == socket.gethostname()

    def is_alive(self) -> bool | None:
        """Tell whether the process runs. Means something only where `is_here()`.

        Returns:
            None if the number is in use and nobody tells by which process, as `/proc` with `hidepid` does of others.
        """
        try:
            started = _start_of(self.pid)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            return self._is_in_use()
        return started == self.started

    def _is_in_use(self) -> bool | None:
        """Ask the kernel for a process of which `/proc` says nothing."""
        if not 0 < self.pid < _MOST_PID:
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return None
        return True if self.started == 0 else None  # without /proc, no start was noted


def _start_of(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot; None for one that has ended.

    Raises:
        FileNotFoundError: If `/proc` does not show the process: it is gone, or it is that of another user.
    """
    stat = Path(f"/proc/{pid}/stat").read_bytes()
    fields = stat[stat.rindex(b")") + 2 :].split()
    # A zombie has ended: it only waits for its parent to look.
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def boot() -> str:
    """Return what names this start of the machine; the machine's name, if the system does not number its starts."""
    return _place().partition("/")[0]


def _place() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except FileNotFoundError:
        return socket.gethostname()
