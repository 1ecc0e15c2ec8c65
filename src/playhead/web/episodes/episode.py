"""An episode that is open, as handlers know it, whatever holds its files."""

from __future__ import annotations

import hashlib
import os
from contextlib import AbstractContextManager
from typing import Any, Protocol

from playhead.catalog.listing import Listed
from playhead.episode import Episode
from playhead.errors import NotFound
from playhead.replay.episode import ReplayEpisode
from playhead.web.episodes.addresses import Address
from playhead.web.episodes.pictures import Pictures
from playhead.web.episodes.tracks import Track

Identity = tuple[Any, ...]


class Owner(Protocol):
    """What holds the files of an episode. It knows nothing of who uses it, so that it goes with the last of them."""

    def reading(self) -> AbstractContextManager[None]:
        """Surround what is read."""

    def agents(self) -> list[str]:
        """Give the names of those who act."""

    def infos(self, start: int, stop: int) -> list[bytes]:
        """Give the infos of rows, JSON each."""


class OpenEpisode:
    """An episode that is open. What is read of it is read within `reading`.

    Args:
        address: Its address.
        listed: What the catalogue says of it.
        episode: The episode.
        found: Its signals.
        origin_ns: The time from which its times count.
        identity: What tells its recording from any other.
        is_final: Whether nothing of it will change.
        owner: What is read of it is read within `owner.reading()`.
    """

    def __init__(
        self,
        address: Address,
        listed: Listed,
        episode: Episode,
        found: dict[str, Track],
        *,
        origin_ns: int,
        identity: str,
        is_final: bool,
        owner: Owner,
    ) -> None:
        self.address = address
        self.listed = listed
        self.episode = episode
        self.tracks = found
        self.origin_ns = origin_ns
        self.identity = identity
        self.is_final = is_final
        self._owner = owner
        self.pictures: dict[str, Pictures] = {}  # by array, of a replay
        self.kept: dict[str, Any] = {}  # what handlers found out of it

    @property
    def version(self) -> str:
        """What changes when anything of it does."""
        if self.is_final or not isinstance(self.episode, ReplayEpisode):
            return self.identity
        return f"{self.identity}-{self.episode.length}-{self.episode.how}"

    def reading(self) -> AbstractContextManager[None]:
        """Hold off other threads where that is needed, and tell what was removed from what is damaged."""
        return self._owner.reading()

    def track(self, name: str) -> Track:
        """Give a signal.

        Raises:
            NotFound: There is none of this name.
        """
        if name not in self.tracks:
            raise NotFound.among("signal", name, self.tracks)
        return self.tracks[name]

    def infos(self, start: int, stop: int) -> list[bytes]:
        """Give the infos of steps that an agent recorded, JSON each, nothing where there is none."""
        first = int(self.episode.meta.get("first_row", 0))
        return self._owner.infos(first + start, first + stop)

    @property
    def agents(self) -> list[str]:
        """The names of those who act, by number."""
        return self._owner.agents()

    def stamp(self, seconds: float) -> int:
        """Give the stamp of a time that counts from the begin of the episode."""
        bounded = min(max(seconds, -4e9), 4e9)
        return self.origin_ns + round(bounded * 1e9)

    def seconds(self, stamp: int) -> float:
        """Give a stamp as a time that counts from the begin of the episode."""
        return (stamp - self.origin_ns) / 1e9


def identity_of(path: str) -> Identity | None:
    """Tell a file from one that came in its place; None where there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def hashed(*parts: object) -> str:
    """Make a short text of all that tells a recording from others."""
    return hashlib.blake2b("\x00".join(map(str, parts)).encode(), digest_size=9).hexdigest()
