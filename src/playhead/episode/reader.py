"""DiskEpisode: an episode in a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from playhead import facts
from playhead.episode import items, lanes, seals
from playhead.episode.contract import Episode
from playhead.episode.seals import Seals
from playhead.errors import Damaged, NotFound, WrongType
from playhead.layout import EpisodeFolder
from playhead.owner import Owner
from playhead.paths import GivenPath, as_text
from playhead.signal import Signal


class DiskEpisode(Episode):
    """An episode that lies in a folder, of Playhead or of any generation of Positronic.

    Args:
        directory: The folder.

    Raises:
        NotFound: There is no such folder.
        WrongType: If it is a file.
        Damaged: A video has no index.
    """

    def __init__(self, directory: GivenPath) -> None:
        self._folder = EpisodeFolder(as_text(directory))
        try:
            self._files = self._folder.signals()
        except FileNotFoundError:
            raise NotFound(f"no episode at {directory}: there is no such folder") from None
        except NotADirectoryError:
            raise WrongType(f"{directory} is a file; an episode is a folder") from None
        self._signals = _Signals(self._folder, self._files, self._owner_of)
        self._static: dict[str, Any] | None = None
        self._meta: dict[str, Any] | None = None
        self._sealed: Seals | None = None

    @property
    def path(self) -> Path:
        """The folder."""
        return self._folder.path

    @property
    def is_unfinished(self) -> bool:
        """Whether the recording was cut short and is not recovered yet."""
        return self._folder.is_unfinished()

    @property
    def signals(self) -> Mapping[str, Signal[Any]]:
        """The signals by name; none is read before it is used."""
        return self._signals

    @property
    def static(self) -> dict[str, Any]:
        """The items that do not change."""
        if self._static is None:
            self._seals().check_static(self._folder)
            self._static = static_of(self._folder)
        return dict(self._static)

    @property
    def meta(self) -> dict[str, Any]:
        """Identity and provenance. A folder that has no `uid` gets one from the time at which it was made."""
        meta = dict(self._stored_meta())
        for own in ("duration_ns", "span_ns", seals.KEY, seals.SYNCED):
            meta.pop(own, None)
        if "uid" not in meta and "created_ts_ns" in meta:
            meta["uid"] = f"ts-{meta['created_ts_ns']}"
        meta["path"] = os.fspath(self.path)
        return meta

    @property
    def duration_ns(self) -> int:
        """The time from the first sample of all to the last; known without reading signals where the folder says so."""
        duration = self._stored_meta().get("span_ns")
        return duration if isinstance(duration, int) else self._measured_duration()

    def _measured_duration(self) -> int:
        return super().duration_ns

    @property
    def created_ts_ns(self) -> int | None:
        """When the recording began, as far as it is known."""
        created = self._stored_meta().get("created_ts_ns")
        return created if isinstance(created, int) else None

    @property
    def size_bytes(self) -> int:
        """The bytes of its files."""
        return sum(entry.stat().st_size for entry in os.scandir(self.path) if entry.is_file())

    def _stored_meta(self) -> dict[str, Any]:
        if self._meta is None:
            self._meta = facts.known(self._folder.meta, facts.EPISODE)
        return self._meta

    def _seals(self) -> Seals:
        if self._sealed is None:
            self._sealed = Seals.among(self._readable_meta())
        return self._sealed

    def _readable_meta(self) -> dict[str, Any]:
        """Return what `meta.json` says; nothing if it is damaged: signals can be read all the same."""
        try:
            return self._stored_meta()
        except Damaged:
            return {}

    def _owner_of(self, signal: str, file: str) -> Owner:
        uid = self._readable_meta().get("uid")
        return self._seals().owner(self._folder, None if uid is None else str(uid), signal, file)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path,)


class _Signals(Mapping[str, Signal[Any]]):
    """The signals of a folder, each opened when it is asked for."""

    def __init__(self, folder: EpisodeFolder, files: dict[str, bool], owner_of: Callable[[str, str], Owner]) -> None:
        self._folder = folder
        self._files = files
        self._owner_of = owner_of
        self._opened: dict[str, Signal[Any]] = {}

    def __getitem__(self, name: str) -> Signal[Any]:
        if name not in self._opened:
            is_video = self._files[name]
            owner = self._owner_of(name, self._folder.owned(name, is_video=is_video))
            self._opened[name] = lanes.signal(self._folder, name, is_video=is_video, owner=owner)
        return self._opened[name]

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def static_of(folder: EpisodeFolder) -> dict[str, Any]:
    """Read the items of an episode that do not change.

    Raises:
        Damaged: The file is not what was written.
    """
    return {name: items.from_json(folder.static, item) for name, item in facts.load(folder.static).items()}
