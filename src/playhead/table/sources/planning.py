"""What a caller gives to build a table of, and what there is to read in it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from playhead.catalog.tables import EPISODE, GAME
from playhead.dataset import Dataset, LocalDataset
from playhead.episode import Episode
from playhead.errors import Empty, NotFound, WrongType
from playhead.paths import as_path
from playhead.replays import RunEpisodes
from playhead.run import Run
from playhead.runs import Runs
from playhead.table import games
from playhead.table.sources import arrays, episodes, tables
from playhead.table.sources.arrays import ArrayItem
from playhead.table.sources.contract import Columns, Item, Plan
from playhead.table.sources.episodes import EpisodeItem
from playhead.table.sources.game_files import GameFile
from playhead.table.sources.picking import Picked, first_rows, is_made, picked_type
from playhead.table.sources.recorded import Recorded, of_kind
from playhead.table.sources.tables import TableItem
from playhead.table.table import Table

_KINDS = ", ".join([*games.SUFFIXES, *arrays.SUFFIXES])


@dataclass(frozen=True)
class Options:
    """How a source is read; see `playhead.table.building.build`."""

    columns: Columns | None = None
    where: str | None = None
    at: str | None = None
    rate: float | None = None
    branches: str = games.REQUIRE
    widen: bool = False
    episodes: str | None = None


def plan(source: Any, options: Options) -> Plan:
    """Look at a source, and decide what is read.

    Raises:
        NotFound: There is nothing of this kind.
        WrongType: No rows can be made of it.
    """
    if isinstance(source, (str, os.PathLike)):
        return _of_path(as_path(source), options)
    if isinstance(source, Table):
        _no_times(options, "a table")
        return _of_tables([source], options)
    found = _episodes(source, options)
    if found is not None:
        return _of_episodes([found[0]], found[1], options)
    if isinstance(source, (np.ndarray, Mapping)) or hasattr(source, "schema"):
        held = arrays.columns_of(source)
        size = sum(getattr(value, "nbytes", 0) for value in held.values())
        return _of_arrays([ArrayItem("arrays in memory", held, size)], options)
    if isinstance(source, Iterable):
        return _of_several(list(source), options)
    raise WrongType(f"rows cannot be made of {type(source).__name__}; see the guide to tables for what can be a source")


def _of_several(several: list[Any], options: Options) -> Plan:
    if not several:
        raise Empty("an empty list was given; there is nothing to build of")
    if all(isinstance(one, (str, os.PathLike)) for one in several):
        paths = list(map(as_path, several))
        if all(_is_games(path) for path in paths):
            return _of_games([file for path in paths for file in games.find(path)], options)
        if all(path.suffix in arrays.SUFFIXES for path in paths):
            return _of_files(paths, options)
        raise WrongType("files of one kind make a table: games of 2048, or arrays; these are of several, or of none")
    if all(isinstance(one, Table) for one in several):
        _no_times(options, "a table")
        return _of_tables(several, options)
    if all(isinstance(one, Episode) for one in several):
        return _of_episodes([several], options.where, options)
    if all(isinstance(one, (Run, Runs, Dataset)) for one in several):
        parts = [_episodes(one, options) for one in several]
        where = options.where if any(isinstance(one, Dataset) for one in several) else None
        return _of_episodes([part[0] for part in parts if part is not None], where, options)
    raise WrongType("a list holds files, episodes, runs, datasets or tables, and only one of these")


# -- paths -------------------------------------------------------------------------------------------------------------


def _of_path(path: Path, options: Options) -> Plan:
    if not path.exists():
        raise NotFound(f"there is nothing at {path}")
    if path.is_file():
        if path.suffix in arrays.SUFFIXES:
            return _of_files([path], options)
        if path.suffix not in games.SUFFIXES:
            raise WrongType(f"{path} cannot be read: files end in {_KINDS}")
        return _of_games([path], options)
    if (path / "metadata.db").exists():
        _no_times(options, "a table")
        return _of_tables([tables.opened(path)], options)
    if (path / "playhead.json").exists():
        raise WrongType(f"{path} is a store: open it, and give the store, its runs or a dataset of it")
    if found := games.find(path):
        return _of_games(found, options)
    if files := sorted(file for file in path.iterdir() if file.suffix in arrays.SUFFIXES):
        return _of_files(files, options)
    dataset = LocalDataset(path)
    if len(dataset):
        return _of_episodes([dataset.edited], options.where, options)
    raise NotFound(f"nothing in {path} can be read: there are no files that end in {_KINDS}, and no episodes")


def _is_games(path: Path) -> bool:
    return path.suffix in games.SUFFIXES or (path.is_dir() and bool(games.find(path)))


def _no_times(options: Options, what: str) -> None:
    if options.at is not None or options.rate is not None:
        raise WrongType(f"at= and rate= choose rows of episodes; {what} has its rows")


# -- each kind ---------------------------------------------------------------------------------------------------------


def _of_games(files: Sequence[Path], options: Options) -> Plan:
    _no_times(options, "a game")
    items: list[Item] = [GameFile(file, options.branches) for file in files]
    native = games.step_dtype(widen=options.widen)
    return _picked(Plan(native, GAME, items, {"branches": options.branches}, where=options.where), options.columns)


def _of_files(files: Sequence[Path], options: Options) -> Plan:
    missing = [path for path in files if not path.is_file()]
    if missing:
        raise NotFound(f"{missing[0]} is missing")
    return _of_arrays([ArrayItem(os.fspath(path), path, path.stat().st_size) for path in files], options)


def _of_arrays(items: list[ArrayItem], options: Options) -> Plan:
    _no_times(options, "an array")
    left_out: dict[str, str] = {}
    types = (arrays.native_type(item, left_out, widen=options.widen) for item in items)
    native = next((found for found in types if found is not None), None)
    if native is None:
        raise Empty("there are no rows: all arrays are empty")
    about = {"left_out": left_out} if left_out and options.columns is None else {}
    return _picked(Plan(native, EPISODE, items, about, where=options.where), options.columns)


def _of_tables(several: Sequence[Table], options: Options) -> Plan:
    first = several[0]
    items: list[Item] = [TableItem(table) for table in several]
    whole = Plan(first.dtype, tables.known_of_all(several), items, where=options.where)
    return _picked(whole, options.columns)


def _picked(whole: Plan, columns: Columns | None) -> Plan:
    if columns is None:
        return whole
    items = list(whole.items)
    sample = first_rows(items, whole.dtype) if is_made(columns) else None
    dtype = picked_type(whole.dtype, columns, sample)
    picked: list[Item] = [Picked(item, whole.dtype, columns) for item in items]
    return Plan(dtype, whole.known, picked, whole.about, whole.unit, whole.where)


def _of_episodes(parts: Sequence[Sequence[Episode]], where: str | None, options: Options) -> Plan:
    parts, kind, others = of_kind(parts, options.episodes)
    found = parts[0] if len(parts) == 1 else [episode for part in parts for episode in part]
    if not len(found):
        more = f"; others: {sum(others.values()):,}" if others else ""
        raise Empty(f"there are no {f'{kind} ' if kind else ''}episodes to build of{more}")
    try:
        reading, dtype, left_out = episodes.chosen(found, options.columns, options.at, options.rate)
    except NotFound as error:
        if not others:
            raise
        hint = f"Only the {kind} episodes were chosen; episodes={next(iter(others))!r} chooses the others"
        raise NotFound(f"{error}. {hint}") from error
    if options.columns is None:
        left_out |= episodes.seldom(found, {*reading.columns, *left_out})
    items: list[Item] = [EpisodeItem(found, place, reading) for place in range(len(found))]
    about = {"left_out": left_out, "episodes": kind, "left_out_episodes": others}
    return Plan(dtype, EPISODE, items, {name: said for name, said in about.items() if said}, "episodes", where)


def _episodes(source: Any, options: Options) -> tuple[Sequence[Episode], str | None] | None:
    """Give the episodes that a source means, and what is left to ask of them; None where it is something else."""
    if isinstance(source, Episode):
        return [source], options.where
    if isinstance(source, Dataset):
        return source, options.where
    if isinstance(source, RunEpisodes):
        return Recorded([source.run]), options.where
    if isinstance(source, Run):
        return Recorded([source]), options.where
    if isinstance(source, Runs):
        return Recorded(source(where=options.where) if options.where else source), None
    if isinstance(getattr(source, "runs", None), Runs):  # a store
        if options.where:
            return Recorded(source.runs(where=options.where)), None
        return Recorded(source.runs, [source.dataset(name) for name in source.datasets]), None
    return None
