"""The flight recorder for learning: record everything, move the playhead to any moment, train on all of it.

    import playhead

    store = playhead.open("store")
    with store.run("pong", "dqn", config={"lr": 1e-4}) as run:
        run.log({"loss": 0.3})
    store.runs[-1]["loss"].values

Names are loaded when they are first used, so that importing Playhead costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playhead.errors import (
        BadName,
        BadQuery,
        BadRef,
        Closed,
        Damaged,
        Exists,
        Forked,
        MissingExtra,
        NotAStore,
        NotFound,
        OutOfOrder,
        PlayheadError,
        QueryStopped,
        ReadOnly,
        StoreLocked,
        StoreTooNew,
        WrongShape,
        WrongType,
    )
    from playhead.opening import open, rebuild
    from playhead.recording import RunWriter
    from playhead.run import Run
    from playhead.signal import Signal
    from playhead.store import Store

__version__ = "0.1.0"

_HOME = {
    "open": "opening",
    "rebuild": "opening",
    "Store": "store",
    "Run": "run",
    "RunWriter": "recording",
    "Signal": "signal",
}

__all__ = [
    "BadName",
    "BadQuery",
    "BadRef",
    "Closed",
    "Damaged",
    "Exists",
    "Forked",
    "MissingExtra",
    "NotAStore",
    "NotFound",
    "OutOfOrder",
    "PlayheadError",
    "QueryStopped",
    "ReadOnly",
    "Run",
    "RunWriter",
    "Signal",
    "Store",
    "StoreLocked",
    "StoreTooNew",
    "WrongShape",
    "WrongType",
    "open",
    "rebuild",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'playhead' has no attribute {name!r}")
    value = getattr(import_module(f"playhead.{_HOME.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
