"""The numbers and texts of signals: when samples were, what they are in a stretch of time, and at one instant."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.responses import Response

from playhead.replay.episode import ReplayEpisode
from playhead.signal import Signal
from playhead.web import answers, thinning
from playhead.web.episodes.addresses import address_of, routes_of_an_episode
from playhead.web.episodes.episode import OpenEpisode
from playhead.web.episodes.manifest import opened_for
from playhead.web.episodes.tracks import MOST_COLUMNS, PICTURE, SCALAR, TEXT, VECTOR, Track, walk
from playhead.web.errors import Refused
from playhead.web.routes import Answer, Ask, Parameter, Route, in_path, integer, number
from playhead.web.schema import ANYTHING, FLAG, FLOAT, INTEGER, SECONDS, by_name, maybe, record, several
from playhead.web.schema import TEXT as WORDS

SIGNAL = in_path("signal", "The signal.", longest=400)
FROM = number("from_s", "Only from this time on, in seconds from the begin of the episode.")
TO = number("to_s", "Only up to this time.")

_POINTS = 1000
_BLOCK_BYTES = 32 << 20  # of an array that are read at once
_MOST_TEXTS = 2000
_LONGEST_TEXT = 2000
_SMALL = 16  # numbers of a value that is told with its time
_MOST_LOADED = 1 << 30  # bytes of a signal of a dataset, which is read as a whole


def times(ask: Ask) -> Any:
    """Give the time of every sample of a signal."""
    found = opened_for(ask).episode(address_of(ask))
    track = found.track(ask["signal"])
    track.samples()
    tag = answers.etag("times", found.version, track.name)
    if answers.is_known(ask.headers, tag):
        return answers.not_modified(tag)
    seconds = ((track.stamps - found.origin_ns) / 1e9).astype("<f8")
    return answers.tagged(Response(seconds.tobytes(), media_type=answers.BYTES), tag)


def values(ask: Ask) -> Any:
    """Give what a signal is in a stretch of time, in few enough points to draw."""
    found = opened_for(ask).episode(address_of(ask))
    track = found.track(ask["signal"])
    tag = answers.etag("values", found.version, track.name, ask["from_s"], ask["to_s"], ask["points"])
    if answers.is_known(ask.headers, tag):
        return answers.not_modified(tag)
    signal = window(found, track.samples(), ask["from_s"], ask["to_s"])
    if track.kind == TEXT:
        content = _texts(found, track, signal)
    elif track.kind in (SCALAR, VECTOR):
        content = _numbers(found, track, signal, ask["points"])
    else:
        raise Refused(422, f"the signal {track.name!r} has no numbers to draw: it is {_what(track)}")
    return answers.tagged(answers.json(content), tag)


def _what(track: Track) -> str:
    return "pictures" if track.kind == PICTURE else f"arrays of shape {track.shape}"


def window(found: OpenEpisode, signal: Signal[Any], from_s: float | None, to_s: float | None) -> Signal[Any]:
    """Give the samples of a signal from one time to another, both included."""
    start = None if from_s is None else found.stamp(from_s)
    stop = None if to_s is None else found.stamp(to_s) + 1
    with found.reading():
        return signal.time[start:stop]


def check_size(found: OpenEpisode, track: Track) -> None:
    """Note what reading a signal of a dataset takes: all of it comes into memory.

    Raises:
        Refused: That is too much.
    """
    if isinstance(found.episode, ReplayEpisode) or track.kind == PICTURE:
        return
    size = len(track) * max(1, track.columns) * (64 if track.kind == TEXT else np.dtype(track.dtype).itemsize)
    if size > _MOST_LOADED:
        raise Refused(413, f"the signal {track.name!r} has {size >> 20} MB, too much for a page; export a part of it")
    loaded = found.kept.setdefault("loaded", set())
    if track.name not in loaded:
        loaded.add(track.name)
        found.kept["bytes"] = found.kept.get("bytes", 0) + size


def _texts(found: OpenEpisode, track: Track, signal: Signal[Any]) -> dict[str, Any]:
    check_size(found, track)
    places = _spread(len(signal), _MOST_TEXTS)
    with found.reading():
        texts = [str(text)[:_LONGEST_TEXT] for text in signal[places].values] if len(places) else []
    stamps = signal.timestamps[places]
    return {
        "total": len(signal),
        "is_sampled": len(places) < len(signal),
        "times": (stamps - found.origin_ns) / 1e9,
        "texts": texts,
    }


def _spread(length: int, most: int) -> NDArray[np.int64]:
    if length <= most:
        return np.arange(length)
    return np.unique(np.linspace(0, length - 1, most).astype(np.int64))


def _numbers(found: OpenEpisode, track: Track, signal: Signal[Any], points: int) -> dict[str, Any]:
    check_size(found, track)
    width = min(track.columns, MOST_COLUMNS)
    places, table = _thinned(found, signal, width, points)
    columns = [answers.numbers(np.ascontiguousarray(table[:, place])) for place in range(width)]
    return {
        "total": len(signal),
        "is_sampled": len(places) < len(signal),
        "times": (signal.timestamps[places] - found.origin_ns) / 1e9,
        "columns": columns,
        "names": [_place_name(place, track.shape) for place in range(width)],
    }


def _thinned(
    found: OpenEpisode, signal: Signal[Any], width: int, points: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Choose rows to draw, block by block, so that never all of a long recording is in memory."""
    length = len(signal)
    if not length:
        return np.empty(0, np.int64), np.empty((0, width))
    with found.reading():
        row_bytes = max(8, np.asarray(signal[0][0]).nbytes)
    block = max(1, _BLOCK_BYTES // row_bytes)
    blocks = -(-length // block)
    all_places, all_rows = [], []
    for start in range(0, length, block):
        with found.reading():
            part = np.asarray(signal[start : start + block].values)
        if part.dtype == object:  # lists of another program
            raise Refused(422, "the values of the signal differ in shape: they cannot be drawn")
        numbers = part.reshape(len(part), -1)[:, :width].astype(np.float64)
        chosen = thinning.kept_rows(numbers, max(2, points // blocks))
        all_places.append(start + chosen)
        all_rows.append(numbers[chosen])
    return np.concatenate(all_places), np.concatenate(all_rows)


def _place_name(place: int, shape: tuple[int, ...]) -> str:
    return ".".join(map(str, np.unravel_index(place, shape))) if shape else ""


def at(ask: Ask) -> Any:
    """Give the newest sample of each signal at a time."""
    found = opened_for(ask).episode(address_of(ask))
    stamp = found.stamp(ask["time_s"])
    signals = {}
    for track in walk(found.tracks):
        place = track.number_at(stamp) if len(track) else -1
        if place < 0:
            continue
        taken = int(track.stamps[place])
        signals[track.name] = {
            "index": place,
            "time_s": found.seconds(taken),
            "age_s": (stamp - taken) / 1e9,
            "value": _small(found, track, place),
        }
    return {"time_s": ask["time_s"], "signals": signals}


def _small(found: OpenEpisode, track: Track, place: int) -> Any:
    """Give a value that is small; None for another."""
    if track.kind not in (SCALAR, VECTOR, TEXT) or track.columns > _SMALL:
        return None
    check_size(found, track)
    with found.reading():
        value = track.samples()[track.position(place)][0]
    return str(value)[:_LONGEST_TEXT] if track.kind == TEXT else answers.plain(np.asarray(value).tolist())


POINTS: Parameter = integer("points", "At most so many points, about.", default=_POINTS, least=2, most=20_000)

_DRAWN = record(
    {"total": INTEGER, "is_sampled": FLAG, "times": several(SECONDS)},
    optional={"columns": several(several(FLOAT)), "names": several(WORDS), "texts": several(WORDS)},
)
_AT = record({"index": INTEGER, "time_s": SECONDS, "age_s": SECONDS, "value": maybe(ANYTHING)})

ROUTES: tuple[Route, ...] = (
    *routes_of_an_episode(
        "/times/{signal}",
        times,
        "Give the time of every sample, as little-endian float64.",
        parameters=(SIGNAL,),
        answer=Answer("Seconds from the begin of the episode.", types=(answers.BYTES,)),
        may_be_unchanged=True,
    ),
    *routes_of_an_episode(
        "/values/{signal}",
        values,
        "Give a signal in a stretch of time, in few enough points to draw; spikes survive.",
        parameters=(SIGNAL, FROM, TO, POINTS),
        answer=Answer("The points: of numbers a list a column, else texts.", _DRAWN),
        may_be_unchanged=True,
    ),
    *routes_of_an_episode(
        "/at",
        at,
        "Give the newest sample of each signal at a time.",
        parameters=(number("time_s", "The time, in seconds from the begin of the episode.", required=True),),
        answer=Answer("The samples.", record({"time_s": SECONDS, "signals": by_name(_AT)})),
    ),
)
