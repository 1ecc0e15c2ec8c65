"""Stable-Baselines3: a callback that records training, evaluation episodes and checkpoints into a run.

from playhead.integrations.stable_baselines3 import PlayheadCallback

with store.run("cartpole", "ppo") as run:
    callback = PlayheadCallback(run, eval_env=gymnasium.make("CartPole-v1", render_mode="rgb_array"))
    PPO("MlpPolicy", "CartPole-v1").learn(50_000, callback=callback)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playhead.errors import MissingExtra

if TYPE_CHECKING:
    from playhead.integrations.stable_baselines3.callback import PlayheadCallback

__all__ = ["PlayheadCallback"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from playhead.integrations.stable_baselines3.callback import PlayheadCallback
    except ModuleNotFoundError as error:
        if error.name not in ("stable_baselines3", "gymnasium", "torch"):
            raise
        raise MissingExtra("stable_baselines3", "sb3") from error
    globals()[name] = PlayheadCallback
    return PlayheadCallback


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
