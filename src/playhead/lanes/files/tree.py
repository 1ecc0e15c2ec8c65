"""The files to save, by the folder of the artifact that they go to, and how each folder looks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import xxhash

from playhead import strictjson
from playhead.catalog.known_files import Stamp
from playhead.errors import BadName
from playhead.lanes.files.sources import Listing, Source


class Look(NamedTuple):
    """How a folder looks, with all in it.

    Attributes:
        digest: XXH3 (128 bits) of the names of its files and of what the file system says of them.
        files: How many it has.
    """

    digest: bytes
    files: int


class Tree:
    """Files to save.

    Args:
        found: Folders of the artifact, each with files that go there; one may come several times.

    Raises:
        BadName: Two files have one place.
    """

    def __init__(self, found: Iterable[tuple[str, Listing]]) -> None:
        listings: dict[str, Listing] = {}
        for place, listing in found:
            there = listings.setdefault(place, listing)
            if there is not listing:
                listings[place] = _merged(place, there, listing)
        for place in list(listings):
            for above in above_of(place):
                listings.setdefault(above, Listing())
        self._listings = {place: listings[place] for place in sorted(listings)}
        self._inner: dict[str, list[str]] = {place: [] for place in self._listings}
        for place in self._listings:
            if place:
                self._inner[place.rpartition("/")[0]].append(place)
        self._refuse_nested()

    def _refuse_nested(self) -> None:
        for above, inner in self._inner.items():
            files = self._listings[above]
            for place in inner:
                name = place.rpartition("/")[2]
                at = bisect_left(files.names, name)
                if at < len(files.names) and files.names[at] == name:
                    raise BadName(f"{files.paths[at]} would be the file {place!r}, and another file lies in it")

    @property
    def empty(self) -> list[str]:
        """Folders in which nothing is, in order."""
        return [
            place for place, files in self._listings.items() if place and not files.names and not self._inner[place]
        ]

    def __len__(self) -> int:
        return sum(len(files.names) for files in self._listings.values())

    def __iter__(self) -> Iterator[str]:
        """Walk over the places of all files."""
        for place, files in self._listings.items():
            yield from (f"{place}/{name}" for name in files.names) if place else files.names

    def sources(self, without: Collection[str] = ()) -> list[Source]:
        """List the files in order of their places.

        Args:
            without: Folders that are left out, with all in them.
        """
        found = [
            Source(path, f"{place}/{name}" if place else name, stamp)
            for place, files in self._listings.items()
            if not is_in(place, without)
            for name, path, stamp in files.rows()
        ]
        return sorted(found, key=lambda source: source.member)

    def looks(self) -> dict[str, Look]:
        """Tell how each folder looks now."""
        looks: dict[str, Look] = {}
        for place in reversed(self._listings):  # what lies in a folder comes before it
            files, inner = self._listings[place], self._inner[place]
            said = [files.names, files.numbers, inner, [looks[one].digest.hex() for one in inner]]
            count = len(files.names) + sum(looks[one].files for one in inner)
            looks[place] = Look(xxhash.xxh3_128_digest(strictjson.encode(said)), count)
        return looks


def above_of(place: str) -> Iterator[str]:
    """Walk up from a place to the folders that it lies in; the last is the top."""
    while place:
        place = place.rpartition("/")[0]
        yield place


def is_in(place: str, folders: Collection[str]) -> bool:
    """Tell whether a place is one of some folders, or lies in one."""
    return bool(folders) and (place in folders or any(above in folders for above in above_of(place)))


def _merged(place: str, one: Listing, other: Listing) -> Listing:
    """Put the files of two folders together; a file that is given twice is one."""
    found: dict[str, tuple[str, Stamp]] = {}
    for name, path, stamp in (*one.rows(), *other.rows()):
        before, _ = found.setdefault(name, (path, stamp))
        if before != path:
            member = f"{place}/{name}" if place else name
            raise BadName(f"{before} and {path} would both be {member!r} in the artifact")
    names = sorted(found)
    return Listing(names, [found[name][0] for name in names], [n for name in names for n in found[name][1]])
