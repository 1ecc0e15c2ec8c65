"""Names that Windows, and disks made for it, cannot have: a store with such names works here, but cannot move there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

from playhead import disk
from playhead.care.finding import NOTE, Finding, Thing
from playhead.care.ground import Ground
from playhead.layout import suits_windows, windows_problems
from playhead.wording import counted

LANE = "portability"
_MOST = 259  # characters of a whole path on Windows, of which the place of the store takes some
_SHOWN = 3


def things(ground: Ground) -> Iterator[Thing]:
    """Tell of the names in the store, all at once."""
    yield Thing(LANE, "names", partial(_names, ground))


def _names(ground: Ground, full: bool) -> Iterator[Finding]:  # noqa: ARG001
    problems = list(problems_in(os.fspath(ground.layout.root), os.fspath(ground.layout.artifacts.pool.path)))
    if problems:
        more = f", and {len(problems) - _SHOWN:,} more" if len(problems) > _SHOWN else ""
        found = f"{counted(len(problems), 'name')} that it cannot: {'; '.join(problems[:_SHOWN])}{more}"
        expected = "names that Windows can have, should the store ever move there"
        yield Finding(NOTE, LANE, ground.layout.root, expected, found)


def problems_in(root: str, pool: str) -> Iterator[str]:
    """Walk over all names below a folder that Windows would refuse; contents of the pool are named by their digests."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not disk.is_temporary(name))
        if folder == pool:
            folders.clear()
            continue
        where = os.path.relpath(folder, root)
        before = "" if where == os.curdir else f"{where}/"
        names = [*folders, *sorted(files)]
        if not suits_windows(names):
            yield from (before + problem for problem in windows_problems(names))
        if len(before) + max(map(len, names), default=0) > _MOST:
            for path in (before + name for name in names if len(before + name) > _MOST):
                yield f"{path[:60]}… has {len(path)} characters; Windows takes {_MOST} in all"
