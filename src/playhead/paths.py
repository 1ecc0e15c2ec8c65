"""A path that a person gives: of this machine, with `~` for the home folder. All of them enter here."""

from __future__ import annotations

import errno
import os
import re
import sys
from pathlib import Path

from playhead.errors import BadName, NoSuchFile, WrongType

GivenPath = str | os.PathLike[str]

_MOST_OF_NAME = 255  # bytes, on all common file systems
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
        BadName: If the path is empty, is a URL, names the home of nobody on this machine, or cannot be a name here.
        NoSuchFile: If it continues below a file.
        WrongType: If it is not a path at all.
    """
    return Path(as_text(path))


def as_folder(path: GivenPath, what: str) -> Path:
    """Take the path of a folder from a person; nothing needs to be there yet. See `as_path`.

    Args:
        path: The path as it was written.
        what: What the folder is, for the message.

    Raises:
        WrongType: If it is a file.
    """
    folder = as_path(path)
    if os.path.isfile(folder):
        raise WrongType(f"{folder} is a file; {what} is a folder")
    return folder


def as_text(path: GivenPath) -> str:
    """Take a path from a person, as a text; see `as_path`."""
    if not isinstance(path, (str, os.PathLike)):
        raise WrongType(f"a path is a str or an os.PathLike, found {path!r} of type {type(path).__name__}")
    text = os.fsdecode(path)
    if not text or "\0" in text:
        raise BadName(f"{text!r} is not a path; name a file or a folder")
    text = _expanded(text, path)
    _check_possible(text)
    return text


def _expanded(text: str, path: GivenPath) -> str:
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


def _check_possible(text: str) -> None:
    """Check that a file can be at a path; whether one is there, its reader says."""
    try:
        os.lstat(text)
    except UnicodeEncodeError as error:
        raise _unwritable(text, error) from None
    except NotADirectoryError:
        _check_above(text)
    except FileNotFoundError:
        _check_length(text)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            _check_length(text)
            raise BadName(f"the path {text[:40]!r}… is too long for this system; choose a shorter one") from None


def _check_above(text: str) -> None:
    above = next((one for one in Path(text).parents if os.path.exists(one) and not os.path.isdir(one)), None)
    if above is not None:
        raise NoSuchFile(f"nothing can be at {text}: {above} is a file, not a folder")


def _check_length(text: str) -> None:
    for part in text.split("/"):
        size = len(os.fsencode(part))
        if size > _MOST_OF_NAME:
            raise BadName(f"the name {part[:40]!r}… has {size} bytes; a file or folder has at most {_MOST_OF_NAME}")


def _unwritable(text: str, error: UnicodeEncodeError) -> BadName:
    wrong = error.object[error.start]
    if "\ud800" <= wrong <= "\udfff":
        return BadName(f"the path {text!r} contains {wrong!r}, half a character, which no name holds; leave it out")
    return BadName(
        f"the path {text!r} cannot be written here: the names of files are {sys.getfilesystemencoding()} in this "
        f"process, which has no {wrong!r}. Start Python with PYTHONUTF8=1, or set LC_ALL=C.UTF-8"
    )
