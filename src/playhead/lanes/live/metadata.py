"""What lies behind each frame, as JSON: who writes it, and where in the run it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from playhead import strictjson
from playhead.process import Process

ROOM = 1024  # bytes: any run id, and be it of quotes, which take two each

_MOST_LEAD = 384  # bytes, with facts
_MOST_PID, _MOST_STARTED = 1 << 22, 1 << 63
_WRITER, _RUN, _FACTS = "writer", "run_id", "facts"


@dataclass(frozen=True, slots=True)
class Metadata:
    """What is known of a frame and its writer; nothing where another program wrote something else.

    Attributes:
        writer: The process; None where it does not say.
        run_id: The run, as its writer spells it.
        step: Counted over the whole run, from 1.
        episode: Counted from 0.
        episode_return: The rewards of the episode so far.
        ts_ns: When it was published.
        facts: What the writer says of itself, such as the environment.
    """

    writer: Process | None = None
    run_id: str | None = None
    step: int | None = None
    episode: int | None = None
    episode_return: float | None = None
    ts_ns: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


class Head:
    """The metadata of a writer's frames, of which most stays and is encoded once.

    Args:
        writer: The process.
        run_id: The run.
        facts: More about it; left out where there is no room.

    Attributes:
        lead: What the metadata of every frame begins with.
    """

    def __init__(self, writer: Process, run_id: str, facts: Mapping[str, Any]) -> None:
        known = {_WRITER: writer.to_json(), _RUN: run_id}
        full = strictjson.encode(strictjson.plain(known | {_FACTS: facts}))
        self.lead = (full if len(full) <= _MOST_LEAD else strictjson.encode(known))[:-1]


def rest(step: int, episode: int, episode_return: float, ts_ns: int) -> bytes:
    """Write what is of one frame, behind the lead."""
    if episode_return - episode_return:  # JSON knows no NaN and no infinity, of which this is NaN
        return b',"step":%d,"episode":%d,"ts_ns":%d}' % (step, episode, ts_ns)
    return b',"step":%d,"episode":%d,"episode_return":%a,"ts_ns":%d}' % (step, episode, episode_return, ts_ns)


def unpack(data: bytes) -> Metadata:
    """Read metadata that anybody may have written; what cannot be understood is left out."""
    try:
        found = strictjson.decode(data)
    except strictjson.JSONDecodeError:
        return Metadata()
    if not isinstance(found, dict):
        return Metadata()
    facts = found.get(_FACTS)
    return Metadata(
        _process(found.get(_WRITER)),
        _typed(found.get(_RUN), str),
        _typed(found.get("step"), int),
        _typed(found.get("episode"), int),
        _typed(found.get("episode_return"), float),
        _typed(found.get("ts_ns"), int),
        facts if isinstance(facts, dict) else {},
    )


def _process(data: Any) -> Process | None:
    """Read who writes; None where that is no process that there can be."""
    if not isinstance(data, dict):
        return None
    pid, started = _typed(data.get("pid"), int), _typed(data.get("started"), int)
    place, hostname = _typed(data.get("place"), str), _typed(data.get("hostname"), str)
    if pid is None or started is None or place is None or hostname is None:
        return None
    is_possible = 0 < pid <= _MOST_PID and 0 <= started < _MOST_STARTED
    return Process(pid, started, place, hostname) if is_possible else None


def _typed(value: Any, kind: type[Any]) -> Any:
    return value if type(value) is kind else None
