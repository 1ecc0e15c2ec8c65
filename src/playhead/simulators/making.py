"""An environment made again from what a reel says of it. A reel may come from a stranger.

Nothing that it names is imported. Its id counts only where Gymnasium's own registry has it from Gymnasium itself or
from ale-py, and what it is made with only where that is numbers, truth values and single words: nothing that could name
a file.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping
from typing import Any

from playhead.errors import MissingExtra, PlayheadError, WrongType
from playhead.simulators.finding import find
from playhead.simulators.rig import ARGUMENTS, ID, RENDER_MODE, WRAPPERS, Rig
from playhead.simulators.wrappers import MEMORIES, PLAIN

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,47}")
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,47}")
_FILES = ("file", "path", "xml", "folder", "dir", "model")
_TRUSTED = ("gymnasium.envs.", "ale_py.", "ale_py:")
_MOST_NUMBERS = 16
_MOST_WRAPPERS = 32
_MOST_SHOWN = 80  # characters of an id in a message

# Between which numbers an argument lies, where one beyond them would take all memory, or never come to an end.
_BOUNDS = {
    "frame_skip": (1, 256),
    "frameskip": (1, 256),
    "height": (1, 4096),
    "max_geom": (1, 1 << 20),
    "noop_max": (0, 10_000),
    "repeat_action_probability": (0, 1),
    "screen_size": (1, 4096),
    "shape": (1, 1 << 26),
    "skip": (1, 256),
    "stack_size": (1, 256),
    "width": (1, 4096),
}
_UNABLE = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
_RENDERED = (None, "rgb_array", "rgb_array_list")
_WINDOW = "human"
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
    if arguments.get(RENDER_MODE) == _WINDOW:  # what was seen then were observations; nobody wants a window now
        arguments[RENDER_MODE] = None
    if arguments.get(RENDER_MODE) not in _RENDERED:
        raise WrongType(
            f"the environment {env_id!r} renders as {arguments[RENDER_MODE]!r}, which is no picture. {_OWN}"
        )
    layers = [(name, checked(given, f"the wrapper {name}")) for name, given in _listed(facts)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of versions that are out of date: it is the one that was recorded
        try:
            env = gymnasium.make(env_id, max_episode_steps=-1, disable_env_checker=True, **arguments)
            for name, given in layers:
                env = getattr(gymnasium.wrappers, name)(env, **given)
            return started(env)
        except PlayheadError:
            raise
        except gymnasium.error.DependencyNotInstalled as error:
            raise WrongType(f"the environment {env_id!r} cannot be made here: {error}") from error
        except (gymnasium.error.Error, *_UNABLE) as error:
            told = f"{type(error).__name__}: {error}"
            raise WrongType(f"the environment {env_id!r} cannot be made as its reel says: {told}. {_OWN}") from error


def started(env: Any) -> Rig:
    """Make an environment ready to be restored: without wrappers that only count, and reset once."""
    rig = find(env, bare=True)
    rig.env.reset(seed=0)
    return rig


def _checked_id(gymnasium: Any, env_id: Any) -> str:
    if not isinstance(env_id, str) or ":" in env_id:
        raise WrongType(f"the reel does not name a registered environment, but {str(env_id)[:_MOST_SHOWN]!r}. {_OWN}")
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
        shown = env_id[:_MOST_SHOWN]
        raise WrongType(f"the environment {shown!r} comes neither from Gymnasium nor from ale-py. {_OWN}")
    return env_id


def is_list_of_wrappers(found: Any) -> bool:
    """Tell whether what a reel says of the wrappers is names with their arguments, whatever those are."""
    return isinstance(found, list) and all(isinstance(one, (list, tuple)) and len(one) == 2 for one in found)


def _listed(facts: Mapping[str, Any]) -> list[tuple[str, Any]]:
    listed = facts.get(WRAPPERS, [])
    found = [(name, given) for name, given in listed] if is_list_of_wrappers(listed) else [("?", {})]
    if len(found) > _MOST_WRAPPERS:
        raise WrongType(f"the reel names {len(found)} wrappers around its environment. {_OWN}")
    for name, _ in found:
        if not isinstance(name, str) or (name not in PLAIN and name not in MEMORIES):
            raise WrongType(f"the wrapper {name!r} is none of Gymnasium's that a file may name. {_OWN}")
    return found


def checked(arguments: Any, what: str) -> dict[str, Any]:
    """Take arguments that a file gives.

    Raises:
        WrongType: One of them could be anything but a number or a word.
    """
    if not isinstance(arguments, Mapping):
        raise WrongType(f"{what} has no arguments by name. {_OWN}")
    found = {name: _harmless(name, value, what) for name, value in arguments.items()}
    for name, (least, most) in _BOUNDS.items():
        if not _is_within(found.get(name), least, most):
            raise WrongType(
                f"{what} is made with {name}={found[name]!r}; from a file, {least} to {most} are taken. {_OWN}"
            )
    return found


def _is_within(value: Any, least: int, most: int) -> bool:
    numbers = value if isinstance(value, tuple) else () if value is None else (value,)
    is_each = all(isinstance(one, (int, float)) and least <= one <= most for one in numbers)
    return is_each and math.prod(numbers) <= max(most, 1 << 26)


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
