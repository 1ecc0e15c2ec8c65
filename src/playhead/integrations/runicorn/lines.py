"""One line of Runicorn's `events.jsonl`, made into one that any JSON parser reads and the catalogue can hold."""

from __future__ import annotations

import math
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import orjson

from playhead import strictjson
from playhead.lanes.scalars import events

_WIDEST = 2**63


class Line(NamedTuple):
    """An event, ready to be written.

    Attributes:
        text: The line with its newline.
        ts_ns: Its stamp.
        points: How many metric values it holds.
    """

    text: bytes
    ts_ns: int
    points: int


def convert(line: bytes) -> Line | None:
    """Convert a line; None for one that is not an event.

    A line that is right already stays as it is, byte for byte.
    """
    try:
        return _converted(line.strip())
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None


def _converted(line: bytes) -> Line:
    try:
        content, strict = orjson.loads(line), True
    except orjson.JSONDecodeError:
        content, strict = strictjson.decode(line), False
    if not isinstance(content, dict) or not isinstance(content.get("data"), dict):
        raise ValueError("not an event")
    mended = _mend(content.get("type"), content["data"])
    if content.get("type") == events.METRICS:
        mended |= events.hide(content)
    text = line if strict and not mended else strictjson.encode(strictjson.plain(content))
    found, bad = events.parse(text + b"\n")  # as the index will: what it cannot use must not get that far
    if bad:
        raise ValueError("the index could not read it")
    ((stamp, kind, data),) = found
    return Line(text + b"\n", stamp, _count(data) if kind == events.METRICS else 0)


def _mend(kind: object, data: dict[str, Any]) -> bool:
    """Bring values to the types that the catalogue has; tell whether any was changed."""
    if kind == events.METRICS:
        return _replace(data, _metrics_as_they_should_be(data))
    if kind == events.IMAGE:
        return _replace(data, _image_as_it_should_be(data))
    return False


def _replace(data: dict[str, Any], better: dict[str, Any]) -> bool:
    if all(type(data.get(name)) is type(value) and data[name] == value for name, value in better.items()):
        return False
    data.update(better)
    return True


def _metrics_as_they_should_be(data: dict[str, Any]) -> dict[str, Any]:
    better: dict[str, Any] = {name: _float(value) for name, value in data.items() if _is_wide(value)}
    step = data.pop("step", None) if events.STEP not in data else data[events.STEP]
    if step is not None:
        better[events.STEP] = _step(step)
    stage = data.get(events.STAGE)
    if stage is not None:
        better[events.STAGE] = stage if isinstance(stage, str) else str(stage)
    return better


def _image_as_it_should_be(data: dict[str, Any]) -> dict[str, Any]:
    better: dict[str, Any] = {}
    if data.get("step") is not None:
        better["step"] = _step(data["step"])
    if data.get("caption") is not None:
        better["caption"] = str(data["caption"])
    path = data.get("path")
    if isinstance(path, str):
        parts = PurePosixPath(path.replace("\\", "/")).parts
        if not parts or parts[0] == "/" or ".." in parts or "\0" in path:
            raise ValueError("an image outside of the run")
    return better


def _step(value: Any) -> int:
    step = int(value)  # as Runicorn's viewer does: 5, 5.0 and "5" are all step 5
    if abs(step) >= _WIDEST:
        raise OverflowError
    return step


def _float(value: int) -> float:
    """Return an integer as a float; one past every float is infinite, as where JSON is read into floats."""
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value > 0 or -1)


def _is_wide(value: object) -> bool:
    return type(value) is int and not -_WIDEST <= value < _WIDEST


def _count(data: dict[str, Any]) -> int:
    return sum(
        1
        for name, value in data.items()
        if name not in (events.STEP, events.STAGE)
        and (isinstance(value, (int, float)) or (isinstance(value, str) and value in strictjson.SPECIAL))
    )
