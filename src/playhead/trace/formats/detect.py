"""Which form a JSON file has, told by the keys it has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playhead.errors import Damaged
from playhead.trace.formats import tiered, train, v1, v2
from playhead.trace.formats.fields import shown

STORED = "stored"  # V2 in an envelope, as a server of another program keeps it

_KNOWN = "a trace: tiered, tiered-delta, V1, V2, the file of a trace server, or a train output"


def form_of(path: Path, document: Any) -> str:
    """Tell the form of a file.

    Raises:
        Damaged: It is none that is known; the message says what was seen.
    """
    if isinstance(document, dict):
        for form, is_it in _SIGNS:
            if is_it(document):
                return form
    raise Damaged(path, _KNOWN, f"Unknown trace file format, {_seen(document)}")


def _seen(document: Any) -> str:
    if not isinstance(document, dict):
        return shown(document)
    said = "".join(f", {name} {shown(document[name])}" for name in ("format", "version") if name in document)
    index = " (an index of traces? Open one of the files that it names)" if "traces" in document else ""
    return f"{shown(document)}{said}{index}"


_SIGNS: list[tuple[str, Any]] = [
    (tiered.TIERED, lambda found: found.get("format") == tiered.TIERED),
    (tiered.DELTA, lambda found: found.get("format") == tiered.DELTA),
    (STORED, lambda found: "meta" in found and "trace" in found),
    (v2.NAME, lambda found: found.get("version") == 2 and "config" in found),
    (v1.NAME, lambda found: found.get("version") == 1 and "keyframes" in found),
    (train.NAME, lambda found: "inputs" in found and "traces" in found),
]
