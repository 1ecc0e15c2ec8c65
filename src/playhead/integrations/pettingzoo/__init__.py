"""PettingZoo: record every step of every agent by one line around an environment.

    from playhead.integrations.pettingzoo import AECRecorder, ParallelRecorder

    with store.run("tag", "random") as run:
        env = ParallelRecorder(simple_tag_v3.parallel_env(), run)

Agents share an episode: its signals are `red.observation`, `red.action`, `red.reward` and so on for each of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from playhead.errors import MissingExtra

if TYPE_CHECKING:
    from playhead.integrations.pettingzoo.aec import AECRecorder
    from playhead.integrations.pettingzoo.parallel import ParallelRecorder

__all__ = ["AECRecorder", "ParallelRecorder"]

_HOME = {"AECRecorder": "aec", "ParallelRecorder": "parallel"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"{__name__}.{_HOME[name]}")
    except ModuleNotFoundError as error:
        if error.name not in ("pettingzoo", "gymnasium"):
            raise
        raise MissingExtra("pettingzoo", "pettingzoo") from error
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
