"""Small pictures side by side, for scrubbing."""

from __future__ import annotations

import numpy as np
from starlette.responses import Response

from playhead.errors import Damaged, Empty
from playhead.web import answers
from playhead.web.episodes import pictures
from playhead.web.episodes.addresses import address_of, routes_of_an_episode
from playhead.web.episodes.episode import OpenEpisode
from playhead.web.episodes.frames import VERSION, kept_for
from playhead.web.episodes.manifest import opened_for
from playhead.web.episodes.pictures import JPEG, TYPES, Picture, Pictures
from playhead.web.episodes.tracks import PICTURE, Track
from playhead.web.episodes.values import FROM, SIGNAL, TO
from playhead.web.errors import Refused
from playhead.web.routes import Answer, Ask, Route, integer

WIDTH_HEADER = "X-Playhead-Width"

_QUALITY = 70
_MOST_WIDTH = 60_000  # pixels in a row that JPEG has room for
_MOST_PIXELS = 16_000_000
_BROKEN = 40  # the grey of a picture that cannot be read


def strip(ask: Ask) -> Response:
    """Give thumbnails of a stretch of time, all of one width, as one JPEG."""
    found = opened_for(ask).episode(address_of(ask))
    track = found.track(ask["signal"])
    track.samples()
    if track.kind != PICTURE or track.pictures is None:
        raise Refused(422, f"the signal {track.name!r} is not pictures")
    if not len(track):
        raise Empty(f"the signal {track.name!r} has no pictures yet")
    form = track.pictures.form
    height = ask["height"]
    width = max(1, round(form.width * height / form.height))
    count = ask["count"]
    if width * count > _MOST_WIDTH or width * count * height > _MOST_PIXELS:
        raise Refused(413, f"{count} thumbnails of {width}×{height} are too many; ask for fewer or for smaller ones")
    numbers = _numbers(found, track, ask["from_s"], ask["to_s"], count)
    scale = track.pictures.look.scale
    tag = answers.etag("strip", found.identity, track.name, height, width, scale, *numbers)
    cache = answers.FOR_EVER if found.is_final and ask["v"] == found.identity else answers.CHECK_FIRST
    if answers.is_known(ask.headers, tag):
        return answers.not_modified(tag, cache)
    kept = kept_for(ask)
    key = (found.identity, "strip", track.name, width, height, scale, *numbers)
    content = kept.get(key)
    if content is None:
        content = pictures.encoded(_drawn(found, track, track.pictures, numbers, width, height), JPEG, _QUALITY)
        kept.put(key, content)
    response = Response(content, media_type=TYPES[JPEG])
    response.headers[WIDTH_HEADER] = str(width)
    return answers.tagged(response, tag, cache)


def _numbers(found: OpenEpisode, track: Track, from_s: float | None, to_s: float | None, count: int) -> list[int]:
    """Choose the pictures: the newest at times that are evenly spread; before the first one, the first."""
    start = int(track.stamps[0]) if from_s is None else found.stamp(from_s)
    stop = int(track.stamps[-1]) if to_s is None else found.stamp(to_s)
    times = np.linspace(0, max(0, stop - start), count).astype(np.int64) + start
    chosen = np.clip(np.searchsorted(track.stamps, times, "right") - 1, 0, len(track) - 1)
    return [max(0, track.newest(int(number))) for number in chosen]


def _drawn(found: OpenEpisode, track: Track, source: Pictures, numbers: list[int], width: int, height: int) -> Picture:
    sheet = np.full((height, width * len(numbers), 3), _BROKEN, np.uint8)
    small: dict[int, Picture | None] = {}
    for place, number in enumerate(numbers):
        if number not in small:
            small[number] = _thumbnail(found, track, source, number, width, height)
        picture = small[number]
        if picture is not None:
            cell = sheet[:, place * width : (place + 1) * width]
            cell[:] = picture[..., None] if picture.ndim == 2 else picture
    return sheet


def _thumbnail(
    found: OpenEpisode, track: Track, source: Pictures, number: int, width: int, height: int
) -> Picture | None:
    if not track.has(number):
        return None
    try:
        with found.reading():
            value = source.raw(track.place(number))
    except Damaged:  # said where that picture is asked for
        return None
    return None if value is None else pictures.resized(source.look.shown(value), width, height)


ROUTES: tuple[Route, ...] = routes_of_an_episode(
    "/strip/{signal}",
    strip,
    f"Give thumbnails of a stretch of time side by side, as one JPEG; {WIDTH_HEADER} says how wide each is.",
    parameters=(
        SIGNAL,
        FROM,
        TO,
        integer("count", "How many.", default=16, least=1, most=128),
        integer("height", "How high.", default=64, least=8, most=512),
        VERSION,
    ),
    answer=Answer("The thumbnails.", types=(TYPES[JPEG],)),
    may_be_unchanged=True,
)
