"""What the library says of arguments, as somebody types it in a shell."""

from __future__ import annotations

import re

import click

_PHRASES = {
    "; open it with mode='a' to make one": ". A recording makes one; --store PATH or PLAYHEAD_STORE names another",
    "; open it with mode='r' to read it": ", and this command changes it. Run it as somebody who may write there",
    "open the store with mode='r' to read it": "commands that only read still work",
    "filter(where) chooses runs by what is known, and filter(runs=…) by their ids": (
        "--where chooses runs by what is known, and --runs by their ids"
    ),
    "errors='skip'": "--skip",
}
# name=True, name='text', name=20, name={'new': 'old'}, or a bare `name=`
_ARGUMENT = re.compile(r"\b([a-z_]+)=(?:True|'([^']*)'|([\d.]*\d)|\{'([^']*)': '([^']*)'\}|(?=[ ,;.]|$))")


def as_typed(message: str, command: click.Command | None) -> str:
    """Return a message of the library with the options of a command instead of arguments of Python.

    Args:
        message: The message.
        command: The command that ran; None for none that is known.
    """
    for said, typed in _PHRASES.items():
        message = message.replace(said, typed)
    options = {one.name: max(one.opts, key=len) for one in command.params} if command is not None else {}

    def typed_option(found: re.Match[str]) -> str:
        name, text, number, new, old = found.groups()
        option = options.get(name, "")
        if not option.startswith("--"):
            return found[0]
        value = f"{new}={old}" if new else text or number or ""
        return f"{option} {value}".rstrip()

    return _ARGUMENT.sub(typed_option, message)
