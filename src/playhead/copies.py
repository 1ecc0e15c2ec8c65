"""What a store that is a copy does at its first open: it indexes what its catalogue misses.

A catalogue notes for which place it is complete. Where a store lies elsewhere, it was copied, perhaps while others
recorded into it: its files and its catalogue are then of different moments. Files own the facts, so the catalogue is
compared with them, run by run, and only what differs is read. A store that was renamed, or that is reached by another
path, a bind mount or a container, lies where it was.
"""

from __future__ import annotations

import os
import sys
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice

from playhead import checksums, claims, episode_index, facts, filesystem, recovery
from playhead.catalog import episodes as catalog_episodes
from playhead.catalog import known_folders, standing
from playhead.catalog import runs as catalog_runs
from playhead.catalog.database import is_of_sqlite
from playhead.catalog.files import files_of, place_in
from playhead.catalog.runs import RunFacts
from playhead.catalog.standing import Standing
from playhead.claims import Claim
from playhead.errors import Damaged, StoreTooNew, foreseen
from playhead.home import Home
from playhead.lanes.scalars import events
from playhead.layout import Layout, RunFolder, run_of_reel
from playhead.progress import watching
from playhead.wording import counted

_MANY = 2_000  # runs to compare, from which on a terminal shows how far the work is
_SHOWN = 5

Work = Callable[[Home], None]


def place_of(layout: Layout, database: os.PathLike[str] | None = None) -> int:
    """Return the number of the place of a store; the same for all who reach it, and another for every copy.

    Args:
        layout: The store.
        database: Its catalogue, where that does not have its name yet.
    """
    marker, catalogue = os.stat(layout.marker), os.stat(database or layout.database)
    told = [marker.st_ctime_ns, marker.st_mtime_ns]
    if filesystem.has_lasting_inodes(layout.root):
        told += [marker.st_ino, os.stat(layout.root).st_ino, catalogue.st_ino]
    return zlib.crc32(repr(told).encode()) % 0x7FFFFFFF + 1


def is_elsewhere(home: Home) -> bool:
    """Tell whether a catalogue is that of another place."""
    return home.database.place() != place_of(home.layout)


def is_torn(layout: Layout, trouble: Damaged) -> bool:
    """Return whether a catalogue that SQLite cannot read came with a copy: it was written while it was copied.

    Args:
        layout: The store.
        trouble: What was said when the catalogue was opened.
    """
    if not is_of_sqlite(trouble):
        return False
    if place_in(layout.database) not in (0, place_of(layout)):
        return True
    return any(claim.is_copied() for path in claims.paths(layout) if (claim := Claim.load(path)))


def was_in_use(layout: Layout) -> bool:
    """Tell whether somebody may have written the catalogue while it was copied. Look before it is opened."""
    beside = [path for path in files_of(layout.database) if path != layout.database and not path.name.endswith("-shm")]
    return bool(claims.paths(layout)) or any(path.exists() and path.stat().st_size for path in beside)


def is_sound(home: Home) -> bool:
    """Tell whether all pages of the catalogue are of one moment, as far as SQLite can see."""
    try:
        with home.database.read() as connection:
            return standing.is_sound(connection)
    except Damaged:
        return False


def catch_up(home: Home, *, in_use: bool = False, is_private: bool = False, since: int | None = None) -> None:
    """Bring the catalogue up to date with all files of the store.

    Args:
        home: The store.
        in_use: Also look for rows that do not agree with each other.
        is_private: Nobody else writes this catalogue, so that runs that are being recorded are indexed, too.
        since: All was indexed just now: of the runs that are known, look only at those that changed since that time.

    Raises:
        Damaged: The catalogue itself cannot be read.
    """
    comparison = _Comparison(home, in_use=in_use, is_private=is_private, warns=since is None, since=since)
    found = list(comparison.work())
    is_long = len(found) > _MANY and sys.stderr.isatty()
    with watching("Indexing what the catalogue misses", len(found), is_long, unit="runs") as bar:
        todo = iter(found)
        while batch := list(islice(todo, recovery.BATCH)):
            with home.database.batch():
                for work in batch:
                    _warned(work, home, says=comparison.warns)
            if bar is not None:
                bar(len(batch))
    _warned(recovery.fill_artifacts, home, says=comparison.warns)
    with home.database.write() as connection:
        known_folders.clear(connection)  # what they look like here is not what they looked like there


