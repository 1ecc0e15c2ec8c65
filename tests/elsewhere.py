"""Programs run as other users, and with other views of processes and mounts: what only root can arrange."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ADA, BOB, GROUP = 42_001, 42_002, 42_009  # users and a group that need no names
_TRIAL = "import playhead; print('here')"


def program(
    code: str,
    *arguments: object,
    uid: int = 0,
    gid: int = 0,
    umask: int = 0o022,
    before: str = "",
    mounts: bool = False,
    processes: bool = False,
) -> list[str]:
    """Return the command that runs some Python.

    Args:
        code: The program; its arguments are in `sys.argv`.
        arguments: For it.
        uid: Who runs it.
        gid: With which group, and no other one.
        umask: What it takes away from the mode of new files.
        before: Shell commands that root runs before, such as mounts.
        mounts: Give it mounts of its own.
        processes: Give it numbers of processes of its own.
    """
    own = ["unshare", *(["--mount"] if mounts or processes else []), *(["--pid", "--fork"] if processes else [])]
    before = f"{before or 'true'} && " + ("mount -t proc proc /proc && " if processes else "")
    become = f"umask {umask:o} && exec setpriv --reuid {uid} --regid {gid} --clear-groups"
    shell = ["sh", "-c", f'{before}{become} "$@"', "sh", sys.executable, "-c", code, *map(str, arguments)]
    return [*own, *shell] if len(own) > 1 else shell


def run(code: str, *arguments: object, **how: object) -> str:
    """Run some Python to its end, and return what it printed.

    Raises:
        AssertionError: If it failed; with its last lines.
    """
    done = subprocess.run(program(code, *arguments, **how), capture_output=True, text=True, timeout=120, check=False)  # type: ignore[arg-type]
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def start(code: str, *arguments: object, **how: object) -> subprocess.Popen[str]:
    """Start some Python, and wait for the first line that it prints."""
    command = program(code, *arguments, **how)  # type: ignore[arg-type]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline(), "the program ended before it was ready"
    return process


@functools.cache
def can(uid: int, mounts: bool, processes: bool) -> bool:
    """Return whether such a program can be run here."""
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("setpriv"):
        return False
    command = program(_TRIAL, uid=uid, gid=GROUP, mounts=mounts, processes=processes)
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout == "here\n"


def need(*, uid: int = 0, mounts: bool = False, processes: bool = False) -> None:
    """Skip the test if such a program cannot be run here."""
    if not can(uid, mounts, processes):
        pytest.skip("needs root, and a system that lets it be other users and have other mounts")


def shared_folder(tmp_path: Path, mode: int = 0o2775) -> Path:
    """Make a folder of the group, in a place that all users can reach."""
    for above in [tmp_path, *tmp_path.parents][:4]:
        if above.stat().st_uid == os.geteuid() and above != Path("/"):
            above.chmod(above.stat().st_mode | 0o755)
    folder = tmp_path / "shared"
    folder.mkdir()
    os.chown(folder, ADA, GROUP)
    folder.chmod(mode)
    return folder
