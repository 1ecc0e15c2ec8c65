"""Games of 2048 as the programs of the 2048 seed record them: `.a2run2`, `.a2run`, `.a2pack` and `.dat` files.

for path in games.find(folder):
    for rows, runs in games.read(path, dtype=games.STEP):
        ...
games.restore(table, 7, "seven.a2run2")  # the file of a game again, of a table that was built of it
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from playhead.errors import NotFound, WrongType
from playhead.paths import GivenPath, as_path
from playhead.table.games import a2pack, a2run, a2run2, dat
from playhead.table.games.a2run2 import write_a2run2
from playhead.table.games.restoring import restore
from playhead.table.games.rows import COMPUTE, REQUIRE, STEP, Known, Place, Rows, check, legal_moves, step_dtype

__all__ = [
    "COMPUTE",
    "REQUIRE",
    "STEP",
    "SUFFIXES",
    "find",
    "legal_moves",
    "read",
    "restore",
    "step_dtype",
    "write_a2run2",
]

_ONE_GAME = {".a2run2": a2run2.decode, ".a2run": a2run.decode}
_PACKS = {".a2pack": a2pack.read, ".dat": dat.read}
SUFFIXES: tuple[str, ...] = (*_ONE_GAME, *_PACKS)


def find(path: GivenPath) -> list[Path]:
    """List the files of games: the file itself, or all in a folder and the folders in it.

    They are sorted by path, folder by folder, which is the order in which games get their ids. Folders behind links are
    not searched.

    Raises:
        NotFound: There is no such file or folder.
        WrongType: The file is not of games, by its name.
    """
    path = as_path(path)
    if path.is_file():
        if path.suffix not in SUFFIXES:
            raise WrongType(f"{path}: games of 2048 are in files that end in {', '.join(SUFFIXES)}")
        return [path]
    if not path.is_dir():
        raise NotFound(f"no games at {path}: there is no such file or folder")
    found = [Path(folder, name) for folder, _, names in os.walk(path) for name in names if name.endswith(SUFFIXES)]
    return sorted((one for one in found if one.is_file()), key=lambda one: [os.fsencode(part) for part in one.parts])


def read(path: GivenPath, *, dtype: np.dtype[Any], branches: str = REQUIRE) -> Iterator[tuple[Rows, list[Known]]]:
    """Give the games of a file, as rows and what is known of each game, a few hundred thousand rows at a time.

    The rows of several games lie one behind the other, a game is never parted, `step_index` is filled in and `run_id`
    is 0. Where a pack is damaged, an error may come after some of its games were given; those are whole.

    Args:
        path: The file.
        dtype: What `step_dtype` gives.
        branches: `require` refuses games without the values of their moves; `compute` keeps them, with the legal moves
            of each board, 1 for the chosen one and 0 for the others.

    Raises:
        NotFound: There is no such file.
        Damaged: It is not what its name says, is cut or was changed; names the place.
        WrongType: It has no branches, or a game of more moves than `step_index` numbers; says what to do.
        MissingExtra: The library for its checksum is not installed.
    """
    path = as_path(path)
    check(dtype, branches)
    suffix = path.suffix
    if suffix not in SUFFIXES:
        raise WrongType(f"{path}: games of 2048 are in files that end in {', '.join(SUFFIXES)}")
    try:
        if suffix in _PACKS:
            yield from _PACKS[suffix](path, dtype, branches)
            return
        data = path.read_bytes()
    except FileNotFoundError:
        raise NotFound(f"{path} is missing") from None
    except IsADirectoryError:
        raise WrongType(f"{path} is a folder; find() lists the files of games in it") from None
    is_first = data.startswith(a2run.BEGINNING)  # files of version 1 were renamed, and the programs take them so
    decode = a2run.decode if is_first else _ONE_GAME[suffix]
    rows, run = decode(data, Place(path), dtype, branches)
    yield rows, [run]
