"""The rules for names that become paths."""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from playhead.errors import BadName, Damaged, WrongType

MARKER = "playhead.json"
DATABASE = "playhead.db"
# Folders at the top of a store that hold lanes, not projects.
LANES = ("artifacts", "episodes", "replay", "runs", "tables", "traces")
MAX_NAME_BYTES = 200
WINDOWS_NAMES = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
_UNSUITABLE = re.compile(
    r'[\\:*?"<>|\x00-\x1f]|[. ](/|$)|(^|/)(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.[^/]*)?(/|$)', re.IGNORECASE
)
UNSAFE = re.compile(r'[/\\:*?"<>|%]|^\.|[. ]$')
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
# Control, format (bidirectional marks, zero-width joiners), surrogate, private and unassigned characters, line and
# paragraph separators: two names that look alike must not differ in what cannot be seen.
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def check_label(name: str, what: str) -> str:
    """Check a name that never becomes a path, such as a metric's, and bring it into Unicode's composed form.

    Raises:
        BadName: The name cannot be stored; the message says why.
    """
    if not isinstance(name, str):
        raise BadName(f"the {what} is text, not {type(name).__name__}")
    if not name.strip():
        raise BadName(f"the {what} must not be empty")
    if name != name.strip():
        raise BadName(f"the {what} must not begin or end with white space: {name!r}")
    bad = next((char for char in name if unicodedata.category(char) in _INVISIBLE), None)
    if bad is not None:
        raise BadName(f"the {what} {name[:40]!r} contains the invisible character U+{ord(bad):04X}; leave it out")
    name = unicodedata.normalize("NFC", name)
    size = len(name.encode())
    if size > MAX_NAME_BYTES:
        raise BadName(f"the {what} {name[:40]!r}… has {size} bytes; at most {MAX_NAME_BYTES} are allowed")
    return name


def several(names: Iterable[str] | str, what: str) -> list[str]:
    """Return names that a person gives, one alone or several.

    Raises:
        WrongType: They are something else.
    """
    if isinstance(names, str):
        return [names]
    if not isinstance(names, Iterable):
        raise WrongType(f"{what} are texts: one, or a list of them, not {type(names).__name__}")
    return list(names)


def check_name(name: str, what: str = "name") -> str:
    """Check a name of a project or a run, from which a folder is made; otherwise as `check_label`.

    Slashes are allowed within (`ablation/lr`): they do not become folders.

    Raises:
        BadName: The name cannot be stored; the message says why.
    """
    name = check_label(name, what)
    if any(part.strip() in ("", ".", "..") for part in re.split(r"[/\\]", name)):
        raise BadName(f"the {what} {name!r} reads as a path; use 'a' or 'a/b', not '..', '/a' or 'a//b'")
    return name


def check_run_id(run_id: str) -> str:
    """Check an id, which is a part of file names and refs.

    Raises:
        BadName: It is not letters, digits, `_` and `-`, or too long.
    """
    if not isinstance(run_id, str) or not RUN_ID.fullmatch(run_id) or WINDOWS_NAMES.fullmatch(run_id):
        raise BadName(
            f"{run_id!r} cannot be a run id: use up to 128 letters, digits, '_' and '-', the first a letter or digit"
        )
    return run_id


def check_signal_name(name: str) -> str:
    """Check the name of a signal, which becomes the name of its files; otherwise as `check_label`.

    Raises:
        BadName: No file could be named so, or one that readers take for something else.
    """
    name = check_label(name, "signal name")
    if UNSAFE.search(name) or WINDOWS_NAMES.fullmatch(name):
        raise BadName(
            f'{name!r} cannot be the name of a signal, since it names its files: leave out / \\ : * ? " < > | % and '
            "a dot at either end; 'arm.joint' does what 'arm/joint' would"
        )
    check_encodable(name)
    if name.casefold().endswith(".frames"):
        raise BadName(f"{name!r} cannot be the name of a signal: '.frames' marks the index of a video")
    return name


def suits_windows(names: Sequence[str]) -> bool:
    """Tell quickly whether Windows could have all names of a folder; `windows_problems` says which it could not."""
    text = "/".join(names)
    return not _UNSUITABLE.search(text) and len({*text.casefold().split("/")}) >= len(names)


def folder_name(name: str, *, top: bool = False) -> str:
    """Give the folder for a checked name: the name itself, with what file systems dislike percent-encoded.

    Args:
        name: A name that `check_name` gave.
        top: The folder lies at the top of the store, where lanes have theirs.
    """
    encoded = UNSAFE.sub(lambda match: _percent(match[0]), name)
    if WINDOWS_NAMES.fullmatch(encoded) or (top and encoded.casefold() in (*LANES, MARKER, DATABASE)):
        encoded = _percent(encoded[0]) + encoded[1:]
    size = len(os.fsencode(check_encodable(encoded)))
    if size > 255:
        raise BadName(f"the name {name[:40]!r}… needs {size} bytes as a folder; make it shorter")
    return encoded


def check_encodable(name: str) -> str:
    """Check that this process writes the name of a file as UTF-8, as all names of a store are.

    Raises:
        BadName: It writes names of files in another way.
    """
    if name.isascii():
        return name
    try:
        is_utf8 = os.fsencode(name) == name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        is_utf8 = False
    if not is_utf8:
        raise BadName(
            f"no file can be called {name[:100]!r} here: this process writes names of files as "
            f"{sys.getfilesystemencoding()}, and those of a store are UTF-8. Start Python with PYTHONUTF8=1, or set "
            "LC_ALL=C.UTF-8"
        )
    return name


def _percent(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


def name_of_folder(folder: str) -> str:
    """Give the name for which `folder_name` made a folder."""
    return unquote(folder)


def inside(relative: str, folder: Path) -> Path:
    """Check a relative path that was read from a file: what others wrote may be hostile.

    Raises:
        Damaged: It leads out of the folder, or no file system could have it.
    """
    path = PurePosixPath(check_encodable(relative))
    if len(relative) > 60 and any(len(os.fsencode(part)) > 255 for part in path.parts):
        raise Damaged(folder, "names of at most 255 bytes", f"{relative[:60]!r}…", "Do not use what you cannot trust")
    if path.is_absolute() or ".." in path.parts or "\x00" in relative or not path.parts:
        raise Damaged(folder, "paths that stay inside", repr(relative), "Do not use what you cannot trust")
    return Path(*path.parts)


def names_in(folder: Path) -> list[str]:
    """List the names for which a folder has folders; those that are hidden are none."""
    try:
        found = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(name_of_folder(name) for name in found if not name.startswith("."))
