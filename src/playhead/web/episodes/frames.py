"""Pictures over HTTP: one by its address, and some in a row for playback."""

from __future__ import annotations

import struct
import threading
from collections import OrderedDict
from typing import Any, NamedTuple

from starlette.responses import Response

from playhead import ref as refs
from playhead.errors import Damaged, NotFound
from playhead.ref import ROW, FrameRef, not_an_address
from playhead.web import answers
from playhead.web.episodes import pictures
from playhead.web.episodes.addresses import address_of, parse_sample, routes_of_an_episode
from playhead.web.episodes.episode import OpenEpisode
from playhead.web.episodes.manifest import opened_for
from playhead.web.episodes.pictures import AUTO, JPEG, PNG, TYPES, WEBP, Pictures
from playhead.web.episodes.tracks import Track
from playhead.web.episodes.values import SIGNAL
from playhead.web.errors import Refused
from playhead.web.routes import Answer, Ask, Parameter, Route, flag, integer, text

FRAMES = "application/x-playhead-frames"
MOST_AT_ONCE = 64

_KEPT_BYTES = 64 << 20
_BATCH_BYTES = 32 << 20  # after which a batch ends; the asker goes on from there
_HEAD = struct.Struct("<II")

WIDTH = integer("width", "Make pictures smaller that are wider.", least=8, most=8192)
QUALITY = integer("quality", "Of JPEG and WebP.", default=pictures.QUALITY, least=1, most=100)
FORMAT: Parameter = text("format", "How to encode them.", default=AUTO, choices=(AUTO, JPEG, PNG, WEBP))
VERSION = text("v", "The version that the manifest names: with it, the answer may be kept for ever.", longest=100)


class Encoded:
    """Encoded pictures that were asked for lately, up to 64 MB. Safe in threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[Any, ...], bytes] = OrderedDict()
        self._bytes = 0

    def get(self, key: tuple[Any, ...]) -> bytes | None:
        """Give a picture that is kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: tuple[Any, ...], content: bytes) -> None:
        """Keep a picture; those that were not asked for lately go."""
        with self._lock:
            if key not in self._kept:
                self._kept[key] = content
                self._bytes += len(content)
            while self._bytes > _KEPT_BYTES:
                _, gone = self._kept.popitem(last=False)
                self._bytes -= len(gone)


def kept_for(ask: Ask) -> Encoded:
    """Give the encoded pictures of the server."""
    return ask.site.keep(Encoded, Encoded)


class _Wanted(NamedTuple):
    """One picture that was asked for.

    Attributes:
        episode: Where it is.
        array: The array or signal, which names it in tags.
        source: The pictures.
        place: Its place among them.
    """

    episode: OpenEpisode
    array: str
    source: Pictures
    place: int


class Encoding(NamedTuple):
    """How pictures are sent.

    Attributes:
        format: `png`, `jpeg` or `webp`.
        width: At most so wide.
        quality: Of formats that lose something.
        exact: Bit for bit as it was recorded.
    """

    format: str
    width: int | None
    quality: int
    exact: bool = False

    @classmethod
    def asked(cls, ask: Ask, source: Pictures) -> Encoding:
        """Give what a request wants; where it does not say, what suits the pictures."""
        exact = bool(ask.values.get("exact", False))
        if exact:
            return cls(PNG, None, 0, True)
        format = ask.values.get("format", AUTO)
        quality = ask.values.get("quality", pictures.QUALITY)
        chosen = source.format if format == AUTO else format
        return cls(chosen, ask.values.get("width"), 0 if chosen == PNG else quality)


def frame(ask: Ask) -> Response:
    """Give one picture."""
    wanted = _wanted(ask)
    encoding = Encoding.asked(ask, wanted.source)
    tag = answers.etag(
        "frame", wanted.episode.identity, wanted.array, wanted.place, wanted.source.look.scale, *encoding
    )
    is_lasting = wanted.episode.is_final and ask["v"] == wanted.episode.identity
    cache = answers.FOR_EVER if is_lasting else answers.CHECK_FIRST
    if answers.is_known(ask.headers, tag):
        return answers.not_modified(tag, cache)
    content = encoded(kept_for(ask), wanted.episode, wanted.array, wanted.source, wanted.place, encoding)
    if content is None:
        raise NotFound(f"step {wanted.place} has no row in {wanted.array}: it was recorded without one")
    response = Response(content, media_type=TYPES[encoding.format])
    return answers.tagged(response, tag, cache)


def _wanted(ask: Ask) -> _Wanted:
    given: str = ask["ref"]
    if given.startswith("h5://"):
        return _of_reel(ask, given)
    address, name, place = parse_sample(given)
    found = opened_for(ask).episode(address)
    track = found.track(name)
    return _Wanted(found, track.name, _pictures(track), track.place(_held(track, place, hold=ask["hold"])))


