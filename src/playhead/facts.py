"""The JSON files in a run's folder: written whole, read back as the facts that the catalogue indexes.

These files own what they say. Each is written atomically, then the catalogue is brought up to date from them, by the
same reading that `rebuild` does, so that both always give the same answers.

A `Shape` says what the known fields of a file are. A field that is something else is reported and left out, and the
rest of the file is used: one odd field takes neither its run nor its store away.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from playhead import disk, owner, strictjson, typed
from playhead.catalog.runs import RunFacts
from playhead.catalog.schema import STATUSES
from playhead.errors import Damaged, Misplaced, foreseen
from playhead.layout import Layout, RunFolder, check_run_id, name_of_folder
from playhead.typed import Shape

_MOMENT, _TEXT = typed.maybe(typed.moment), typed.maybe(typed.text)

META: Shape = {
    "project": typed.text,
    "name": typed.text,
    "created_at": typed.moment,
    "pid": typed.maybe(typed.integer),
    "python": _TEXT,
    "platform": _TEXT,
    "hostname": _TEXT,
    "notes": _TEXT,
    "tags": typed.texts,
    "config": typed.mapping,
    "edited_at": _MOMENT,
}
STATUS: Shape = {
    "id": typed.maybe(typed.text),
    "status": typed.text,
    "started_at": _MOMENT,
    "ended_at": _MOMENT,
    "exit_reason": _TEXT,
}
SUMMARY: Shape = {
    "best_metric_name": _TEXT,
    "best_metric_mode": typed.one_of("max", "min", None),
}
DELETED: Shape = {"deleted_at": _MOMENT, "reason": _TEXT, "id": _TEXT}
ENVIRONMENT: Shape = {
    "hostname": _TEXT,
    "platform": _TEXT,
    "python": _TEXT,
    "argv": typed.texts,
    "gpus": typed.several(typed.of({"name": _TEXT})),
    "git": typed.of({"commit": _TEXT, "branch": _TEXT, "diff": _TEXT}),
}
EPISODE: Shape = {
    "uid": typed.maybe(typed.text),
    "run_id": _TEXT,
    "dataset": _TEXT,
    "created_ts_ns": typed.maybe(typed.integer),
    "span_ns": typed.maybe(typed.integer),
    "duration_ns": typed.maybe(typed.integer),
}

_OF_EVERY_RUN = ("project", "name", "created_at")
_COLUMNS = {"python": "python_version", "reason": "delete_reason"}  # those that are called otherwise
RESTORE = "Restore it from a copy of the store"
_REMEDY = "Correct the field by hand, or restore the file from a copy of the store"

BEST = ("best_metric_name", "best_metric_mode", "best_metric_value", "best_metric_step")


CONFIG_TEXTS = "config_texts"  # in `meta.json`: where the config holds "NaN" and the like as texts
SHARED = ("summary.json", "assets.json")  # whose values Runicorn's viewer shows


def write(path: disk.StrPath, content: Mapping[str, Any], *, durable: bool = True, named: bool = True) -> None:
    """Write a JSON file of a run in one step; see `disk.replace`."""
    content = strictjson.with_nulls(content) if os.path.basename(path) in SHARED else strictjson.plain(content)
    disk.replace(path, strictjson.encode(content, indent=True), durable=durable, named=named)


def create(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file that must not exist yet.

    Raises:
        FileExistsError: It does.
    """
    disk.create(path, strictjson.encode(content, indent=True))


def load(path: disk.StrPath, *, required: bool = False) -> dict[str, Any]:
    """Read a JSON file of a run; one that is missing is empty, unless it is required.

    In the files that Runicorn's viewer shows, NaN and the infinities are floats; in the others they are words.

    Raises:
        Damaged: It is not a JSON object, or no file.
    """
    try:
        data = disk.read_file(path)
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
    return strictjson.without_nulls(content) if os.path.basename(path) in SHARED else content


def known(path: disk.StrPath, shape: Shape) -> dict[str, Any]:
    """Read a JSON file without the fields that are not what they should be; otherwise as `load`."""
    return typed.fit(shape, load(path)).content


def flaws(path: disk.StrPath, shape: Shape) -> list[Damaged]:
    """List what is wrong with a JSON file: the file as a whole, or fields of it."""
    try:
        return _told(path, typed.fit(shape, load(path)))
    except Damaged as flaw:
        return [flaw]


def check(path: disk.StrPath, shape: Shape, content: dict[str, Any]) -> None:
    """Refuse to change a file that is not what it should be: what is odd in it would look as if it had been meant.

    Raises:
        Damaged: It is not.
    """
    for flaw in _told(path, typed.fit(shape, content)):
        raise flaw


def _told(path: disk.StrPath, found: typed.Fitting) -> list[Damaged]:
    return [
        Damaged(path, f"{misfit.expected} as {name!r}", misfit.found, _REMEDY) for name, misfit in found.misfits.items()
    ]


def check_status(folder: RunFolder, run_id: str) -> None:
    """Refuse the `status.json` of another run; one of an earlier version does not say whose it is.

    Raises:
        Misplaced: If it is.
    """
    _check_status(folder.status, known(folder.status, STATUS), run_id)


def _check_status(path: Path, said: Mapping[str, Any], run_id: str) -> None:
    # One that says what its folder is called is in its place; then the id, of `meta.json`, is that of another.
    if said.get("id") not in (None, run_id, path.parent.name):
        raise Misplaced(path, f"that of the run {run_id}", f"that of {said['id'][:100]}", owner.REMEDY)


