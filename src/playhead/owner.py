"""Whose a sealed file is: the file says it where its checksum covers it, and readers compare it.

A file that is whole may still be the wrong one: a copy that went into the wrong folder, a script that renames. So each
sealed file holds an `owner`: plain JSON fields such as `{"episode": uid, "signal": name}`. Files of other programs and
of earlier versions have none: readers take them by their names.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from playhead.errors import Misplaced

FIELD = "owner"
REMEDY = "Put the files back under their own names, or restore them from a copy of the store"

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose a file should be, by the place where it is.

    Attributes:
        fields: What the file must say; a field that is not here is not compared.
        must_say: Whether the file was sealed with an owner, so that one without an owner is another file.
        also: Fields of which any is right, too.
        remedy: What to do about a file that is another's.
    """

    fields: Fields
    must_say: bool = False
    also: tuple[Fields, ...] = ()
    remedy: str = REMEDY

    def check(self, path: str | os.PathLike[str], said: object) -> bool:
        """Compare whose a file says it is with whose it should be; return whether it says so.

        Args:
            path: The file.
            said: Its `owner`; None if it has none.

        Raises:
            Misplaced: The file is another's.
        """
        if said is None and not self.must_say:
            return False
        if not any(fits(said, fields) for fields in (self.fields, *self.also)):
            raise Misplaced(path, f"a file of {spelled(self.fields)}", _found(said, self.fields), self.remedy)
        return True


def check(path: str | os.PathLike[str], said: object, due: Fields) -> bool:
    """Compare whose a file says it is with whose it should be; see `Owner.check`. It need not say so."""
    return Owner(due).check(path, said)


def spelled(said: Fields) -> str:
    """Spell whose a file is, for people."""
    return ", ".join(f"{name} {str(value)[:200]!r}" for name, value in said.items())


def _found(said: object, due: Fields) -> str:
    if said is None:
        return "one that does not say whose it is"
    return f"one of {spelled({name: said.get(name) for name in due})}" if isinstance(said, dict) else repr(said)[:200]


def fits(said: object, fields: Fields) -> bool:
    """Return whether what a file says is what it must say; a name may be spelled in another form of Unicode."""
    if said == fields:
        return True
    if not isinstance(said, dict):
        return False
    return all(said.get(name) == value or _is_same_name(said.get(name), value) for name, value in fields.items())


def _is_same_name(said: object, name: object) -> bool:
    """Return whether a text is the name of a file as a file system, or a process with another locale, spells it."""
    if not isinstance(said, str) or not isinstance(name, str):
        return False
    return unicodedata.normalize("NFC", name) == unicodedata.normalize("NFC", said) or (
        name.encode("utf-8", "surrogateescape") == said.encode("utf-8", "surrogateescape")
    )
