"""What is on the screen while a run is watched: the picture, which runs are live, and the figures."""

from __future__ import annotations

import click
import numpy as np

from playhead import live
from playhead.cli.output import text_width
from playhead.cli.replay import cells
from playhead.cli.replay.printing import print_picture
from playhead.cli.replay.screen import BADGE, BOLD, DIM, REVERSE, Piece, Screen, pieces_of
from playhead.export.film.figures import Figure
from playhead.export.film.pictures import RGB
from playhead.live import LiveFrame
from playhead.window.feed import figures_of, picture_of, title_of

_KEYS = "←→ run  space hold  q quit"
_NOTHING = np.zeros((1, 1, 3), np.uint8)
_WIDTHS = {"reward": 6, "return": 8, "rolling": 8, "steps/s": 8, "episode": 5, "step": 8}
_MOST_SHOWN = 24  # characters of the id of a run that is not the one shown


def print_once(run_id: str) -> None:
    """Print the newest frame of a run with its figures."""
    with live.LiveReader(run_id) as reader:
        found, state = reader.latest(), reader.state
    click.echo(f"{title_of(run_id, found)} · {state}")
    caption = "  ".join(f"{figure.label} {figure.text}" for figure in _figures_of(found))
    print_picture(_picture_of(found), caption)


def draw(
    screen: Screen, run_id: str, names: list[str], found: LiveFrame | None, state: str, *, is_held: bool = False
) -> None:
    """Show a frame.

    Args:
        screen: Where.
        run_id: The run.
        names: All that are live.
        found: Its frame; None where there is none yet.
        state: `live`, `quiet` or `ended`.
        is_held: The picture stays as it is.
    """

    def band(columns: int) -> list[str]:
        badge = "held" if is_held else "" if state == live.LIVE else state
        look = BADGE if screen.depth != cells.PLAIN else REVERSE
        figures = pieces_of(_figures_of(found), _WIDTHS)
        if sum(text_width(piece.text) for piece in figures) > columns - 4 - len(badge):
            figures = pieces_of(_figures_of(found), {})
        right = Piece(f" {badge} ", look) if badge else Piece("")
        return [
            screen.written([Piece(" "), *_names(names, run_id)], columns),
            screen.spread([Piece(title_of(run_id, found), BOLD)], Piece(_KEYS, DIM), columns, keeps_right=False),
            screen.spread(figures, right, columns, keeps_right=bool(badge)),
        ]

    screen.draw((run_id, 0 if found is None else found.number), lambda: _picture_of(found), band)


def _figures_of(found: LiveFrame | None) -> list[Figure]:
    return [Figure("nothing was published yet", "")] if found is None else figures_of(found)


def _picture_of(found: LiveFrame | None) -> RGB:
    return _NOTHING if found is None else picture_of(found)


def _names(names: list[str], run_id: str) -> list[Piece]:
    pieces = []
    for place, name in enumerate(names, 1):
        is_shown = name == run_id
        short = name if is_shown or len(name) <= _MOST_SHOWN else f"{name[: _MOST_SHOWN - 1]}…"
        pieces.append(Piece(f"{place} {short}  ", BOLD if is_shown else DIM))
    return pieces
