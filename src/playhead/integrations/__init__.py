"""Bridges to other programs: taking over what they recorded, recording what they do.

Each module stands alone and knows one program. None is imported by the rest of the library, and a module that needs the
other program's package imports it inside its functions, so that a bridge costs nothing until it is crossed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playhead.integrations import gymnasium, mosaic, pettingzoo, runicorn, stable_baselines3

__all__ = ["gymnasium", "mosaic", "pettingzoo", "runicorn", "stable_baselines3"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
