"""The terminal while an episode is played: a screen of its own, keys as they are pressed, and everything put back."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
import tty
from types import FrameType, TracebackType
from typing import Any, Self

from playhead.cli.replay import endings
from playhead.cli.replay.keys import Decoder

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"  # another screen, no cursor, no wrapping at its edge, cleared
_LEAVE = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
_TOGETHER = "\x1b[?2026h", "\x1b[?2026l"  # terminals that know it show all that lies between at once

_USUAL = 24, 80  # rows and columns of a window that does not say


class Terminal:
    """The terminal of this process; a context manager that leaves it as it was, whatever happens.

    Attributes:
        has_keys: Whether somebody can press any.
    """

    def __init__(self) -> None:
        self._out = sys.stdout.fileno()
        self._in = sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else None
        self._decoder = Decoder()
        self._modes: list[Any] | None = None
        self._before: Any = None
        self._is_to_stop = False

    @property
    def has_keys(self) -> bool:
        """Whether somebody can press any."""
        return self._in is not None

    def __enter__(self) -> Self:
        try:
            self._before = signal.signal(signal.SIGTSTP, self._ask_to_stop)
            self._take()
        except BaseException:
            self._give_back()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._give_back()

    def size(self) -> tuple[int, int]:
        """Give the rows and columns of the window."""
        found = os.get_terminal_size(self._out)
        return found.lines or _USUAL[0], found.columns or _USUAL[1]

    def write(self, text: str) -> None:
        """Write all of a text at once."""
        if text:
            self._write(f"{_TOGETHER[0]}{text}{_TOGETHER[1]}")

    def clear(self) -> None:
        """Wipe the screen."""
        self._write("\x1b[0m\x1b[2J")

    def keys(self, seconds: float) -> list[str]:
        """Wait for keys, and give those that were pressed; none when the time is over.

        Raises:
            EOFError: There will be no more.
        """
        if self._in is None:
            select.select([], [], [], seconds)
            return []
        ready, _, _ = select.select([self._in], [], [], seconds)
        if not ready:
            return []
        data = os.read(self._in, 1024)
        if not data:
            raise EOFError
        return self._decoder.feed(data)

    def stop_if_asked(self) -> bool:
        """Where Ctrl-Z was pressed, stop until the shell goes on with this process; tell whether that was so."""
        if not self._is_to_stop:
            return False
        self._is_to_stop = False
        self._restore()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._take()
        return True

    def _take(self) -> None:
        if self._in is not None:
            self._modes = termios.tcgetattr(self._in)
            tty.setcbreak(self._in, termios.TCSADRAIN)
        self._write(_ENTER)

    def _restore(self) -> None:
        # The window may be gone, and with it all that is to be restored.
        with contextlib.suppress(OSError, termios.error):
            self._write(_LEAVE)
        if self._modes is not None and self._in is not None:
            with contextlib.suppress(OSError, termios.error):
                termios.tcsetattr(self._in, termios.TCSAFLUSH, self._modes)
            self._modes = None

    def _give_back(self) -> None:
        with endings.held():  # a second Ctrl-C must not come between the parts of this
            self._restore()
            if self._before is not None:
                signal.signal(signal.SIGTSTP, self._before)
                self._before = None

    def _write(self, text: str) -> None:
        left = memoryview(text.encode("utf-8", "replace"))
        while left:
            left = left[os.write(self._out, left) :]

    def _ask_to_stop(self, _number: int, _frame: FrameType | None) -> None:
        self._is_to_stop = True
