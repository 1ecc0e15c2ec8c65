"""Answers that many ask for at the same time: the first one makes it, all get it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

from starlette.responses import Response

from playhead.web import answers

KEPT = 128  # answers
KEPT_BYTES = 16 << 20  # of all of them together


@dataclass(slots=True)
class _Slot:
    """One answer, or the turn to make it."""

    turn: threading.Lock = field(default_factory=threading.Lock)
    made: Response | None = None


class Shared:
    """Remembers answers by what they depend on. Safe in threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._slots: OrderedDict[Hashable, _Slot] = OrderedDict()

    def answer(self, headers: Mapping[str, str], question: Hashable, make: Callable[[], Response]) -> Response:
        """Give the answer to a question, compressed where the asker understands that.

        Args:
            headers: Those of the request.
            question: All that the answer depends on.
            make: Makes it; its tag will be that of its content.
        """
        accepted = headers.get("accept-encoding", "")
        key = (question, answers.accepts_gzip(accepted))
        with self._lock:
            slot = self._slots.setdefault(key, _Slot())
            self._slots.move_to_end(key)
        with slot.turn:
            if slot.made is None:
                try:
                    fresh = make()
                    slot.made = answers.packed(answers.tagged(fresh, answers.etag(bytes(fresh.body).hex())), accepted)
                finally:  # also where it failed
                    self._let_go()
            made = slot.made
        tag = made.headers["etag"]
        if answers.is_known(headers, tag):
            return answers.not_modified(tag)
        return Response(made.body, headers=dict(made.headers))

    def _let_go(self) -> None:
        """Forget those that were not asked for longest."""
        with self._lock:
            size = sum(len(slot.made.body) for slot in self._slots.values() if slot.made is not None)
            while len(self._slots) > KEPT or size > KEPT_BYTES:
                _, gone = self._slots.popitem(last=False)
                size -= 0 if gone.made is None else len(gone.made.body)
