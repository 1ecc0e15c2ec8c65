"""What is on the screen while an episode is played: the picture, and below it a bar and the figures."""

from __future__ import annotations

from playhead.cli.output import text_width
from playhead.cli.replay import cells
from playhead.cli.replay.playback import Playback
from playhead.cli.replay.screen import BADGE, BOLD, DIM, REVERSE, Piece, Screen, pieces_of
from playhead.cli.replay.terminal import Terminal
from playhead.export.film import Script

HELP = "space pause  ←→ step  ↑↓ speed  0-9 seek  home end  l loop  s save  q quit"


class View:
    """Draws on a terminal, each time only what has changed.

    Args:
        terminal: The terminal.
        script: What is shown.
        depth: How many colours there are.
    """

    def __init__(self, terminal: Terminal, script: Script, depth: str) -> None:
        self._screen = Screen(terminal, depth)
        self._script = script
        self._widths: dict[str, int] = {}
        for figure in (figure for figures in script.samples() for figure in figures):
            self._widths[figure.label] = max(self._widths.get(figure.label, 0), text_width(figure.text))

    def forget(self) -> None:
        """Draw everything next time: somebody else has used the screen."""
        self._screen.forget()

    def draw(self, playback: Playback, message: str) -> None:
        """Show a scene.

        Args:
            playback: Where the player is.
            message: A line instead of what the episode is.
        """
        scene = playback.scene
        self._screen.draw(
            scene, lambda: self._script.picture(scene), lambda columns: self._band(playback, message, columns)
        )

    def _band(self, playback: Playback, message: str, columns: int) -> list[str]:
        screen, scene = self._screen, playback.scene
        played = round(columns * playback.share)
        bar = [Piece("━" * played, "34"), Piece("─" * (columns - played), DIM)]
        title = Piece(message) if message else Piece(self._script.title, BOLD)
        ending, remark = self._script.ending(scene), self._script.remark(scene)
        badge = Piece(f" {ending} ", BADGE if screen.depth != cells.PLAIN else REVERSE)
        figures = self._figures(scene, columns - 4 - text_width(badge.text if ending else ""))
        return [
            screen.written(bar, columns),
            screen.spread([title], Piece(self._state(playback), DIM), columns, keeps_right=False),
            screen.spread(figures, badge if ending else Piece(remark, DIM), columns, keeps_right=bool(ending)),
        ]

    def _figures(self, scene: int, columns: int) -> list[Piece]:
        """Give the figures of a scene in their places; in a narrow window close together, or without the time."""
        figures = self._script.figures(scene)
        short = [figure for figure in figures if figure.label != "time"]
        ways = [pieces_of(figures, self._widths), pieces_of(figures, {}), pieces_of(short, {})]
        return next((way for way in ways if sum(text_width(piece.text) for piece in way) <= columns), ways[-1])

    def _state(self, playback: Playback) -> str:
        rate = "" if self._script.rate is None else f"{self._script.rate * playback.speed:.4g} fps"
        state = "end" if playback.is_over else "paused" if playback.is_paused else "playing"
        parts = [state, f"{playback.speed:g}x", rate, "loop" if playback.loops else "", "? help"]
        return "  ".join(part for part in parts if part)
