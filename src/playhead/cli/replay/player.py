"""The loop of a player: draw, read ahead, wait for the next scene or a key."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

from playhead import clock, disk
from playhead.cli.replay import cells, keys
from playhead.cli.replay.playback import Playback
from playhead.cli.replay.terminal import Terminal
from playhead.cli.replay.view import HELP, View
from playhead.export.film import Script
from playhead.export.film.pictures import FRAME
from playhead.export.images import png

_LONGEST_WAIT = 0.1  # seconds; the window may have another size after it
_SAID_FOR = 3.0  # seconds that a message stays
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class Player:
    """Plays a script in a terminal until somebody leaves.

    Args:
        script: What is played.
        scenes: Which part of it.
        speed: How many times as fast.
        loops: Begin again at the end.
        once: Leave at the end.

    Attributes:
        saved: The files that were written.
    """

    def __init__(self, script: Script, scenes: range, *, speed: float = 1.0, loops: bool = False, once: bool) -> None:
        self._script = script
        self._playback = Playback(script.times, scenes, now=_now(), speed=speed, loops=loops)
        self._once = once
        self._shows_help = False
        self._message = ""
        self._said_at = 0.0
        self.saved: list[Path] = []

    def play(self) -> None:
        """Play until the end, or until somebody leaves."""
        with Terminal() as terminal:
            view = View(terminal, self._script, cells.depth_of(os.environ))
            leaves_at_end = self._once or not terminal.has_keys
            playback = self._playback
            playback.seek(playback.scene, _now())
            while not (playback.is_over and leaves_at_end):
                playback.advance(_now())
                view.draw(playback, self._line())
                self._script.prepare(playback.scene)
                try:
                    pressed = terminal.keys(self._wait())
                except EOFError:
                    return
                if terminal.stop_if_asked():
                    view.forget()
                if "q" in pressed:
                    return
                for key in pressed:
                    self._obey(key, _now())

    def _wait(self) -> float:
        left = self._playback.until_next(_now())
        return _LONGEST_WAIT if left is None else min(left, _LONGEST_WAIT)

    def _line(self) -> str:
        if self._message and _now() - self._said_at < _SAID_FOR:
            return self._message
        self._message = ""
        return HELP if self._shows_help else ""

    def _obey(self, key: str, now: float) -> None:
        playback = self._playback
        playback.advance(now)
        match key:
            case " ":
                playback.toggle(now)
            case keys.LEFT | ",":
                playback.step(-1, now)
            case keys.RIGHT | ".":
                playback.step(1, now)
            case keys.UP | "+" | "=":
                playback.change_speed(True)
            case keys.DOWN | "-":
                playback.change_speed(False)
            case keys.HOME:
                playback.seek_share(0.0, now)
            case keys.END:
                playback.seek_share(1.0, now)
            case "l":
                playback.loops = not playback.loops
            case "s":
                self._say(self._save())
            case "?":
                self._shows_help = not self._shows_help
            case _ if key.isdecimal() and key.isascii():
                playback.seek_share(int(key) / 10, now)

    def _say(self, message: str) -> None:
        self._message, self._said_at = message, _now()

    def _save(self) -> str:
        """Write the picture as it was recorded; say what came of it."""
        scene = self._playback.scene
        if self._script.recorded(scene) is None:
            return "there is no picture yet"
        target = Path(file_name(self._script, scene))
        try:
            disk.create(target, _png(self._script, scene))
        except FileExistsError:
            return f"{target} is there already"
        except OSError as error:
            return f"{target} cannot be written: {error.strerror}"
        self.saved.append(target)
        return f"saved {target}"


def file_name(script: Script, scene: int) -> str:
    """Name the file of a picture: episode, signal where it is not the usual one, and step."""
    signal = "" if script.pictures.name == FRAME else f"-{script.pictures.name}"
    place = f"step{scene:06}" if scene < len(script.steps) else "end"
    return f"{_UNSAFE.sub('-', script.name + signal).strip('.-') or 'episode'}-{place}.png"


def _png(script: Script, scene: int) -> bytes:
    raw = script.recorded(scene)
    is_grey = raw.ndim == 2 or raw.shape[2] == 1
    is_plain = (raw.dtype == np.uint8 and (is_grey or raw.shape[2] == 3)) or (raw.dtype == np.uint16 and is_grey)
    return png(raw if is_plain else script.picture(scene))


def _now() -> float:
    return clock.elapsed_ns() / 1e9
