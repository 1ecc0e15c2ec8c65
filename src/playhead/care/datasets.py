"""Datasets under the lens: what is said of all their episodes together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from playhead import facts, owner
from playhead.care.finding import NOTE, WARNING, Finding, of_damage
from playhead.care.ground import Ground
from playhead.check import belonging
from playhead.dataset import LocalDataset
from playhead.episode.seals import Seals
from playhead.errors import Damaged
from playhead.layout import EpisodeFolder
from playhead.wording import counted, listed

LANE = "episodes"


def check(ground: Ground, name: str, full: bool) -> Iterator[Finding]:
    """Look at one dataset."""
    folder = ground.layout.dataset(name)
    if not folder.path.is_dir():
        return  # removed since
    metas = {number: _meta(folder.episode(number)) for number in folder.numbers()}
    if older := sum(_is_unsaid(folder.episode(number), meta) for number, meta in metas.items()):
        expected = "files that say whose they are"
        yield Finding(NOTE, LANE, folder.path, expected, f"{counted(older, 'episode')} {belonging.UNSAID}")
    moved = [
        meta["dataset"] for meta in metas.values() if "dataset" in meta and not owner.fits(meta, {"dataset": name})
    ]
    if moved:
        whence = listed(repr(one) for one in sorted({one[:100] for one in moved}))
        found = f"{counted(len(moved), 'episode')} of {whence}: moved or copied by hand, or a folder that was renamed"
        yield Finding(NOTE, LANE, folder.path, f"episodes that were recorded into {name!r}", found)
    yield from _twice(ground, name, metas)
    if full:
        yield from _edits(ground, name, {_uid(meta) for meta in metas.values()})


def _meta(folder: EpisodeFolder) -> dict[str, Any]:
    try:
        return facts.known(folder.meta, facts.EPISODE)
    except (Damaged, OSError):
        return {}  # found with the episode itself


def _is_unsaid(folder: EpisodeFolder, meta: dict[str, Any]) -> bool:
    """Return whether an episode is whole and has no note of what was sealed, as earlier versions left it."""
    if not meta or Seals.among(meta).files or folder.is_unfinished():
        return False
    return not Seals.among(_meta(folder)).files  # it may have been sealed between the two looks


def _uid(meta: dict[str, Any]) -> str | None:
    return None if meta.get("uid") is None else str(meta["uid"])


def _twice(ground: Ground, name: str, metas: dict[int, dict[str, Any]]) -> Iterator[Finding]:
    """Look for episodes that are one: an edit of the one is an edit of the other."""
    first: dict[str, int] = {}
    for number, meta in metas.items():
        uid = _uid(meta)
        if uid is not None and first.setdefault(uid, number) != number:
            folder = ground.layout.dataset(name)
            found = (
                f"{uid!r}, which {folder.episode(first[uid]).path} has too: one was copied over another, or beside it"
            )
            yield Finding(
                WARNING, LANE, folder.episode(number).path, "a uid of its own", found, "Remove one of the two"
            )


def _edits(ground: Ground, name: str, there: set[str | None]) -> Iterator[Finding]:
    """Look for edits that are of episodes of another dataset."""
    folder = ground.layout.dataset(name)
    try:
        strangers = LocalDataset(folder.path).edited.edited_uids - there
    except Damaged as error:
        yield of_damage(LANE, error, "Mend the line by hand; until then, no edit of this dataset counts")
        return
    for other in ground.layout.datasets() if strangers else ():
        place = ground.layout.dataset(other)
        theirs = {_uid(_meta(place.episode(number))) for number in place.numbers()} if other != name else set()
        if found := strangers & theirs:
            expected = f"edits of the episodes of {name!r}"
            said = f"edits of {counted(len(found), 'episode')} of {other!r}"
            yield Finding(WARNING, LANE, folder.edits, expected, said, owner.REMEDY)
