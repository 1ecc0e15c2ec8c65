"""The window itself, drawn without a screen."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
pytest.importorskip("PySide6.QtWidgets", exc_type=ImportError)

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

import playhead
from playhead.window.deck import Deck
from playhead.window.timeline import Timeline
from playhead.window.window import Window
from tests.window.made import Now, frame, record


@pytest.fixture(scope="module")
def app() -> QApplication:
    found = QApplication.instance() or QApplication([])
    assert isinstance(found, QApplication)
    return found


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Timeline]:
    path = tmp_path_factory.mktemp("window") / "store"
    run_id = record(path)
    with playhead.open(path, "r") as store:
        yield Timeline.of_run(store.runs[run_id])


@pytest.fixture
def now() -> Now:
    return Now()


@pytest.fixture
def window(app: QApplication, line: Timeline, now: Now) -> Iterator[Window]:
    made = Window(Deck(lambda: line, now))
    made.resize(700, 600)
    made.show()
    yield made
    made.close()


def pixels(window: Window) -> np.ndarray:
    """Give what is drawn of the picture."""
    image = window._picture.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).copy()  # before the image goes


def middle(window: Window) -> list[int]:
    found = pixels(window)
    return found[found.shape[0] // 2, found.shape[1] // 2].tolist()


def test_it_begins_live(window: Window, app: QApplication) -> None:
    window._tick()
    assert window.deck.is_live
    assert middle(window) == [200, 200, 200]
    assert "live" in window._title.text()
    assert window._live.isVisible()


def test_pulling_the_slider_back_shows_what_was_recorded(window: Window, line: Timeline) -> None:
    bar = window._bar
    QTest.mouseClick(bar, Qt.MouseButton.LeftButton, pos=QPoint(10, bar.height() // 2))
    assert (window.deck.is_live, window.deck.place) == (False, 0)
    assert middle(window) == frame(0, 0)[10, 8].tolist()
    QTest.mouseClick(bar, Qt.MouseButton.LeftButton, pos=QPoint(bar.width() - 1, bar.height() // 2))
    assert window.deck.is_live


def test_the_picture_keeps_its_proportions_and_its_pixels(window: Window) -> None:
    window._seek(6)
    found = pixels(window)
    inside = np.argwhere((found == frame(1, 1)[10, 8]).all(axis=2))
    tall, wide = inside.max(axis=0) - inside.min(axis=0) + 1
    assert abs(tall / wide - 20 / 16) < 0.05
    top, left = inside.min(axis=0)
    assert found[top, left + 1].tolist() in (frame(1, 1)[10, 8].tolist(), [255, 255, 255])
    assert (found == 255).all(axis=2).sum() > 4  # the one white pixel, enlarged and not blurred


@pytest.mark.parametrize(
    ("key", "place"), [(Qt.Key.Key_Home, 0), (Qt.Key.Key_Left, 2), (Qt.Key.Key_Right, 4), (Qt.Key.Key_Space, 3)]
)
def test_keys(window: Window, key: Qt.Key, place: int) -> None:
    window.activateWindow()
    assert QTest.qWaitForWindowActive(window)
    window._seek(3)
    QTest.keyClick(window, key)
    assert window.deck.place == place
    assert window.deck.is_paused == (key != Qt.Key.Key_Home)


def test_saving_the_picture(window: Window, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image

    monkeypatch.chdir(tmp_path)
    window._seek(2)
    window._save()
    (saved,) = tmp_path.glob("*.png")
    assert np.array_equal(np.asarray(Image.open(saved)), frame(0, 2))
    assert saved.name in window._remark.text()
    window._save()
    assert "already" in window._remark.text()


def test_a_program_that_dies(window: Window, now: Now, line: Timeline) -> None:
    now.alive = False
    window._refresh()
    assert not window._live.isVisible()
    assert window.deck.place == len(line) - 1


def test_what_goes_wrong_is_said_in_the_window(app: QApplication) -> None:
    def broken(_: int) -> playhead.Episode:
        raise playhead.NotFound("no such episode any more")

    window = Window(Deck(lambda: Timeline([3], broken)))
    window._tick()
    assert window._picture._message == "no such episode any more"
    assert window.deck.is_paused
    window.close()
