"""The JSON files in a run's folder: written whole, read back as the facts that the catalogue indexes.

These files own what they say. Each is written atomically, then the catalogue is brought up to date from them, by the
same reading that `rebuild` does, so that both always give the same answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playhead import disk, strictjson
from playhead.catalog.runs import RunFacts
from playhead.catalog.schema import STATUSES
from playhead.errors import Damaged
from playhead.layout import Layout, RunFolder, check_run_id

BEST = ("best_metric_name", "best_metric_mode", "best_metric_value", "best_metric_step")


def write(path: disk.StrPath, content: Mapping[str, Any], *, durable: bool = True, named: bool = True) -> None:
    """Write a JSON file of a run in one step; see `disk.replace`."""
    disk.replace(path, strictjson.encode(content, indent=True), durable=durable, named=named)


def create(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file that must not exist yet.

    Raises:
        FileExistsError: It does.
    """
    disk.create(path, strictjson.encode(content, indent=True))


def load(path: disk.StrPath, *, required: bool = False) -> dict[str, Any]:
    """Read a JSON file of a run; one that is missing is empty, unless it is required.

    Raises:
        Damaged: It is not a JSON object, or no file.
    """
    try:
        with open(disk.open_to_read(path), "rb") as file:
            data = file.read()
    except FileNotFoundError:
        if required:
            raise
        return {}
    try:
        content = strictjson.decode(data)
    except strictjson.JSONDecodeError as error:
        raise Damaged(path, "JSON", str(error), "Mend the file by hand, or move it away") from error
    if not isinstance(content, dict):
        raise Damaged(path, "a JSON object", type(content).__name__, "Mend the file by hand, or move it away")
    return content


def read(layout: Layout, folder: RunFolder) -> RunFacts:
    """Read what the files of a run say.

    Raises:
        FileNotFoundError: There is no `meta.json`: the folder is not a run.
        Damaged: A file is not JSON, or lacks what every run has.
    """
    meta = load(folder.meta, required=True)
    status = load(folder.status)
    summary = load(folder.summary)
    deleted = load(folder.deleted)
    try:
        created = float(meta["created_at"])
        project, name, run_id = str(meta["project"]), str(meta["name"]), check_run_id(meta["id"])
    except (KeyError, TypeError, ValueError) as error:  # a bad id too
        raise Damaged(folder.meta, "id, project, name and created_at", f"an error: {error!r}") from error
    started, ended = _number(status.get("started_at")), _number(status.get("ended_at"))
    moments = (created, started, ended, _number(deleted.get("deleted_at")), _number(meta.get("edited_at")))
    return RunFacts(
        id=run_id,
        project=project,
        name=name,
        created_at=created,
        updated_at=max(moment for moment in moments if moment is not None),
        status=_status(status.get("status", "running")),
        run_dir=layout.relative(folder.path),
        started_at=started,
        ended_at=ended,
        exit_reason=_text(status.get("exit_reason")),
        pid=meta.get("pid") if isinstance(meta.get("pid"), int) else None,
        python_version=_text(meta.get("python")),
        platform=_text(meta.get("platform")),
        hostname=_text(meta.get("hostname")),
        best_metric_name=_text(summary.get("best_metric_name")),
        best_metric_mode=_mode(summary),
        deleted_at=_number(deleted.get("deleted_at")),
        delete_reason=_text(deleted.get("reason")),
        duration_seconds=None if ended is None else ended - (started if started is not None else created),
        notes=str(meta.get("notes") or ""),
        tags=tuple(str(tag) for tag in meta.get("tags") or ()),
        config=meta.get("config") or {},
        values=flatten(meta.get("config") or {}, "config")
        | flatten({key: value for key, value in summary.items() if key not in BEST}, "summary"),
    )


def _mode(summary: Mapping[str, Any]) -> str | None:
    if summary.get("best_metric_name") is None:
        return None
    return "max" if summary.get("best_metric_mode") == "max" else "min"


def _status(word: Any) -> str:
    return word if word in STATUSES else "finished"  # a word of somebody's own for an ending


def flatten(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Flatten nested values to dotted keys; lists become JSON text, null stays null."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{prefix}.{key}"
        if isinstance(value, dict) and value:
            flat |= flatten(value, name)
        elif isinstance(value, (dict, list)):
            flat[name] = strictjson.encode(value).decode()
        else:
            flat[name] = value
    return flat


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
