"""Which runs are being recorded right now, asked at most once a second."""

from __future__ import annotations

import threading

from playhead import claims, clock
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
        self._asked_ns: int | None = None

    def is_stale(self, run_id: str, status: str) -> bool:
        """Tell whether a run says that it is running, but no process records it any more."""
        return status == "running" and run_id not in self._now()

    def _now(self) -> frozenset[str]:
        with self._lock:
            now = clock.elapsed_ns()
            if self._asked_ns is None or now - self._asked_ns > _LASTS_NS:
                found = (claims.Claim.load(path) for path in claims.paths(self._layout))
                self._live = frozenset(one.run_id for one in found if one is not None and one.part and one.is_live())
                self._asked_ns = clock.elapsed_ns()
            return self._live
