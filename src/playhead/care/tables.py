"""Training tables under the lens."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from playhead.care.finding import DAMAGE, NOTE, SIGN, TABLE, Finding, Thing, of_damage
from playhead.care.ground import Ground
from playhead.catalog.tables import TableIndex
from playhead.errors import Damaged, Misplaced, NotFound, WrongType
from playhead.layout import TableFolder
from playhead.table import opening, verifying, writing

LANE = "tables"


def things(ground: Ground) -> Iterator[Thing]:
    """Tell of every table."""
    for name in ground.layout.tables():
        yield Thing(LANE, name, partial(check, ground, ground.layout.table(name)), ground.layout.table(name).path)
    for path in ground.layout.odd_tables():
        yield Thing(LANE, path.name, partial(_odd, path), path)


def _odd(path: Path, _full: bool) -> Iterator[Finding]:
    """Report a folder that no call can name; nothing reads it."""
    remedy = "Rename the folder, then run playhead verify again"
    yield Finding(NOTE, LANE, path, "a name that a table can have", repr(path.name), remedy)


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
    yield from _whose(ground, folder)
    for one in found:
        mend, cure = _cure(ground, folder, str(one.path), one.remedy)
        yield Finding(NOTE if one.is_harmless else DAMAGE, LANE, one.path, one.expected, one.found, mend, cure)


def _whose(ground: Ground, folder: TableFolder) -> Iterator[Finding]:
    """See that a table says the name of its folder; readers refuse one whose name another folder has."""
    state = TableIndex(folder.database).state()
    if state is None:
        return  # another program made it, which is noted
    if not state.owner:
        yield Finding(NOTE, LANE, folder.path, "a table that says which it is", "nothing: an earlier version made it")
        return
    with contextlib.suppress(Misplaced):  # found already
        said = opening.renamed(folder, state)
        if said is not None or writing.NAME not in state.owner:
            found = "none: it was made outside of the store" if said is None else f"{said!r}: it was renamed by hand"
            mend = ground.command("repair")
            yield Finding(NOTE, LANE, folder.path, f"a table that says its name, {folder.name!r}", found, mend, SIGN)


def _quickly(folder: TableFolder) -> list[verifying.Finding]:
    opening.look_at(folder.path)
    return []


def _cure(ground: Ground, folder: TableFolder, path: str, remedy: str) -> tuple[str, str]:
    """Say what to do: the manifest repeats what the database says."""
    return (ground.command("repair"), TABLE) if path == str(folder.manifest) else (remedy, "")
