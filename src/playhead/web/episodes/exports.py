"""Downloads of episodes: films, tables and arrays, made into a temporary file that is removed after it is sent.

Two are made or sent at once; who asks for a third is told to come again, and who takes nothing for a while is cut off.
A film has at most as many pictures and pixels as `films` says, a table 20 million numbers, an archive 2 GB.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from starlette.types import Receive, Scope, Send

from playhead import replays
from playhead.catalog import runs as catalog_runs
from playhead.episode import Episode
from playhead.errors import Damaged, Empty
from playhead.export import to_csv, to_npz, to_parquet
from playhead.home import Home
from playhead.layout import number_of_reel
from playhead.web import answers
from playhead.web.episodes import films
from playhead.web.episodes.addresses import address_of, routes_of_an_episode
from playhead.web.episodes.episode import OpenEpisode
from playhead.web.episodes.manifest import opened_for
from playhead.web.episodes.tracks import PICTURE, Track, walk
from playhead.web.episodes.values import FROM, TO
from playhead.web.errors import BadRequest, Refused
from playhead.web.files import OpenFile, open_plain
from playhead.web.routes import Answer, Ask, Route, flag, names, number, text

AT_ONCE = 2
TYPES = {
    "mp4": "video/mp4",
    "gif": "image/gif",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "npz": "application/zip",
}

_FILMS = ("mp4", "gif")
_RETRY_SECONDS = 5
_STALLED_S = 30.0  # how long a client may take nothing
_LONGEST_S = 1800.0  # how long it may take in all
_MOST_NUMBERS = 20_000_000
_MOST_BYTES = 2 << 30
_UNSAFE = re.compile(r"[^A-Za-z0-9._]+")
_LONGEST_NAME = 120


class Turns:
    """Lets so many exports be there at once: from when they are made until they are sent."""

    def __init__(self) -> None:
        self._free = threading.BoundedSemaphore(AT_ONCE)

    @contextlib.contextmanager
    def take(self) -> Iterator[None]:
        """Hold a turn.

        Raises:
            Refused: There is none now.
        """
        if not self._free.acquire(blocking=False):
            raise Refused(
                503,
                f"{AT_ONCE} exports are being made or sent, which is as many as this server has at once; try again",
                {"Retry-After": str(_RETRY_SECONDS)},
            )
        try:
            yield
        finally:
            self._free.release()


class Download(OpenFile):
    """A file that is removed after it was sent, also where the client went away, or takes nothing for too long."""

    def __init__(self, path: Path, media_type: str, afterwards: contextlib.ExitStack) -> None:
        headers = {"Content-Disposition": answers.attachment(path.name), "Cache-Control": "no-store"}
        super().__init__(open_plain(path), media_type, headers, stalled_s=_STALLED_S, longest_s=_LONGEST_S)
        self._afterwards = afterwards

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file."""
        with self._afterwards:
            await super().__call__(scope, receive, send)


def export(ask: Ask) -> Download:
    """Make a file of an episode, or of a stretch of it."""
    found = opened_for(ask).episode(address_of(ask))
    with contextlib.ExitStack() as stack:
        stack.enter_context(ask.site.keep(Turns, Turns).take())
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="playhead-export-"))
        path = Path(folder) / _file_name(ask.site.home, found, ask["from_s"], ask["to_s"], ask["format"])
        try:
            _write(ask, found, path)
        except Damaged as error:
            raise Refused(422, f"the episode cannot be exported whole: {error}") from error
        afterwards = contextlib.ExitStack()
        response = Download(path, TYPES[ask["format"]], afterwards)
        afterwards.push(stack.pop_all())
        return response


def _write(ask: Ask, found: OpenEpisode, path: Path) -> None:
    episode = _own(ask.site.home, found)
    start = None if ask["from_s"] is None else found.stamp(ask["from_s"])
    stop = None if ask["to_s"] is None else found.stamp(ask["to_s"])
    if start is not None and stop is not None and stop < start:
        raise BadRequest("to_s is before from_s")
    chosen = [found.track(name) for name in ask["signals"]]
    if ask["format"] in _FILMS:
        films.write(
            episode,
            path,
            signal=_camera(found, chosen),
            start_ns=start,
            stop_ns=stop,
            label=found.address.id,
            hud=ask["hud"],
        )
    else:
        _write_numbers(found, episode, path, chosen, start, stop, ask["rate"])


def _own(home: Home, found: OpenEpisode) -> Episode:
    """Give the episode as an object of its own, for a reel is for one thread at a time."""
    return replays.episode(home, found.address.id) if found.address.dataset is None else found.episode


