"""The columns that `ls --columns` can show: the names of the `where` language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from playhead.cli.metrics import newest_of
from playhead.errors import NotFound

if TYPE_CHECKING:
    from playhead.run import Run

TIMES = ("created_at", "ended_at", "deleted_at")

_FIELDS: dict[str, Callable[[Run], Any]] = {
    "id": lambda run: run.id,
    "project": lambda run: run.project,
    "name": lambda run: run.name,
    "status": lambda run: run.status,
    "exit_reason": lambda run: run.exit_reason,
    "created_at": lambda run: run.created_at,
    "ended_at": lambda run: run.ended_at,
    "deleted_at": lambda run: run.deleted_at,
    "duration": lambda run: run.duration,
    "best": lambda run: run.best,
    "best_step": lambda run: run.best_step,
    "best_metric": lambda run: run.primary_metric,
    "points": lambda run: run.points,
    "tags": lambda run: run.tags,
    "notes": lambda run: run.notes,
}
_FAMILIES: dict[str, Callable[[Run, str], Any]] = {
    "config": lambda run, key: _dotted(run.config, key),
    "summary": lambda run, key: _dotted(run.summary(), key),
    "environment": lambda run, key: _dotted(run.environment, key),
    "metric": lambda run, name: _figure(run, name, "last"),
    "min": lambda run, name: _figure(run, name, "min"),
    "max": lambda run, name: _figure(run, name, "max"),
}


def reader(name: str) -> Callable[[Run], Any]:
    """Give what reads a column of a run; a run without it has None.

    Raises:
        NotFound: There is no such column.
    """
    if name in _FIELDS:
        return _FIELDS[name]
    family, _, rest = name.partition(".")
    if family in _FAMILIES and rest:
        read = _FAMILIES[family]
        return lambda run: read(run, rest)
    hint = f"Also {', '.join(f'{family}.NAME' for family in _FAMILIES)}"
    raise NotFound.among("column", name, _FIELDS, hint=hint)


def _figure(run: Run, name: str, figure: str) -> Any:
    metric = newest_of(run, name)
    return None if metric is None else getattr(metric, figure)


def _dotted(values: Mapping[str, Any], key: str) -> Any:
    """Look up `a.b` in nested mappings, where a key may itself have dots."""
    if key in values:
        return values[key]
    for head, inner in values.items():
        if isinstance(inner, Mapping) and key.startswith(f"{head}."):
            found = _dotted(inner, key[len(head) + 1 :])
            if found is not None:
                return found
    return None
