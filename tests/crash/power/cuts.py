"""Real power cuts: a file system in a file, shut down in the middle of a workload without writing its log.

A program of its own, in mounts of its own: a file system that another process also has mounted stays shut down.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import traceback
import warnings
from pathlib import Path
from unittest import mock

from playhead import process
from tests.crash.power.campaign import Found
from tests.crash.power.workloads import WORKLOADS

SIZES = {"ext4": 64 << 20, "xfs": 300 << 20}  # of the files, which have holes
NAMES = ["runs", "replays", "episodes", "unsynced", "artifacts few", "table one-file", "trace trace-tiered"]
_SHUT_DOWN, _WITHOUT_LOG = 0x8004587D, 2
_NOT_HERE = 77  # the status if this machine lets nobody make or mount a file system


class Disk:
    """A file system in a file, mounted; its power can be cut.

    Args:
        kind: `ext4` or `xfs`.
        folder: Where the file and the mount are made.
    """

    def __init__(self, kind: str, folder: Path) -> None:
        self.path = folder / kind
        self._image = folder / f"{kind}.img"
        self.path.mkdir()
        with self._image.open("wb") as file:
            file.truncate(SIZES[kind])
        _run(f"mkfs.{kind}", "-q", str(self._image))
        self._loop = _run("losetup", "--find", "--show", str(self._image)).strip()
        try:
            self.mount()
        except BaseException:
            _run("losetup", "--detach", self._loop)
            raise

    def mount(self) -> None:
        """Make it usable; the file system brings itself in order."""
        _run("mount", self._loop, str(self.path))

    def shut_down(self) -> None:
        """Let nothing reach the medium any more."""
        fd = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, _SHUT_DOWN, _WITHOUT_LOG.to_bytes(4, "little"))
        finally:
            os.close(fd)

    def unmount(self) -> None:
        gc.collect()  # files that readers have open
        _run("umount", str(self.path))

    def close(self) -> None:
        """Take it away."""
        self.unmount()
        _run("losetup", "--detach", self._loop)
        self._image.unlink()


def _run(*command: str) -> str:
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path})
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def cut(made: Disk, name: str, seconds: float | None, chance: random.Random, found: Found) -> float:
    """Do a workload, cut the power at a random moment of it, and hold what is left to what was promised.

    Args:
        made: Where.
        name: The workload.
        seconds: How long it takes; None lets it come to its end before the cut.
        chance: Chooses the moment.
        found: Is added to.

    Returns:
        How long it ran.
    """
    place = made.path / "s"
    reading, writing = os.pipe()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        _work(name, place, writing)
    os.close(writing)
    with open(reading, "rb", buffering=0) as pipe:
        if seconds is not None:
            time.sleep(chance.uniform(0, seconds))
            # Only what was told before the cut was promised: a sync that meets the shutdown may still return, and
            # none does when the power is gone.
            os.set_blocking(reading, False)
            said = pipe.read() or b""
            made.shut_down()
            os.kill(child, signal.SIGKILL)
        else:
            said = b"".join(iter(lambda: pipe.read(1 << 16), b""))
        told = [line.decode() for line in said.split(b"\n")[:-1]]
    os.waitpid(child, 0)
    lasted = time.monotonic() - began
    if seconds is None:
        made.shut_down()
    made.unmount()
    made.mount()
    found.tried += 1
    try:
        with warnings.catch_warnings(), mock.patch.object(process, "_place", return_value="another boot/of this one"):
            warnings.simplefilter("ignore", RuntimeWarning)
            WORKLOADS[name].hold(place, told)
    except Exception as error:  # noqa: BLE001  every kind of broken promise is collected
        found.problems[found.tried] = f"{name}: {type(error).__name__}: {error}"
        traceback.print_exc()
    for left in made.path.iterdir():
        if left.name != "lost+found":
            shutil.rmtree(left)
    os.sync()  # or the next cut brings it back
    return lasted


def campaign_of(kind: str, folder: Path, count: int) -> Found:
    """Cut the power of a file system, again and again.

    Args:
        kind: `ext4` or `xfs`.
        folder: Where it is made.
        count: How often, besides one cut after each workload.

    Raises:
        OSError: This machine lets nobody make or mount one.
    """
    if not shutil.which("unshare"):
        raise OSError("there is no unshare")
    command = ["unshare", "--mount", sys.executable, "-m", __name__, kind, os.fspath(folder), str(count)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        (folder / f"{kind}.img").unlink(missing_ok=True)
    if done.returncode == _NOT_HERE or done.stderr.startswith("unshare:"):
        raise OSError(done.stderr.strip()[-500:])
    assert done.returncode == 0, done.stderr[-4000:]
    sys.stderr.write(done.stderr)
    said = json.loads(done.stdout.splitlines()[-1])
    return Found(tried=said["tried"], problems=said["problems"])


def main(kind: str, folder: str, count: str) -> None:
    """Do it in this process, and print what was found."""
    found, chance, lasts = Found(), random.Random(11), dict[str, float]()
    try:
        made = Disk(kind, Path(folder))
    except OSError as error:
        print(error, file=sys.stderr)
        raise SystemExit(_NOT_HERE) from None
    with contextlib.closing(made):
        for number in range(int(count)):
            name = NAMES[number % len(NAMES)]
            if name not in lasts:
                lasts[name] = cut(made, name, None, chance, found)
            cut(made, name, lasts[name], chance, found)
    print(json.dumps({"tried": found.tried, "problems": found.problems}))


def _work(name: str, place: Path, pipe: int) -> None:
    """Do a workload in a forked child until its disk is gone."""
    try:
        with open(os.devnull, "w") as nowhere:  # what the end of its disk makes it say
            os.dup2(nowhere.fileno(), 2)
        WORKLOADS[name].work(place, lambda text: os.write(pipe, f"{text}\n".encode()) and None)
    finally:
        os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
