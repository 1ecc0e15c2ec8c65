"""The store itself: what there is in it."""

from __future__ import annotations

from typing import Any

import playhead
from playhead import strictjson
from playhead.catalog import browse
from playhead.web.routes import Answer, Ask, Route
from playhead.web.schema import INTEGER, TEXT, record


def describe_store(ask: Ask) -> Any:
    """Give name, mode and counts."""
    with ask.site.home.database.read() as connection:
        counts = browse.counts(connection)
    return {
        "name": strictjson.plain(ask.store.path.name),  # the name of a folder need not be UTF-8
        "version": playhead.__version__,
        "mode": ask.store.mode,
        **counts._asdict(),
    }


_COUNTS = dict.fromkeys(browse.Counts._fields, INTEGER)

ROUTES = (
    Route(
        "GET",
        "/api/store",
        describe_store,
        "Tell which store this is and how much is in it.",
        answer=Answer("The store.", record({"name": TEXT, "version": TEXT, "mode": {"enum": ["a", "r"]}, **_COUNTS})),
    ),
)
