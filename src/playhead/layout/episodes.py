"""The files of episodes and datasets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from playhead.errors import Damaged

BLOCK = 1000  # episodes in a folder of a dataset
EDITS = "edits.jsonl"
_UNFINISHED = ".unfinished"
_SETTLED = ".settled.json"
_VECTOR, _VIDEO, _FRAMES = ".parquet", ".mp4", ".frames.parquet"
_NUMBER = re.compile(r"\d{12}")
_USED = re.compile(r"\.?(\d{12})(\.aborted)?$")


@dataclass(frozen=True, slots=True)
class EpisodeFolder:
    """The files of one episode, as people and other programs find them.

    Attributes:
        root: The folder, as text: a dataset has tens of thousands, and paths are slow to make.
    """

    root: str

    @property
    def path(self) -> Path:
        """The folder."""
        return Path(self.root)

    @property
    def meta(self) -> str:
        """Identity and provenance."""
        return f"{self.root}/meta.json"

    @property
    def static(self) -> str:
        """What does not change during the episode."""
        return f"{self.root}/static.json"

    @property
    def unfinished(self) -> Path:
        """Present until the episode is whole."""
        return self.path / _UNFINISHED

    def is_unfinished(self) -> bool:
        """Tell whether the episode is not whole yet."""
        return os.path.exists(f"{self.root}/{_UNFINISHED}")

    @property
    def tape(self) -> Path:
        """What is recorded, until it is sealed into files."""
        return self.path / ".recording"

    @property
    def tombstone(self) -> Path:
        """What the episode leaves where it is removed, so that its number is not used again."""
        return self.path.parent / f".{self.path.name}.aborted"

    def is_numbered(self) -> bool:
        """Tell whether the folder is one of a dataset, where each has a number."""
        return bool(_NUMBER.fullmatch(self.path.name) and _NUMBER.fullmatch(self.path.parent.name))

    @property
    def edits(self) -> Path:
        """Later facts about the episode; some programs keep them here, and not beside all episodes."""
        return self.path / EDITS

    def vector(self, signal: str) -> Path:
        """Name the file of a signal of numbers or texts."""
        return self.path / f"{signal}{_VECTOR}"

    def video(self, signal: str) -> Path:
        """Name the video of a signal of images."""
        return self.path / f"{signal}{_VIDEO}"

    def frames(self, signal: str) -> Path:
        """Name the index of a video."""
        return self.path / f"{signal}{_FRAMES}"

    def owned(self, signal: str, *, is_video: bool) -> str:
        """Name the file of a signal that says whose the signal is, without its folder."""
        return f"{signal}{_FRAMES if is_video else _VECTOR}"

    def files(self) -> dict[str, tuple[str, bool]]:
        """List the files of signals, also of halves of a video: the signal of each, and whether it is a video."""
        return _signals_of(sorted(os.listdir(self.root)))

    def signals_of(self, names: Iterable[str]) -> dict[str, str]:
        """Name the signal of each file that belongs to one."""
        return {name: signal for name, (signal, _) in _signals_of(names).items()}

    def signals(self) -> dict[str, bool]:
        """List the signals that have files, and whether each is a video.

        Raises:
            Damaged: A video has no index.
        """
        names = sorted(os.listdir(self.root))
        videos = [name.removesuffix(_VIDEO) for name in names if name.endswith(_VIDEO) and name[0] != "."]
        for video in videos:
            if f"{video}{_FRAMES}" not in names:
                raise Damaged(self.video(video), f"its frames index {self.frames(video).name} beside it", "none")
        vectors = [
            name.removesuffix(_VECTOR)
            for name in names
            if name.endswith(_VECTOR) and not name.endswith(_FRAMES) and name[0] != "."
        ]
        return dict.fromkeys(vectors, False) | dict.fromkeys(videos, True)


def _signals_of(names: Iterable[str]) -> dict[str, tuple[str, bool]]:
    found = {}
    for name in names:
        for suffix, is_video in ((_FRAMES, True), (_VIDEO, True), (_VECTOR, False)):
            if name.endswith(suffix) and name[0] != ".":
                found[name] = name.removesuffix(suffix), is_video
                break
    return found


@dataclass(frozen=True, slots=True)
class DatasetFolder:
    """The episodes of one dataset, in blocks."""

    path: Path

    @property
    def edits(self) -> Path:
        """Later facts about its episodes."""
        return self.path / EDITS

    @property
    def settled(self) -> Path:
        """Up to which episode all are known to be on the medium; see `settled.py`."""
        return self.path / _SETTLED

    def episode(self, number: int) -> EpisodeFolder:
        """Name the folder of an episode."""
        return EpisodeFolder(f"{self.path}/{number // BLOCK * BLOCK:012}/{number:012}")

    def numbers(self) -> Iterator[int]:
        """Walk over the numbers of the episodes, in order."""
        for block in _numbered(self.path):
            yield from map(int, _numbered(self.path / block))

    def newest(self) -> int:
        """Return the number of the newest episode that is there; -1 if there is none."""
        for block in reversed(_numbered(self.path)):
            if there := _numbered(self.path / block):
                return int(there[-1])
        return -1

    def highest(self) -> int:
        """Give the highest number that was ever used; -1 where there is none."""
        highest = -1
        for block in reversed(_numbered(self.path)):
            for name in os.listdir(self.path / block):
                found = _USED.match(name)
                if found:
                    highest = max(highest, int(found[1]))
            if highest >= 0:
                break
        return highest


def _numbered(folder: Path) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if _NUMBER.fullmatch(name))
    except FileNotFoundError:
        return []
