"""From an environment to what saves and restores it, or a refusal that says why."""

from __future__ import annotations

from typing import Any

from playhead.errors import WrongType
from playhead.simulators.ale import AtariGame
from playhead.simulators.classic import ClassicControl
from playhead.simulators.contract import Simulator
from playhead.simulators.mujoco import MujocoWorld
from playhead.simulators.offered import Offered, offers
from playhead.simulators.rig import Rig
from playhead.simulators.wrappers import Layer, is_known, is_passive

# By where the class of an environment comes from. Only its exact module: a subclass elsewhere may hold more.
_KNOWN: tuple[tuple[str, type[Simulator]], ...] = (
    ("ale_py.", AtariGame),
    ("gymnasium.envs.mujoco.", MujocoWorld),
    ("gymnasium.envs.classic_control.", ClassicControl),
)
_METHODS = "two methods, get_state() and set_state(state), that save and restore all that what comes depends on"


def find(env: Any, *, bare: bool = False) -> Rig:
    """Look into an environment.

    Args:
        env: It, wrapped as it may be.
        bare: Take wrappers out of it that change nothing that is seen; the environment is then good for nothing else.

    Raises:
        WrongType: Its state cannot be saved exactly; the message says which part is to blame, and what can be done.
    """
    wrappers, innermost = _taken_apart(env)
    for wrapper in wrappers:
        if not is_passive(wrapper) and not is_known(wrapper):
            name = type(wrapper).__name__
            raise WrongType(
                f"frames cannot be made again: nobody knows what the wrapper {name} remembers. Record with "
                f"frames='auto', put it around the Recorder instead of into it, or give {name} {_METHODS}"
            )
    simulator = _simulator(innermost)
    kept = [wrapper for wrapper in wrappers if not is_passive(wrapper)]
    if bare:
        within = innermost
        for wrapper in reversed(kept):
            wrapper.env = within
            within = wrapper
        env = within
    return Rig(env, simulator, [Layer(wrapper) for wrapper in reversed(kept)])


def _taken_apart(env: Any) -> tuple[list[Any], Any]:
    """Give the wrappers, from the outside, and what they wrap."""
    import gymnasium

    wrappers = []
    while isinstance(env, gymnasium.Wrapper):
        wrappers.append(env)
        env = env.env
    return wrappers, env


def _simulator(env: Any) -> Simulator:
    module = f"{type(env).__module__}."
    for start, kind in _KNOWN:
        if module.startswith(start):
            return kind(env)
    if offers(env):
        return Offered(env)
    raise WrongType(
        f"frames cannot be made again: the state of {type(env).__name__} cannot be saved. It can be of Atari games, "
        f"MuJoCo and classic control, and of environments with {_METHODS}. Record with frames='auto'"
    )
