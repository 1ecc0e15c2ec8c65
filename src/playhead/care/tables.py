"""Training tables under the lens."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from playhead.care.finding import DAMAGE, NOTE, TABLE, Finding, Thing, of_damage
from playhead.care.ground import Ground
from playhead.errors import Damaged, NotFound, WrongType
from playhead.layout import TableFolder
from playhead.table import opening, verifying

LANE = "tables"


def things(ground: Ground) -> Iterator[Thing]:
    """Tell of every table."""
    for name in ground.layout.tables():
        yield Thing(LANE, name, partial(check, ground, ground.layout.table(name)))


def check(ground: Ground, folder: TableFolder, full: bool) -> Iterator[Finding]:
    """Look at one table."""
    if not folder.path.is_dir():
        return  # removed since
    try:
        found = verifying.verify(folder.path, progress=False) if full else _quickly(folder)
    except (NotFound, WrongType) as error:
        yield Finding(DAMAGE, LANE, folder.path, "a training table", str(error), opening.AGAIN)
        return
    except Damaged as error:
        yield of_damage(LANE, error, *_cure(ground, folder, error.path, error.remedy))
        return
    for one in found:
        mend, cure = _cure(ground, folder, str(one.path), one.remedy)
        yield Finding(NOTE if one.is_harmless else DAMAGE, LANE, one.path, one.expected, one.found, mend, cure)


def _quickly(folder: TableFolder) -> list[verifying.Finding]:
    opening.look_at(folder.path)
    return []


def _cure(ground: Ground, folder: TableFolder, path: str, remedy: str) -> tuple[str, str]:
    """Say what to do: the manifest repeats what the database says."""
    return (ground.command("repair"), TABLE) if path == str(folder.manifest) else (remedy, "")