def is_behind(home: Home, *, in_use: bool) -> bool:
    """Tell whether the catalogue does not say what the files say. Writes nothing."""
    if any(True for _ in _Comparison(home, in_use=in_use, is_private=True, warns=False).work()):
        return True
    if recovery.has_artifacts(home):
        from playhead.artifact import index  # loaded where there are some

        return index.is_behind(home)
    return False


def _warned(work: Work, home: Home, *, says: bool) -> None:
    """Do a part of the work; what cannot be read is reported and left, so that all else can be used."""
    try:
        with foreseen(home.layout.root, but=home.database.path):
            work(home)
    except (Damaged, StoreTooNew) as trouble:
        if not says:
            return
        warnings.warn(f"not all of a copied run could be indexed: {trouble}", RuntimeWarning, stacklevel=2)


@dataclass(slots=True)
class _Comparison:
    """Compares a catalogue with the files of its store.

    Args:
        home: The store.
        in_use: Also look for rows that do not agree with each other.
        is_private: Nobody else writes the catalogue.
        warns: Tell of what cannot be read, and of what is not there.
        since: Of the runs that are known, look only at those that changed since that time.
    """

    home: Home
    in_use: bool
    is_private: bool = False
    warns: bool = True
    since: int | None = None

    def work(self) -> Iterator[Work]:
        """Yield what has to be done, each as a function; the order does not matter."""
        yield from self._runs()
        yield from self._episodes()

    def _runs(self) -> Iterator[Work]:
        layout = self.home.layout
        with self.home.database.read() as connection:
            known = standing.of_runs(connection)
            at_odds = standing.at_odds(connection) if self.in_use else set()
        live = set() if self.is_private else {claim.run_id for claim in claims.live(layout)}
        reels: dict[str, list[str]] = {}
        for reel_id in layout.replay.reels():
            reels.setdefault(run_of_reel(reel_id), []).append(reel_id)
        seen: set[str] = set()
        for folder in layout.run_folders():
            name = folder.path.name
            try:
                if self.since is not None and name in known and os.stat(folder.path).st_mtime_ns < self.since:
                    seen.add(name)
                    continue
                with foreseen(folder.path):
                    read = facts.read(layout, folder)
                    checksums.check_id(folder, read.id)
            except Damaged as trouble:
                self._tell(f"a run could not be read: {trouble}")
                seen.add(name)  # its row stays
                continue
            except FileNotFoundError:
                if folder.meta.exists():
                    raise
                continue  # it was purged in the meantime
            if read.id in seen:
                self._tell(f"two runs have the id {read.id}; {folder.path} is left out")
                continue
            seen.add(read.id)
            row = known.get(read.id)
            try:
                with foreseen(folder.path):
                    found = list(self._of_run(folder, read, row, reels.get(read.id, []), live, at_odds))
            except Damaged as trouble:
                self._tell(f"a run could not be read: {trouble}")
                continue
            for work in found:
                yield partial(_while_there, folder=folder, read=read, work=work)
        gone = sorted(known.keys() - seen - live)
        if gone:
            yield partial(_remove, run_ids=gone)
            names = ", ".join(gone[:_SHOWN]) + (" …" if len(gone) > _SHOWN else "")
            listed = f"the catalogue of {layout.root} came with a copy and lists {counted(len(gone), 'run')}"
            self._tell(f"{listed} that the copy does not hold: {names}")

    def _of_run(
        self,
        folder: RunFolder,
        read: RunFacts,
        row: Standing | None,
        reels: list[str],
        live: set[str],
        at_odds: set[int],
    ) -> Iterator[Work]:
        if row is None:
            yield partial(_index_all, folder=folder, read=read, reels=reels)
        elif read.id not in live:
            try:
                yield from self._run(folder, read, row, reels, is_at_odds=row.key in at_odds)
            except FileNotFoundError:
                if folder.meta.exists():
                    raise
                yield partial(_remove, run_ids=[read.id])  # it was purged in the meantime

    def _run(
        self, folder: RunFolder, read: RunFacts, row: Standing, reels: list[str], *, is_at_odds: bool
    ) -> Iterator[Work]:
        parts = folder.parts()
        sizes = {part: os.stat(folder.events(part)).st_size for part in parts}
        is_ahead = any(offset > sizes.get(part, 0) for part, offset in row.offsets.items())
        images = len(os.listdir(folder.media)) if folder.media.is_dir() else 0
        if is_at_odds or is_ahead or images > row.media or set(reels) < row.reels:
            yield partial(recovery.index_anew, folder=folder, known=read, reels=reels)
            return
        if self._says_other(read, row):
            yield partial(_put, read=read)
        for part, size in sizes.items():
            offset = row.offsets.get(part, 0)
            if size > offset and size - events.torn_bytes(folder.events(part)) > offset:
                yield partial(recovery.index_part, key=row.key, run_id=read.id, folder=folder, part=part, mend=False)
        if folder.artifacts_used.exists():  # else what the catalogue knows is all that is left of it
            yield from self._uses(folder, row)
        for reel_id in reels:
            yield from self._reel(folder, read, row, reel_id)

    def _says_other(self, read: RunFacts, row: Standing) -> bool:
        said, known = (catalog_runs.without_unknown(of, read.unknown) for of in (read.columns(), row.row))
        if said != known:
            return True
        if read.unknown:  # tags and values then stay as they are known
            return False
        return set(read.tags) != row.tags or catalog_runs.typed(read.values) != row.values

    def _uses(self, folder: RunFolder, row: Standing) -> Iterator[Work]:
        from playhead.artifact import index, lists

        try:
            with foreseen(folder.path):
                uses = index.used_by(folder)
            said = {(str(use.get("type")), str(use.get("name")), use.get("version")) for use in uses}
        except (Damaged, TypeError) as trouble:
            self._tell(f"what a run used could not be read: {trouble}")
            return
        if said == row.uses:
            return
        # One that is whole is the list of the moment in which it was copied. Of another, the catalogue may know more.
        is_whole = lists.is_sealed(folder.artifacts_used) and lists.is_noted(folder, folder.artifacts_used) is not False
        if is_whole or not said <= row.uses:
            yield partial(index.put_uses, key=row.key, folder=folder, keep=not is_whole)
        elif not self.is_private and self.since is None:
            yield partial(recovery.settle_lists, folder=folder, run_id=row.row["id"])

    def _reel(self, folder: RunFolder, read: RunFacts, row: Standing, reel_id: str) -> Iterator[Work]:
        from playhead import replay_index  # loaded where there are replays: it needs NumPy

        found = replay_index.compare(self.home, reel_id)
        if found is replay_index.Compared.BEHIND:
            yield partial(recovery.index_replays, key=row.key, run_id=read.id, known=[reel_id])
        elif found is replay_index.Compared.OTHER:
            yield partial(recovery.index_anew, folder=folder, known=read)

    def _episodes(self) -> Iterator[Work]:
        layout = self.home.layout
        with self.home.database.read() as connection:
            names = {count.dataset for count in catalog_episodes.counts(connection)} | {*layout.datasets()}
        for name in sorted(names):
            folder = layout.dataset(name)
            with self.home.database.read() as connection:
                known = {row.number: row.finished for row in catalog_episodes.of_dataset(connection, name)}
            there = {number: not folder.episode(number).is_unfinished() for number in folder.numbers()}
            differing = [number for number in known.keys() | there.keys() if known.get(number) != there.get(number)]
            unfinished = [number for number, finished in there.items() if not finished and number in known]
            differing += episode_index.behind(self.home, name, unfinished)  # perhaps copied while they were sealed
            if differing:
                yield partial(episode_index.update, name=name, numbers=sorted({*differing}))

    def _tell(self, text: str) -> None:
        if self.warns:
            warnings.warn(text, RuntimeWarning, stacklevel=2)


def _while_there(home: Home, folder: RunFolder, read: RunFacts, work: Work) -> None:
    """Do a part of the work on a run, which may be purged in the meantime."""
    try:
        with foreseen(folder.path):
            work(home)
    except FileNotFoundError:
        if folder.meta.exists():
            raise
        _remove(home, [read.id])


def _index_all(home: Home, folder: RunFolder, read: RunFacts, reels: Iterable[str]) -> None:
    recovery.index_all(home, folder, read, reels)


def _put(home: Home, read: RunFacts) -> None:
    home.put(read)


def _remove(home: Home, run_ids: Iterable[str]) -> None:
    with home.database.write() as connection:
        for run_id in run_ids:
            catalog_runs.remove(connection, run_id)


__all__ = ["catch_up", "is_behind", "is_elsewhere", "is_sound", "place_of", "was_in_use"]
