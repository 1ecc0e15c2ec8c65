"""`playhead replay --qt`: a window opens on the episode, and the command ends when it is closed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
pytest.importorskip("PySide6.QtWidgets", exc_type=ImportError)

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from playhead.cli import program
from playhead.live import LiveWriter
from playhead.window.window import Window
from tests.window.made import LENGTHS, record


def test_a_window_opens_and_closes(tmp_path: Path) -> None:
    record(tmp_path / "store")
    app = QApplication.instance() or QApplication([])
    seen: list[tuple[int, int]] = []

    def look() -> None:
        (window,) = [one for one in QApplication.topLevelWidgets() if isinstance(one, Window) and one.isVisible()]
        seen.append((len(window.deck.timeline), window.deck.place))
        window.close()

    QTimer.singleShot(300, look)
    command = ["replay", "last", "0", "--qt", "--from", "-1", "--store", str(tmp_path / "store")]
    result = CliRunner().invoke(program, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert seen == [(LENGTHS[0], LENGTHS[0] - 1)]
    assert app is not None


def test_a_run_that_is_live_with_its_recording(tmp_path: Path) -> None:
    run_id = record(tmp_path / "store")
    seen: list[tuple[bool, int]] = []

    def look() -> None:
        (window,) = [one for one in QApplication.topLevelWidgets() if isinstance(one, Window) and one.isVisible()]
        seen.append((window.deck.is_live, len(window.deck.timeline)))
        window.deck.step(-1)
        window.draw()
        seen.append((window.deck.is_live, window.deck.place))
        window.close()

    QTimer.singleShot(400, look)
    with LiveWriter(run_id) as writer:
        writer.step(np.full((20, 16, 3), 7, np.uint8), 1.0, False)
        command = ["live", run_id, "--qt", "--store", str(tmp_path / "store")]
        result = CliRunner().invoke(program, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert seen == [(True, sum(LENGTHS)), (False, sum(LENGTHS) - 2)]


def test_a_window_and_a_film_exclude_each_other(tmp_path: Path) -> None:
    result = CliRunner().invoke(program, ["replay", "last", "--qt", "--json"])
    assert result.exit_code == 2
    assert "exclude each other" in result.output
