"""A path that a person gives: of this machine, with `~` for the home folder. All of them enter here."""

from __future__ import annotations

import os
import re
from pathlib import Path

from playhead.errors import BadName, WrongType

GivenPath = str | os.PathLike[str]

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")  # a drive of Windows has one letter
_URL_AS_PATH = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+:)/")  # what `Path` leaves of a URL


def as_path(path: GivenPath) -> Path:
    """Take a path from a person.

    `~` and `~name` become home folders, as in a shell. For a folder that is itself called `~`, write `./~`.

    Args:
        path: The path as it was written.

    Returns:
        The path. Taking it once more changes nothing.

    Raises:
        BadName: The path is empty, is a URL, or names the home of nobody on this machine.
        WrongType: It is no path at all.
    """
    return Path(as_text(path))


def as_text(path: GivenPath) -> str:
    """Take a path from a person, as a text; see `as_path`."""
    if not isinstance(path, (str, os.PathLike)):
        raise WrongType(f"a path is a str or an os.PathLike, found {path!r} of type {type(path).__name__}")
    text = os.fsdecode(path)
    if not text or "\0" in text:
        raise BadName(f"{text!r} is not a path; name a file or a folder")
    if text[0] == "/":  # neither a URL nor below a home folder
        return text
    _check_local(text, as_path=not isinstance(path, str))
    text = os.path.expanduser(text)
    first = Path(text).parts[:1]
    if not first or not first[0].startswith("~"):
        return text
    if text[0] == "~" and not os.path.lexists(text):
        raise BadName(
            f"no home folder {first[0]!r} for {text!r} on this machine; for a folder of that name, write ./{first[0]}"
        )
    return os.path.join(os.getcwd(), text)  # `Path("./~")` is `Path("~")`, which would be taken for another one


def _check_local(text: str, *, as_path: bool) -> None:
    url = _URL.match(text)
    if url is None and as_path:
        url = _URL_AS_PATH.match(text)
        if url is not None and os.path.lexists(url[1]):
            return  # a folder with a colon at the end of its name
    if url is None:
        return
    if text.lower().startswith("file:"):
        from urllib.parse import unquote, urlsplit

        raise BadName(f"{text!r} is a URL, and a path is needed here; write {unquote(urlsplit(text).path)!r}")
    raise BadName(
        f"{text!r} is a URL, and a path is needed here: Playhead reads and writes files of this machine. "
        "Copy what it names to this machine, or mount it, and give that path"
    )
