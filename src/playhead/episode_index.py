"""The episodes of a store in its catalogue, as their folders say. Light: a command that lists runs loads it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from playhead import facts, strictjson
from playhead.catalog import episodes as catalog_episodes
from playhead.catalog.episodes import EpisodeFacts
from playhead.errors import Damaged, foreseen
from playhead.home import Home
from playhead.layout import DatasetFolder, EpisodeFolder, Layout


def reconcile(home: Home, name: str) -> None:
    """Bring the catalogue up to date with the folder of a dataset, of which some episodes may be new or gone."""
    folder = home.layout.dataset(name)
    with home.database.read() as connection:
        known = {row.number: row.finished for row in catalog_episodes.of_dataset(connection, name)}
    there = list(folder.numbers())
    changed = [number for number in there if not known.get(number, False)]
    gone = known.keys() - set(there)
    if changed or gone:
        update(home, name, [*changed, *gone])


def update(home: Home, name: str, numbers: Iterable[int]) -> None:
    """Bring the catalogue up to date with the folders of some episodes."""
    folder = home.layout.dataset(name)
    found: list[EpisodeFacts] = []
    gone: list[int] = []
    for number in numbers:
        facts_found = _facts(home.layout, name, folder, number)
        if facts_found is None:
            gone.append(number)
        else:
            found.append(facts_found)
    with home.database.write() as connection:
        catalog_episodes.put(connection, found)
        catalog_episodes.remove(connection, name, gone)


def behind(home: Home, name: str, numbers: Collection[int]) -> list[int]:
    """Return those of some episodes of which the catalogue does not say what their folders do."""
    folder = home.layout.dataset(name)
    with home.database.read() as connection:
        known = catalog_episodes.facts_of(connection, name, numbers)
    return [number for number in numbers if _facts(home.layout, name, folder, number) != known.get(number)]


def locate(home: Home, name: str, uid: str, number: int) -> int:
    """Return the number of the folder that an episode has now; folders may be moved by hand, and the uid decides.

    Args:
        home: The store.
        name: The dataset.
        uid: The episode.
        number: The number under which the catalogue knows it.
    """
    folder = home.layout.dataset(name)
    if _uid_in(folder, number) in (uid, None):
        return number
    found = next((one for one in folder.numbers() if _uid_in(folder, one) == uid), None)
    if home.database.mode == "a":
        update(home, name, {number, number if found is None else found})
    return number if found is None else found


def _uid_in(folder: DatasetFolder, number: int) -> str | None:
    """Return the uid that a folder says; None if it does not say one that can be read."""
    try:
        return _uid_of(facts.load(folder.episode(number).meta))
    except (Damaged, OSError):
        return None


def _uid_of(meta: dict[str, Any]) -> str | None:
    uid = meta.get("uid", f"ts-{meta['created_ts_ns']}" if "created_ts_ns" in meta else None)
    return None if uid is None else str(uid)


def _facts(layout: Layout, name: str, dataset: DatasetFolder, number: int) -> EpisodeFacts | None:
    folder = dataset.episode(number)
    if not folder.path.is_dir():
        return None
    try:
        with foreseen(folder.path):
            meta = facts.known(folder.meta, facts.EPISODE)
            static = facts.load(folder.static)
            signals = {signal: "video" if is_video else "vectors" for signal, is_video in folder.signals().items()}
    except Damaged:
        meta, static, signals = {}, {}, {}  # listed all the same; whoever opens it hears what is wrong
    if static and not _is_sealed_here(meta, folder):
        static = {}  # another episode's, perhaps: the catalogue must not learn it under this uid
    return EpisodeFacts(
        dataset=name,
        number=number,
        uid=_uid_of(meta),
        run_id=_text(meta.get("run_id")),
        folder=layout.relative(folder.path),
        created_ns=_integer(meta.get("created_ts_ns")),
        duration_ns=_integer(meta.get("span_ns", meta.get("duration_ns"))),
        finished=not folder.is_unfinished(),
        signals=strictjson.encode(signals).decode(),
        static=strictjson.encode(strictjson.plain(static)).decode(),
    )


def _is_sealed_here(meta: dict[str, Any], folder: EpisodeFolder) -> bool:
    from playhead.episode.seals import Seals

    try:
        Seals.among(meta).check_static(folder)
    except Damaged:
        return False
    return True


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63 else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def settle(home: Home, *, everywhere: bool = False) -> None:
    """Look again at the episodes that were not whole, and for the newest: their rows may have come too late.

    Args:
        home: The store.
        everywhere: Look for older ones without a row too. A recorder that met a rebuild leaves them: others recorded
            newer ones into the new catalogue, and this one could not.
    """
    if everywhere:
        for name in home.layout.datasets():
            reconcile(home, name)
        return
    with home.database.read() as connection:
        rows = catalog_episodes.unfinished(connection)
        newest = {name: catalog_episodes.newest(connection, name) for name in home.layout.datasets()}
    for row in rows:
        if not home.layout.dataset(row.dataset).episode(row.number).is_unfinished():
            update(home, row.dataset, [row.number])
    for name, known in newest.items():
        if known < home.layout.dataset(name).newest():
            update(home, name, [number for number in home.layout.dataset(name).numbers() if number > known])


def fill(home: Home) -> None:
    """Index every episode of every dataset into an empty catalogue."""
    for name in home.layout.datasets():
        update(home, name, home.layout.dataset(name).numbers())
