"""What is on the screen while a run is watched: the picture, which runs are live, and the figures."""

from __future__ import annotations

import click
import numpy as np

from playhead import live
from playhead.cli.output import text_width
from playhead.cli.replay import cells
from playhead.cli.replay.printing import print_picture
from playhead.cli.replay.screen import BADGE, BOLD, DIM, REVERSE, Piece, Screen, pieces_of
from playhead.export.film.figures import BAD, GOOD, PLAIN, Figure, number, one_line
from playhead.lanes.live.ring import Picture
from playhead.live import LiveFrame

_KEYS = "←→ run  space hold  q quit"
_NOTHING = np.zeros((1, 1, 3), np.uint8)
_WIDTHS = {"reward": 6, "return": 8, "rolling": 8, "steps/s": 8, "episode": 5, "step": 8}
_MOST_SHOWN = 24  # characters of the id of a run that is not the one shown


def print_once(run_id: str) -> None:
    """Print the newest frame of a run with its figures."""
    with live.LiveReader(run_id) as reader:
        found, state = reader.latest(), reader.state
    click.echo(f"{title_of(run_id, found)} · {state}")
    caption = "  ".join(f"{figure.label} {figure.text}" for figure in figures_of(found))
    print_picture(picture_of(found), caption)


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
        figures = pieces_of(figures_of(found), _WIDTHS)
        if sum(text_width(piece.text) for piece in figures) > columns - 4 - len(badge):
            figures = pieces_of(figures_of(found), {})
        right = Piece(f" {badge} ", look) if badge else Piece("")
        return [
            screen.written([Piece(" "), *_names(names, run_id)], columns),
            screen.spread([Piece(title_of(run_id, found), BOLD)], Piece(_KEYS, DIM), columns, keeps_right=False),
            screen.spread(figures, right, columns, keeps_right=bool(badge)),
        ]

    screen.draw((run_id, 0 if found is None else found.number), lambda: picture_of(found), band)


def title_of(run_id: str, found: LiveFrame | None) -> str:
    """Say what is shown: its environment and its run."""
    env_id = None if found is None else found.metadata.facts.get("env_id")
    return " · ".join(one_line(str(part)) for part in (env_id, run_id) if part)


def figures_of(found: LiveFrame | None) -> list[Figure]:
    """Give what is known beside a frame."""
    if found is None:
        return [Figure("nothing was published yet", "")]
    reward, rolling, rate = found.figures
    tone = GOOD if reward > 0 else BAD if reward < 0 else PLAIN
    about = found.metadata
    known = [
        ("return", about.episode_return),
        ("rolling", rolling),
        ("steps/s", round(rate) if rate >= 10 else rate),
        ("episode", about.episode),
        ("step", about.step),
    ]
    figures = [Figure(label, number(value)) for label, value in known if value is not None]
    return [Figure("reward", number(reward, signed=True), tone), *figures]


def picture_of(found: LiveFrame | None) -> Picture:
    """Give a frame in three colours."""
    if found is None:
        return _NOTHING
    picture = found.picture
    return np.repeat(picture, 3, axis=2) if picture.shape[2] == 1 else np.ascontiguousarray(picture[..., :3])


def _names(names: list[str], run_id: str) -> list[Piece]:
    pieces = []
    for place, name in enumerate(names, 1):
        is_shown = name == run_id
        short = name if is_shown or len(name) <= _MOST_SHOWN else f"{name[: _MOST_SHOWN - 1]}…"
        pieces.append(Piece(f"{place} {short}  ", BOLD if is_shown else DIM))
    return pieces
