"""What keeps a store quick: what its database would gain from, told before it is done; and what makes it smaller."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from playhead import claims, clock, replays, run_seals
from playhead.catalog import upkeep
from playhead.errors import Damaged
from playhead.home import Home
from playhead.layout import run_of_reel

Progress = Callable[[Sequence[str]], Iterable[str]]


@dataclass(slots=True)
class Compacted:
    """What compacting did.

    Attributes:
        sealed: Reels whose journals became files.
        recompressed: The bytes that each reel is smaller by.
        vacuumed: The bytes that the catalogue is smaller by.
        problems: What is damaged, and was left as it is.
    """

    sealed: list[str] = field(default_factory=list)
    recompressed: dict[str, int] = field(default_factory=dict)
    vacuumed: int = 0
    problems: list[Damaged] = field(default_factory=list)


def compact(
    home: Home, *, level: int | None = None, older_than: float = 0.0, watch: Progress | None = None
) -> Compacted:
    """Seal journals, write the catalogue without holes and, where asked for, compress replays anew.

    Args:
        home: The store, open to be changed.
        level: Of Zstandard, 1 to 19, for reels that are sealed; None leaves them as they are.
        older_than: Only reels that were sealed so many seconds ago.
        watch: Given the reels to compress, walks over them; a place for a progress bar.
    """
    done = Compacted()
    done.sealed, done.problems = replays.seal_all(home)
    if level is not None:
        _recompress(home, level, older_than, watch, done)
    before = upkeep.health(home.database)
    if before.free_bytes:
        upkeep.vacuum(home.database)
        done.vacuumed = before.bytes - upkeep.health(home.database).bytes
    return done


def _recompress(home: Home, level: int, older_than: float, watch: Progress | None, done: Compacted) -> None:
    from playhead.lanes.arrays.recompressing import recompress

    reels = [reel_id for reel_id in home.layout.replay.reels() if _is_due(home, reel_id, older_than)]
    for reel_id in (watch or iter)(reels):
        try:
            with run_seals.changing(home, reel_id) as forget:
                saved = recompress(home.layout.replay.reel(reel_id), level, forget)
        except Damaged as problem:
            done.problems.append(problem)
            continue
        if saved is not None:
            done.recompressed[reel_id] = saved


def _is_due(home: Home, reel_id: str, older_than: float) -> bool:
    file = home.layout.replay.reel(reel_id).file
    is_old = file.exists() and clock.now() - file.stat().st_mtime >= older_than
    return is_old and not claims.of_run(home.layout, run_of_reel(reel_id))


def steps(home: Home) -> list[upkeep.Step]:
    """Say what the catalogue would gain from; a step is done by its `do`."""
    return upkeep.steps(home.database)