def texts_in_config(folder: RunFolder) -> Any:
    """Return where the config of a run holds texts that read as NaN or an infinity; nothing if no file says so."""
    try:
        return load(folder.meta).get(CONFIG_TEXTS)
    except Damaged:
        return None


def without_meta(layout: Layout) -> Iterator[tuple[RunFolder, Damaged]]:
    """Look for folders in which a run recorded, and which nothing makes a run any more.

    `meta.json` is written last when a run begins. A folder without it in which nothing was recorded never was a run.
    """
    for folder in layout.headless_runs():
        try:
            with foreseen(folder.path):
                was_run = folder.checksums.exists() or any(
                    folder.events(part).stat().st_size for part in folder.parts()
                )
        except Damaged as error:
            yield folder, error
        else:
            if was_run:
                yield folder, Damaged(folder.meta, "the file that says which run this is", "no file", RESTORE)


class _Files:
    """The JSON files of a run, read as far as they are what they should be.

    Attributes:
        flaws: What is said of each field, or file, that is left out.
        unknown: The columns of the catalogue of which nothing is known for that reason.
    """

    def __init__(self) -> None:
        self.flaws: list[Damaged] = []
        self.unknown: set[str] = set()

    def meta(self, path: Path) -> dict[str, Any]:
        """Read the file that says whose the folder is."""
        found = typed.fit(META, load(path, required=True))
        for name in _OF_EVERY_RUN:
            if name not in found.content and name not in found.misfits:
                found.misfits[name] = typed.Misfit("a value", None)
        return self._fitting(path, found)

    def load(self, path: Path, shape: Shape) -> dict[str, Any]:
        """Read a file beside it; of one that is no JSON, nothing is known."""
        try:
            return self._fitting(path, typed.fit(shape, load(path)))
        except Damaged as flaw:
            self.flaws.append(flaw)
            self.unknown |= {_COLUMNS.get(name, name) for name in shape}
            return {}

    def status(self, folder: RunFolder, run_id: str) -> dict[str, Any]:
        """Read how the run stands; if the file is gone from a completed run, or is of another, nothing is known."""
        try:
            if not folder.status.exists() and folder.checksums.exists():
                raise Damaged(folder.status, "the file that says how the run ended", "no file", RESTORE)
            found = self.load(folder.status, STATUS)
            _check_status(folder.status, found, run_id)
        except Damaged as flaw:
            self.flaws.append(flaw)
            self.unknown |= {_COLUMNS.get(name, name) for name in STATUS if name != "id"}
            return {}
        return found

    def _fitting(self, path: Path, found: typed.Fitting) -> dict[str, Any]:
        self.flaws += _told(path, found)
        self.unknown |= {_COLUMNS.get(name, name) for name in found.misfits}
        return found.content


def read(layout: Layout, folder: RunFolder, flaws: list[Damaged] | None = None) -> RunFacts:
    """Read what the files of a run say, as far as they say what they should.

    Args:
        layout: The store.
        folder: The run's folder.
        flaws: Takes what is said about each field, or file, that is left out.

    Raises:
        FileNotFoundError: There is no `meta.json`: the folder is not a run.
        Damaged: `meta.json` is not JSON, or has no id.
    """
    files = _Files()
    meta = files.meta(folder.meta)
    summary, deleted = files.load(folder.summary, SUMMARY), files.load(folder.deleted, DELETED)
    try:
        run_id = check_run_id(meta["id"])
        if not any(name in meta for name in _OF_EVERY_RUN):
            raise KeyError(*_OF_EVERY_RUN)  # it is something else
    except (KeyError, ValueError) as error:  # a bad id too
        raise Damaged(folder.meta, "id, project, name and created_at", f"an error: {error!r}", _REMEDY) from error
    status = files.status(folder, run_id)
    if flaws is not None:
        flaws += files.flaws
    started, ended = status.get("started_at"), status.get("ended_at")
    created = float(meta.get("created_at", started or 0.0))
    is_deleted = bool(deleted) or "deleted_at" in files.unknown
    deleted_at = deleted.get("deleted_at", created) if is_deleted else None
    moments = (created, started, ended, deleted_at, meta.get("edited_at"))
    config = strictjson.plain(meta.get("config") or {})  # another program's may have a bare NaN in it
    values = {key: value for key, value in summary.items() if key not in BEST}
    return RunFacts(
        id=run_id,
        project=meta.get("project", name_of_folder(folder.path.parents[2].name)),
        name=meta.get("name", name_of_folder(folder.path.parents[1].name)),
        created_at=created,
        updated_at=max(moment for moment in moments if moment is not None),
        status=_status(status.get("status", "finished" if "status" in files.unknown else "running")),
        run_dir=layout.relative(folder.path),
        started_at=started,
        ended_at=ended,
        exit_reason=status.get("exit_reason"),
        pid=meta.get("pid"),
        python_version=meta.get("python"),
        platform=meta.get("platform"),
        hostname=meta.get("hostname"),
        best_metric_name=summary.get("best_metric_name"),
        best_metric_mode=_mode(summary),
        deleted_at=deleted_at,
        delete_reason=deleted.get("reason"),
        duration_seconds=None if ended is None else max(0.0, ended - (created if started is None else started)),
        notes=meta.get("notes") or "",
        tags=tuple(meta.get("tags") or ()),
        config=config,
        values=flatten(strictjson.restore_except(config, meta.get(CONFIG_TEXTS)), "config")
        | flatten(strictjson.plain(values, words=False), "summary"),
        unknown=frozenset(files.unknown),
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
            flat[name] = strictjson.encode(strictjson.nulled(value)).decode()
        else:
            flat[name] = value
    return flat
