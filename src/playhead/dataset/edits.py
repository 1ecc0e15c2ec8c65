"""Later facts about episodes, kept beside them: recordings are never touched.

`edits.jsonl` holds one JSON object a line, in order: `{"op": "set_static", "v": 1, "ep": uid, "data": {…}}`,
`{"op": "drop", "v": 1, "ep": uid}` or `{"op": "undrop", …}`. The last word on an item counts, and the last on whether
an episode is dropped. It lies in the folder of the dataset; one in the folder of an episode is read after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from playhead import disk, layout, strictjson
from playhead.dataset.contract import Dataset
from playhead.episode import DiskEpisode, Episode, items
from playhead.errors import Damaged, NotFound, WrongType
from playhead.layout import DatasetFolder, EpisodeFolder
from playhead.paths import GivenPath, as_folder
from playhead.signal import Signal

_VERSION = 1


class EditedEpisode(Episode):
    """An episode with edited items over the recorded ones.

    Args:
        episode: The recording.
        edits: The items.
    """

    def __init__(self, episode: Episode, edits: Mapping[str, Any]) -> None:
        self._episode = episode
        self._edits = dict(edits)

    @property
    def signals(self) -> Mapping[str, Signal[Any]]:
        """The signals, as recorded; one that an edit hides is refused when it is asked for."""
        hidden = set(self._edits) & set(self._episode.signals)
        return _Guarded(self._episode.signals, hidden) if hidden else self._episode.signals

    @property
    def static(self) -> dict[str, Any]:
        """The items with the edits applied."""
        return self._episode.static | self._edits

    @property
    def meta(self) -> dict[str, Any]:
        """Identity and provenance, as recorded."""
        return self._episode.meta

    @property
    def duration_ns(self) -> int:
        """The time from the first sample of all to the last."""
        return self._episode.duration_ns


class _Undecided(EditedEpisode):
    """An episode whose identity cannot be read in a dataset with edits: which of them are of it is not known.

    Args:
        episode: The recording.
        error: Why it cannot be read, raised if the items are asked for.
    """

    def __init__(self, episode: Episode, error: Damaged) -> None:
        super().__init__(episode, {})
        self._error = error

    @property
    def static(self) -> dict[str, Any]:
        """Nothing: nobody can say which items are edited."""
        raise self._error


class _Guarded(dict[str, Signal[Any]]):
    """Signals of which some share their name with an edited item: nobody could tell which is meant."""

    def __init__(self, signals: Mapping[str, Signal[Any]], hidden: set[str]) -> None:
        super().__init__(signals)
        self._hidden = hidden

    def __getitem__(self, name: str) -> Signal[Any]:
        if name in self._hidden:
            raise WrongType(f"an edit sets the static item {name!r}, which is also a signal; undo it in edits.jsonl")
        return super().__getitem__(name)


class EditedDataset(Dataset):
    """A dataset with its edits applied. Each edit is written down, and gives a new view; the old one stays as it is.

    Args:
        source: The recordings.
        folder: Where `edits.jsonl` lies.

    Raises:
        Damaged: A line cannot be understood; the message says which.
    """

    def __init__(self, source: Dataset, folder: GivenPath) -> None:
        self._source = source
        self._folder = DatasetFolder(as_folder(folder, "a dataset"))
        self._items: dict[str, dict[str, Any]] = {}
        self._dropped: set[str] = set()
        self._named: set[str] = set()
        self._read(self._folder.edits)
        self._kept: list[int] | None = None

    def _read(self, path: Path) -> None:
        try:
            lines = path.read_bytes().splitlines()
        except FileNotFoundError:
            return
        for number, line in enumerate(lines, 1):
            try:
                self._apply(path, strictjson.decode(line))
            except (strictjson.JSONDecodeError, WrongType) as error:
                raise Damaged(
                    f"{path}:{number}", "an edit", f"{line[:80]!r} ({error})", "Mend or remove the line"
                ) from error

    def _apply(self, path: Path, record: Any) -> None:
        match record:
            case {"op": "set_static", "v": 1, "ep": str(uid), "data": dict(data)}:
                self._named.add(uid)
                said = {name: items.from_json(path, item) for name, item in data.items()}
                self._items.setdefault(uid, {}).update(said)
            case {"op": "drop", "v": 1, "ep": str(uid)}:
                self._named.add(uid)
                self._dropped.add(uid)
            case {"op": "undrop", "v": 1, "ep": str(uid)}:
                self._dropped.discard(uid)
            case _:
                raise WrongType("no edit that this version knows")

    def _positions(self) -> list[int]:
        if self._kept is None:
            for episode in self._source if self._has_logs_in_folders() else ():
                if isinstance(episode, DiskEpisode):
                    self._read(EpisodeFolder(str(episode.path)).edits)
            self._kept = [
                position
                for position in range(len(self._source))
                if not self._dropped or self._source._uid_at(position) not in self._dropped
            ]
        return self._kept

    def _has_logs_in_folders(self) -> bool:
        return next(self._folder.path.glob(f"*/*/{layout.EDITS}"), None) is not None

    def __len__(self) -> int:
        return len(self._positions())

    def _episode_at(self, position: int) -> Episode:
        episode = self._source[self._positions()[position]]
        if not self._items:
            return episode
        try:
            edits = self._items.get(episode.uid or "")
        except Damaged as error:
            return _Undecided(episode, error)
        return EditedEpisode(episode, edits) if edits else episode

    @property
    def source(self) -> Dataset:
        """The recordings, without edits."""
        return self._source

    @property
    def edited_uids(self) -> frozenset[str]:
        """The uids of the episodes that edits are about, whether they are there or not."""
        self._positions()
        return frozenset(self._named)

    @property
    def dropped(self) -> frozenset[str]:
        """The uids of the episodes that are dropped."""
        self._positions()
        return frozenset(self._dropped)

    def set_static(self, uid: str, data: Mapping[str, Any]) -> Self:
        """Set items of an episode, over the recorded ones.

        Raises:
            NotFound: No episode has this uid.
            WrongType: An item cannot be kept as JSON.
        """
        if not isinstance(data, dict) or any(not isinstance(name, str) for name in data):
            raise WrongType(f"edited items are a dict of names to values, not {type(data).__name__}")
        said = {name: items.as_json(item, f"the edited item {name!r}") for name, item in data.items()}
        return self._write({"op": "set_static", "v": _VERSION, "ep": uid, "data": said})

    def drop(self, uid: str) -> Self:
        """Leave an episode out; its recording stays.

        Raises:
            NotFound: No episode has this uid.
        """
        return self._write({"op": "drop", "v": _VERSION, "ep": uid})

    def undrop(self, uid: str) -> Self:
        """Take an episode in again.

        Raises:
            NotFound: No episode has this uid.
        """
        return self._write({"op": "undrop", "v": _VERSION, "ep": uid})

    def _write(self, record: dict[str, Any]) -> Self:
        if not self._has(record["ep"]):
            raise NotFound(
                f"no episode with the uid {record['ep']!r} among the {len(self._source)} of {self._folder.path}"
            )
        disk.make_folders(self._folder.path)
        with disk.locked(self._folder.path):
            path = self._folder.edits
            log = path.read_bytes() if path.exists() else b""
            if log and not log.endswith(b"\n"):
                log += b"\n"
            disk.replace(path, log + strictjson.encode(record) + b"\n")  # whole, so that no line is ever torn
        return self._again()

    def _has(self, uid: str) -> bool:
        return any(self._source._uid_at(position) == uid for position in range(len(self._source)))

    def _again(self) -> Self:
        return type(self)(self._source, self._folder.path)
