"""What a player has to know of an episode before it shows anything."""

from __future__ import annotations

from typing import Any

import numpy as np

from playhead.catalog import listing
from playhead.catalog.listing import Listed
from playhead.dataset import Dataset, EditedDataset
from playhead.export.film import timing
from playhead.home import Home
from playhead.replay.episode import ReplayEpisode
from playhead.web import answers
from playhead.web.episodes import marks, rows
from playhead.web.episodes.addresses import Address, address_of, routes_of_an_episode
from playhead.web.episodes.episode import OpenEpisode
from playhead.web.episodes.opened import Opened
from playhead.web.episodes.tracks import PICTURE, Track
from playhead.web.routes import Answer, Ask, Route
from playhead.web.schema import FLAG, FLOAT, INTEGER, MAPPING, SECONDS, STAMP, TEXT, maybe, record, several

_WALL_CLOCK_NS = 946_684_800 * 10**9  # the year 2000; what counts from elsewhere is before it
_NEIGHBOURS = 50  # that are looked at for one that was not dropped


def give(ask: Ask) -> Any:
    """Give the manifest."""
    found = opened_for(ask).episode(address_of(ask))
    before, after = _neighbours(ask.site.home, found)
    tag = answers.etag("manifest", found.version, before, after)
    if answers.is_known(ask.headers, tag):
        return answers.not_modified(tag)
    described = _described(found)
    return answers.tagged(answers.json(described | {"previous": before, "next": after}), tag)


def opened_for(ask: Ask) -> Opened:
    """Give what is open of the store that is served."""
    return ask.site.keep(Opened, lambda: Opened(ask.site.home))


def _described(found: OpenEpisode) -> dict[str, Any]:
    key = f"manifest {found.version}"
    known: dict[str, Any] | None = found.kept.get(key)
    if known is None:
        known = found.kept[key] = _made(found)
    return known


def _made(found: OpenEpisode) -> dict[str, Any]:
    with found.reading():
        static = answers.plain(found.episode.static)
    row = rows.row(_fresh(found))
    cameras = [track for track in found.tracks.values() if track.kind == PICTURE and len(track)]
    row["frame_ref"], row["last_ref"] = _edges(cameras[0]) if cameras else (None, None)
    rate, is_own = _rate(found, static)
    last_ns = max((int(track.stamps[-1]) for track in found.tracks.values() if len(track)), default=found.origin_ns)
    return row | {
        "duration_s": found.seconds(last_ns),
        "origin_ns": str(found.origin_ns),
        "has_wall_clock": found.origin_ns >= _WALL_CLOCK_NS,
        "static": static,
        "signals": [_signal(found, track) for track in found.tracks.values()],
        "marks": [
            {"kind": mark.kind, "time_s": found.seconds(mark.stamp), "index": mark.place, "text": mark.text}
            for mark in marks.of(found)
        ],
        "rate_hz": rate,
        "is_own_time": is_own,
        "version": found.identity,
        "is_final": found.is_final,
    }


def _edges(camera: Track) -> tuple[str, str]:
    """Give the addresses of the first and the last picture of a camera."""
    first = 0 if camera.present is None else int(np.argmax(camera.present))
    last = camera.newest(len(camera) - 1)
    return f"{camera.ref}{camera.place0 + first}", f"{camera.ref}{camera.place0 + last}"


def _fresh(found: OpenEpisode) -> Listed:
    """Give the row of an episode as its recording says: the catalogue may be half a second behind."""
    episode = found.episode
    if not isinstance(episode, ReplayEpisode):
        return found.listed
    with found.reading():
        return found.listed._replace(
            first=int(episode.meta["first_row"]),
            steps=episode.length,
            total_reward=episode.total_reward,
            how=episode.how,
            finished=not episode.is_unfinished,
            created_ns=episode.created_ts_ns or 0,
        )


def _signal(found: OpenEpisode, track: Track) -> dict[str, Any]:
    form = None if track.pictures is None else track.pictures.form
    intervals = np.diff(track.stamps)
    usual = float(np.median(intervals)) if len(intervals) else 0.0
    return {
        "name": track.name,
        "kind": track.kind,
        "length": len(track),
        "dtype": track.dtype,
        "shape": list(track.shape),
        "columns": track.columns,
        "names": _names(found, track),
        "start_s": found.seconds(int(track.stamps[0])) if len(track) else None,
        "stop_s": found.seconds(int(track.stamps[-1])) if len(track) else None,
        "rate_hz": 1e9 / usual if usual > 0 else None,
        "ref": track.ref or None,
        "place0": track.place0,
        "holes": track.present is not None,
        "is_lossy": track.is_lossy,
        "width": None if form is None else form.width,
        "height": None if form is None else form.height,
        "same_as": track.same_as,
        "error": track.error,
    }


