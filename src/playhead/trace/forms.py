"""The forms in which a trace lies in a file, chosen by its name: `.trace`, `.json`, `.json.gz`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import NamedTuple

from playhead.errors import BadName, NotFound
from playhead.lanes.keyframes import sealing, whose
from playhead.lanes.keyframes.contents import Contents
from playhead.lanes.keyframes.stored import StoredContents
from playhead.signal.solo import tape_of

BINARY, JSON = "trace", "json"


class Which(NamedTuple):
    """Which trace of a file is meant, where it holds several: a train output does.

    Attributes:
        trace: Its place in the list, from 0; without it and `variant`, the best.
        variant: Or the number that the program gave it.
    """

    trace: int | None = None
    variant: int | None = None

    def check_only(self, path: Path, form: str) -> None:
        """See that the one trace of a file is meant.

        Raises:
            NotFound: Another is.
        """
        if self.trace or self.variant is not None:
            advice = "leave out trace= and variant= (--trace, --variant)"
            raise NotFound(f"{path} holds one trace, in the form {form}: {advice}")


_ONLY = Which()


def of_path(path: Path) -> str:
    """Tell the form by the name of a file.

    Raises:
        BadName: It has no form.
    """
    if path.suffix == ".trace":
        return BINARY
    if path.suffix == ".json" or path.name.endswith(".json.gz"):
        return JSON
    raise BadName(f"{path.name!r} does not say what it is: a trace is called .trace, .json or .json.gz")


def load(path: Path, which: Which = _ONLY) -> Contents:
    """Read a trace, of this program or of another.

    Raises:
        NotFound: There is none.
        Damaged: It cannot be read, or is of a form that is not known.
    """
    if of_path(path) == BINARY:
        which.check_only(path, BINARY)
        return StoredContents(path)
    from playhead.trace import formats

    if tape_of(path).is_dir():  # a recording that goes on has all that was in the file
        with contextlib.suppress(NotFound):
            return taped(path)
    found = formats.read(path, trace=which.trace, variant=which.variant)
    whose.check(path, found.facts)
    return found


def refreshed(path: Path, contents: Contents, which: Which = _ONLY) -> Contents:
    """Look at what was recorded since a trace was read; give where it is read from now.

    Raises:
        NotFound: It is not there any more.
    """
    if of_path(path) == BINARY:
        contents.refresh()
        return contents
    if isinstance(contents, StoredContents):
        with contextlib.suppress(NotFound):  # it was sealed
            contents.refresh()
            return contents
    return load(path, which)


def taped(path: Path) -> Contents:
    """Read what a recording has put on its tape so far."""
    return StoredContents(path, has_file=False)


def seal(path: Path) -> None:
    """Make the file of what was recorded."""
    if of_path(path) == BINARY:
        sealing.seal(path)
    else:
        with contextlib.closing(taped(path)) as contents:
            write(path, contents)


def write(path: Path, contents: Contents) -> None:
    """Write a trace to a file, whole or not at all; it says whose the file is, wherever the trace came from."""
    contents.facts = whose.signed(contents.facts, path)
    if of_path(path) == BINARY:
        sealing.write(path, contents)
        return
    from playhead.trace import formats

    formats.write(path, contents)
