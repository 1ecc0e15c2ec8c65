"""The ring that a writer has in its place: made, replaced by another one, put back, ended."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from playhead.lanes.live import segments
from playhead.lanes.live.form import Form
from playhead.lanes.live.ring import RingWriter


class Published:
    """What readers find under a name, if there is something yet.

    Args:
        path: The name.

    Attributes:
        ring: Where frames go; None before the first `renew`, and after the end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._pid = os.getpid()
        self._segment: segments.Segment | None = None
        self.ring: RingWriter | None = None

    @property
    def is_lost(self) -> bool:
        """Whether the ring has its name no more.

        A viewer that maps it with `multiprocessing.shared_memory`, as MOSAIC's does, removes the name as it ends.
        """
        return self._segment is not None and segments.identity_of(self.path) != self._segment.identity

    @property
    def is_of_this_process(self) -> bool:
        """Whether this process made it, and not one that forked it."""
        return self._pid == os.getpid()

    def renew(
        self,
        form: Form,
        first: Callable[[RingWriter], None],
        *,
        lead: bytes = b"",
        kind: str = "",
        trailer: bytes = b"",
    ) -> None:
        """Put a new ring in the place of this one; readers find it as `first` leaves it.

        Args:
            form: Its sizes.
            first: Publishes a frame into it.
            lead: As `RingWriter` has it.
            kind: As `RingWriter` has it.
            trailer: What to say behind the last slot.
        """
        segment = segments.Segment(form.size + len(trailer))
        try:
            segment.mapped[form.size :] = trailer
            ring = RingWriter(segment.mapped, form, lead=lead, kind=kind)
            first(ring)
            segment.place(self.path, replaced=self._segment)
        except BaseException:
            segment.remove()
            raise
        before, self.ring, self._segment = self.ring, ring, segment
        if before is not None:
            before.invalidate()
            before.close()

    def end(self) -> None:
        """Tell readers that it is over, and remove it. A child that was forked does nothing."""
        if self.ring is None or self._segment is None or not self.is_of_this_process:
            return
        self.ring.invalidate()
        self._segment.remove()
        self.ring.close()
        self.ring = self._segment = None
