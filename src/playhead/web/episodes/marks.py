"""Moments of an episode that a player marks: rewards, ends, lost lives, missing frames, gaps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playhead import strictjson
from playhead.errors import Damaged
from playhead.export.film import figures
from playhead.lanes.arrays.rows import TERMINATED, TRUNCATED
from playhead.replay.episode import ReplayEpisode
from playhead.web.episodes.episode import OpenEpisode
from playhead.web.episodes.tracks import PICTURE, Track, walk

MOST = 2000

REWARD, END, RESET, MISSING, GAP, LIFE = "reward", "end", "reset", "missing", "gap", "life"

_MOST_INFOS = 200_000  # steps whose infos are looked through for lives
_LIVES, _LOOKED_AT = b'"lives"', 64
_GAP = 5.0  # times the usual interval
_REGULAR = 2.0  # nine of ten intervals are at most so many times the usual one, or the signal has no rhythm
_LEAST_SAMPLES = 10


class Mark(NamedTuple):
    """A moment.

    Attributes:
        kind: What it is: `reward`, `end`, `reset`, `missing`, `gap` or `life`.
        stamp: When.
        place: The number of the step, or of the sample.
        text: For people.
        weight: How much it matters where there are too many.
    """

    kind: str
    stamp: int
    place: int
    text: str
    weight: float = np.inf


def of(opened: OpenEpisode) -> list[Mark]:
    """Give the marks of an episode in the order of time, at most 2000; of more rewards, the largest."""
    with opened.reading():
        found = _of_steps(opened, opened.episode) if isinstance(opened.episode, ReplayEpisode) else []
    for track in walk(opened.tracks):
        if track.kind == PICTURE and track.present is not None and track.same_as is None:
            found += _missing(track)
        if not isinstance(opened.episode, ReplayEpisode):
            found += _gaps(track)
    found.sort(key=lambda mark: -mark.weight)
    return sorted(found[:MOST], key=lambda mark: (mark.stamp, mark.kind))


def _of_steps(opened: OpenEpisode, episode: ReplayEpisode) -> list[Mark]:
    rows = episode.steps
    stamps, rewards = rows["ts_ns"], rows["reward"]
    found = [
        Mark(REWARD, int(stamps[step]), step, figures.number(rewards[step], signed=True), abs(float(rewards[step])))
        for step in _largest(rewards)
    ]
    for step in np.flatnonzero(rows["flags"]).tolist():
        flags = int(rows["flags"][step])
        words = [word for word, bit in (("terminated", TERMINATED), ("truncated", TRUNCATED)) if flags & bit]
        found.append(Mark(END, int(stamps[step]), step, " and ".join(words)))
    last = len(rows) - 1
    if last >= 0 and not rows["flags"][last] and episode.how is not None:
        kind = RESET if episode.how == "reset" else END
        found.append(Mark(kind, int(stamps[last]), last, episode.how))
    return [*found, *_lives(opened, stamps)]


def _largest(rewards: NDArray[np.float64]) -> list[int]:
    """Give the steps with a reward; of too many, those with the largest."""
    sizes = np.abs(np.nan_to_num(rewards, nan=0.0))
    steps = np.flatnonzero(sizes)
    if len(steps) > MOST:
        steps = steps[np.argsort(-sizes[steps], kind="stable")[:MOST]]
    return [int(step) for step in np.sort(steps)]


def _lives(opened: OpenEpisode, stamps: NDArray[np.int64]) -> list[Mark]:
    """Mark the steps after which there was a life less; the info of a step is what came of it."""
    if not 0 < len(stamps) <= _MOST_INFOS:
        return []
    try:
        texts = opened.infos(0, len(stamps))
    except Damaged:  # the steps themselves can be played
        return []
    if not any(_LIVES in text for text in texts[:_LOOKED_AT]):
        return []
    infos: list[Any] = strictjson.decode(b"[" + b",".join(text or b"{}" for text in texts) + b"]")
    found, before = [], None
    for step, info in enumerate(infos):
        lives = info.get("lives") if isinstance(info, dict) else None
        if not isinstance(lives, int) or isinstance(lives, bool):
            continue
        if before is not None and lives < before:
            text = f"life lost, {lives} left"
            found.append(Mark(LIFE, int(stamps[step]), step, text))
        before = lives
    return found


def _missing(track: Track) -> list[Mark]:
    """Mark stretches of steps without a frame; where only each so-manieth has one, longer ones than usual."""
    assert track.present is not None
    there = np.flatnonzero(track.present)
    if not len(there):
        return []
    usual = int(np.median(np.diff(there))) if len(there) > 1 else 1
    borders = np.concatenate([[-1], there, [len(track)]])
    counts = np.diff(borders) - 1
    found = []
    for place in np.flatnonzero(counts >= usual).tolist():
        first, count = int(borders[place]) + 1, int(counts[place])
        what = f"{track.name}: {count} missing" if count > 1 else f"{track.name}: missing"
        found.append(Mark(MISSING, int(track.stamps[first]), first, what, float(count)))
    return found


def _gaps(track: Track) -> list[Mark]:
    """Mark stretches without samples in a signal that has a rhythm."""
    if len(track) < _LEAST_SAMPLES:
        return []
    intervals = np.diff(track.stamps)
    usual = float(np.median(intervals))
    if usual <= 0 or float(np.percentile(intervals, 90)) > _REGULAR * usual:
        return []
    found = []
    for place in np.flatnonzero(intervals > _GAP * usual).tolist():
        seconds = figures.seconds(float(intervals[place]) / 1e9)
        text = f"{track.name}: no sample for {seconds}"
        found.append(Mark(GAP, int(track.stamps[place]), place, text, float(intervals[place]) / usual))
    return found
