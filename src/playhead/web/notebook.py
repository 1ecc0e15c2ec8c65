"""The page within a notebook: a server in this process, and a frame that shows it."""

from __future__ import annotations

import threading
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playhead import layout, opening
from playhead.episode import DiskEpisode
from playhead.errors import MissingExtra, NotFound, WrongType
from playhead.replay import ReplayEpisode
from playhead.run import Run
from playhead.store import Store

try:
    from playhead.web.app import make_app
    from playhead.web.server import Background
except ModuleNotFoundError as error:
    raise MissingExtra(error.name or "starlette", "web") from error

_servers: dict[Path, Background] = {}
_turn = threading.Lock()


class Shown:
    """A page of a store, shown by notebooks as a frame.

    Attributes:
        address: Where it is; on this machine alone, and as long as this process lives.
    """

    def __init__(self, address: str, height: int) -> None:
        self.address = address
        self._height = height

    def _repr_html_(self) -> str:
        style = "width: 100%; border: 1px solid #ccc; border-radius: 6px"
        address = escape(self.address)
        frame = f'<iframe src="{address}" height="{self._height:d}" style="{style}" allowfullscreen></iframe>'
        return f'{frame}<div><a href="{address}" target="_blank">{address}</a></div>'

    def __repr__(self) -> str:
        return f"<Shown {self.address}>"


def show(thing: Store | Run | Any, *, height: int = 720) -> Shown:
    """Show a store, a run or an episode in the page, within a notebook.

    The first call for a store starts a server on loopback, which lives as long as this process.

    Args:
        thing: What to show.
        height: Of the frame, in pixels.

    Raises:
        NotFound: The episode does not lie in a store.
        WrongType: It is none of these.
    """
    root, path = _place_of(thing)
    return Shown(_address_of(root.resolve()) + path, height)


def _address_of(root: Path) -> str:
    with _turn:
        if root not in _servers:
            _servers[root] = Background(make_app(opening.open(root, mode="r")))
            _servers[root].start()
        return _servers[root].address


def _place_of(thing: Any) -> tuple[Path, str]:
    if isinstance(thing, Store):
        return thing.path, ""
    if isinstance(thing, Run):
        return _root_of(thing.path), f"run/{quote(thing.id, safe='')}"
    if isinstance(thing, ReplayEpisode):
        return _root_of(Path(thing.meta["path"])), f"play/replay/{quote(thing.id, safe='')}"
    if isinstance(thing, DiskEpisode):
        root = _root_of(thing.path)
        name = layout.dataset_of(thing.path, root)
        return root, f"play/dataset/{quote(name, safe='')}/{quote(thing.uid or '', safe='')}"
    raise WrongType(f"a store, a run or an episode can be shown, not {type(thing).__name__}")


def _root_of(path: Path) -> Path:
    root = layout.store_around(path.absolute())
    if root is None:
        raise NotFound(f"{path} does not lie in a store, and the page shows stores: record into one to see it there")
    return root
