"""Which table a text means, and where a new one goes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from playhead import layout
from playhead.cli.options import open_to_read
from playhead.errors import NotFound
from playhead.paths import as_path

if TYPE_CHECKING:
    from playhead.table import Table


def find(given: str | None, text: str) -> Path:
    """Give the folder of a table.

    Args:
        given: The value of `--store`.
        text: A name in the store, or a path.

    Raises:
        NotFound: None is meant; the message lists those there are.
    """
    place = layout.Layout(layout.locate(given))
    if not text.startswith((".", "/")) and text in place.tables():
        return place.table(text).path
    path = as_path(text)
    if path.is_dir():
        return path
    raise NotFound.among("table", text, place.tables(), hint="A table elsewhere is named by its path")


def new(given: str | None, text: str) -> Path:
    """Give the folder for a new table: in the store, where there is one and the text is a plain name."""
    place = layout.Layout(layout.locate(given))
    if "/" not in text and not text.startswith((".", "~")) and place.marker.is_file():
        return place.table(text).path
    return as_path(text)


@contextmanager
def source(given: str | None, files: tuple[str, ...], dataset: str | None, project: str | None) -> Iterator[Any]:
    """Give what a table is built of: paths, or episodes of the store."""
    if sum(map(bool, (files, dataset, project))) != 1:
        raise click.UsageError("say what to read: files or folders, or --dataset, or --project.")
    if files:
        yield files[0] if len(files) == 1 else list(files)
        return
    with open_to_read(given) as store:
        if dataset is not None and dataset not in store.datasets:
            raise NotFound.among("dataset", dataset, store.datasets)
        yield store.runs(project) if dataset is None else store.dataset(dataset)


def described(table: Table) -> dict[str, Any]:
    """Give what a program wants to know of a table."""
    return {
        "path": str(table.path),
        "rows": len(table),
        "runs": len(table.runs),
        "bytes": len(table) * table.dtype.itemsize,
        "columns": {name: str(kind) for name, kind in table.columns.items()},
    }
