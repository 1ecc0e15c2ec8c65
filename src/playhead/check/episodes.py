"""The check of episodes and of folders of them: everything is read, nothing is changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from playhead import facts, tape
from playhead.check import belonging, clocks, values, video
from playhead.check.belonging import Said
from playhead.check.finding import DAMAGE, NOTE, SEVERITIES, WARNING, Finding
from playhead.check.timing import GAP, Timing, timing_of
from playhead.dataset import LocalDataset
from playhead.episode import lanes, sealing, static_of
from playhead.episode.seals import Seals
from playhead.errors import Damaged, Misplaced, NotFound, StoreTooNew, foreseen
from playhead.layout import DatasetFolder, EpisodeFolder
from playhead.paths import GivenPath, as_path, as_text
from playhead.wording import counted

if TYPE_CHECKING:
    from playhead.lanes.video import VideoSignal

Progress = Callable[[Sequence[Path]], Iterable[Path]]

_VIDEO, _VECTOR, _FRAMES = ".mp4", ".parquet", ".frames.parquet"


def verify_episode(path: GivenPath, *, deep: bool = False) -> list[Finding]:
    """Check one episode: that all of it can be read, and what its times and values look like.

    Args:
        path: Its folder.
        deep: Also decode every frame of every video, to find frames that cannot be decoded, stand still or repeat.

    Returns:
        What was found, the worst first; empty where all is well.

    Raises:
        NotFound: There is no such folder.
        MissingExtra: There is a video, and nothing that reads videos.
    """
    folder = EpisodeFolder(as_text(path))
    if not folder.path.is_dir():
        raise NotFound(f"no episode at {path}: there is no such folder")
    check = _Check(folder, deep)
    found = list(check.findings())
    if check.is_unsaid:
        found.append(Finding(NOTE, folder.path, f"was {belonging.UNSAID}"))
    return _sorted(found)


def verify_dataset(path: GivenPath, *, deep: bool = False, watch: Progress | None = None) -> list[Finding]:
    """Check all episodes of a folder, finished or not, and the edits beside them.

    Args:
        path: The folder of the dataset.
        deep: Also decode every frame of every video.
        watch: Given the episodes, walks over them; a place for a progress bar.

    Returns:
        What was found, the worst first.

    Raises:
        NotFound: There is no such folder.
    """
    folder = DatasetFolder(as_path(path))
    if not folder.path.is_dir():
        raise NotFound(f"no dataset at {path}: there is no such folder")
    episodes = [folder.episode(number).path for number in folder.numbers()]
    found: list[Finding] = []
    unsaid = 0
    for episode in (watch or iter)(episodes):
        check = _Check(EpisodeFolder(os.fspath(episode)), deep)
        found += _sorted(check.findings())
        unsaid += check.is_unsaid
    if unsaid:
        found.append(Finding(NOTE, folder.path, f"{counted(unsaid, 'episode')} {belonging.UNSAID}"))
    return _sorted([*found, *_edits(folder), *_same_uids(episodes)])


def _sorted(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def _edits(folder: DatasetFolder) -> Iterator[Finding]:
    try:
        dropped = LocalDataset(folder.path).edited.dropped
    except Damaged as error:
        yield Finding(DAMAGE, folder.edits, str(error), next_step="Until then, no edit of this dataset counts")
        return
    except OSError as error:
        yield Finding(DAMAGE, folder.edits, _said(error))
        return
    if dropped:
        yield Finding(NOTE, folder.edits, f"{len(dropped)} episodes are dropped by edits")


def _same_uids(episodes: Sequence[Path]) -> Iterator[Finding]:
    first: dict[str, Path] = {}
    for path in episodes:
        uid = _meta(EpisodeFolder(os.fspath(path))).get("uid")
        if uid is not None and first.setdefault(str(uid), path) != path:
            text = f"has the uid {uid} of {first[str(uid)]}: an edit of one is an edit of both"
            yield Finding(WARNING, path, text, next_step="Remove one of the two")


def _meta(folder: EpisodeFolder) -> dict[str, Any]:
    try:
        return facts.known(folder.meta, facts.EPISODE)
    except (Damaged, OSError):
        return {}


def _said(error: OSError) -> str:
    return f"cannot be read: {error.strerror or error}"


class _Check:
    """One episode under the lens."""

    def __init__(self, folder: EpisodeFolder, deep: bool) -> None:
        self._folder = folder
        self._deep = deep
        self._meta = _meta(folder)
        self._stamps: dict[str, NDArray[np.int64]] = {}
        self._paths: dict[str, Path] = {}
        self._said: list[Said] = []
        self.is_unsaid = False  # known once all findings were asked for

    def findings(self) -> Iterator[Finding]:
        found = [*self._state(), *self._facts()]
        for name, is_video in self._signals():
            found += self._of_signal(name, is_video)
        damaged = {finding.path for finding in found if finding.severity == DAMAGE}
        found += belonging.look(self._folder, self._meta, self._said, damaged)
        no_seals = not Seals.among(self._meta).files and not self._folder.is_unfinished()
        self.is_unsaid = no_seals and bool(self._said) and all(one.owner is None for one in self._said)
        yield from found
        yield from self._times()

    def _of_signal(self, name: str, is_video: bool) -> Iterator[Finding]:
        path = self._folder.video(name) if is_video else self._folder.vector(name)
        try:
            with foreseen(path):
                yield from self._signal(name, path, is_video)
        except Damaged as error:
            yield Finding(DAMAGE, Path(error.path), str(error), name)
        except StoreTooNew as error:
            yield Finding(WARNING, path, f"cannot be checked: {error}", name)
        except OSError as error:
            yield Finding(DAMAGE, Path(error.filename or path), _said(error), name)

    def _state(self) -> Iterator[Finding]:
        path = self._folder.path
        if not self._folder.is_unfinished():
            return
        if tape.is_recorded(self._folder.tape):
            yield Finding(NOTE, path, "is being recorded now")
        else:
            yield from self._tape()
            step = f"Run: playhead episode recover {path}"
            yield Finding(WARNING, path, "is unfinished: readers skip it", next_step=step)

    def _tape(self) -> Iterator[Finding]:
        try:
            sealing.check_tape(self._folder, self._meta)
        except Misplaced as error:
            yield Finding(DAMAGE, Path(error.path), str(error), is_elsewhere=True)
        except Damaged:
            return  # that is said where it is recovered

    def _facts(self) -> Iterator[Finding]:
        meta, static = Path(self._folder.meta), Path(self._folder.static)
        try:
            if not meta.exists():
                text = "is missing: the episode has no identity and no date"
                yield Finding(DAMAGE, meta, text, next_step="Restore it from a copy")
            yield from (Finding(DAMAGE, meta, str(flaw)) for flaw in facts.flaws(meta, facts.EPISODE))
        except OSError as error:
            yield Finding(DAMAGE, meta, _said(error))
        try:
            static_of(self._folder)
        except Damaged as error:
            yield Finding(DAMAGE, static, str(error))
        except OSError as error:
            yield Finding(DAMAGE, static, _said(error))

    def _signals(self) -> Iterator[tuple[str, bool]]:
        """List the signals, also of a folder that readers refuse."""
        names = sorted(name for name in os.listdir(self._folder.path) if not name.startswith("."))
        videos = [name.removesuffix(_VIDEO) for name in names if name.endswith(_VIDEO)]
        yield from (
            (name.removesuffix(_VECTOR), False)
            for name in names
            if name.endswith(_VECTOR) and not name.endswith(_FRAMES) and name.removesuffix(_VECTOR) not in videos
        )
        yield from ((name, True) for name in videos)
        # An index without a video is what a camera leaves that gave no frame.
        indexes = [name.removesuffix(_FRAMES) for name in names if name.endswith(_FRAMES)]
        yield from ((name, True) for name in indexes if name not in videos)

    def _signal(self, name: str, path: Path, is_video: bool) -> Iterator[Finding]:
        if is_video and not (path.exists() and self._folder.frames(name).exists()):
            yield from self._half_a_video(name)
            return
        signal = lanes.signal(self._folder, name, is_video=is_video)
        owned = self._folder.path / self._folder.owned(name, is_video=is_video)
        self._said.append(said := Said(name, owned, lanes.owner_of(signal)))
        if belonging.is_stray(self._folder, self._meta, said):
            return  # reported as such; what is in it is nothing of this episode
        self._paths[name] = path
        self._stamps[name] = signal.timestamps
        looks = video.look(cast("VideoSignal", signal), deep=self._deep) if is_video else values.look(signal.values)
        yield from (Finding(severity, path, text, name) for severity, text in looks)

    def _half_a_video(self, name: str) -> Iterator[Finding]:
        index, path = self._folder.frames(name), self._folder.video(name)
        if not index.exists():
            text = (
                f"its index {index.name} is missing, and with it the times of its frames: no reader opens the episode"
            )
            yield Finding(DAMAGE, path, text, name, "Restore the index from a copy, or move the video away")
        elif rows := self._rows_of(index, name):
            text = f"its video {path.name} is missing, and the index knows {rows:,} frames"
            yield Finding(DAMAGE, index, text, name, "Restore the video from a copy")
        else:
            yield Finding(NOTE, index, "recorded no frame", name)

    def _rows_of(self, index: Path, name: str) -> int:
        signal = cast("VideoSignal", lanes.signal(self._folder, name, is_video=True))
        self._said.append(Said(name, index, signal.owner))
        return len(signal)

    def _times(self) -> Iterator[Finding]:
        timings = {name: timing_of(stamps) for name, stamps in self._stamps.items()}
        created = self._meta.get("created_ts_ns")
        units = {
            name: unit
            for name, timing in timings.items()
            if (unit := clocks.wrong_unit(timing, created if isinstance(created, int) else None))
        }
        for name, unit in units.items():
            text = f"its stamps look like {unit}, not nanoseconds: the first is {timings[name].start_ts}"
            yield Finding(
                WARNING,
                self._paths[name],
                text,
                name,
                "Record nanoseconds, as time_ns() of Python's time module gives them",
            )
        right = {name: timing for name, timing in timings.items() if name not in units}
        for name, text in clocks.strangers(right):
            yield Finding(WARNING, self._paths[name], text, name)
        first = min((timing.start_ts for timing in right.values() if timing.start_ts is not None), default=0)
        pause = clocks.common_pause({name: self._stamps[name] for name in right})
        if pause is not None:
            at, length = pause
            text = (
                f"all signals are silent for {clocks.stretch(length)}, {clocks.stretch(at - first)} after the begin: "
                "the recording paused, or the clock of the machine was set"
            )
            yield Finding(WARNING, self._folder.path, text)
        for name, timing in right.items():
            if timing.gaps and (pause is None or timing.longest_at != pause[0] or len(timing.gaps) > 1):
                yield Finding(WARNING, self._paths[name], _gaps(timing, first), name)


def _gaps(timing: Timing, first: int) -> str:
    count = len(timing.gaps)
    longest, at = timing.longest_ns or 0, (timing.longest_at or 0) - first
    many = "a gap" if count == 1 else f"{count:,} gaps, the longest"
    return (
        f"{many} of {clocks.stretch(longest)} at {at / 1e9:.2f} s, where samples come every "
        f"{clocks.stretch(timing.median_ns or 0)} (a gap is more than {GAP} times that)"
    )
