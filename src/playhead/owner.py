"""Whose a sealed file is: said inside what the checksum of the file covers, and compared with the file's name.

A checksum says that a file is whole. It does not say that the file belongs where it lies. So each sealed file holds
`owner`, a few JSON fields such as its run and its name, and readers compare them when they open the file. Files of
earlier versions, and of other programs, have none: readers take them by their names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from playhead.errors import Damaged, Misplaced

FIELD = "owner"
REMEDY = "Put the files back under their own names, or restore them from a copy of the store"


def check(path: str | os.PathLike[str], said: Any, due: Mapping[str, Any], *, remedy: str = REMEDY) -> bool:
    """See that a file is the one that its name says; tell whether the file says whose it is.

    Args:
        path: The file, for messages.
        said: What the file says; None if it says nothing.
        due: What it has to say. Other fields are not compared.
        remedy: What to do about another file.

    Raises:
        Misplaced: It is another file.
        Damaged: What it says is not a JSON object.
    """
    if said is None:
        return False
    if not isinstance(said, dict):
        raise Damaged(path, "an object that says whose the file is", repr(said)[:200], "Restore it from a copy")
    if any(said.get(name) != value for name, value in due.items()):
        raise Misplaced(path, spelled(due), spelled({name: said.get(name) for name in due}), remedy)
    return True


def spelled(said: Mapping[str, Any]) -> str:
    """Spell whose a file is, for people."""
    return ", ".join(f"{name} {str(value)[:200]}" for name, value in said.items())
