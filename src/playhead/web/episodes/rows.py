"""Episodes as lists show them."""

from __future__ import annotations

from typing import Any

from playhead import layout, strictjson
from playhead.catalog.listing import Listed
from playhead.ref import FrameRef
from playhead.web import answers
from playhead.web.episodes.addresses import Address, sample_ref
from playhead.web.schema import FLAG, FLOAT, INTEGER, STAMP, TEXT, Schema, maybe

_LONGEST_TITLE = 120

MEMBERS: dict[str, Schema] = {
    "address": TEXT,
    "id": TEXT,
    "title": TEXT,
    "kind": {"enum": ["replay", "dataset"]},
    "number": INTEGER,
    "run_id": maybe(TEXT),
    "steps": maybe(INTEGER),
    "total_reward": FLOAT,
    "how": maybe(TEXT),
    "is_unfinished": FLAG,
    "created_ns": STAMP,
    "duration_s": maybe(FLOAT),
    "frame_ref": maybe(TEXT),
    "last_ref": maybe(TEXT),
}


def address_of(listed: Listed) -> Address:
    """Give the address of an episode."""
    return Address(listed.id, listed.dataset)


def row(listed: Listed) -> dict[str, Any]:
    """Describe an episode by what the catalogue knows."""
    return {
        "address": str(address_of(listed)),
        "id": listed.id,
        "title": title_of(listed),
        "kind": listed.kind,
        "number": listed.number,
        "run_id": listed.run_id,
        "steps": listed.steps,
        "total_reward": answers.number(listed.total_reward),
        "how": listed.how,
        "is_unfinished": not listed.finished,
        "created_ns": str(listed.created_ns or 0),
        "duration_s": None if listed.duration_ns is None else listed.duration_ns / 1e9,
        "frame_ref": _frame(listed, listed.first_frame) or _camera(listed),
        "last_ref": _frame(listed, listed.last_frame),
    }


def title_of(listed: Listed) -> str:
    """Say what an episode is, in a few words."""
    if listed.reel is not None:
        environment = layout.number_of_reel(listed.reel)
        return f"Episode {listed.number}" + (f", environment {environment + 1}" if environment else "")
    task = _object(listed.static).get("task")
    what = " ".join(task.split())[:_LONGEST_TITLE] if isinstance(task, str) else ""
    return f"Episode {listed.number}" + (f": {what}" if what else "")


def _frame(listed: Listed, place: int | None) -> str | None:
    """Give the address of a frame that an agent saw."""
    if listed.reel is None or place is None:
        return None
    return FrameRef(listed.reel, "frames", (listed.first or 0) + place).to_uri()


def _camera(listed: Listed) -> str | None:
    """Give the address of the first frame of the first video of a dataset; what the last is, only the video knows."""
    if listed.dataset is None or not listed.finished:
        return None
    videos = [name for name, lane in _object(listed.signals).items() if lane == "video"]
    return f"{sample_ref(address_of(listed), videos[0])}0" if videos else None


def _object(text: str | None) -> dict[str, Any]:
    if not text:
        return {}
    found = strictjson.decode(text)
    return found if isinstance(found, dict) else {}
