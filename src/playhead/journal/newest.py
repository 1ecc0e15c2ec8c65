"""The newest records of a journal, found from its end: the rest of it may be large."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from playhead.journal.segment import HEADER_SIZE, Segment, identify, segments_in

_WINDOWS = (1 << 16, 1 << 20, 1 << 24)  # bytes at the end of a segment
_SEGMENTS = 2  # the newest may have no record yet


def newest(folder: Path) -> Iterator[list[bytes]]:
    """Yield the last records of a journal in order, then again with more before them, while the caller asks for more.

    What was torn at the end is left out. At most the last 16 MiB of a segment are read.

    Raises:
        NotFound: There is no such folder.
    """
    marker = identify(folder)
    if marker is None:
        return
    for number in segments_in(folder)[: -_SEGMENTS - 1 : -1]:
        with contextlib.suppress(FileNotFoundError), contextlib.closing(Segment(folder, number)) as segment:
            for window in _WINDOWS:
                start = max(HEADER_SIZE, segment.size() - window)
                found = segment.find(start, marker)
                if found is not None:
                    yield [bytes(payload) for _, payload in segment.frames(found, marker)]
                if start == HEADER_SIZE:
                    break