def _camera(found: OpenEpisode, chosen: list[Track]) -> str | None:
    if len(chosen) > 1:
        raise BadRequest(f"a film shows one signal, not {len(chosen)}")
    if chosen and chosen[0].kind != PICTURE:
        raise Refused(422, f"the signal {chosen[0].name!r} is not pictures")
    cameras = [track for track in walk(found.tracks) if track.kind == PICTURE and len(track)]
    if not chosen and not cameras:
        raise Empty("there are no pictures in this episode")
    return chosen[0].name if chosen else cameras[0].name


def _write_numbers(
    found: OpenEpisode,
    episode: Episode,
    path: Path,
    chosen: list[Track],
    start: int | None,
    stop: int | None,
    rate: float | None,
) -> None:
    is_table = path.suffix != ".npz"
    tracks = chosen or [track for track in walk(found.tracks) if track.kind != PICTURE]
    if is_table and (camera := next((track for track in tracks if track.kind == PICTURE), None)) is not None:
        raise Refused(422, f"the signal {camera.name!r} is pictures, which no table holds; export it as mp4 or npz")
    if not tracks:
        raise Empty("there is nothing for a table: the episode has no signals but pictures")
    part = episode.time[start : None if stop is None else stop + 1]
    if rate is not None and is_table:
        _refuse_rate(tracks, start, stop, rate)
    _refuse_large(tracks, start, stop, is_table=is_table)
    signals = [track.name for track in tracks]
    match path.suffix:
        case ".csv":
            to_csv(part, path, signals=signals, rate=rate)
        case ".parquet":
            to_parquet(part, path, signals=signals, rate=rate)
        case _:
            to_npz(part, path, signals=signals)


def _refuse_large(tracks: list[Track], start: int | None, stop: int | None, *, is_table: bool) -> None:
    numbers = size = 0
    for track in tracks:
        low = 0 if start is None else int(np.searchsorted(track.stamps, start))
        high = len(track) if stop is None else int(np.searchsorted(track.stamps, stop, "right"))
        items = max(0, high - low) * max(1, int(np.prod(track.shape, dtype=np.int64)))
        numbers += items
        size += items * (64 if track.dtype == "str" else np.dtype(track.dtype).itemsize)
    if is_table and numbers > _MOST_NUMBERS:
        raise Refused(413, f"a table of {numbers:,} numbers is too large; choose a shorter range or fewer signals")
    if size > _MOST_BYTES:
        raise Refused(413, f"an archive of {size >> 20:,} MB is too large; choose a shorter range or fewer signals")


def _refuse_rate(tracks: list[Track], start: int | None, stop: int | None, rate: float) -> None:
    stamps = [track.stamps for track in tracks if len(track)]
    low = start if start is not None else min((int(one[0]) for one in stamps), default=0)
    high = stop if stop is not None else max((int(one[-1]) for one in stamps), default=0)
    rows = max(0, high - low) / 1e9 * rate * sum(max(1, track.columns) for track in tracks)
    if rows > _MOST_NUMBERS:
        raise Refused(413, f"a table of {rows:,.0f} numbers is too large; choose a lower rate or a shorter range")


def _file_name(home: Home, found: OpenEpisode, from_s: float | None, to_s: float | None, ending: str) -> str:
    """Make a name that says what a file is and is safe everywhere: `pong-dqn-ep0042-12.5s.mp4`."""
    listed = found.listed
    if found.address.dataset is not None:
        parts = [found.address.dataset, f"ep{listed.number:04}"]
    else:
        with home.database.read() as connection:
            run = catalog_runs.find(connection, listed.run_id or "")
        parts = [run.project, run.name] if run is not None else [listed.run_id or "run"]
        if environment := number_of_reel(listed.reel or "run"):
            parts.append(f"env{environment + 1}")
        parts.append(f"ep{listed.number:04}")
    if from_s is not None or to_s is not None:
        parts.append(f"{from_s or 0:.6g}s")
    if to_s is not None:
        parts.append(f"{to_s:.6g}s")
    name = "-".join(_UNSAFE.sub("-", part).strip("-.") or "episode" for part in parts)
    return f"{name[:_LONGEST_NAME]}.{ending}"


ROUTES: tuple[Route, ...] = routes_of_an_episode(
    "/export",
    export,
    "Download an episode, or a stretch of it, as a film, a table or an archive of arrays.",
    parameters=(
        text("format", "What to make.", required=True, choices=tuple(TYPES)),
        FROM,
        TO,
        names("signals", "Only these signals; of a film, the one that it shows."),
        flag("hud", "Of a film: step, time, reward and action below the pictures."),
        number(
            "rate",
            "Of a table: so many rows a second, all signals side by side; without it, a row a sample.",
            least=0.001,
            most=100_000,
        ),
    ),
    answer=Answer("The file.", types=tuple(kind.partition(";")[0] for kind in TYPES.values())),
)
