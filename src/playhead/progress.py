"""A bar for work that takes long."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

_LONG = 1 << 30  # bytes

Watch = Callable[[int], None]


@contextlib.contextmanager
def watching(text: str, total: int, wanted: bool | None, *, unit: str = "bytes") -> Iterator[Watch | None]:
    """Draw a bar on standard error while something is done; gives what is told of progress.

    Args:
        text: What is done.
        total: How much it is.
        wanted: Whether to draw; None for where there is a terminal and it takes long.
        unit: `bytes`, or what else is counted.
    """
    is_wanted = sys.stderr.isatty() and total >= _LONG if wanted is None else wanted
    if not is_wanted or not total:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    amount = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), amount, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=total)
        yield lambda more: bar.update(task, advance=more)
