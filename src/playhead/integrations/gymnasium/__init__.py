"""Gymnasium: record every step of an environment by one line around it.

    from playhead.integrations.gymnasium import Recorder, VectorRecorder

    with store.run("pong", "dqn") as run:
        env = Recorder(gymnasium.make("ALE/Pong-v5"), run)
        envs = VectorRecorder(gymnasium.make_vec("CartPole-v1", 8), run)

`resimulate` says how an environment is made whose frames were not stored. `spaces.restore` puts structured observations
and actions of a recording together again; it needs no Gymnasium.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from playhead.errors import MissingExtra

if TYPE_CHECKING:
    from playhead.integrations.gymnasium.recorder import Recorder
    from playhead.integrations.gymnasium.resimulating import resimulate
    from playhead.integrations.gymnasium.vector import VectorRecorder

__all__ = ["Recorder", "VectorRecorder", "resimulate"]

_HOME = {"Recorder": "recorder", "VectorRecorder": "vector", "resimulate": "resimulating"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"{__name__}.{_HOME[name]}")
    except ModuleNotFoundError as error:
        if error.name != "gymnasium":
            raise
        raise MissingExtra("gymnasium", "gym") from error
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
