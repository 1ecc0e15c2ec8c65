"""What the runs of the store publish now: who is live, and the newest frame of each."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from starlette.responses import Response

from playhead import live
from playhead.errors import NotFound
from playhead.web import answers
from playhead.web.episodes import pictures
from playhead.web.episodes.frames import FORMAT, QUALITY, WIDTH
from playhead.web.episodes.pictures import AUTO, TYPES
from playhead.web.liveness import run_of_ring
from playhead.web.routes import Answer, Ask, Route, in_path
from playhead.web.runs import rows
from playhead.web.schema import FLOAT, INTEGER, TEXT, maybe, record, several

_NUMBER = "X-Playhead-Number"  # of a frame, so that the same one need not be drawn again
_FIGURES = "X-Playhead-Figures"


def list_live(ask: Ask) -> Any:
    """List what is live."""
    return {"items": [_described(one) for one in live.runs() if _is_ours(ask, one.run_id)]}


def newest_frame(ask: Ask) -> Response:
    """Give the newest frame, or nothing where none is published."""
    if not _is_ours(ask, ask["id"]):  # rings of others are none of those who may see this store
        raise NotFound(f"no run of this store publishes as {ask['id']!r}; see /api/live")
    try:
        with live.LiveReader(ask["id"]) as reader:
            found = reader.latest()
    except NotFound:
        found = None
    if found is None:
        return Response(status_code=204)
    tag = answers.etag("live", found.metadata.ts_ns, found.number, ask["format"], ask["width"], ask["quality"])
    if answers.is_known(ask.headers, tag):
        return answers.not_modified(tag, answers.CHECK_FIRST)
    planes = found.picture.shape[2]
    whole = found.picture[..., 0] if planes == 1 else found.picture[..., :3]
    picture = pictures.smaller(np.ascontiguousarray(whole), ask["width"])
    kind = pictures.suiting([picture]) if ask["format"] == AUTO else ask["format"]
    response = Response(pictures.encoded(picture, kind, ask["quality"]), media_type=TYPES[kind])
    response.headers[_NUMBER] = str(found.number)
    response.headers[_FIGURES] = json.dumps(_figures(found.figures, found.metadata))  # in ASCII, as headers are
    return answers.tagged(response, tag, answers.CHECK_FIRST)


def _is_ours(ask: Ask, name: str) -> bool:
    try:
        rows.find_run(ask.site, run_of_ring(name))
    except NotFound:
        return False
    return True


def _described(run: live.LiveRun) -> dict[str, Any]:
    return {
        "id": run.run_id,
        "run": run_of_ring(run.run_id),
        "state": run.state,
        "width": run.width,
        "height": run.height,
        **_figures(run.figures, run.metadata),
    }


def _figures(figures: live.Figures, about: live.Metadata) -> dict[str, Any]:
    reward, rolling, rate = map(answers.number, figures)
    env_id = about.facts.get("env_id")
    return {
        "env_id": env_id if isinstance(env_id, str) else None,
        "reward": reward,
        "rolling_return": rolling,
        "step_rate": rate,
        "step": about.step,
        "episode": about.episode,
    }


_ITEM = record(
    {
        "id": TEXT,
        "run": TEXT,
        "state": {"enum": [live.LIVE, live.QUIET]},
        "width": INTEGER,
        "height": INTEGER,
        "env_id": maybe(TEXT),
        "reward": FLOAT,
        "rolling_return": FLOAT,
        "step_rate": FLOAT,
        "step": maybe(INTEGER),
        "episode": maybe(INTEGER),
    }
)

ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/api/live",
        list_live,
        "List what the runs of this store publish now, on the machine of the server.",
        answer=Answer("One item for each environment that is shown.", record({"items": several(_ITEM)})),
    ),
    Route(
        "GET",
        "/api/live/{id}/frame",
        newest_frame,
        "Give the newest frame of what is live.",
        parameters=(in_path("id", "What is live, as the list names it.", longest=200), FORMAT, WIDTH, QUALITY),
        answer=Answer(
            f"The frame; its number is in {_NUMBER}, its figures as JSON in {_FIGURES}.", types=tuple(TYPES.values())
        ),
        may_be_unchanged=True,
        may_be_nothing=True,
    ),
)
