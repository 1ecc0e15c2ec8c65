"""Changes of runs: tags, notes, the recycle bin."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from playhead.errors import PlayheadError, ReadOnly, StoreLocked
from playhead.run import Run
from playhead.web.errors import BadRequest, without_root
from playhead.web.routes import Answer, Ask, Route, text, texts
from playhead.web.runs import rows
from playhead.web.schema import TEXT, record, several

_IDS = texts("ids", "The runs.", required=True, longest=128)


def tag_runs(ask: Ask) -> Any:
    """Add and remove tags."""
    if not ask["add"] and not ask["remove"]:
        raise BadRequest("give tags in `add` or in `remove`")

    def change(run: Run) -> None:
        if ask["add"]:
            run.tag(*ask["add"])
        if ask["remove"]:
            run.untag(*ask["remove"])

    return _each(ask, change)


def delete_runs(ask: Ask) -> Any:
    """Put runs into the recycle bin."""
    return _each(ask, lambda run: run.delete(ask["reason"] or ""))


def restore_runs(ask: Ask) -> Any:
    """Take runs out of the recycle bin."""
    return _each(ask, Run.restore)


def purge_runs(ask: Ask) -> Any:
    """Remove deleted runs for good."""

    def purge(run: Run) -> None:
        if not run.is_deleted:
            raise StoreLocked(f"the run {run.id} is not in the recycle bin; delete it first")
        run.purge()

    return _each(ask, purge)


def change_run(ask: Ask) -> Any:
    """Set the notes of a run."""
    _refuse_read_only(ask)
    run = rows.find_run(ask.site, ask["id"])
    if ask["notes"] is not None:
        run.note(ask["notes"])
    return rows.row_of(ask.site, run._row)


def _refuse_read_only(ask: Ask) -> None:
    if ask.store.mode != "a":
        raise ReadOnly("this store is served only to read; start `playhead serve` without --read-only to change it")


def _each(ask: Ask, change: Callable[[Run], None]) -> dict[str, Any]:
    """Change each run that the request names; one that fails does not keep the others from it."""
    _refuse_read_only(ask)
    done: list[str] = []
    failed: list[dict[str, str]] = []
    for run_id in _once(ask["ids"]):
        try:
            change(rows.find_run(ask.site, run_id))
            done.append(run_id)
        except (PlayheadError, OSError) as error:
            failed.append({"id": run_id, "message": without_root(str(error), str(ask.store.path))})
    return {"done": done, "failed": failed}


def _once(ids: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(ids))


_OUTCOME = Answer(
    "Which runs were changed, and why others were not.",
    record({"done": several(TEXT), "failed": several(record({"id": TEXT, "message": TEXT}))}),
)

ROUTES = (
    Route(
        "POST",
        "/api/runs/tag",
        tag_runs,
        "Add and remove tags of runs.",
        body=(
            _IDS,
            texts("add", "Tags to add.", longest=200, most=100),
            texts("remove", "Tags to remove.", longest=200, most=100),
        ),
        answer=_OUTCOME,
    ),
    Route(
        "POST",
        "/api/runs/delete",
        delete_runs,
        "Put runs into the recycle bin.",
        body=(_IDS, text("reason", "Why.", longest=1_000)),
        answer=_OUTCOME,
    ),
    Route(
        "POST",
        "/api/runs/restore",
        restore_runs,
        "Take runs out of the recycle bin.",
        body=(_IDS,),
        answer=_OUTCOME,
    ),
    Route(
        "POST",
        "/api/runs/purge",
        purge_runs,
        "Remove runs that are in the recycle bin for good.",
        body=(_IDS,),
        answer=_OUTCOME,
    ),
    Route(
        "PATCH",
        "/api/runs/{id}",
        change_run,
        "Set the notes of a run.",
        parameters=(rows.RUN_ID,),
        body=(text("notes", "Free text.", longest=100_000),),
        answer=Answer("The run.", record(rows.MEMBERS)),
    ),
)
