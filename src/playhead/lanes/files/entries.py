"""FileEntry: one file of a version, and how a manifest spells it.

A manifest is text that begins with its files, a few lines each, in order of their paths. Where one of 10,000 files has
changed, the lines of the others are taken over as they are: reading and checking them takes longer than all else.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from playhead import strictjson, typed
from playhead.layout import check_member

ALGORITHM = "sha256:"

_EMPTY = b'{\n  "files": []'
# What stands around files; no text in JSON has a line break in it.
_BEFORE, _BETWEEN, _BEHIND = b'{\n  "files": [\n    {\n', b"\n    },\n    {\n", b"\n    }\n  ]"
_PATH, _SIZE = b'      "path": ', b'      "size": '
# Paths that JSON spells as they are, and that stay within the artifact; others are read one by one, and checked.
_PART = rb'(?!\.{1,2}[/"])[^/"\\\n]{1,255}'
_LINES = re.compile(
    rb'%b"%b(?:/%b)*",\n%b[0-9]{1,16},\n' % (_PATH, _PART, _PART, _SIZE)
    + rb'      "digest": "sha256:[0-9a-f]{64}",\n      "modified_at": (?:null|[-+.0-9e]+)'
)


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of a version.

    Attributes:
        path: Its place in the artifact, with `/` between folders.
        size: Bytes.
        digest: `sha256:` and its SHA-256 in hexadecimal.
        modified_at: When the file that was saved was last written, in seconds since 1970.
    """

    path: str
    size: int
    digest: str
    modified_at: float | None = None

    @property
    def sha256(self) -> str:
        """The SHA-256 alone."""
        return self.digest.removeprefix(ALGORITHM)


def checked(found: Any) -> FileEntry:
    """Take what a manifest says of a file.

    Raises:
        TypeError, KeyError, BadName: It does not say that.
    """
    if not isinstance(found, dict):
        raise typed.Misfit("an object for each file", found)
    path, size, digest, at = found["path"], found["size"], found["digest"], found.get("modified_at")
    check_member(typed.text(path))
    return FileEntry(path, typed.whole(size), typed.digest(digest), None if at is None else float(typed.number(at)))


# -- as text -----------------------------------------------------------------------------------------------------------


class Parted(NamedTuple):
    """The text of a manifest taken apart.

    Attributes:
        files: The lines of each file.
        rest: All else that it says.
    """

    files: list[bytes]
    rest: dict[str, Any]


def spelled(entries: Iterable[FileEntry]) -> list[bytes]:
    """Give the lines of files."""
    files = [
        {"path": entry.path, "size": entry.size, "digest": entry.digest, "modified_at": entry.modified_at}
        for entry in entries
    ]
    text = strictjson.encode({"files": files}, indent=True)
    return text[len(_BEFORE) : text.index(_BEHIND)].split(_BETWEEN) if files else []


def joined(files: Sequence[bytes], rest: Mapping[str, Any]) -> bytes:
    """Give the text of a manifest."""
    text = strictjson.encode({"files": [], **rest}, indent=True)
    return b"".join((_BEFORE, _BETWEEN.join(files), _BEHIND, text[len(_EMPTY) :])) if files else text


def parts_of(text: bytes) -> Parted | None:
    """Take the text of a manifest apart; None where it was not written here, or has a path that must be looked at."""
    if text.startswith(_EMPTY):
        return Parted([], strictjson.decode(text))
    stop = text.find(_BEHIND)
    files = text[len(_BEFORE) : stop].split(_BETWEEN)
    if stop < 0 or not text.startswith(_BEFORE) or not all(map(_LINES.fullmatch, files)):
        return None
    rest = strictjson.decode(_EMPTY + text[stop + len(_BEHIND) :])
    return Parted(files, rest) if all(isinstance(path, str) for path in rest.get("executables", ())) else None


def below(files: Sequence[bytes], prefix: str) -> Sequence[bytes]:
    """Give the lines of those files whose paths begin so; they follow one another."""
    start = bisect_left(files, prefix, key=_path_of)
    stop = bisect_left(files, True, lo=start, key=lambda lines: not _path_of(lines).startswith(prefix))
    return files[start:stop]


def size_of(files: Iterable[bytes]) -> int:
    """Add up the sizes of files."""
    return sum([int(lines.split(b"\n", 2)[1][len(_SIZE) : -1]) for lines in files])


def _path_of(lines: bytes) -> str:
    return str(strictjson.decode(lines[len(_PATH) : lines.index(b",\n")]))
