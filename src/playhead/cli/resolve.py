"""Which run is meant: `last`, an id, or the beginning of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from playhead.errors import NotFound

if TYPE_CHECKING:
    from playhead.run import Run
    from playhead.runs import Runs
    from playhead.store import Store

LAST = "last"
_LISTED = 8
_AFTER_ALL_IDS = "~"  # greater than every character that an id may have


def find_run(store: Store, text: str) -> Run:
    """Give the run that a text means; one in the recycle bin where no other fits.

    Raises:
        NotFound: None is meant, or more than one.
    """
    run = _meant(store.runs, text) or _meant(store.runs.deleted, text)
    if run is None:
        raise NotFound.among("run", text, _newest(store.runs), hint="See: playhead ls")
    return run


def find_live(store: Store, texts: Iterable[str]) -> list[Run]:
    """Give the runs outside the recycle bin that texts mean, each once.

    Raises:
        NotFound: A text means none, or more than one.
    """
    return _each_once(_live(store, text) for text in texts)


def find_deleted(store: Store, texts: Iterable[str]) -> list[Run]:
    """Give the runs in the recycle bin that texts mean, each once; `last` is the one deleted last.

    Raises:
        NotFound: A text means none, or more than one.
    """
    return _each_once(_deleted(store, text) for text in texts)


def _live(store: Store, text: str) -> Run:
    run = _meant(store.runs, text)
    if run is None:
        if (deleted := _meant(store.runs.deleted, text)) is not None:
            raise NotFound(f"the run {deleted.id} is in the recycle bin. Run: playhead restore {deleted.id}")
        raise NotFound.among("run", text, _newest(store.runs), hint="See: playhead ls")
    return run


def _deleted(store: Store, text: str) -> Run:
    run = _meant(store.runs.deleted, text, order="-deleted_at")
    if run is None:
        if (live := _meant(store.runs, text)) is not None and text != LAST:
            raise NotFound(f"the run {live.id} is not in the recycle bin: nothing to restore")
        raise NotFound.among("deleted run", text, _newest(store.runs.deleted), hint="See: playhead ls --deleted")
    return run


def _meant(runs: Runs, text: str, order: str = "-created_at") -> Run | None:
    if (run := runs.get(text)) is not None:
        return run
    if text == LAST:
        return next(iter(runs(order=order, limit=1)), None)
    fitting = _beginning_with(runs, text)
    if len(fitting) > 1:
        shown = ", ".join(run.id for run in fitting[:_LISTED]) + (" …" if len(fitting) > _LISTED else "")
        raise NotFound(f"{text!r} is the beginning of more than one id: {shown}. Write more of it")
    return fitting[0] if fitting else None


def _beginning_with(runs: Runs, text: str) -> Sequence[Run]:
    """List runs by a range of ids, which the catalogue answers from its index."""
    if not text.replace("_", "").replace("-", "").isalnum() or not text.isascii():
        return ()
    first_and_last = f"id >= '{text}' and id < '{text}{_AFTER_ALL_IDS}'"
    return list(iter(runs(where=first_and_last, order="-created_at", limit=_LISTED + 1)))


def _newest(runs: Runs) -> list[str]:
    return [run.id for run in runs(order="-created_at", limit=_LISTED)]


def _each_once(runs: Iterator[Run]) -> list[Run]:
    return list({run.id: run for run in runs}.values())
