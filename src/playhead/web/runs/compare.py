"""Runs side by side: what differs in config and environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from playhead import facts
from playhead.web.answers import plain
from playhead.web.routes import Answer, Ask, Route, texts
from playhead.web.runs import one, rows
from playhead.web.schema import ANYTHING, TEXT, record, several

MOST = 50


def compare_runs(ask: Ask) -> Any:
    """Give runs and what differs between them."""
    root = str(ask.store.path)
    found = [rows.find_run(ask.site, run_id) for run_id in dict.fromkeys(ask["id"])]
    return {
        "runs": [rows.row_of(ask.site, run._row) for run in found],
        "config": _differing([facts.flatten(run.config, "config") for run in found]),
        "environment": _differing([one.environment_of(run, root) for run in found]),
    }


def _differing(sides: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Give the names whose values are not the same on all sides, without the word before the first dot."""
    names = dict.fromkeys(name for side in sides for name in side)
    spelled = {name: [plain(side.get(name)) for side in sides] for name in names}
    return [
        {"key": name.partition(".")[2], "values": values}
        for name, values in spelled.items()
        if any(value != values[0] or type(value) is not type(values[0]) for value in values)
    ]


_DIFFERENCE = several(record({"key": TEXT, "values": several(ANYTHING)}))

ROUTES = (
    Route(
        "GET",
        "/api/compare",
        compare_runs,
        "Compare runs: which config and environment values differ.",
        parameters=(texts("id", "A run; give several.", required=True, longest=128, most=MOST),),
        answer=Answer(
            "The runs, and the names whose values differ, with the value of each run.",
            record(
                {"runs": several(record(rows.MEMBERS)), "config": _DIFFERENCE, "environment": _DIFFERENCE},
            ),
        ),
    ),
)
