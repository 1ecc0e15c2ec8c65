"""The check of a whole store, or of a part of it that goes on where the last one stopped."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path

from playhead.care import artifacts, catalogue, episodes, portability, replay, runs, subset, tables, traces
from playhead.care.finding import DAMAGE, WARNING, Finding, Thing, of_damage, of_trouble
from playhead.care.ground import Ground
from playhead.errors import REPORT, Damaged, MissingExtra, NotAStore, PlayheadError, StoreTooNew, foreseen
from playhead.layout import Layout
from playhead.paths import GivenPath, as_path

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
    layout = Layout(Path(os.path.abspath(as_path(path))))
    if not layout.marker.exists():
        raise NotAStore(f"{layout.root} is not a Playhead store: it has no {layout.marker.name}")
    with Ground(layout) as ground:
        yield from ground.findings
        found = sorted((thing for lane in LANES for thing in lane.things(ground)), key=lambda thing: thing.place)
        chosen = found if share is None else subset.next_of(layout, found, share)
        for thing in (watch or iter)(chosen):
            yield from look(thing, layout, full)
    if share is not None:
        subset.note(layout, found, chosen)


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