def _of_reel(ask: Ask, given: str) -> _Wanted:
    ref = refs.parse(given)
    if not isinstance(ref, FrameRef):
        raise not_an_address(given, ROW, of="row")
    found = opened_for(ask).at(ref)
    source = found.pictures.get(ref.dataset)
    track = next((one for one in found.tracks.values() if one.ref == f"{ref.to_uri()[: -len(str(ref.index))]}"), None)
    if source is None:
        if track is None:
            known = sorted(found.pictures)
            raise NotFound.among("array", ref.dataset, known, hint="These have pictures in this episode")
        raise Refused(422, f"{ref.dataset} of {ref.run_id} is not pictures; they are in: {', '.join(found.pictures)}")
    place = ref.index
    if track is not None and ask["hold"]:
        place = track.place(_held(track, ref.index - track.place0, hold=True))
    return _Wanted(found, ref.dataset, source, place)


def _held(track: Track, number: int, *, hold: bool) -> int:
    """Give the number itself, or with `hold` the newest one up to it that has a picture."""
    track.place(number)
    newest = track.newest(number) if hold else number
    if newest < 0:
        raise NotFound(f"{track.name!r} has no picture up to step {number}")
    return newest


def _pictures(track: Track) -> Pictures:
    """Give the pictures of a track.

    Raises:
        NotFound: It cannot be read.
        Refused: It has none.
    """
    track.samples()
    if track.pictures is None:
        raise Refused(422, f"the signal {track.name!r} is not pictures")
    return track.pictures


def encoded(
    kept: Encoded, found: OpenEpisode, array: str, source: Pictures, place: int, encoding: Encoding
) -> bytes | None:
    """Give one picture, encoded; None where there is none."""
    look = source.look
    key = (found.identity, array, place, look.scale, *encoding)
    content = kept.get(key)
    if content is None:
        with found.reading():
            value = source.raw(place)
        if value is None:
            return None
        # Shown, made smaller and encoded outside of the lock: other threads read meanwhile.
        picture = look.exact(value) if encoding.exact else pictures.smaller(look.shown(value), encoding.width)
        content = pictures.encoded(picture, encoding.format, encoding.quality)
        kept.put(key, content)
    return content


def batch(ask: Ask) -> Response:
    """Give pictures in a row: the number, the size, and the bytes of each; size 0 for one that is not there."""
    found = opened_for(ask).episode(address_of(ask))
    track = found.track(ask["signal"])
    source = _pictures(track)
    start, stop = ask["start"], min(ask["start"] + ask["count"], len(track))
    encoding = Encoding.asked(ask, source)
    tag = answers.etag("frames", found.identity, track.name, start, stop, source.look.scale, *encoding)
    is_lasting = found.is_final and ask["v"] == found.identity
    cache = answers.FOR_EVER if is_lasting else answers.CHECK_FIRST
    if answers.is_known(ask.headers, tag):
        return answers.not_modified(tag, cache)
    kept = kept_for(ask)
    parts: list[bytes] = []
    is_whole, size = True, 0
    for number in range(start, stop):
        if size > _BATCH_BYTES:
            break
        content: bytes | None = b""
        if track.has(number):
            try:
                content = encoded(kept, found, track.name, source, track.place(number), encoding)
            except Damaged:  # said where that very picture is asked for
                is_whole = False
        parts += [_HEAD.pack(number, len(content or b"")), content or b""]
        size += len(content or b"")
    response = Response(b"".join(parts), media_type=FRAMES)
    response.headers["X-Playhead-Format"] = TYPES[encoding.format]
    if not is_whole:
        response.headers["Cache-Control"] = "no-store"
        return response
    return answers.tagged(response, tag, cache)


_REF = text(
    "ref", "The address of the picture: h5://run/frames/17, ep://dataset/uid/camera/17.", required=True, longest=1000
)

ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/api/frame",
        frame,
        "Give one picture.",
        parameters=(
            _REF,
            FORMAT,
            WIDTH,
            QUALITY,
            flag("exact", "As PNG, bit for bit as it was recorded: not made smaller, not scaled."),
            flag("hold", "Where the step has none, the newest one before it in its episode."),
            VERSION,
        ),
        answer=Answer("The picture.", types=tuple(TYPES.values())),
        may_be_unchanged=True,
    ),
    *routes_of_an_episode(
        "/frames/{signal}",
        batch,
        "Give pictures in a row, for playback: each its number and size as little-endian 32 bits, then its bytes.",
        parameters=(
            SIGNAL,
            integer("start", "The first.", default=0, least=0, most=2**31),
            integer("count", "How many; of very large ones fewer come.", default=16, least=1, most=MOST_AT_ONCE),
            FORMAT,
            WIDTH,
            QUALITY,
            VERSION,
        ),
        answer=Answer("The pictures; size 0 for one that is not there.", types=(FRAMES,)),
        may_be_unchanged=True,
    ),
)
