"""One snapshot of the code, the machine and the process that a run is made with."""

from __future__ import annotations

import getpass
import os
import platform
import socket
import sys
from pathlib import Path
from typing import Any

from playhead.capture import git, hardware, packages, secrets, variables


def capture(folder: Path | None = None) -> dict[str, Any]:
    """Take a snapshot that JSON can hold.

    It changes nothing in this process (no signal handler, no working folder), so a background thread may call it. It
    starts `git` and `nvidia-smi`, each with a time limit.

    Args:
        folder: Where the code lies; the working folder when None.

    Returns:
        The keys `git`, `packages`, `argv`, `executable`, `cwd`, `python`, `platform`, `hostname`, `user`, `cpu`,
        `memory_bytes`, `gpus`, `env` and `notes`. A part that cannot be had is None, and `notes` says why.

    Example:
        >>> snapshot = capture()
        >>> snapshot["python"].startswith("3.")
        True
    """
    notes: list[str] = []
    cwd = _working_folder(notes)
    code = folder or (Path(cwd) if cwd else None)
    snapshot = {
        "git": git.state(code, notes) if code else None,
        "packages": packages.installed([entry for entry in sys.path if isinstance(entry, str)], notes),
        "argv": secrets.mask_arguments(sys.argv),
        "executable": sys.executable,
        "cwd": cwd,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "hostname": socket.gethostname(),
        "user": _user(notes),
        "cpu": hardware.cpu(notes),
        "memory_bytes": hardware.memory_bytes(notes),
        "gpus": hardware.gpus(notes),
        "env": variables.allowed(os.environ),
        "notes": notes,
    }
    return {key: _as_json(value) for key, value in snapshot.items()}


def _working_folder(notes: list[str]) -> str | None:
    try:
        return os.getcwd()
    except OSError as error:
        notes.append(f"cwd: the working folder is gone ({error.strerror})")
        return None


def _user(notes: list[str]) -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError) as error:
        notes.append(f"user: this account has no name ({error})")
        return None


def _as_json(value: Any) -> Any:
    """Replace what UTF-8 cannot hold: bytes of a file name or an argument that were no text come as lone surrogates."""
    if isinstance(value, str):
        return value.encode("utf-8", errors="backslashreplace").decode("utf-8")
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    if isinstance(value, dict):
        return {_as_json(key): _as_json(item) for key, item in value.items()}
    return value
