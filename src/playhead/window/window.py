"""The window: a picture, its figures, and a bar to move along what was recorded."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from pathlib import Path

from PySide6.QtCore import QElapsedTimer, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QFont, QKeySequence, QShortcut
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QMainWindow, QPushButton, QVBoxLayout, QWidget

from playhead import disk
from playhead.errors import PlayheadError
from playhead.export.film.figures import Figure
from playhead.export.images import png
from playhead.window import look
from playhead.window.bar import Bar
from playhead.window.deck import Deck
from playhead.window.picture import Picture
from playhead.window.timeline import Scene

_TICK_MS, _REFRESH_MS, _SAID_MS = 15, 1000, 3000
_PLACE_WIDTH = 130  # so that the bar does not change its length with the number beside it
_LIVE_EDGE = 0.999  # a hand that pulls the slider this far right wants to see what happens now
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def show(deck: Deck) -> None:
    """Open a window, and wait until it is closed."""
    app = QApplication.instance() or QApplication([])
    window = Window(deck)
    window.show()
    app.exec()


class Window(QMainWindow):
    """Shows a deck.

    Args:
        deck: What is shown.
    """

    def __init__(self, deck: Deck) -> None:
        super().__init__()
        self.deck = deck
        self.setWindowTitle("Playhead")
        self.setStyleSheet(look.STYLE)
        self._picture, self._bar = Picture(), Bar()
        self._title, self._remark = _label("title"), _label("remark")
        self._figures, self._place = _label("figures"), _label("place")
        self._figures.setTextFormat(Qt.TextFormat.RichText)
        self._pause, self._live = QPushButton("Pause"), QPushButton("● Live")
        self._live.setObjectName("live")
        self._pause.setToolTip("Space")
        self._live.setToolTip("Show what happens now (L)")
        for button in (self._pause, self._live):
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # keys are those of the window
        self._pause.setMinimumWidth(76)
        self._lay_out()
        self._bar.moved.connect(self._hand_moved)
        self._pause.clicked.connect(self._toggle)
        self._live.clicked.connect(self._go_live)
        self._live.setVisible(deck.can_be_live)
        for key, does in self._keys():
            QShortcut(QKeySequence(key), self, does)
        self._since = QElapsedTimer()
        self._since.start()
        self._message = ""
        self._timer, self._refresher, self._saying = QTimer(self), QTimer(self), QTimer(self)
        self._timer.timeout.connect(self._tick)
        self._timer.start(_TICK_MS)
        self._refresher.timeout.connect(self._refresh)
        self._refresher.start(_REFRESH_MS)
        self._saying.setSingleShot(True)
        self._saying.timeout.connect(lambda: self._say(""))
        self.draw()

    def _lay_out(self) -> None:
        head, foot = QWidget(), QWidget()
        head.setObjectName("head")
        foot.setObjectName("bar")
        for panel in (head, foot):
            panel.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        top = QHBoxLayout(head)
        top.setContentsMargins(16, 10, 16, 10)
        top.addWidget(self._title)
        top.addStretch(1)
        top.addWidget(self._remark)
        mono = QFont("monospace")
        mono.setStyleHint(QFont.StyleHint.Monospace)
        self._place.setFont(mono)
        self._place.setMinimumWidth(_PLACE_WIDTH)
        self._place.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        moves = QHBoxLayout()
        moves.setSpacing(10)
        for part in (self._pause, self._bar, self._place, self._live):
            moves.addWidget(part, 1 if part is self._bar else 0)
        bottom = QVBoxLayout(foot)
        bottom.setContentsMargins(16, 10, 16, 12)
        bottom.setSpacing(6)
        bottom.addWidget(self._figures)
        bottom.addLayout(moves)
        whole = QVBoxLayout()
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(head)
        whole.addWidget(self._picture, 1)
        whole.addWidget(foot)
        middle = QWidget()
        middle.setLayout(whole)
        self.setCentralWidget(middle)

    def _keys(self) -> list[tuple[str, Callable[[], object]]]:
        return [
            ("Space", self._toggle),
            ("Left", lambda: self._step(-1)),
            ("Right", lambda: self._step(1)),
            ("Shift+Left", lambda: self._step(-10)),
            ("Shift+Right", lambda: self._step(10)),
            ("Up", lambda: self._change_speed(True)),
            ("Down", lambda: self._change_speed(False)),
            ("Home", lambda: self._seek(0)),
            ("End", self._go_to_end),
            ("L", self._go_live),
            ("S", self._save),
            ("Q", self.close),
            ("Ctrl+W", self.close),
            ("Esc", self.close),
        ]

    # -- time -------------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        seconds = self._since.restart() / 1000
        try:
            if self.deck.advance(min(seconds, 0.5)):
                self.draw()
        except (PlayheadError, OSError) as error:
            self._stop_with(error)

    def _refresh(self) -> None:
        try:
            self.deck.refresh()
        except (PlayheadError, OSError) as error:
            self._stop_with(error)
            return
        self._live.setVisible(self.deck.can_be_live)
        self._draw_place()

    def _stop_with(self, error: Exception) -> None:
        """Stand still, and say what went wrong; the window stays, and a hand may go elsewhere."""
        self.deck.is_paused = True
        self._picture.show_message(str(error))
        self._draw_place()

    # -- hands ------------------------------------------------------------------------------------------------------

    def _hand_moved(self, share: float) -> None:
        if share >= _LIVE_EDGE and self.deck.can_be_live:
            self._go_live()
        else:
            self._seek(round(share * max(0, len(self.deck.timeline) - 1)))

    def _seek(self, place: int) -> None:
        self.deck.seek(place)
        self.draw()

    def _step(self, by: int) -> None:
        self.deck.step(by)
        self.draw()

    def _go_to_end(self) -> None:
        if self.deck.can_be_live:
            self._go_live()
        else:
            self._seek(len(self.deck.timeline) - 1)

    def _toggle(self) -> None:
        self.deck.toggle()
        self.draw()

    def _go_live(self) -> None:
        self.deck.go_live()
        self.deck.advance(0.0)
        self.draw()

    def _change_speed(self, up: bool) -> None:
        self.deck.change_speed(up)
        self._say(f"{self.deck.speed:g}x")

    def _save(self) -> None:
        """Write the picture beside the program that shows it."""
        scene = self.deck.scene()
        if scene is None:
            self._say("there is no picture yet")
            return
        target = Path(f"{_UNSAFE.sub('-', scene.name).strip('.-') or 'frame'}.png")
        try:
            disk.create(target, png(scene.picture))
        except FileExistsError:
            self._say(f"{target} is there already")
        except OSError as error:
            self._say(f"{target} cannot be written: {error.strerror}")
        else:
            self._say(f"saved {target}")

    def _say(self, message: str) -> None:
        self._message = message
        if message:
            self._saying.start(_SAID_MS)
        self._draw_remark("")
        if not message:
            self.draw()

    # -- drawing ----------------------------------------------------------------------------------------------------

    def draw(self) -> None:
        """Show the scene that the deck is at."""
        try:
            scene = self.deck.scene()
        except (PlayheadError, OSError) as error:
            self._stop_with(error)
            return
        if scene is None:
            self._picture.show_message("Waiting for the first frame" if self.deck.is_live else "Nothing was recorded")
            self._title.setText("")
            self._figures.setText("")
        else:
            self._picture.show_picture(scene.picture)
            self._title.setText(scene.title)
            self._figures.setText(_written(scene.figures))
        self._draw_remark("" if scene is None else scene.remark)
        self._draw_place()

    def _draw_remark(self, remark: str) -> None:
        self._remark.setText(self._message or remark)

    def _draw_place(self) -> None:
        deck = self.deck
        last = max(1, len(deck.timeline) - 1)
        marks = [start / last for start in deck.timeline.boundaries]
        self._bar.set_state(deck.place / last, marks, is_live=deck.is_live)
        recorded = f"{max(0, len(deck.timeline) - 1):,}"
        place = recorded if deck.is_live else f"{deck.place:,} / {recorded}"
        self._place.setText(place)
        self._pause.setText("Play" if deck.is_paused else "Pause")
        self._live.setProperty("now", "true" if deck.is_live else "false")
        self._live.style().polish(self._live)

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802  Qt's name
        """Let time stand still."""
        for timer in (self._timer, self._refresher, self._saying):
            timer.stop()
        super().closeEvent(event)


def _label(name: str) -> QLabel:
    label = QLabel()
    label.setObjectName(name)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
    return label


def _written(figures: list[Figure]) -> str:
    parts = [
        f'<span style="color:{look.MUTED}">{escape(figure.label)}</span>&nbsp;'
        f'<span style="color:{look.TONES[figure.tone]}">{escape(figure.text)}</span>'
        for figure in figures
    ]
    return "&nbsp;&nbsp;&nbsp;&nbsp;".join(parts)


__all__ = ["Scene", "Window", "show"]
