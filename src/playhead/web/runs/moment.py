"""One moment of a run: what the metrics were, what was printed, what was played and shown then."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from playhead import clock
from playhead.catalog import curves, moments
from playhead.run import Run
from playhead.web.answers import number
from playhead.web.episodes.addresses import Address
from playhead.web.routes import Answer, Ask, Route
from playhead.web.routes import number as number_parameter
from playhead.web.runs import log as logs
from playhead.web.runs import media, rows
from playhead.web.runs.logfile import Line, LogFile
from playhead.web.schema import FLOAT, INTEGER, SECONDS, TEXT, maybe, record, several

LINES = 40
MOST_METRICS = 2_000


def read_moment(ask: Ask) -> Any:
    """Give what happened at a time."""
    run = rows.find_run(ask.site, ask["id"])
    origin = rows.origin_ns(run._row)
    stamp = origin + round(ask["time_s"] * clock.SECOND)
    with ask.site.home.database.read() as connection:
        metrics = []
        for series in curves.series_of(connection, run._row.key)[:MOST_METRICS]:
            point = curves.newest_at(connection, series.key, stamp)
            if point is not None:
                metrics.append((series, point))
        episode = moments.episode_at(connection, run._row.key, run.id, stamp)
    return {
        "time_s": ask["time_s"],
        "metrics": [
            {
                "name": series.name,
                "stage": series.stage,
                "step": step,
                "time_s": (when - origin) / clock.SECOND,
                "value": number(value),
            }
            for series, (when, step, value) in metrics
        ],
        "lines": _lines_around(ask, run, ask["time_s"]),
        "episode": None if episode is None else _episode(episode, stamp),
        "media": _media_before(run, stamp, origin),
    }


def _episode(found: moments.Played, stamp: int) -> dict[str, Any]:
    address = Address(found.id, found.dataset)
    title = f"Episode {found.number}" if found.dataset is None else f"{found.dataset} {found.number}"
    return {
        "address": str(address),
        "title": title,
        "index": found.step,
        "time_s": max(0.0, (stamp - found.began_ns) / clock.SECOND),
    }


def _media_before(run: Run, stamp: int, origin: int) -> dict[str, Any] | None:
    items = run.media
    place = bisect_right([item.ts_ns for item in items], stamp) - 1
    return None if place < 0 else media.item_of(run.id, place, items[place], origin)


def _lines_around(ask: Ask, run: Run, time_s: float) -> list[dict[str, Any]]:
    """Give the lines of the log around a time, found by halving the file."""
    log = LogFile(run._folder.logs)
    low, high = 0, log.size
    while high - low > 1 << 12:
        middle = (low + high) // 2
        timed = _first_timed(ask, run, log, middle)
        if timed is None or timed[1] > time_s:
            high = middle
        else:
            low = max(timed[0], middle)  # half is left, also where one line is longer than that
    lines, _ = log.from_byte(low, LINES * 25)
    spelled = logs.spelled(ask.site, run, log, lines)
    behind = next(
        (place for place, line in enumerate(spelled) if line["time_s"] is not None and line["time_s"] > time_s),
        len(spelled),
    )
    at = spelled[behind]["at"] if behind < len(spelled) else (spelled[-1]["at"] + 1 if spelled else 0)
    before, _ = log.before_byte(at, LINES // 2)
    after, _ = log.from_byte(at, LINES // 2) if behind < len(spelled) else ([], 0)
    return logs.spelled(ask.site, run, log, [*before, *(line for line in after if line.at >= at)])


def _first_timed(ask: Ask, run: Run, log: LogFile, at: int) -> tuple[int, float] | None:
    """Give the first line at a byte or behind it that has a time."""
    lines: list[Line] = log.from_byte(at, 50)[0]
    found = logs.spelled(ask.site, run, log, lines)
    return next(((line["at"], line["time_s"]) for line in found if line["time_s"] is not None), None)


_METRIC = record({"name": TEXT, "stage": TEXT, "step": INTEGER, "time_s": SECONDS, "value": FLOAT})
_EPISODE = record({"address": TEXT, "title": TEXT, "index": maybe(INTEGER), "time_s": SECONDS})

ROUTES = (
    Route(
        "GET",
        "/api/runs/{id}/moment",
        read_moment,
        "Tell what happened at a time: metrics, lines of the log, the episode, media.",
        parameters=(
            rows.RUN_ID,
            number_parameter("time_s", "Seconds since the run was made.", required=True, least=-1e9, most=1e9),
        ),
        answer=Answer(
            "What happened.",
            record(
                {
                    "time_s": SECONDS,
                    "metrics": several(_METRIC, most=MOST_METRICS),
                    "lines": several(logs.LINE, most=LINES),
                    "episode": maybe(_EPISODE),
                    "media": maybe(media.ITEM),
                }
            ),
        ),
    ),
)
