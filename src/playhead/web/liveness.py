"""Which runs are being recorded right now, and which show something live, asked at most once a second."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from playhead import claims, clock, live
from playhead.errors import PlayheadError
from playhead.layout import Layout

_LASTS_NS = clock.SECOND


class Liveness:
    """Tells runs that are being recorded from those that only say so. Safe in threads.

    Args:
        layout: The store.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._lock = threading.Lock()
        self._live: frozenset[str] = frozenset()
        self._shown: Mapping[str, list[str]] = {}
        self._asked_ns: int | None = None

    def is_stale(self, run_id: str, status: str) -> bool:
        """Tell whether a run says that it is running, but no process records it any more."""
        return status == "running" and run_id not in self._now()[0]

    def shown(self, run_id: str) -> list[str]:
        """Name what a run shows live, as `/api/live` does: one for each environment, as a rule."""
        return self._now()[1].get(run_id, [])

    def _now(self) -> tuple[frozenset[str], Mapping[str, list[str]]]:
        with self._lock:
            now = clock.elapsed_ns()
            if self._asked_ns is None or now - self._asked_ns > _LASTS_NS:
                self._live = frozenset(one.run_id for one in claims.live(self._layout) if one.part)
                self._shown = _find_shown()
                self._asked_ns = clock.elapsed_ns()
            return self._live, self._shown


def _find_shown() -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    try:
        for one in live.runs():
            found.setdefault(run_of_ring(one.run_id), []).append(one.run_id)
    except PlayheadError:  # not on this processor
        return {}
    return found


def run_of_ring(name: str) -> str:
    """Give the run that publishes under a name: a second environment of it does so as `run.1`."""
    return name.partition(".")[0]
