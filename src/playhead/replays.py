"""The replays of a store: reels recorded under runs, their episodes, and what refs to them mean."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any, SupportsIndex, overload

import numpy as np

from playhead import disk, layout, run_seals, strictjson, tape
from playhead.catalog import replay as catalog_replay
from playhead.catalog.replay import VIEW_COLUMNS, EpisodeRow
from playhead.errors import BadSlice, Damaged, NotFound, StoreLocked, WrongType
from playhead.home import Home
from playhead.journal.writer import LOCK_FILE
from playhead.lanes.arrays import sealing
from playhead.lanes.arrays.config import ReplayConfig, check_config
from playhead.lanes.arrays.foreign import ForeignPart
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.writer import ReelWriter, forget_in_index
from playhead.ref import ROW, FrameRef, not_an_address
from playhead.replay import FrameResolver, ReplayEpisode
from playhead.signal import keys
from playhead.signal.listed import Listed
from playhead.tape import Crew

_MOST_INTEGER = (1 << 63) - 1  # of SQLite; a larger one lies there as text, and no reel has so many steps


def new_reel(
    home: Home,
    run_id: str,
    *,
    facts: Mapping[str, Any] | None = None,
    stacks: Mapping[str, int] | None = None,
    config: ReplayConfig | None = None,
    crew: Crew | None = None,
) -> ReelWriter:
    """Begin a reel of a run, or go on with the first one of the same facts that nobody records.

    Raises:
        ReadOnly: The store is open for reading.
        WrongType: If `config` is not a `ReplayConfig`.
    """
    home.check_writable("record")
    check_config(config)
    plain = dict(strictjson.plain(dict(facts or {})))
    for number in count():
        files = home.layout.replay.reel(layout.reel_id_of(run_id, number))
        if files.exist() and not _is_free(files, plain):
            continue
        try:
            return ReelWriter(files, config or ReplayConfig(), facts=plain, stacks=stacks, crew=crew)
        except StoreLocked:  # another process took it between the two looks
            continue
    raise AssertionError("numbers do not end")


def _is_free(files: layout.ReelFiles, facts: dict[str, Any]) -> bool:
    if tape.is_recorded(files.journal):
        return False
    with contextlib.closing(Reel(files)) as reel:
        if any(isinstance(part, ForeignPart) for part in reel.parts):
            return False
        return not any(any(part.lengths.values()) for part in reel.parts) or reel.facts == facts


class ReplayEpisodes(Sequence[ReplayEpisode]):
    """The episodes of some reels, as the catalogue lists them; each is opened when it is asked for."""

    def __init__(self, home: Home, rows: Sequence[tuple[str, EpisodeRow]]) -> None:
        self._home = home
        self._rows = list(rows)
        self._reels: dict[str, Reel] = {}

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def lengths(self) -> list[int]:
        """How many steps each has, as the catalogue says."""
        return [row.steps for _, row in self._rows]

    @overload
    def __getitem__(self, index: int) -> ReplayEpisode: ...
    @overload
    def __getitem__(self, index: slice) -> ReplayEpisodes: ...
    def __getitem__(self, index: int | slice) -> ReplayEpisode | ReplayEpisodes:
        """Give an episode, or some of them.

        Raises:
            OutOfRange: There are fewer.
            BadKey: It is neither a position nor a slice.
        """
        if isinstance(index, slice):
            try:
                return ReplayEpisodes(self._home, self._rows[index])
            except (TypeError, ValueError) as error:
                raise BadSlice(f"episodes cannot be sliced so: {error}") from None
        reel_id, row = self._rows[keys.one_position(index, len(self))]
        if reel_id not in self._reels:
            self._reels[reel_id] = Reel(self._home.layout.replay.reel(reel_id))
        return ReplayEpisode(self._reels[reel_id], row.number)

    def __repr__(self) -> str:
        steps = sum(row.steps for _, row in self._rows)
        return f"<Episodes: {len(self)}, {steps} steps>"


class RunEpisodes(Sequence[Any]):
    """The episodes of a run that recorded into datasets, and may have played too.

    Attributes:
        run: The run.
    """

    def __init__(self, run: Any, episodes: Iterable[Any]) -> None:
        self.run = run
        self._episodes = Listed(episodes)

    def __len__(self) -> int:
        return len(self._episodes)

    @overload
    def __getitem__(self, key: SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> list[Any]: ...
    def __getitem__(self, key: Any) -> Any:
        """Return an episode, or a list of those of a slice.

        Raises:
            OutOfRange: If there are fewer.
            BadKey: If the key is neither a position nor a slice.
            BadSlice: If the step of a slice is zero.
        """
        return self._episodes[key]

    def __repr__(self) -> str:
        return repr(self._episodes)


def of_run(home: Home, run: int) -> ReplayEpisodes:
    """List the episodes that agents played in a run, in order of their begin."""
    with home.database.read() as connection:
        return ReplayEpisodes(home, catalog_replay.episodes_of(connection, run))


def episode(home: Home, episode_id: str) -> ReplayEpisode:
    """Find an episode by its id.

    Raises:
        NotFound: There is none.
    """
    with home.database.read() as connection:
        found = catalog_replay.episode(connection, episode_id)
        if found is None:
            near = catalog_replay.like_episode(connection, str(episode_id).partition("-ep")[0])
            raise NotFound.among("episode", episode_id, near)
    return ReplayEpisodes(home, [found])[0]


def step_of(home: Home, ref: str) -> dict[str, Any]:
    """Give the step that an address belongs to, as the view `steps` spells it.

    Raises:
        BadRef: The text is no address.
        NotFound: There is no such step.
    """
    found = checked(ref)
    with home.database.read() as connection:
        row = catalog_replay.step_at(connection, found.run_id, min(found.index, _MOST_INTEGER))
        if row is None:
            known = catalog_replay.reel(connection, found.run_id)
            if known is None:
                raise NotFound(f"no replay {found.run_id!r} in this store")
            raise NotFound(f"no step {found.index} in {found.run_id}: there are {known.steps}")
        return _spelled([row])[0]


def checked(ref: str) -> FrameRef:
    """Read an address of a row.

    Raises:
        BadRef: The text is none.
    """
    found = FrameRef.parse(ref)
    if found is None:
        raise not_an_address(ref, ROW, of="step")
    return found


def recent_steps(home: Home, run: int, number: int, resolver: FrameResolver | None) -> list[dict[str, Any]]:
    """Give the newest steps of a run, oldest first; with a resolver, frames and observations are fetched."""
    if not isinstance(number, int) or number < 0:
        raise WrongType(f"the number of steps is a whole number, not {number!r}")
    with home.database.read() as connection:
        steps = _spelled(catalog_replay.recent_steps(connection, run, min(number, _MOST_INTEGER)))
    if resolver is not None:
        for name, ref in (("frame", "frame_ref"), ("observation", "obs_ref")):
            found = iter(resolver.resolve_batch([step[ref] for step in steps if step[ref] is not None]))
            for step in steps:
                step[name] = None if step[ref] is None else next(found)
    return steps


def _spelled(rows: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
    steps = [dict(zip(VIEW_COLUMNS, row, strict=True)) for row in rows]
    for step in steps:
        step["info"] = strictjson.restore(strictjson.decode(step["info"])) if step["info"] else {}
        step["terminated"], step["truncated"] = bool(step["terminated"]), bool(step["truncated"])
        if isinstance(step["action"], str):
            step["action"] = _action(step["action"])
        step["reward"] = np.nan if step["reward"] is None else step["reward"]
    return steps


def _action(text: str) -> Any:
    """Read an action that is no number of SQLite: JSON, or in a catalogue of an earlier version a text as it was."""
    if text.isdecimal() and int(text) > _MOST_INTEGER:
        return int(text)
    if text[:1] not in ("[", "{", '"'):
        return text
    try:
        found = strictjson.decode(text)
    except strictjson.JSONDecodeError:
        return text
    return found if isinstance(found, str) else strictjson.restore(found)  # "NaN" is a word here


def remove(home: Home, run_id: str) -> None:
    """Remove the files of all reels of a run, for good."""
    folder = home.layout.replay
    found = folder.reels_of(run_id)
    for reel_id in found:
        files = folder.reel(reel_id)
        disk.remove(files.file)
        for tree in (files.journal, files.parts):
            if tree.is_dir():
                disk.remove_tree(tree)
    if found:
        forget_in_index(folder, found)
        disk.sync_folder(folder.path)


def compact(home: Home) -> list[str]:
    """Seal what crashes left in journals; give the reels for which that was done.

    Raises:
        Damaged: A journal has a hole; it stays, and all others are sealed.
    """
    done, problems = seal_all(home)
    if problems:
        raise problems[0]
    return done


def seal_all(home: Home) -> tuple[list[str], list[Damaged]]:
    """Seal what crashes left in journals; give the reels for which that was done, and what is damaged and stays."""
    done, problems = [], []
    for reel_id in home.layout.replay.reels():
        files = home.layout.replay.reel(reel_id)
        if not files.journal.is_dir():
            continue
        with contextlib.suppress(FileNotFoundError), disk.locked(files.journal / LOCK_FILE, wait=False) as mine:
            if mine:
                try:
                    sealing.seal(files)
                    run_seals.note_reel(home, reel_id)
                    done.append(reel_id)
                except Damaged as problem:
                    problems.append(problem)
    return done, problems
