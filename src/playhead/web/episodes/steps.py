"""The steps of an episode that agents played: what was done and what came of it, beside the picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import strictjson
from playhead.lanes.arrays.rows import TERMINATED, TRUNCATED
from playhead.replay.episode import ReplayEpisode
from playhead.replay.naming import ActionNames
from playhead.web import answers
from playhead.web.episodes.addresses import address_of, routes_of_an_episode
from playhead.web.episodes.episode import OpenEpisode
from playhead.web.episodes.manifest import opened_for
from playhead.web.episodes.tracks import MOST_COLUMNS, SCALAR, TEXT, VECTOR, Track
from playhead.web.errors import Refused
from playhead.web.routes import Answer, Ask, Route, integer
from playhead.web.schema import ANYTHING, FLAG, FLOAT, INTEGER, MAPPING, SECONDS, maybe, record, several
from playhead.web.schema import TEXT as WORDS

MOST_AT_ONCE = 2000

_USUAL = 200
_ACTION, _FRAME = "action", "frame"
_LONGEST_INFO = 16_384  # bytes of JSON of one step


def steps(ask: Ask) -> Any:
    """Give steps; an episode of a dataset has none."""
    found = opened_for(ask).episode(address_of(ask))
    start = ask["start"]
    stop = start + _USUAL if ask["stop"] is None else ask["stop"]
    if stop - start > MOST_AT_ONCE:
        raise Refused(413, f"{stop - start} steps are too many; at most {MOST_AT_ONCE} are given at once")
    tag = answers.etag("steps", found.version, start, stop)
    if answers.is_known(ask.headers, tag):
        return answers.not_modified(tag)
    if not isinstance(found.episode, ReplayEpisode):
        return answers.tagged(answers.json({"start": start, "stop": start, "rows": []}), tag)
    stop = max(start, min(stop, found.episode.length))
    content = {"start": start, "stop": stop, "rows": _rows(found, found.episode, start, stop)}
    return answers.tagged(answers.json(content), tag)


def _rows(found: OpenEpisode, episode: ReplayEpisode, start: int, stop: int) -> list[dict[str, Any]]:
    if start >= stop:
        return []
    with found.reading():
        part = episode.steps[start:stop]
        agents = found.agents
        infos = found.infos(start, stop)
        actions = _actions(found, start, stop)
    has_frame, names = _with_frames(found, start, stop), ActionNames(episode.static)
    totals = _returns(found, episode)[start:stop]
    times = ((part["ts_ns"] - found.origin_ns) / 1e9).tolist()
    return [
        {
            "index": start + place,
            "time_s": times[place],
            "action": actions[place],
            "action_name": names.of(actions[place], _agent(agents, row)) if names else None,
            "reward": answers.number(float(row["reward"])),
            "return": answers.number(float(totals[place])),
            "terminated": bool(row["flags"] & TERMINATED),
            "truncated": bool(row["flags"] & TRUNCATED),
            "info": _info(infos[place]),
            "agent": _agent(agents, row),
            "has_frame": bool(has_frame[place]),
        }
        for place, row in enumerate(part)
    ]


def _agent(agents: Sequence[str], row: Any) -> str | None:
    return agents[int(row["agent"])] if int(row["agent"]) < len(agents) else None


def _returns(found: OpenEpisode, episode: ReplayEpisode) -> NDArray[np.float64]:
    """Give for each step the sum of its agent's rewards up to it."""
    known: NDArray[np.float64] | None = found.kept.get("returns")
    if known is None:
        rewards, agents = episode.steps["reward"], episode.steps["agent"]
        known = np.zeros(len(rewards))
        for agent in np.unique(agents):
            mine = agents == agent
            known[mine] = np.cumsum(rewards[mine])
        found.kept["returns"] = known
    return known


def _info(text: bytes) -> dict[str, Any]:
    if not text:
        return {}
    if len(text) > _LONGEST_INFO:
        return {"…": f"{len(text)} bytes, too many to show"}
    found = answers.plain(strictjson.restore(strictjson.decode(text)))
    return found if isinstance(found, dict) else {"": found}


def _actions(found: OpenEpisode, start: int, stop: int) -> list[Any]:
    """Give the action of each step: a value, a dict of its parts, or None."""
    first = int(found.episode.meta["first_row"])
    parts: list[dict[str, Any]] = [{} for _ in range(start, stop)]
    for track in found.tracks.values():
        part = _part_of(_ACTION, track)
        if part is None or not _is_small(track):
            continue
        positions, rows = _between(track, first + start, first + stop)
        if not len(rows):
            continue
        values = track.samples()[positions.start : positions.stop].values
        for row, value in zip(rows.tolist(), values, strict=True):
            shown = str(value) if track.kind == TEXT else answers.plain(np.asarray(value).tolist())
            parts[row - first - start][part] = shown
    return [one.get("") if set(one) <= {""} else one for one in parts]


def _with_frames(found: OpenEpisode, start: int, stop: int) -> NDArray[np.bool_]:
    """Tell which steps have a frame."""
    first = int(found.episode.meta["first_row"])
    there = np.zeros(stop - start, np.bool_)
    for track in found.tracks.values():
        if _part_of(_FRAME, track) is not None:
            there[_between(track, first + start, first + stop)[1] - first - start] = True
    return there


def _part_of(group: str, track: Track) -> str | None:
    """Give which part of actions or frames a track is, whoever acts: nothing for the whole; None where it is none."""
    _, is_of, part = f".{track.name}.".rpartition(f".{group}.")
    return part.removesuffix(".") if is_of else None


def _is_small(track: Track) -> bool:
    return track.kind == TEXT or (track.kind in (SCALAR, VECTOR) and track.columns <= MOST_COLUMNS)


def _between(track: Track, start: int, stop: int) -> tuple[range, NDArray[np.int64]]:
    """Give the positions in a signal, and the rows, of what it has between two rows of the reel."""
    rows = track.rows
    if rows is None:
        return range(0), np.empty(0, np.int64)
    if not isinstance(rows, range):
        low, high = np.searchsorted(rows, [start, stop]).tolist()
        return range(low, high), rows[low:high]
    low, high = start - rows.start, stop - rows.start
    numbers = np.arange(low, high) if track.present is None else low + np.flatnonzero(track.present[low:high])
    if not len(numbers):
        return range(0), numbers
    begin = track.position(int(numbers[0]))
    return range(begin, begin + len(numbers)), numbers + rows.start


_STEP = record(
    {
        "index": INTEGER,
        "time_s": SECONDS,
        "action": ANYTHING,
        "action_name": maybe(WORDS),
        "reward": FLOAT,
        "return": FLOAT,
        "terminated": FLAG,
        "truncated": FLAG,
        "info": MAPPING,
        "agent": maybe(WORDS),
        "has_frame": FLAG,
    }
)

ROUTES: tuple[Route, ...] = routes_of_an_episode(
    "/steps",
    steps,
    f"Give steps that an agent played, at most {MOST_AT_ONCE} at once.",
    parameters=(
        integer("start", "The first.", default=0, least=0, most=2**53),
        integer("stop", f"The one behind the last; without it, {_USUAL} are given.", least=0, most=2**53),
    ),
    answer=Answer(
        "The steps; none of an episode in a dataset.",
        record({"start": INTEGER, "stop": INTEGER, "rows": several(_STEP, most=MOST_AT_ONCE)}),
    ),
    may_be_unchanged=True,
)
