"""Everything that a workload changes on the disk, in order: made by `record.c`, read here.

As a program, under that library: does the workloads that its arguments name, in the folder that is recorded.
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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from playhead import disk

ROOT = Path(__file__).parents[3]
_NEXT = b"# "  # begins the note of a new workload, with its name
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


def record(workloads: Iterable[str], folder: Path) -> dict[str, list[Event]]:
    """Do workloads one after the other, in a process of their own; return what each did.

    Args:
        workloads: Their names.
        folder: Where; a new folder on the file system that is recorded.

    Raises:
        AssertionError: A workload failed by itself.
    """
    folder.mkdir(parents=True)
    log = folder.with_name(f"{folder.name}.log")
    environment = {
        **os.environ,
        **{"LD_PRELOAD": str(library()), "RECORD_ROOT": str(folder), "RECORD_LOG": str(log)},
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", "tests.crash.power.recording", str(folder), *workloads]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    root, *events = read(log)
    found: dict[str, list[Event]] = {}
    current: list[Event] = []  # of no workload
    for event in events:
        if event.what is What.NOTE and event.data.startswith(_NEXT):
            found[event.data.removeprefix(_NEXT).decode()] = current = [root]
        else:
            current.append(event)
    return found


def place_of(folder: Path, workload: str) -> Path:
    """Name the folder in which a workload works."""
    return folder / workload.replace(" ", "-") / "s"


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


def _work(folder: Path, names: Sequence[str]) -> None:
    from tests.crash.power.workloads import WORKLOADS

    for name in names:
        note(f"{_NEXT.decode()}{name}")
        place = place_of(folder, name)
        place.parent.mkdir()
        disk.sync_folder(folder)
        WORKLOADS[name].work(place, note)


if __name__ == "__main__":
    _work(Path(sys.argv[1]), sys.argv[2:])
