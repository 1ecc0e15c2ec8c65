"""Lists of episodes: those of a run, those of a dataset, and the datasets themselves."""

from __future__ import annotations

import threading
import unicodedata
from typing import Any

import numpy as np

from playhead import episode_index, filesystem, layout
from playhead.catalog import episodes as catalog_episodes
from playhead.catalog import listing
from playhead.catalog import runs as catalog_runs
from playhead.catalog.database import Connection
from playhead.catalog.runs import RunRow
from playhead.errors import NotFound
from playhead.home import Home
from playhead.web import answers, thinning
from playhead.web.episodes import rows
from playhead.web.episodes.manifest import dropped_of
from playhead.web.episodes.values import POINTS
from playhead.web.routes import Answer, Ask, Route, in_path, integer, text
from playhead.web.schema import FLOAT, INTEGER, SECONDS, TEXT, maybe, record, several

_OFFSET = integer("offset", "How many to leave out.", default=0, least=0, most=2**53)
_LIMIT = integer("limit", "How many at most.", default=200, least=1, most=1000)
_RUN = in_path("id", "The run.", longest=200)

_ORDERS = tuple(sign + name for name in listing.ORDERS for sign in ("", "-"))


def of_run(ask: Ask) -> Any:
    """List the episodes of a run."""
    with ask.site.home.database.read() as connection:
        run = _run(connection, ask["id"])
        total = listing.count_of_run(connection, run.key, run.id)
        found = listing.of_run(
            connection, run.key, run.id, order=ask["order"], offset=ask["offset"], limit=ask["limit"]
        )
    return {"total": total, "episodes": [rows.row(one) for one in found]}


def _run(connection: Connection, run_id: str) -> RunRow:
    """Find a run, in the recycle bin too.

    Raises:
        NotFound: There is none.
    """
    found = catalog_runs.find(connection, run_id)
    if found is None:
        raise NotFound(f"no run {run_id!r} in this store")
    return found


def returns(ask: Ask) -> Any:
    """Give what came of the episodes of a run, in few enough points to draw."""
    with ask.site.home.database.read() as connection:
        run = _run(connection, ask["id"])
        found = listing.returns_of(connection, run.key)
    totals = np.array([np.nan if one.total_reward is None else one.total_reward for one in found], np.float64)
    places = thinning.kept_rows(totals.reshape(-1, 1), ask["points"]).tolist()
    return {
        "total": len(found),
        "numbers": places,
        "ids": [found[place].id for place in places],
        "returns": [answers.number(float(totals[place])) for place in places],
        "lengths": [found[place].steps for place in places],
        "times": [found[place].began_ns / 1e9 - run.created_at for place in places],
    }


class Sizes:
    """The bytes of datasets, measured again when there are more episodes. Safe in threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, tuple[Any, int]] = {}

    def of(self, home: Home, count: catalog_episodes.Count) -> int:
        """Give the bytes of a dataset."""
        with self._lock:
            known = self._known.get(count.dataset)
        if known is None or known[0] != count:
            known = (count, filesystem.size_of(home.layout.dataset(count.dataset).path))
            with self._lock:
                self._known[count.dataset] = known
        return known[1]


def datasets(ask: Ask) -> Any:
    """List the datasets."""
    home = ask.site.home
    sizes = ask.site.keep(Sizes, Sizes)
    with home.database.read() as connection:
        counts = {count.dataset: count for count in catalog_episodes.counts(connection)}
    found = []
    for name in home.layout.datasets():
        count = counts.get(name, catalog_episodes.Count(name, 0, 0, 0))
        found.append(
            {
                "name": name,
                "episodes": count.episodes,
                "unfinished": count.unfinished,
                "duration_s": count.duration_ns / 1e9,
                "bytes": sizes.of(home, count),
            }
        )
    return {"datasets": found}


def of_dataset(ask: Ask) -> Any:
    """List the episodes of a dataset that are not dropped."""
    home = ask.site.home
    name = unicodedata.normalize("NFC", ask["name"])
    if name not in home.layout.datasets():
        raise NotFound.among("dataset", name, home.layout.datasets())
    if home.database.mode == "a":  # folders appear without a word: copied by hand, or made just before a crash
        episode_index.reconcile(home, name)
    dropped = dropped_of(home, name)
    with home.database.read() as connection:
        total = listing.count_of_dataset(connection, name, dropped)
        found = listing.of_dataset(connection, name, offset=ask["offset"], limit=ask["limit"], without=dropped)
    return {"total": total, "episodes": [rows.row(one) for one in found]}


_ROW = record(rows.MEMBERS)
_LIST = record({"total": INTEGER, "episodes": several(_ROW, most=1000)})

ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/api/runs/{id}/episodes",
        of_run,
        "List the episodes of a run, what agents played and what was recorded into datasets.",
        parameters=(_RUN, _OFFSET, _LIMIT, text("order", "What they are sorted by.", default="began", choices=_ORDERS)),
        answer=Answer("A page of episodes.", _LIST),
    ),
    Route(
        "GET",
        "/api/runs/{id}/returns",
        returns,
        "Give the return of each episode that agents played in a run.",
        parameters=(_RUN, POINTS),
        answer=Answer(
            "The returns in the order of begin; numbers count from 0, times from the begin of the run.",
            record(
                {
                    "total": INTEGER,
                    "numbers": several(INTEGER),
                    "ids": several(TEXT),
                    "returns": several(FLOAT),
                    "lengths": several(INTEGER),
                    "times": several(SECONDS),
                }
            ),
        ),
    ),
    Route(
        "GET",
        "/api/datasets",
        datasets,
        "List the datasets.",
        answer=Answer(
            "The datasets.",
            record(
                {
                    "datasets": several(
                        record(
                            {
                                "name": TEXT,
                                "episodes": INTEGER,
                                "unfinished": INTEGER,
                                "duration_s": SECONDS,
                                "bytes": maybe(INTEGER),
                            }
                        )
                    )
                }
            ),
        ),
    ),
    Route(
        "GET",
        "/api/datasets/{name}/episodes",
        of_dataset,
        "List the episodes of a dataset.",
        parameters=(in_path("name", "The dataset.", longest=layout.MAX_NAME_BYTES), _OFFSET, _LIMIT),
        answer=Answer("A page of episodes.", _LIST),
    ),
)
