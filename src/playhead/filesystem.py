"""What can be known of the file system under a store. Reads only."""

from __future__ import annotations

import os
import re
from pathlib import Path

# File systems on which several machines may write the same file: SQLite's shared memory does not reach across them.
_NETWORK = re.compile(
    r"nfs\d?|cifs|smb\d?|smbfs|afs|ncpfs|ceph|glusterfs|lustre|gpfs|beegfs|orangefs|pvfs2|9p|fuse\.(?!.*bind).*"
)

_OCTAL = re.compile(r"\\([0-7]{3})")


def type_of(path: Path, mounts: str | None = None) -> str:
    """Give the type of the file system that a path lies on, such as `ext4`; empty where that cannot be known.

    Args:
        path: Any path, existing or not.
        mounts: The text of `/proc/self/mounts`; read where it is not given.
    """
    if mounts is None:
        try:
            mounts = Path("/proc/self/mounts").read_text()
        except OSError:
            return ""
    target = os.path.realpath(path)
    best, kind = "", ""
    for line in mounts.splitlines():
        _device, point, name, *_ = line.split(" ")
        point = _OCTAL.sub(lambda match: chr(int(match[1], 8)), point)
        inside = target == point or target.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, name
    return kind


def is_network(path: Path, mounts: str | None = None) -> bool:
    """Tell whether a path lies on a network file system."""
    return _NETWORK.fullmatch(type_of(path, mounts)) is not None


def is_writable(folder: Path) -> bool:
    """Tell whether files can be made in a folder; also false on a medium mounted read-only, for root too."""
    return os.access(folder, os.W_OK)


def size_of(folder: Path) -> int:
    """Add up the bytes of all files below a folder; files linked twice count once."""
    seen: set[tuple[int, int]] = set()
    total = 0
    for root, _folders, names in os.walk(folder):
        for name in names:
            status = os.lstat(os.path.join(root, name))
            if (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                total += status.st_size
    return total
