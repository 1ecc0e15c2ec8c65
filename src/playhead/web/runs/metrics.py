"""Metrics of a run: their points, as many as a chart can show, or what is new."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.responses import Response

from playhead import clock
from playhead.catalog import curves
from playhead.catalog.curves import Series
from playhead.web import answers
from playhead.web.errors import BadRequest
from playhead.web.routes import Answer, Ask, Route, integer, number, text, texts
from playhead.web.runs import rows
from playhead.web.runs.events import changes_of
from playhead.web.runs.sampling import FAR, Curve, Range, Sampler, thinned
from playhead.web.runs.tails import Tails
from playhead.web.schema import FLAG, FLOAT, INTEGER, SECONDS, STAMP, TEXT, maybe, record, several
from playhead.web.shared import Shared

if TYPE_CHECKING:
    import pyarrow as pa

MOST_NEW = 4_000  # points of the live tail
MOST_POINTS = 1_000_000  # of all series of one answer; where many are asked for, each has fewer


def read_metrics(ask: Ask) -> Response:
    """Give metrics of a run; all who follow it hear of a change at once, and share what they then ask for."""
    as_arrow = ask["format"] == "arrow" or answers.ARROW in ask.headers.get("accept", "")
    mark = changes_of(ask.site).mark(ask["id"])
    if mark is None:
        return _read(ask, as_arrow, None)
    question = (mark, as_arrow, *(ask[name] for name in ("id", "name", "x", "from", "to", "points", "after_ns")))
    return ask.site.keep(Shared, Shared).answer(ask.headers, question, lambda: _read(ask, as_arrow, mark))


def _read(ask: Ask, as_arrow: bool, mark: int | None) -> Response:
    run = rows.find_run(ask.site, ask["id"])
    origin = rows.origin_ns(run._row)
    wanted, most = _range(ask, origin), ask["points"]
    with ask.site.home.database.read() as connection:
        found = curves.series_of(connection, run._row.key, list(dict.fromkeys(ask["name"])))
        tag = answers.etag(run.id, origin, found, wanted, most, as_arrow, ask["after_ns"])
        if mark is None and answers.is_known(ask.headers, tag):
            return answers.not_modified(tag)
        sampler = ask.site.keep(Sampler, lambda: Sampler(ask.site.home.database))
        if ask["after_ns"] is not None:
            most = MOST_NEW
        most = max(2, min(most, MOST_POINTS // max(1, len(found))))
        chosen = []
        for series in found:
            if ask["after_ns"] is None:
                curve = sampler.curve(connection, run.id, series, wanted, most)
            else:
                tail = ask.site.keep(Tails, Tails).after(connection, run.id, series, ask["after_ns"], mark)
                if tail is None:  # so much is new that everybody who follows is shown the same curve of all of it
                    tail = sampler.later(connection, run.id, series, ask["after_ns"], most)
                curve = thinned(tail, wanted, most, total=tail.total)
            chosen.append((series, curve))
    if as_arrow:
        return answers.tagged(answers.arrow(_table(chosen)), tag)
    content = {"origin_ns": str(origin), "series": [_spelled(*pair, origin) for pair in chosen]}
    return answers.tagged(answers.json(content), tag)


def _range(ask: Ask, origin: int) -> Range:
    if ask["after_ns"] is not None:
        if ask["from"] is not None or ask["to"] is not None:
            raise BadRequest("after_ns does not go together with from and to")
        return Range(by_step=False, start=ask["after_ns"] + 1)
    low, high = ask["from"], ask["to"]
    if ask["x"] == "step":
        return Range(
            True, -FAR if low is None else _whole(math.ceil(low)), FAR if high is None else _whole(math.floor(high))
        )
    start = -FAR if low is None else _whole(origin + round(low * clock.SECOND))
    stop = FAR if high is None else _whole(origin + round(high * clock.SECOND))
    return Range(False, start, stop)


def _whole(value: int) -> int:
    return min(max(value, -FAR), FAR)


def _spelled(series: Series, curve: Curve, origin: int) -> dict[str, Any]:
    return {
        "name": series.name,
        "stage": series.stage,
        "part": series.part,
        "total": curve.total,
        "is_sampled": curve.is_sampled,
        "steps": curve.steps,
        "times": (curve.stamps - origin) / clock.SECOND,
        "values": answers.numbers(curve.values),
        "last_ns": str(int(curve.stamps.max())) if len(curve.stamps) else None,
    }


def _table(chosen: list[tuple[Series, Curve]]) -> pa.Table:
    import pyarrow as pa

    def joined(name: str, kind: Any) -> Any:
        parts = [getattr(curve, name) for _, curve in chosen]
        return np.concatenate(parts) if parts else np.array([], kind)

    def repeated(name: str, kind: pa.DataType) -> pa.Array:
        sizes = [len(curve.stamps) for _, curve in chosen]
        words = pa.array([getattr(series, name) for series, _ in chosen], kind)
        return words.take(pa.array(np.repeat(np.arange(len(chosen)), sizes)))

    return pa.table(
        {
            "name": repeated("name", pa.string()),
            "stage": repeated("stage", pa.string()),
            "part": repeated("part", pa.int64()),
            "step": joined("steps", np.int64),
            "ts_ns": joined("stamps", np.int64),
            "value": joined("values", np.float64),
        }
    )


_SERIES = record(
    {
        "name": TEXT,
        "stage": TEXT,
        "part": INTEGER,
        "total": INTEGER,
        "is_sampled": FLAG,
        "steps": several(INTEGER),
        "times": several(SECONDS),
        "values": several(FLOAT),
        "last_ns": maybe(STAMP),
    }
)

ROUTES = (
    Route(
        "GET",
        "/api/runs/{id}/metrics",
        read_metrics,
        "Read metrics of a run, thinned to what a chart can show: spikes, ends and gaps stay.",
        parameters=(
            rows.RUN_ID,
            texts("name", "A metric; give several to read several.", required=True, longest=200, most=1_000),
            text(
                "x",
                "The axis along which points are thinned, and of from and to.",
                default="step",
                choices=("step", "time"),
            ),
            number("from", "Only from this step on, or from these seconds of the run.", least=-1e18, most=1e18),
            number("to", "Only up to this step, or up to these seconds of the run.", least=-1e18, most=1e18),
            integer(
                "points",
                "How many points of each series at most; of very many series, each has fewer.",
                default=1000,
                least=2,
                most=100_000,
            ),
            integer("after_ns", "Only points later than this stamp: what is new.", least=0, most=2**62),
            text("format", "`arrow` for an Arrow IPC stream.", default="json", choices=("json", "arrow")),
        ),
        answer=Answer(
            "The points of each series, in the order of the axis.",
            record({"origin_ns": STAMP, "series": several(_SERIES)}),
            types=("application/json", answers.ARROW),
        ),
        may_be_unchanged=True,
    ),
)
