"""The check of a whole store, or of a part of it that goes on where the last one stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path

from playhead import claims, clock, disk
from playhead.care import artifacts, catalogue, episodes, portability, replay, runs, subset, tables, traces
from playhead.care.finding import DAMAGE, WARNING, Finding, Thing, of_damage, of_trouble
from playhead.care.ground import Ground
from playhead.errors import REPORT, Damaged, MissingExtra, NotAStore, PlayheadError, StoreTooNew, foreseen
from playhead.layout import Layout, layout_at
from playhead.paths import GivenPath

_REBUILD_NS = 60 * clock.SECOND
_PAUSES = 0.05, 0.3, 2.0  # seconds before each further look, all but the first only while somebody records

Progress = Callable[[Sequence[Thing]], Iterable[Thing]]

# Each has `things(ground)`: what of its lane can be checked by itself.
LANES = (artifacts, catalogue, episodes, portability, replay, runs, tables, traces)


def verify(
    path: GivenPath,
    *,
    full: bool = False,
    share: Fraction | None = None,
    watch: Progress | None = None,
) -> Iterator[Finding]:
    """Check a store: every lane's files against the catalogue, manifests and checksums. No file of it is changed.

    Args:
        path: The store's folder.
        full: Read every byte and compare every checksum, and every row of the catalogue with what the files say. Else
            what is there is looked at: sizes, heads, footers, lists.
        share: Check only so much of the store, from where the last such check stopped; where it stopped is noted in
            the store.
        watch: Given all that will be checked, walks over it; a place for a progress bar.

    Yields:
        What is not as it should be.

    Raises:
        NotAStore: The folder is something else.
    """
    layout = layout_at(path)
    if not layout.marker.exists():
        raise NotAStore(f"{layout.root} is not a Playhead store: it has no {layout.marker.name}")
    with Ground(layout) as ground:
        yield from ground.findings
        found = sorted(_things(ground), key=lambda thing: thing.place)
        chosen = found if share is None else subset.next_of(layout, found, share)
        doubtful: dict[str, list[Finding]] = {}
        for thing in (watch or iter)(chosen):
            seen = list(look(thing, layout, full))
            if any(not finding.is_harmless for finding in seen):
                doubtful[thing.place] = seen
            else:
                yield from seen
    yield from _again(layout, doubtful, full)
    if share is not None:
        subset.note(layout, found, chosen)


def _things(ground: Ground) -> list[Thing]:
    """List what can be checked; a folder that cannot be listed is a finding, and all other lanes are checked."""
    found: list[Thing] = []
    for lane in LANES:
        try:
            found.extend(lane.things(ground))
        except OSError as error:
            name = lane.__name__.rpartition(".")[2]
            found.append(Thing(name, str(error.filename), partial(_tell_trouble, name, ground.layout.root, error)))
    return found


def _tell_trouble(name: str, root: Path, error: OSError, _full: bool) -> Iterator[Finding]:
    yield of_trouble(name, root, error)


def _again(layout: Layout, doubtful: dict[str, list[Finding]], full: bool) -> Iterator[Finding]:
    """Look again at what seemed wrong: somebody may have been about to write, to seal or to remove it.

    Args:
        layout: The store.
        doubtful: What was found, by the place of what it was found in.
        full: Read every byte.
    """
    for number, pause in enumerate(_PAUSES):
        if not doubtful or (number and not claims.live(layout)):
            break
        time.sleep(pause)
        _wait_for_rebuild(layout)
        with Ground(layout) as ground:
            things = [thing for thing in _things(ground) if thing.place in doubtful]
            told = {thing.place: list(look(thing, layout, full)) for thing in things}
        for seen in told.values():
            if all(finding.is_harmless for finding in seen):
                yield from seen
        doubtful = {place: seen for place, seen in told.items() if any(not finding.is_harmless for finding in seen)}
    for seen in doubtful.values():
        yield from seen


def _wait_for_rebuild(layout: Layout) -> None:
    """Wait while somebody rebuilds the catalogue: what others do meanwhile comes into it last."""
    until = clock.elapsed_ns() + _REBUILD_NS
    while disk.is_held(layout.marker) and clock.elapsed_ns() < until:
        time.sleep(0.05)


def look(thing: Thing, layout: Layout, full: bool) -> Iterator[Finding]:
    """Check one thing; what ends its check is a finding too, and all others are checked."""
    path = layout.root if thing.path is None else thing.path
    try:
        with foreseen(path):
            yield from thing.check(full)
    except Damaged as error:
        yield of_damage(thing.lane, error)
    except (StoreTooNew, MissingExtra) as error:
        yield Finding(WARNING, thing.lane, path, f"what can be checked here: {thing.name}", str(error))
    except OSError as error:
        yield of_trouble(thing.lane, path, error)
    except PlayheadError as error:  # that no check should raise
        yield Finding(DAMAGE, thing.lane, path, "a check that comes to its end", repr(error), REPORT)


__all__ = ["DAMAGE", "LANES", "look", "verify"]
