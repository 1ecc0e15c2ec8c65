"""Who records, and whether that process is still alive."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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
        pid = os.getpid()
        return cls(pid, _start_of(pid) or 0, _place(), socket.gethostname())

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

    def is_alive(self) -> bool:
        """Tell whether the process runs. Means something only where `is_here()`."""
        return _start_of(self.pid) == self.started


def _start_of(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return _exists_without_proc(pid)
    fields = stat[stat.rindex(b")") + 2 :].split()
    # A zombie has ended: it only waits for its parent to look.
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def _exists_without_proc(pid: int) -> int | None:
    if os.path.isdir("/proc/self"):
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return 0
    return 0


def _place() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except FileNotFoundError:
        return socket.gethostname()
