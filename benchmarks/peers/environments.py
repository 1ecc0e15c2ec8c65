"""A virtual environment per peer, made when it is first needed."""

import subprocess
import sys
import venv
from pathlib import Path

from benchmarks.peers.registry import Peer

RECORD = "requirements.txt"


class InstallError(RuntimeError):
    """A peer could not be installed; the text is the last thing its installer said."""


def python_for(peer: Peer, peers_folder: Path) -> Path:
    """Give the Python that has the peer installed, installing it if it is not there as pinned.

    Raises:
        InstallError: The installer failed.
    """
    if not peer.requirements:
        return Path(sys.executable)
    folder = peers_folder / peer.name
    python, record, wanted = folder / "bin" / "python", folder / RECORD, "\n".join(peer.requirements) + "\n"
    if record.exists() and record.read_text() == wanted:
        return python
    _ignore_by_git(peers_folder)
    print(f"installing {peer.title} ({', '.join(peer.requirements)}) into {folder}", file=sys.stderr)
    venv.create(folder, with_pip=True, clear=True, symlinks=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *peer.requirements]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise InstallError((result.stderr.strip().splitlines() or ["pip failed without a word"])[-1])
    record.write_text(wanted)
    return python


def _ignore_by_git(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n")
