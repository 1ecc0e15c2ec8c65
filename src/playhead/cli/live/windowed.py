"""A run that is live, in a window with a slider back into its recording."""

from __future__ import annotations

import contextlib

from playhead import live, window
from playhead.cli.options import open_to_read
from playhead.errors import NotAStore, NotFound
from playhead.store import Store
from playhead.window.deck import Deck
from playhead.window.feed import LiveFeed
from playhead.window.timeline import Timeline


def watch_in_window(run_id: str, store_path: str | None) -> None:
    """Open a window on a run, and wait until it is closed.

    Args:
        run_id: The run, as it publishes itself.
        store_path: The value of `--store`; where no store is found, only what happens now is shown.
    """
    window.application()  # before anything is opened
    with contextlib.ExitStack() as stack:
        reader = stack.enter_context(live.LiveReader(run_id))
        reader.latest()
        recorded = reader.metadata.run_id or run_id
        try:
            store: Store | None = stack.enter_context(open_to_read(store_path))
        except NotAStore:
            if store_path is not None:
                raise
            store = None
        window.show(Deck(lambda: timeline(store, recorded), LiveFeed(reader)))


def timeline(store: Store | None, run_id: str) -> Timeline:
    """Give what is recorded of a run by now; nothing where the store does not know it."""
    if store is not None:
        with contextlib.suppress(NotFound):
            return Timeline.of_run(store.runs[run_id])
    return Timeline.of_nothing()
