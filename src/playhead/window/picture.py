"""The picture in the middle of the window."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from playhead.export.film.pictures import RGB
from playhead.window import look

_SMALL = 256  # pixels of a side below which enlarging keeps the pixels sharp


class Picture(QWidget):
    """Shows one picture as large as there is room, in its own proportions."""

    def __init__(self) -> None:
        super().__init__()
        self._image: QImage | None = None
        self._message = ""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(240, 180)

    def sizeHint(self) -> QSize:  # noqa: N802  Qt's name
        """Say how large the picture would like to be."""
        return QSize(720, 540)

    def show_picture(self, picture: RGB) -> None:
        """Show a picture."""
        height, width = picture.shape[:2]
        data = np.ascontiguousarray(picture)
        self._image = QImage(data.data, width, height, 3 * width, QImage.Format.Format_RGB888).copy()
        self.update()

    def show_message(self, message: str) -> None:
        """Show a text instead."""
        self._image, self._message = None, message
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802  Qt's name
        """Draw it."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(look.GROUND))
        if self._image is None:
            painter.setPen(QColor(look.MUTED))
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self._message)
            return
        is_sharp = max(self._image.width(), self._image.height()) <= _SMALL
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, not is_sharp)
        painter.drawImage(self._frame(self._image), self._image)

    def _frame(self, image: QImage) -> QRect:
        size = image.size().scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
        corner = (self.width() - size.width()) // 2, (self.height() - size.height()) // 2
        return QRect(*corner, size.width(), size.height())
