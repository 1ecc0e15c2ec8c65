"""The loop of a watcher: the newest frame, a key, the next frame."""

from __future__ import annotations

import os

from playhead import clock, live
from playhead.cli.live import view
from playhead.cli.replay import cells, keys
from playhead.cli.replay.screen import Screen
from playhead.cli.replay.terminal import Terminal
from playhead.errors import Damaged, NotFound

_WAIT = 1 / 30  # seconds between two frames
_LOOK_NS = clock.SECOND // 2  # between two looks at who is live


def watch(run_id: str) -> None:
    """Show a run until somebody leaves; where nobody can press a key, until it has ended.

    Args:
        run_id: The first to be shown.
    """
    watcher = _Watcher(run_id)
    try:
        with Terminal() as terminal:
            watcher.run(terminal)
    finally:
        watcher.close()


class _Watcher:
    def __init__(self, run_id: str) -> None:
        self._reader = live.LiveReader(run_id)
        self._names: list[str] = [run_id]
        self._looked_ns = 0
        self._found = self._reader.latest()
        self._state = self._reader.state
        self._is_held = False

    def run(self, terminal: Terminal) -> None:
        """Draw and obey."""
        screen = Screen(terminal, cells.depth_of(os.environ))
        while terminal.has_keys or self._state != live.ENDED:
            self._look()
            view.draw(screen, self._reader.run_id, self._names, self._found, self._state, is_held=self._is_held)
            try:
                pressed = terminal.keys(_WAIT)
            except EOFError:
                return
            if terminal.stop_if_asked():
                screen.forget()
            if "q" in pressed:
                return
            for key in pressed:
                self._obey(key)

    def close(self) -> None:
        """Let go of the run."""
        self._reader.close()

    def _look(self) -> None:
        now = clock.elapsed_ns()
        if now - self._looked_ns > _LOOK_NS:
            self._looked_ns = now
            self._state = self._reader.state
            names = {one.run_id for one in live.runs()} | {self._reader.run_id}
            self._names = sorted(names)
        if not self._is_held:
            self._found = self._reader.latest() or self._found

    def _obey(self, key: str) -> None:
        place = self._names.index(self._reader.run_id)
        match key:
            case " ":
                self._is_held = not self._is_held
            case keys.LEFT:
                self._show(place - 1)
            case keys.RIGHT:
                self._show(place + 1)
            case _ if key in "123456789" and int(key) <= len(self._names):
                self._show(int(key) - 1)

    def _show(self, place: int) -> None:
        name = self._names[place % len(self._names)]
        if name == self._reader.run_id:
            return
        try:
            reader = live.LiveReader(name)
        except (NotFound, Damaged):  # it has ended meanwhile; the list will say so
            self._looked_ns = 0
            return
        self._reader.close()
        self._reader, self._found, self._is_held, self._looked_ns = reader, None, False, 0
