"""Which distributions are installed, read from the names of their metadata folders.

`importlib.metadata` parses a file for every distribution, tens of milliseconds in a large environment. The name of a
`.dist-info` folder holds both facts by specification, so that one listing of each import folder is enough; only an
`.egg-info` without a version in its name is opened.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_NAMED = re.compile(r"(?P<name>[A-Za-z0-9][^-]*)-(?P<version>[^-]+)(?:-py[\d.]+[^/]*)?\.(?:dist|egg)-info")
_UNNAMED = re.compile(r"(?P<name>[A-Za-z0-9][^-]*)\.egg-info")
_VERSION_LINE = re.compile(r"^Version: *(.+?) *$", re.MULTILINE)
_HEADER_LIMIT = 4096
_SEPARATORS = re.compile(r"[-_.]+")


def installed(folders: Iterable[str], notes: list[str]) -> dict[str, str]:
    """Map each distribution in the import folders to its version.

    Names are in their normal form (lower case, `-` between words). As on import, the first folder that has a
    distribution wins.

    Args:
        folders: The import path, such as `sys.path`.
        notes: Takes the reason for each folder that could not be listed.
    """
    found: dict[str, str] = {}
    for folder in dict.fromkeys(folder or os.curdir for folder in folders):
        for name, version in _distributions_in(folder, notes):
            found.setdefault(_SEPARATORS.sub("-", name).lower(), version)
    return dict(sorted(found.items()))


def _distributions_in(folder: str, notes: list[str]) -> Iterator[tuple[str, str]]:
    try:
        entries = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return  # an import path may name zip files and folders that do not exist
    except OSError as error:
        notes.append(f"packages: {folder} could not be listed: {error.strerror}")
        return
    for entry in entries:
        if not entry.endswith((".dist-info", ".egg-info")):
            continue
        if named := _NAMED.fullmatch(entry):
            yield named["name"], named["version"]
        elif (unnamed := _UNNAMED.fullmatch(entry)) and (version := _version_inside(Path(folder, entry), notes)):
            yield unnamed["name"], version


def _version_inside(egg_info: Path, notes: list[str]) -> str | None:
    header = egg_info / "PKG-INFO" if egg_info.is_dir() else egg_info
    try:
        with header.open("rb") as file:
            text = file.read(_HEADER_LIMIT).decode("utf-8", errors="replace")
    except OSError as error:
        notes.append(f"packages: {header} could not be read: {error.strerror}")
        return None
    version = _VERSION_LINE.search(text)
    return version[1] if version else None
