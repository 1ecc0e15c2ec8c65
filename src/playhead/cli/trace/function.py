"""The function of `--step module:function`: all that is ever imported for a trace, since the user named it."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from playhead.trace.identity import Step

_HINT = "'--step'"


def load(text: str) -> Step:
    """Import the function that a text names; modules of the current folder are found too.

    Raises:
        click.BadParameter: There is no such module or function, or it cannot be called.
    """
    module_name, colon, name = text.partition(":")
    if not colon or not module_name or not name:
        raise click.BadParameter(f"write MODULE:FUNCTION, such as train:update, not {text!r}.", param_hint=_HINT)
    found: Any = _module(module_name)
    for part in name.split("."):
        if not hasattr(found, part):
            known = ", ".join(one for one in vars(found) if not one.startswith("_") and callable(vars(found)[one]))
            raise click.BadParameter(
                f"{module_name} has no {name!r}{f'; it has: {known[:200]}' if known else ''}.", param_hint=_HINT
            )
        found = getattr(found, part)
    if not callable(found):
        raise click.BadParameter(f"{text} cannot be called: it is of type {type(found).__name__}.", param_hint=_HINT)
    return found  # type: ignore[no-any-return]


def _module(name: str) -> Any:
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)  # and it stays there: the function may import more when it is called
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise click.BadParameter(f"no module {name!r} here or among what is installed.", param_hint=_HINT) from None
        raise click.BadParameter(f"importing {name} failed: {error}.", param_hint=_HINT) from error
    except (ImportError, SyntaxError, TypeError, ValueError) as error:
        raise click.BadParameter(
            f"importing {name} failed: {type(error).__name__}: {error}.", param_hint=_HINT
        ) from error
