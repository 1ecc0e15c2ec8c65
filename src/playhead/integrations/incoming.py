"""Taking over the runs of another program, each whole or not at all.

A run is built in the store's `.incoming` folder and moved to its place in one step, under a claim that is made before
and released when the catalogue has it. So whatever moment a crash chooses, the next open of the store either finds a
whole run and indexes it, or finds nothing; and what is left in `.incoming` the next migration removes.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator

from playhead import checksums, disk, facts, recovery
from playhead.catalog import runs as catalog_runs
from playhead.claims import Claim
from playhead.errors import Damaged, StoreLocked
from playhead.home import Home
from playhead.layout import RunFolder


class Refused(Exception):
    """A run cannot be taken over; the message says why."""


@contextlib.contextmanager
def opened(home: Home) -> Iterator[Incoming]:
    """Be the one who takes runs over into a store; what a crash left half built is removed.

    Raises:
        StoreLocked: Another migration into this store is under way.
    """
    disk.make_folders(home.layout.incoming)
    with disk.locked(home.layout.incoming, wait=False) as mine:
        if not mine:
            raise StoreLocked(f"another migration into {home.layout.root} is under way; try again when it is done")
        for leftover in home.layout.incoming.iterdir():
            disk.remove_tree(leftover)
        yield Incoming(home)


class Incoming:
    """Where runs come in. Made by `opened`.

    Args:
        home: The store.
    """

    def __init__(self, home: Home) -> None:
        self._home = home

    def folder_of(self, run_id: str) -> RunFolder | None:
        """Give the folder of a run that the store has; None where it has none."""
        with self._home.database.read() as connection:
            row = catalog_runs.find(connection, run_id)
        return None if row is None else self._home.layout.run_at(row.run_dir)

    def take(self, run_id: str, folder: RunFolder, parts: Iterable[int], build: Callable[[RunFolder], object]) -> int:
        """Take over one run.

        Args:
            run_id: Its id.
            folder: Where it will be.
            parts: The numbers of its event files.
            build: Writes its folder, which does not exist yet, and puts it on the medium; before that its reels.

        Returns:
            The key of the run in the catalogue.

        Raises:
            Refused: It is in the way of another, or is no run. The store is as it was.
        """
        self._refuse_if_taken(run_id, folder)
        claims = self._claim(run_id, folder, parts)
        built = RunFolder(self._home.layout.incoming / run_id)
        try:
            build(built)
            self._check(built)
            checksums.note_all(built)
            key = self._put_in_place(run_id, built, folder)
        except BaseException:
            self._withdraw(run_id, built, folder)
            _release(claims)
            raise
        self._home.database.sync()
        _release(claims)
        return key

    def _refuse_if_taken(self, run_id: str, folder: RunFolder) -> None:
        if self.folder_of(run_id) is not None or os.path.lexists(folder.path):
            raise Refused(f"{folder.path} is in the way; if that is a run, `playhead rebuild` makes it known")
        reels = self._home.layout.replay.reels_of(run_id)
        if reels:
            path = self._home.layout.replay.reel(reels[0]).file
            raise Refused(f"{path} is in the way, a replay of a run that is not in the store; move it away")

    def _claim(self, run_id: str, folder: RunFolder, parts: Iterable[int]) -> list[Claim]:
        """See to it that nobody else makes a run of this id, and that nobody has in between.

        There is one claim for each event file, since that is what the next open indexes of a claim.
        """
        claims: list[Claim] = []
        try:
            for part in sorted({1, *parts}):
                claims.append(Claim.make(self._home.layout, run_id, folder, part))
        except FileExistsError:
            _release(claims)
            raise Refused(f"a run of the id {run_id} is being recorded in the store right now") from None
        try:
            self._refuse_if_taken(run_id, folder)
        except Refused:
            _release(claims)
            raise
        return claims

    def _check(self, built: RunFolder) -> None:
        """See that the files say what every run must, before anybody relies on it."""
        try:
            facts.read(self._home.layout, built)
        except (Damaged, RecursionError) as error:
            raise Refused(str(error)) from error

    def _put_in_place(self, run_id: str, built: RunFolder, folder: RunFolder) -> int:
        """Move a run to its place, and into the catalogue."""
        while True:
            disk.make_folders(folder.path.parent)
            try:
                disk.rename(built.path, folder.path)
                break
            except FileNotFoundError:
                if not built.path.exists():
                    raise
                # Else a purge took the empty folder above away in between.
        disk.sync_folder(folder.path.parent)
        key = self._home.index(folder).key
        for part in folder.parts():
            recovery.index_part(self._home, key, run_id, folder, part, mend=False)
        if self._home.layout.replay.reels_of(run_id):
            from playhead import replay_index  # it needs NumPy

            replay_index.index_run(self._home, key, run_id)
        recovery.index_uses(self._home, key, folder)
        best = self._home.best_of(key)
        if best.get("best_metric_value") is not None:  # a best without its points stays as the source has it
            self._home.write_summary(folder, best)
            checksums.follow(folder, folder.summary)
        return key

    def _withdraw(self, run_id: str, built: RunFolder, folder: RunFolder) -> None:
        """Take back what was done of a run, since the whole of it could not be."""
        with self._home.database.write() as connection:
            catalog_runs.remove(connection, run_id)
        if not built.path.exists() and folder.path.exists():
            disk.rename(folder.path, built.path)
        if built.path.exists():
            disk.remove_tree(built.path)
        if self._home.layout.replay.reels_of(run_id):
            from playhead import replays

            replays.remove(self._home, run_id)


def _release(claims: list[Claim]) -> None:
    for claim in claims:
        claim.release()


def sync_tree(folder: disk.StrPath) -> None:
    """Wait until a folder and all in it are on the medium: once for each file, after all were written."""
    for path, _, names in os.walk(folder, topdown=False):
        for name in names:
            disk.sync_file(os.path.join(path, name))
        disk.sync_folder(path)
