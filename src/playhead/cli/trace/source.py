"""Which trace is meant: RUN/NAME in the store, or a path."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from playhead.cli.options import open_to_read
from playhead.cli.resolve import find_run
from playhead.errors import NotFound
from playhead.layout import tape_beside
from playhead.paths import as_path

if TYPE_CHECKING:
    from playhead.trace import Trace
    from playhead.trace.forms import Which

_FILE = re.compile(r".+\.(trace|json|json\.gz)")


@dataclass(frozen=True, slots=True)
class Found:
    """A trace that a text means.

    Attributes:
        label: What to call it: RUN/NAME, else its path.
        path: Its file.
        which: Which one of that.
    """

    label: str
    path: Path
    which: Which


def find(given: str | None, text: str, place: int | None = None, variant: int | None = None) -> Found:
    """Give the trace that a text means.

    Args:
        given: The value of `--store`.
        text: RUN/NAME, RUN or a path.
        place: The value of `--trace`.
        variant: The value of `--variant`.

    Raises:
        NotFound: None is meant, or more than one; the message lists those there are.
        BadName: If it is a URL.
    """
    from playhead.trace.forms import Which

    which = Which(place, variant)
    if _FILE.fullmatch(text) or "://" in text:
        path = as_path(text)
        if not path.exists() and not tape_beside(path).is_dir():
            raise NotFound(f"no file {text}. A trace of the store is RUN/NAME. See: playhead trace ls")
        return Found(text, path, which)
    run_text, _, name = text.partition("/")
    with open_to_read(given) as store:
        run = find_run(store, run_text)
        known = run.traces
        if not name and len(known) != 1:
            named = ", ".join(f"{run.id}/{one}" for one in known)
            raise NotFound(f"the run {run.id} has {f'several traces; name one: {named}' if known else 'no traces'}")
        name = name or next(iter(known))
        return Found(f"{run.id}/{name}", known.path(name), which)


def open_trace(found: Found, function: str | None = None) -> Trace:
    """Open a trace; where the function is not the one that it was recorded with, this says so.

    Args:
        found: The trace.
        function: The value of `--step`.
    """
    from playhead.cli.trace.function import load
    from playhead.trace import Trace

    step = None if function is None else load(function)
    return Trace.open(found.path, step, trace=found.which.trace, variant=found.which.variant)
