"""Every error that Playhead raises on purpose.

    PlayheadError
    ├── NotAStore                     the folder is something else, or is not there
    ├── StoreTooNew                   written by a later format; says which version is needed
    ├── StoreLocked                   somebody else holds what was asked for
    ├── ReadOnly        (+ OSError)   a write to a store that was opened for reading
    ├── NotFound        (+ KeyError)  lists what exists
    │   └── NoSuchFile  (+ FileNotFoundError) a path that nothing is at, or can be at
    ├── Exists          (+ ValueError, AssertionError)
    ├── BadName         (+ ValueError)
    ├── BadRef          (+ ValueError)
    ├── BadQuery        (+ ValueError) points at the character
    ├── QueryStopped    (+ TimeoutError)
    ├── BadKey          (+ TypeError, IndexError, NotImplementedError) an index or a time of the wrong kind
    ├── BadSlice        (+ ValueError, KeyError, IndexError) a step that is not positive, or has no start
    ├── OutOfRange      (+ IndexError)
    ├── Empty           (+ ValueError) something that only what has samples can tell
    ├── OutOfOrder      (+ ValueError)
    ├── WrongShape      (+ ValueError)
    ├── WrongType       (+ ValueError, TypeError)
    ├── Closed          (+ RuntimeError)
    │   └── Forked                    a forked child holds its parent's recording
    ├── Damaged         (+ ValueError) path, what was expected, what was found
    │   ├── Misplaced                 a whole file that lies under another's name
    │   └── Unforeseen                a check of a file that ended in a way that nobody foresaw
    ├── Diverged        (+ ValueError) what was computed again is not what was recorded; says from which step on
    └── MissingExtra    (+ ImportError) names the install command

Each also is the built-in error that fits, so that code which knows nothing of Playhead catches what it expects. A
message says what was asked, what was found, where, and what to do next.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator

from playhead.wording import listed

REPORT = "Restore it from a copy, and report this message as a fault of Playhead"

# What the system says of one file or folder, and not of the disk or of the process.
_OF_ONE_FILE = (errno.EACCES, errno.EPERM, errno.EIO, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG)


class PlayheadError(Exception):
    """Base of all errors of this library."""

    def __str__(self) -> str:
        """Give the message itself; `KeyError` among the parents would print its repr."""
        return str(self.args[0]) if self.args else ""


class NotAStore(PlayheadError):
    """The folder is not a Playhead store."""


class StoreTooNew(PlayheadError):
    """The store was written by a later version of Playhead."""


class StoreLocked(PlayheadError):
    """Another process holds what was asked for."""


class ReadOnly(PlayheadError, OSError):
    """A write was asked of a store that is open for reading only."""

    @classmethod
    def of_store(cls, root: str | os.PathLike[str], to: str = "change it") -> ReadOnly:
        """Build the error of a store that was opened with mode `r`.

        Args:
            root: The store's folder.
            to: What was asked for, as in "open it with mode='a' to record".
        """
        return cls(f"the store {os.fspath(root)} is open for reading; open it with mode='a' to {to}")


class NotFound(PlayheadError, KeyError):
    """What was asked for is not there."""

    @classmethod
    def among(cls, what: str, asked: object, existing: Iterable[object], *, hint: str = "") -> NotFound:
        """Build the error with a list of what exists, cut where it grows long.

        Args:
            what: The kind of thing, such as "run" or "metric".
            asked: What the caller asked for.
            existing: What there is.
            hint: A next step, added at the end.
        """
        names = [str(name) for name in existing]
        text = f"no {what} {asked!r}; " + (f"there is: {listed(names)}" if names else f"there is no {what} at all")
        return cls(f"{text}. {hint}" if hint else text)


class NoSuchFile(NotFound, FileNotFoundError):
    """A path at which nothing is, or nothing can be."""


class Exists(PlayheadError, ValueError, AssertionError):
    """What was to be made is there already."""


class BadName(PlayheadError, ValueError):
    """A name that cannot be a project, a run, a metric or a file."""


class BadRef(PlayheadError, ValueError):
    """The text is not the address of a sample."""


class BadQuery(PlayheadError, ValueError):
    """A `where` text or an SQL query that cannot be understood; the message shows where.

    Attributes:
        position: The character of a `where` text that is wrong, if one is.
    """

    position: int | None = None


class QueryStopped(PlayheadError, TimeoutError):
    """A query ran past its time limit and was stopped."""


class BadKey(PlayheadError, TypeError, IndexError, NotImplementedError):
    """An index or a time of a kind that signals, episodes and datasets do not take, such as a boolean mask."""


class BadSlice(PlayheadError, ValueError, KeyError, IndexError):
    """A slice with a step of zero or less, or with a step and no start."""


class OutOfRange(PlayheadError, IndexError):
    """A position behind the last or before the first."""


class Empty(PlayheadError, ValueError):
    """What was asked is known only where there are samples."""


class OutOfOrder(PlayheadError, ValueError):
    """A time or a step that does not increase."""


class WrongShape(PlayheadError, ValueError):
    """An array of another shape than those before it."""


class WrongType(PlayheadError, ValueError, TypeError):
    """A value of a type that cannot be recorded here."""


class Closed(PlayheadError, RuntimeError):
    """The object has ended and takes nothing more."""


class Forked(Closed):
    """A forked child tried to record into the run of its parent, or was forked in the middle of a long query of it."""


class Damaged(PlayheadError, ValueError):
    """A file does not hold what it must.

    Args:
        path: The damaged file.
        expected: What should have been there.
        found: What was there.
        remedy: What to do about it.
    """

    _said = "is damaged"

    def __init__(self, path: str | os.PathLike[str], expected: str, found: str, remedy: str = "") -> None:
        text = f"{os.fspath(path)} {self._said}: expected {expected}, found {found}"
        super().__init__(f"{text}. {remedy}" if remedy else text)
        self.path = os.fspath(path)
        self.expected = expected
        self.found = found
        self.remedy = remedy


class Misplaced(Damaged):
    """A file is whole, but it is not the one that its name says: it was swapped, copied or renamed."""

    _said = "is another file than its name says"


class Unforeseen(Damaged):
    """A file was looked at, and that ended in a way that nobody foresaw."""

    _said = "could not be checked"


@contextlib.contextmanager
def foreseen(path: str | os.PathLike[str], but: str | os.PathLike[str] | None = None) -> Iterator[None]:
    """Turn an error that nobody foresaw into one that names the file, so that all other files are looked at.

    So is the refusal of the system to give a file at this path, or in the folder there.

    Args:
        path: The file, or the folder that holds it.
        but: A file in there of which the refusal stays an error of the system.

    Raises:
        Unforeseen: If it was none of Playhead's errors, nor one of the system that has to do with more than this.
    """
    try:
        yield
    except PlayheadError:
        raise
    except OSError as error:
        is_other = but is not None and _is_within(error.filename, but)
        if error.errno not in _OF_ONE_FILE or is_other or not _is_within(error.filename, path):
            raise
        said = f"an error: {error.strerror}"
        raise Unforeseen(
            error.filename, "a file that can be read", said, "Look at its rights, and at the disk"
        ) from error
    except Exception as error:
        said = f"that it could not be checked: {type(error).__name__}: {error}"
        raise Unforeseen(path, "a check that comes to its end", said, REPORT) from error


def _is_within(name: object, path: str | os.PathLike[str]) -> bool:
    """Return whether a file that the system names is the one at a path, or in the folder there."""
    if not isinstance(name, (str, os.PathLike)):
        return False
    found, folder = os.fspath(name), os.fspath(path)
    return isinstance(found, str) and isinstance(folder, str) and (found == folder or found.startswith(folder + os.sep))


class Diverged(PlayheadError, ValueError):
    """What was computed again is not what was recorded.

    Attributes:
        step: The first step that differs, where that is known.
    """

    step: int | None = None


class MissingExtra(PlayheadError, ImportError):
    """A feature needs a package that is not installed.

    Args:
        module: The module that could not be imported.
        extra: The extra of this package that brings it.
    """

    def __init__(self, module: str, extra: str) -> None:
        super().__init__(f"this needs {module}, which is not installed. Run: pip install 'playhead[{extra}]'")
        self.extra = extra
