"""An environment made again from what a reel says of it. A reel may come from a stranger.

Nothing that it names is imported. Its id counts only where Gymnasium's own registry has it from Gymnasium itself or
from ale-py, and what it is made with only where that is numbers, truth values and single words: nothing that could name
a file.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Any

from playhead.errors import MissingExtra, WrongType
from playhead.simulators.finding import find
from playhead.simulators.rig import ARGUMENTS, ID, WRAPPERS, Rig
from playhead.simulators.wrappers import MEMORIES, PLAIN

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,47}")
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,47}")
_FILES = ("file", "path", "xml", "folder", "dir", "model")
_TRUSTED = ("gymnasium.envs.", "ale_py.", "ale_py:")
_MOST_NUMBERS = 16
_OWN = "Say how it is made: playhead.integrations.gymnasium.resimulate(episode, make)"


def make(facts: Mapping[str, Any]) -> Rig:
    """Make the environment that a reel was recorded from, ready to be restored.

    Args:
        facts: What the reel says of it.

    Raises:
        WrongType: It is none that may be made from a file.
        MissingExtra: A package is not installed.
    """
    try:
        import gymnasium
    except ModuleNotFoundError as error:
        raise MissingExtra("gymnasium", "gym") from error
    env_id = _checked_id(gymnasium, facts.get(ID))
    arguments = checked(facts.get(ARGUMENTS, {}), f"the environment {env_id!r}")
    layers = [(name, checked(given, f"the wrapper {name}")) for name, given in _listed(facts)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of versions that are out of date: it is the one that was recorded
        try:
            env = gymnasium.make(env_id, max_episode_steps=-1, disable_env_checker=True, **arguments)
            for name, given in layers:
                env = getattr(gymnasium.wrappers, name)(env, **given)
        except gymnasium.error.DependencyNotInstalled as error:
            raise WrongType(f"the environment {env_id!r} cannot be made here: {error}") from error
        except (gymnasium.error.Error, TypeError, ValueError) as error:
            raise WrongType(f"the environment {env_id!r} cannot be made as its reel says: {error}. {_OWN}") from error
        return started(env)


def started(env: Any) -> Rig:
    """Make an environment ready to be restored: without wrappers that only count, and reset once."""
    rig = find(env, bare=True)
    rig.env.reset(seed=0)
    return rig


def _checked_id(gymnasium: Any, env_id: Any) -> str:
    if not isinstance(env_id, str) or ":" in env_id:
        raise WrongType(f"the reel does not name a registered environment, but {env_id!r}. {_OWN}")
    if env_id.startswith("ALE/"):
        try:
            import ale_py
        except ModuleNotFoundError as error:
            raise MissingExtra("ale_py", "gym") from error
        gymnasium.register_envs(ale_py)
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    spec = gymnasium.registry.get(env_id)
    point = None if spec is None else spec.entry_point
    if not isinstance(point, str) or not point.startswith(_TRUSTED):
        raise WrongType(f"the environment {env_id!r} comes neither from Gymnasium nor from ale-py. {_OWN}")
    return env_id


def _listed(facts: Mapping[str, Any]) -> list[tuple[str, Any]]:
    try:
        found = [(name, given) for name, given in facts.get(WRAPPERS, [])]
    except (TypeError, ValueError):
        found = [("?", {})]
    for name, _ in found:
        if name not in PLAIN and name not in MEMORIES:
            raise WrongType(f"the wrapper {name!r} is none of Gymnasium's that a file may name. {_OWN}")
    return found


def checked(arguments: Any, what: str) -> dict[str, Any]:
    """Take arguments that a file gives.

    Raises:
        WrongType: One of them could be anything but a number or a word.
    """
    if not isinstance(arguments, Mapping):
        raise WrongType(f"{what} has no arguments by name. {_OWN}")
    return {name: _harmless(name, value, what) for name, value in arguments.items()}


def _harmless(name: Any, value: Any, what: str) -> Any:
    is_named = isinstance(name, str) and _NAME.fullmatch(name) and not any(part in name for part in _FILES)
    if is_named and (value is None or isinstance(value, (bool, int, float))):
        return value
    if is_named and isinstance(value, str) and _WORD.fullmatch(value):
        return value
    is_list = isinstance(value, (list, tuple)) and len(value) <= _MOST_NUMBERS
    if is_named and is_list and all(isinstance(one, (bool, int, float)) for one in value):
        return tuple(value)
    raise WrongType(f"{what} is made with {name}={value!r}, which is not taken from a file. {_OWN}")