def _names(found: OpenEpisode, track: Track) -> list[str] | None:
    """Give what the numbers of a vector are called, where a static item says so."""
    with found.reading():
        given = found.episode.static.get(f"{track.name}.names")
    is_fitting = isinstance(given, list) and len(given) == track.columns and all(isinstance(one, str) for one in given)
    return given if is_fitting else None


def _rate(found: OpenEpisode, static: dict[str, Any]) -> tuple[float | None, bool]:
    """Give the steps a second at which an episode is played, and whether these are its own times."""
    cameras = [track for track in found.tracks.values() if track.kind == PICTURE]
    if isinstance(found.episode, ReplayEpisode):
        with found.reading():
            stamps = found.episode.steps["ts_ns"]
    else:
        stamps = max(
            (track.stamps for track in cameras or found.tracks.values()), key=len, default=np.empty(0, np.int64)
        )
        if not cameras:
            static = {}
    rate = timing.rate_of(stamps, static)
    if rate is not None and (cameras or isinstance(found.episode, ReplayEpisode)):
        return rate, False
    span = int(stamps[-1]) - int(stamps[0]) if len(stamps) > 1 else 0
    return ((len(stamps) - 1) * 1e9 / span if span else None), True


def _neighbours(home: Home, found: OpenEpisode) -> tuple[str | None, str | None]:
    address = found.address
    if address.dataset is None:
        with home.database.read() as connection:
            played = listing.beside_played(connection, address.id)
        before, after = (None if one is None else str(Address(one)) for one in played)
        return before, after
    dropped = dropped_of(home, address.dataset)
    with home.database.read() as connection:
        lists = listing.beside_recorded(connection, address.dataset, found.listed.number, _NEIGHBOURS)
    nearest = (next((uid for uid in uids if uid not in dropped), None) for uids in lists)
    before, after = (None if uid is None else str(Address(uid, address.dataset)) for uid in nearest)
    return before, after


def dropped_of(home: Home, dataset: str) -> frozenset[str]:
    """Give the uids that edits have dropped from a dataset."""
    return EditedDataset(_Nothing(), home.layout.dataset(dataset).path).dropped


class _Nothing(Dataset):
    """A dataset without episodes."""

    def __len__(self) -> int:
        return 0

    def _episode_at(self, position: int) -> Any:
        raise AssertionError(f"there is no episode {position}")


_SIGNAL = record(
    {
        "name": TEXT,
        "kind": {"enum": ["picture", "scalar", "vector", "text", "other"]},
        "length": INTEGER,
        "dtype": TEXT,
        "shape": several(INTEGER),
        "columns": INTEGER,
        "names": maybe(several(TEXT)),
        "start_s": maybe(SECONDS),
        "stop_s": maybe(SECONDS),
        "rate_hz": maybe(FLOAT),
        "ref": maybe(TEXT),
        "place0": INTEGER,
        "holes": FLAG,
        "is_lossy": FLAG,
        "width": maybe(INTEGER),
        "height": maybe(INTEGER),
        "same_as": maybe(TEXT),
        "error": maybe(TEXT),
    }
)
_MARK = record(
    {
        "kind": {"enum": ["reward", "end", "reset", "missing", "gap", "life"]},
        "time_s": SECONDS,
        "index": INTEGER,
        "text": TEXT,
    }
)
MANIFEST = record(
    rows.MEMBERS
    | {
        "origin_ns": STAMP,
        "has_wall_clock": FLAG,
        "static": MAPPING,
        "signals": several(_SIGNAL),
        "marks": several(_MARK, most=marks.MOST),
        "rate_hz": maybe(FLOAT),
        "is_own_time": FLAG,
        "version": TEXT,
        "is_final": FLAG,
        "previous": maybe(TEXT),
        "next": maybe(TEXT),
    }
)

ROUTES: tuple[Route, ...] = routes_of_an_episode(
    "",
    give,
    "Describe an episode: its signals, marks, neighbours.",
    answer=Answer("The episode.", MANIFEST),
    may_be_unchanged=True,
)
