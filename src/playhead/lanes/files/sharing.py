"""Folders that versions of an artifact share.

Where many files of a version are those of an earlier one, at the same place, their folder is a symbolic link to the
other's: `v2/files` leads to `../v1/files`, `v3/files/1` to `../../v1/files/1`. Links lead to folders and not to other
links; what leads anywhere else was not made here, and is never followed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from playhead import disk
from playhead.lanes.files.manifest import Manifest
from playhead.lanes.files.pool import READ_ONLY, Pool, blocks_of
from playhead.lanes.files.tree import above_of
from playhead.layout import ArtifactFolder, VersionFolder

LEAST = 64  # files that are worth a link
_CANNOT_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)
_MOST_LINKS = 8  # one after the other; more than one only where a purge was stopped


def home_of(version: VersionFolder, place: str, most: int = _MOST_LINKS) -> VersionFolder | None:
    """Find the version in which a folder of a version lies: itself, or one to which a link leads.

    Returns:
        None where it lies nowhere: it is gone, or something leads out of the artifact.
    """
    for path, folder in _down_to(version, place):
        try:
            mode = os.lstat(path).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return None
        if stat.S_ISLNK(mode) and folder is not None:
            other = version.linked(folder, os.readlink(path))
            return None if other is None or not most else home_of(other, place, most - 1)
        if not stat.S_ISDIR(mode):
            return None
    return version


def _down_to(version: VersionFolder, place: str) -> Iterator[tuple[Path, str | None]]:
    """Walk from the folder of a version down to a place in it."""
    yield version.path, None
    for folder in [*reversed([*above_of(place)]), place]:
        yield version.folder(folder), folder


def file_of(version: VersionFolder, member: str) -> Path | None:
    """Give where a file of a version lies in the version, or would; None where its folder is gone or leads out."""
    place, _, name = member.rpartition("/")
    home = home_of(version, place)
    return None if home is None else home.folder(place) / name


def links_of(version: VersionFolder, place: str = "") -> Iterator[tuple[str, str]]:
    """Walk over all links in the files of a version: the place of each, and what it says."""
    path = version.folder(place)
    if path.is_symlink():
        yield place, os.readlink(path)
        return
    try:
        with os.scandir(path) as found:
            entries = [(entry.name, entry.is_symlink()) for entry in found if _is_link_or_folder(entry)]
    except (FileNotFoundError, NotADirectoryError):
        return
    for name, is_link in sorted(entries):
        inner = f"{place}/{name}" if place else name
        if is_link:
            yield inner, os.readlink(path / name)
        else:
            yield from links_of(version, inner)


def _is_link_or_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_symlink() or entry.is_dir(follow_symlinks=False)


def link(version: VersionFolder, place: str, home: VersionFolder) -> bool:
    """Let a version have a folder of another one; tell whether the file system has such links."""
    try:
        disk.link_to(home.link_to(place), version.folder(place))
    except OSError as error:
        if not disk.cannot_link(error):
            raise
        return False
    return True


def fill(pool: Pool, target: Path, manifest: Manifest, place: str) -> list[str]:
    """Make a folder with what a manifest has at a place, as links to the pool; it is on the medium when this returns.

    Returns:
        The files whose contents are not in the pool.
    """
    start = len(place) + 1 if place else 0
    folders = {entry.path.rpartition("/")[0] for entry in manifest.files} | {*manifest.folders}
    for folder in sorted(folders):
        if folder == place or not place or folder.startswith(f"{place}/"):
            disk.make_folders(target / folder[start:], durable=False)
    missing = []
    for entry in manifest.files:
        if not place or entry.path.startswith(f"{place}/"):
            if pool.has(entry.sha256, entry.size):
                _put(pool.folder.blob(entry.sha256), f"{target}/{entry.path[start:]}")
            else:
                missing.append(entry.path)
    disk.sync_file_system(target)
    return missing


def _put(blob: str, target: str) -> None:
    try:
        disk.link_new(blob, target)
    except OSError as error:
        if not disk.cannot_link(error):
            raise
        disk.write_blocks(target, blocks_of(blob), mode=READ_ONLY, durable=False)


def pass_on(artifact: ArtifactFolder, number: int) -> dict[str, int]:
    """Give the folders of a version that is about to go to the versions that link to them; the lock is held.

    Each goes to one of them by one rename, and the others link to that one from now on. They do so before it goes, by
    a link to a link, so that at every moment all lead to the files.

    Returns:
        Which version has which folder now.
    """
    version = artifact.version(number)
    heirs: dict[str, int] = {}
    for place, other in sorted(_links_into(artifact, number), key=lambda found: (len(Path(found[0]).parts), *found)):
        home = home_of(version, place)
        above = next((folder for folder in (place, *above_of(place)) if folder in heirs), None)
        if home is None:
            continue  # there is nothing to give; `playhead repair` makes it anew from the pool
        if home != version:
            _relink(artifact.version(other), place, home)
        elif above is None:
            heirs[place] = other
        else:
            _relink(artifact.version(other), place, artifact.version(heirs[above]))
    for place, heir in heirs.items():
        _give(version.folder(place), artifact.version(heir).folder(place))
    return heirs


def _links_into(artifact: ArtifactFolder, number: int) -> Iterator[tuple[str, int]]:
    version = artifact.version(number)
    for other in artifact.numbers():
        for place, said in links_of(artifact.version(other)):
            if artifact.version(other).linked(place, said) == version:
                yield place, other


def _relink(version: VersionFolder, place: str, home: VersionFolder) -> None:
    temporary = disk.temporary_beside(version.path)
    disk.link_to(home.link_to(place), temporary)
    disk.rename(temporary, version.folder(place))
    disk.sync_folder(version.folder(place).parent)


def _give(folder: Path, link: Path) -> None:
    """Put a folder in the place of a link to it."""
    try:
        disk.exchange(folder, link)
    except OSError as error:
        if error.errno not in _CANNOT_EXCHANGE:
            raise
        disk.remove(link)
        disk.rename(folder, link)
    disk.sync_folder(link.parent)
    disk.sync_folder(folder.parent)
