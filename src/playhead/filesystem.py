"""What can be known of the file system under a store. Reads only."""

from __future__ import annotations

import os
import re
from pathlib import Path

# File systems that one machine alone writes. On all others several may, and SQLite's shared memory does not reach
# across them. A type that is not known here is one of the others: its catalogue is slower there, and safe.
_LOCAL = frozenset({
    *("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "bcachefs", "f2fs", "jfs", "jffs2", "ubifs", "nilfs2", "minix"),
    *("reiserfs", "reiser4", "tmpfs", "ramfs", "rootfs", "overlay", "overlayfs", "aufs", "unionfs", "ecryptfs"),
    *("apfs", "hfs", "hfsplus", "ufs", "ffs", "vfat", "msdos", "exfat", "ntfs", "ntfs3", "fuseblk"),
    *("squashfs", "erofs", "cramfs", "romfs", "iso9660", "udf", "lxfs", "wslfs"),
})  # fmt: skip
# Of the others, those whose inodes are the server's: the same for all who look, for as long as a file is there.
_LASTING = frozenset({
    *("nfs", "nfs4", "ceph", "lustre", "gpfs", "beegfs", "wekafs", "panfs", "fuse.glusterfs", "fuse.ceph"),
    *("ocfs2", "gfs2"),
})  # fmt: skip

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
        if "\\" in point:
            point = _OCTAL.sub(lambda match: chr(int(match[1], 8)), point)
        inside = target == point or target.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, name
    return kind


def is_network(path: Path, mounts: str | None = None) -> bool:
    """Tell whether other machines may write what a path names: it is not known that none can.

    Args:
        path: Any path, existing or not.
        mounts: The text of `/proc/self/mounts`; read where it is not given. A system without it, such as macOS, counts
            as local.
    """
    kind = type_of(path, mounts)
    return bool(kind) and kind not in _LOCAL


def has_lasting_inodes(path: Path) -> bool:
    """Tell whether a file keeps its inode for as long as it is there, for all who look at it."""
    kind = type_of(path)
    return not kind or kind in _LOCAL or kind in _LASTING


def is_sealed(path: Path) -> bool:
    """Tell whether nobody can write what a path names, since it is mounted read-only."""
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False


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
