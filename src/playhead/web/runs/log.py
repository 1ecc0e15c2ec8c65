"""The text log of a run: stretches of it, search, download."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from starlette.responses import Response

from playhead.errors import NotFound
from playhead.run import Run
from playhead.web import answers
from playhead.web.errors import BadRequest
from playhead.web.files import OpenFile, open_plain
from playhead.web.routes import Answer, Ask, Route, flag, integer, text
from playhead.web.runs import rows, searching
from playhead.web.runs.logfile import Calendars, Line, LogFile
from playhead.web.schema import FLAG, INTEGER, SECONDS, TEXT, maybe, record, several
from playhead.web.site import Site

MOST_LINES = 5_000


def read_log(ask: Ask) -> Any:
    """Give lines from a byte on, before a byte, or the last ones."""
    run = rows.find_run(ask.site, ask["id"])
    log = LogFile(run._folder.logs)
    if sum(ask[name] is not None for name in ("from", "before", "tail")) > 1:
        raise BadRequest("give one of from, before and tail")
    if ask["tail"] is not None:
        lines, end = log.before_byte(log.size, ask["tail"])
    elif ask["before"] is not None:
        lines, end = log.before_byte(ask["before"], ask["lines"])
    else:
        lines, end = log.from_byte(ask["from"] or 0, ask["lines"])
    return {
        "size": log.size,
        "start": lines[0].at if lines else end,
        "end": end,
        "lines": spelled(ask.site, run, log, lines),
    }


def spelled(site: Site, run: Run, log: LogFile, lines: Iterable[Line]) -> list[dict[str, Any]]:
    """Give lines with their times."""
    days = site.keep(Calendars, Calendars).of(run.id, run.created_at, log)
    return [{"at": line.at, "text": line.text, "time_s": days.moment(line)} for line in lines]


def search_log(ask: Ask) -> Any:
    """Find lines."""
    run = rows.find_run(ask.site, ask["id"])
    log = LogFile(run._folder.logs)
    found, is_more = searching.search(
        log, ask["q"], is_pattern=ask["regex"], start=ask["from"] or 0, limit=ask["limit"]
    )
    return {"matches": spelled(ask.site, run, log, found), "is_more": is_more}


def download_log(ask: Ask) -> Response:
    """Give the whole log as a file: as long as it is now, also where more is added meanwhile."""
    run = rows.find_run(ask.site, ask["id"])
    name = f"{run.id}.log.txt"
    try:
        file = open_plain(run._folder.logs)
    except NotFound:
        return answers.download(b"", "text/plain", name)
    headers = {"Content-Disposition": answers.attachment(name), "Cache-Control": "no-store"}
    return OpenFile(file, "text/plain", headers)


LINE = record({"at": INTEGER, "text": TEXT, "time_s": maybe(SECONDS)})

_FROM = integer("from", "The byte from which on.", least=0, most=2**53)

ROUTES = (
    Route(
        "GET",
        "/api/runs/{id}/log",
        read_log,
        "Read lines of a run's log: from a byte on, before a byte, or the last ones.",
        parameters=(
            rows.RUN_ID,
            _FROM,
            integer("before", "The byte before which.", least=0, most=2**53),
            integer("tail", "How many of the last lines.", least=0, most=MOST_LINES),
            integer("lines", "How many lines at most.", default=500, least=1, most=MOST_LINES),
        ),
        answer=Answer(
            "The lines.", record({"size": INTEGER, "start": INTEGER, "end": INTEGER, "lines": several(LINE)})
        ),
    ),
    Route(
        "GET",
        "/api/runs/{id}/log/search",
        search_log,
        "Find lines of a run's log.",
        parameters=(
            rows.RUN_ID,
            text("q", "What to look for; without capitals, letters match in any case.", required=True, longest=1_000),
            flag("regex", "It is a regular expression, in RE2's syntax."),
            integer("limit", "How many lines at most.", default=200, least=1, most=MOST_LINES),
            _FROM,
        ),
        answer=Answer("The lines.", record({"matches": several(LINE), "is_more": FLAG})),
    ),
    Route(
        "GET",
        "/api/runs/{id}/log/raw",
        download_log,
        "Download a run's log.",
        parameters=(rows.RUN_ID,),
        answer=Answer("The file.", types=("text/plain",)),
    ),
)
