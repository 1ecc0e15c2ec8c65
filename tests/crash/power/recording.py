"""Everything that a workload changes on the disk, in order: made by `record.c`, read here.

As a program, under that library: does the workload that its arguments name, in the folder that is recorded.
"""

from __future__ import annotations

import ctypes
import enum
import functools
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
_HEAD = struct.Struct("<7Q")


class What(enum.IntEnum):
    """What is done to the disk; the numbers are those of `record.c`."""

    ROOT = 1
    CREATE = 2
    MKDIR = 3
    SYMLINK = 4
    LINK = 5
    UNLINK = 6
    RENAME = 7
    WRITE = 8
    TRUNCATE = 9
    SYNC = 10
    SYNC_ALL = 11
    MAPPED = 12
    NOTE = 13


@dataclass(frozen=True, slots=True)
class Event:
    """One change of the disk, one sync, or one note of the program.

    Attributes:
        what: Which kind.
        file: The inode of the file, or of the folder that a name is in.
        other: The inode that gets a name, the folder that something is renamed to, an offset, or a size.
        more: The mode of a new file, or the flags of a rename.
        name: The name in the folder.
        second: The new name, or where a symbolic link leads.
        data: What is written or noted.
    """

    what: What
    file: int
    other: int
    more: int
    name: bytes
    second: bytes
    data: bytes


@functools.cache
def library() -> Path:
    """Build what a program is started with to be recorded."""
    built = Path(tempfile.mkdtemp(prefix="playhead-power-")) / "record.so"
    source = Path(__file__).with_name("record.c")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", built, source, "-ldl", "-lpthread"], check=True)
    return built


def record(workload: str, folder: Path, log: Path) -> list[Event]:
    """Do a workload in a process of its own, in a new folder.

    Args:
        workload: Its name.
        folder: Where.
        log: Where the record goes; on any file system.

    Raises:
        AssertionError: The workload failed by itself.
    """
    folder.mkdir(parents=True)
    environment = {
        **os.environ,
        **{"LD_PRELOAD": str(library()), "RECORD_ROOT": str(folder), "RECORD_LOG": str(log)},
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", "tests.crash.power.recording", workload, str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return list(read(log))


def read(log: Path) -> Iterator[Event]:
    """Read a record."""
    data = log.read_bytes()
    at = 0
    while at < len(data):
        what, file, other, more, *sizes = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        parts = []
        for size in sizes:
            parts.append(data[at : at + size])
            at += size
        yield Event(What(what), file, other, more, *parts)


def note(text: str) -> None:
    """Add a line to the record of this process: what has been promised by now."""
    ctypes.CDLL(None).record_note(text.encode())


if __name__ == "__main__":
    from tests.crash.power.workloads import WORKLOADS

    WORKLOADS[sys.argv[1]].work(Path(sys.argv[2]) / "s", note)
