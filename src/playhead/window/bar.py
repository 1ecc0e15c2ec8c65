"""The slider: the whole recording from left to right, episodes marked, and live at its right end."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from playhead.window import look

_HEIGHT, _GROOVE, _KNOB, _EDGE = 28, 4, 7, 10
_MOST_MARKS = 400  # beyond, they would be a grey band


class Bar(QWidget):
    """One line from the first step to now.

    Signals:
        moved: A hand chose a place, a share from 0 to 1.
    """

    moved = Signal(float)

    def __init__(self) -> None:
        super().__init__()
        self._share = 0.0
        self._marks: list[float] = []
        self._is_live = False
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAccessibleName("Place in the recording")

    def sizeHint(self) -> QSize:  # noqa: N802  Qt's name
        """Say how large it is."""
        return QSize(400, _HEIGHT)

    def set_state(self, share: float, marks: list[float], *, is_live: bool) -> None:
        """Show a place.

        Args:
            share: How much of the recording lies before it.
            marks: Where episodes begin, as shares.
            is_live: What happens now is shown.
        """
        self._share, self._is_live = max(0.0, min(1.0, share)), is_live
        self._marks = marks if len(marks) <= _MOST_MARKS else []
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802  Qt's name
        """Draw it."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        middle, left, width = self.height() / 2, float(_EDGE), float(self.width() - 2 * _EDGE)
        colour = QColor(look.LIVE if self._is_live else look.ACCENT)
        share = 1.0 if self._is_live else self._share
        for start, part, fill in ((0.0, 1.0, QColor(look.LINE)), (0.0, share, colour)):
            painter.setBrush(fill)
            groove = QRectF(left + width * start, middle - _GROOVE / 2, width * part, _GROOVE)
            painter.drawRoundedRect(groove, _GROOVE / 2, _GROOVE / 2)
        painter.setBrush(QColor(look.MUTED))
        for mark in self._marks:
            painter.drawRect(QRectF(left + width * mark - 0.5, middle + _GROOVE, 1, 5))
        painter.setBrush(colour)
        painter.drawEllipse(QPointF(left + width * share, middle), _KNOB, _KNOB)
        painter.setBrush(QColor(look.GROUND))
        painter.drawEllipse(QPointF(left + width * share, middle), _KNOB - 4, _KNOB - 4)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802  Qt's name
        """Go to where the hand is."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._move_to(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802  Qt's name
        """Follow the hand."""
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._move_to(event)

    def _move_to(self, event: QMouseEvent) -> None:
        share = (event.position().x() - _EDGE) / max(1.0, self.width() - 2 * _EDGE)
        self.moved.emit(max(0.0, min(1.0, share)))
