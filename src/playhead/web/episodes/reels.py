"""Reels that are open: followed while they are recorded, read by one thread at a time."""

from __future__ import annotations

import contextlib
import os
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from playhead import clock, layout
from playhead.catalog import listing
from playhead.catalog.listing import Listed
from playhead.errors import Damaged, NotFound, OutOfRange
from playhead.home import Home
from playhead.lanes.arrays.pieces import Gone
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.sealing import episode_id
from playhead.layout import ReelFiles
from playhead.replay.episode import ReplayEpisode
from playhead.web.episodes import tracks
from playhead.web.episodes.addresses import Address
from playhead.web.episodes.episode import Identity, OpenEpisode, hashed, identity_of

_FOLLOW_NS = clock.SECOND // 10  # a growing reel is looked at again after this time
_EPISODES = 16  # of one reel that are kept
_KEPT_CHUNKS = 4  # that a reel remembers
_STEP_BYTES = 64


class SharedReel:
    """A reel for all threads, one at a time.

    Args:
        files: Where it lies.
    """

    def __init__(self, files: ReelFiles) -> None:
        self.files = files
        self.lock = threading.RLock()
        self.reel = Reel(files)

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Hold the reel, and tell what was removed from what is damaged."""
        with self.lock:
            try:
                yield
            except (OutOfRange, Damaged, NotFound, OSError, Gone) as error:
                if not self.files.exist():
                    raise NotFound(f"the replay {self.files.id} was removed") from error
                raise

    def agents(self) -> list[str]:
        """Give the names of those who act."""
        with self.reading():
            return self.reel.agents

    def infos(self, start: int, stop: int) -> list[bytes]:
        """Give the infos of rows."""
        with self.reading():
            return self.reel.infos(start, stop)


class OpenReel:
    """A reel that is open, and those of its episodes that were asked for.

    Args:
        home: The store.
        files: Where it lies.
    """

    def __init__(self, home: Home, files: ReelFiles) -> None:
        self._home = home
        self._files = files
        self._seen = self._state()  # before it is read: what comes in between is seen by the next look
        self._shared = SharedReel(files)
        self._reel, self._lock = self._shared.reel, self._shared.lock
        self._looked_ns = clock.elapsed_ns()
        self._shape = self._extent()
        self._episodes: OrderedDict[int, OpenEpisode] = OrderedDict()
        self._stale: set[int] = set()  # those that have grown, or ended, since
        self.weight = self._measured()
        self.used_ns = self._looked_ns

    def _measured(self) -> int:
        """Give the bytes that it holds, about: the chunks that it read last, and what is known of each step."""
        chunk = max((kind.chunk * kind.row_bytes for kind in self._reel.kinds.values()), default=0)
        return _KEPT_CHUNKS * chunk + _STEP_BYTES * self._reel.length

    def is_gone(self) -> bool:
        """Tell whether its files were removed."""
        return not self._files.exist()

    def _state(self) -> tuple[Identity | None, bool]:
        return identity_of(os.fspath(self._files.file)), self._files.journal.exists()

    def _extent(self) -> tuple[int, int]:
        return self._reel.length, sum(len(part.notes) for part in self._reel.parts)

    def _follow(self, *, now: bool = False) -> None:
        """Look at what was recorded since, and forget what it changes."""
        state, time = self._state(), clock.elapsed_ns()
        is_due = now or time - self._looked_ns > _FOLLOW_NS
        if state == self._seen and not (state[1] and is_due):
            return
        with self._shared.reading():
            self._reel.refresh()
        self._looked_ns = time
        extent = self._extent()
        if (state, extent) == (self._seen, self._shape):
            return
        # Where the file is another one, even what was finished may be: the run was purged, and recorded again.
        is_same = state[0] == self._seen[0]
        self._stale |= {number for number, one in self._episodes.items() if not (one.is_final and is_same)}
        self._seen, self._shape, self.weight = state, extent, self._measured()

    def episode(self, number: int, listed: Listed | None = None) -> OpenEpisode:
        """Give one of its episodes as it is now.

        Raises:
            NotFound: There is none.
        """
        with self._lock:
            self._follow()
            one = self._episodes.get(number)
            if one is None or number in self._stale:
                one = self._episodes[number] = self._opened(number, listed or self._listed(number), one)
                self._stale.discard(number)
            self._episodes.move_to_end(number)
            while len(self._episodes) > _EPISODES:
                self._episodes.popitem(last=False)
            return one

    def at_row(self, row: int) -> OpenEpisode:
        """Give the episode that a row belongs to.

        Raises:
            NotFound: There is no such row.
        """
        with self._lock:
            self._follow(now=row >= self._reel.length)
            if not 0 <= row < self._reel.length:
                raise NotFound(f"no step {row} in {self._files.id}: there are {self._reel.length}")
            spans = self._reel.spans
            place = bisect_right(spans, row, key=lambda span: span.start) - 1
            if place < 0 or row >= spans[place].start + spans[place].length:
                raise NotFound(f"step {row} of {self._files.id} belongs to no episode")
            return self.episode(spans[place].number)

    def _listed(self, number: int) -> Listed:
        with self._home.database.read() as connection:
            found = listing.played(connection, episode_id(self._files.id, number))
        if found is None:  # not indexed yet
            run_id = layout.run_of_reel(self._files.id)
            name = episode_id(self._files.id, number)
            nothing: dict[str, Any] = dict.fromkeys(Listed._fields)
            known = {"kind": "replay", "id": name, "number": number, "reel": self._files.id, "run_id": run_id}
            found = Listed(**(nothing | known | {"finished": False}))
        return found

    def _opened(self, number: int, listed: Listed, before: OpenEpisode | None) -> OpenEpisode:
        with self._shared.reading():
            episode = ReplayEpisode(self._reel, number)
            stamps = episode.steps["ts_ns"]
            began = episode.created_ts_ns
            first = int(stamps[0]) if len(stamps) else 0
            is_live = self._files.journal.exists()
            # Another recording of the same id has another begin, or at least another file; while it grows that changes.
            identity = hashed(episode.id, began, first, None if is_live and began is not None else self._seen[0])
            known = before.pictures if before is not None and before.identity == identity else {}
            opened = OpenEpisode(
                Address(episode.id),
                listed,
                episode,
                tracks.of_replay(episode, self._reel, self._shared.reading, known),
                origin_ns=min(began, first) if began is not None and len(stamps) else first,
                identity=identity,
                is_final=not episode.is_unfinished and not is_live,
                owner=self._shared,
            )
        opened.pictures = known
        return opened
