"""Episodes that are open, for all threads: found once, kept for a while, followed while they are recorded.

At most 24 reels and episodes stay open, and about 128 MB of what they have read into memory; what was not used for
longest goes first, and what nobody used for two minutes. With the 64 MB of encoded pictures (`frames.Encoded`) that is
less than 256 MB in all, beside the decoders of cameras, which the video lane bounds. Every two seconds all are compared
with what is on disk, so that what was purged keeps no file.
"""

from __future__ import annotations

import os
import threading
import unicodedata
from collections import OrderedDict

from playhead import clock, episode_index
from playhead.catalog import listing
from playhead.catalog.listing import Listed
from playhead.episode import Unfinished
from playhead.errors import NotFound, StoreLocked
from playhead.home import Home
from playhead.ref import FrameRef
from playhead.web.episodes.addresses import Address
from playhead.web.episodes.episode import OpenEpisode
from playhead.web.episodes.folders import OpenFolder
from playhead.web.episodes.reels import OpenReel
from playhead.web.errors import without_root

MOST_OPEN = 24
MOST_BYTES = 128 << 20  # in memory

_SWEEP_SECONDS = 2.0
_IDLE_NS = 120 * clock.SECOND


class Opened:
    """What is open of a store. Safe in threads.

    Args:
        home: The store.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._lock = threading.Lock()
        self._open: OrderedDict[tuple[str, ...], OpenReel | OpenFolder] = OrderedDict()
        self._ended = threading.Event()
        self._sweeper: threading.Thread | None = None

    def episode(self, address: Address) -> OpenEpisode:
        """Open an episode, or give it as it is now.

        Raises:
            NotFound: There is none.
            StoreLocked: It is one of a dataset that is not finished.
        """
        return self._recorded(address) if address.dataset is not None else self._played(address.id)

    def at(self, ref: FrameRef) -> OpenEpisode:
        """Give the episode that a row of a reel belongs to.

        Raises:
            NotFound: There is none.
        """
        return self._reel(ref.run_id).at_row(ref.index)

    def _played(self, name: str) -> OpenEpisode:
        with self._home.database.read() as connection:
            listed = listing.played(connection, name)
        if listed is None or listed.reel is None:
            raise NotFound(f"no episode {name!r} in this store")
        return self._reel(listed.reel).episode(listed.number, listed)

    def _reel(self, reel_id: str) -> OpenReel:
        files = self._home.layout.replay.reel(reel_id)
        key = ("reel", reel_id)
        if not files.exist():
            self._forget(key)
            raise NotFound(f"no replay {reel_id!r} in this store")
        with self._lock:
            found = self._open.get(key)
        if not isinstance(found, OpenReel):
            found = OpenReel(self._home, files)
        self._keep(key, found)
        return found

    def _recorded(self, address: Address) -> OpenEpisode:
        name = unicodedata.normalize("NFC", address.dataset or "")
        key = ("dataset", name, address.id)
        with self._lock:
            found = self._open.get(key)
        if not isinstance(found, OpenFolder) or not found.is_same():
            found = self._opened_folder(Address(address.id, name))
        self._keep(key, found)
        return found.episode

    def _opened_folder(self, address: Address) -> OpenFolder:
        name = address.dataset or ""
        if name not in self._home.layout.datasets():
            raise NotFound.among("dataset", name, self._home.layout.datasets())
        listed = self._find(address)
        if listed is None and self._home.database.mode == "a":  # a folder that was copied here by hand
            episode_index.reconcile(self._home, name)
            listed = self._find(address)
        if listed is None:
            raise NotFound(f"no episode {address.id!r} in the dataset {name!r}")
        root = self._home.layout.dataset(name)
        folder = root.episode(episode_index.locate(self._home, name, address.id, listed.number))
        if not folder.path.is_dir():
            raise NotFound(f"the episode {address} was removed")
        if folder.is_unfinished():
            if Unfinished(folder.root).is_recorded:
                raise StoreLocked(f"the episode {address.id!r} is being recorded; it can be read when it is finished")
            raise StoreLocked(
                f"the recording of the episode {address.id!r} was cut short; finish it with: playhead episode recover"
            )
        found = OpenFolder(address, listed, folder, root)
        for track in found.episode.tracks.values():
            if track.error is not None:  # a message for others: where the store lies is none of their business
                track.error = without_root(track.error, os.fspath(self._home.layout.root))
        return found

    def _find(self, address: Address) -> Listed | None:
        with self._home.database.read() as connection:
            return listing.recorded(connection, address.dataset or "", address.id)

    # -- what stays open --------------------------------------------------------------------------------------------

    def _keep(self, key: tuple[str, ...], found: OpenReel | OpenFolder) -> None:
        found.used_ns = clock.elapsed_ns()
        with self._lock:
            if self._ended.is_set():
                return
            self._open[key] = found
            self._open.move_to_end(key)
            weight = sum(one.weight for one in self._open.values())
            while len(self._open) > MOST_OPEN or (weight > MOST_BYTES and len(self._open) > 1):
                _, gone = self._open.popitem(last=False)
                weight -= gone.weight
            if self._sweeper is None:
                self._sweeper = threading.Thread(target=self._sweep_on, name="playhead-opened", daemon=True)
                self._sweeper.start()

    def _forget(self, key: tuple[str, ...]) -> None:
        with self._lock:
            self._open.pop(key, None)

    def _sweep_on(self) -> None:
        while not self._ended.wait(_SWEEP_SECONDS):
            self.sweep()

    def sweep(self) -> None:
        """Let go of what was removed, and of what nobody has used for long."""
        with self._lock:
            all_open = list(self._open.items())
        old = clock.elapsed_ns() - _IDLE_NS
        for key, one in all_open:
            if one.is_gone() or one.used_ns < old:
                self._forget(key)

    def __len__(self) -> int:
        return len(self._open)

    def close(self) -> None:
        """Let go of everything."""
        self._ended.set()
        if self._sweeper is not None:
            self._sweeper.join()
        with self._lock:
            self._open.clear()
