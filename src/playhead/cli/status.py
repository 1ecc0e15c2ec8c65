"""The status of a run as it is shown: one that says it is running may have lost its process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playhead.layout import Layout

if TYPE_CHECKING:
    from playhead.run import Run
    from playhead.store import Store

COLOURS = {"running": "cyan", "finished": "green", "failed": "red", "interrupted": "yellow", "died": "red"}
DIED = "died"


def status_of(store: Store, run: Run) -> str:
    """Give the status; `died` for a run whose process is gone without having said so.

    The store marks such a run as failed when it is next opened for recording; what only reads must not.
    """
    return DIED if run.status == "running" and not _is_recorded(store, run) else run.status


def _is_recorded(store: Store, run: Run) -> bool:
    from playhead import claims

    if claims.is_recorded(Layout(store.path), run.id):
        return True
    run.reload()  # it may have ended since it was looked up
    return run.status != "running"
