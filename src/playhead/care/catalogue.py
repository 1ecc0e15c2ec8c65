"""The catalogue under the lens: the file itself, and rows of what is not there."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from playhead.care.finding import DAMAGE, NOTE, REBUILD, WARNING, Finding, Thing
from playhead.care.ground import Ground
from playhead.errors import Damaged

LANE = "catalogue"


def things(ground: Ground) -> Iterator[Thing]:
    """Tell of the file and of its rows; whether these are right is checked with what they are about."""
    if ground.catalogue is not None:
        yield Thing(LANE, "file", partial(_file, ground), ground.layout.database)
        yield Thing(LANE, "rows", partial(_rows, ground), ground.layout.database)


def _file(ground: Ground, full: bool) -> Iterator[Finding]:
    assert ground.catalogue is not None
    path, mend = ground.layout.database, ground.command("rebuild")
    for flaw in ground.catalogue.flaws(full=full):
        yield Finding(DAMAGE, LANE, path, "a sound SQLite database", flaw, mend, REBUILD)
    for odd in ground.catalogue.odd_values(full=full):
        yield Finding(DAMAGE, LANE, path, "only values that Playhead puts into a catalogue", odd, mend, REBUILD)
    for name in ground.catalogue.added_indexes():
        said = f"{name}, which a rebuild leaves out"
        yield Finding(NOTE, LANE, path, "the indexes that Playhead makes", said)
    if full:
        made = ground.catalogue.made()
        for name, due in ground.scratch()[1].made().items():
            if made.get(name) != due:
                yield Finding(WARNING, LANE, path, f"the {name}: {due}", made.get(name, "none"), mend, REBUILD)


def _rows(ground: Ground, full: bool) -> Iterator[Finding]:  # noqa: ARG001
    """Look for rows without the folder that they tell of."""
    assert ground.catalogue is not None
    layout, path, mend = ground.layout, ground.layout.database, f"Restore it, or: {ground.command('rebuild')}"
    for run_id, run_dir in ground.catalogue.run_dirs().items():
        try:
            is_there = layout.run_at(run_dir).meta.exists()
        except Damaged:
            is_there = False
        if not is_there and not ground.is_claimed(run_id):
            expected = f"the run {run_id} at {run_dir}, as the catalogue says"
            yield Finding(DAMAGE, "runs", layout.root, expected, "no such folder", mend)
    known = ground.catalogue.episodes()
    there = {(name, number) for name in layout.datasets() for number in layout.dataset(name).numbers()}
    for name, number in sorted(known - there, key=repr):
        expected = f"the episode {number} of {name}, as the catalogue says"
        yield Finding(WARNING, "episodes", path, expected, "no such folder", mend, REBUILD)
    for name, number in sorted(there - known):
        folder = layout.dataset(name).episode(number)
        if not ground.is_of_claimed(folder):
            mend = ground.command("rebuild")
            yield Finding(WARNING, "episodes", folder.path, "a row in the catalogue", "none", mend, REBUILD)
    for reel_id in sorted(ground.catalogue.reels() - {*layout.replay.reels()}):
        expected = f"the replay {reel_id}, as the catalogue says"
        yield Finding(DAMAGE, "replay", layout.replay.path, expected, "no such file", mend)
