"""Copy what is printed: everything still reaches the screen, and its lines go to a function too.

`sys.stdout` and `sys.stderr` are replaced by streams that pass everything on. What does not go through these two names
is not seen: bytes written to `sys.stdout.buffer`, C libraries and other processes that write to the file descriptor,
and whoever kept the original stream from before (such as a logging handler that was set up earlier).
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from types import TracebackType
from typing import Any, Self, TextIO, cast

from playhead.capture.terminal import LineAssembler

_STREAMS = ("stdout", "stderr")
_SMALL = 4096  # characters in a write
_MANY = 256  # writes
_BACKLOG = 10_000  # lines
_BACKLOG_WAIT_S = 0.1
_LAST_WAIT_S = 10.0


class ConsoleCapture:
    """Gives each line that is printed to a function, without its newline.

    Progress bars are collapsed to their last state and control sequences are left out, see `terminal`; stdout and
    stderr are assembled apart, so that a line of one never lands inside a line of the other. The function is called by
    the printing thread, one call at a time; a thread that prints while another is in the function leaves its lines to
    that one, so the function may take locks which a printing thread holds. What it prints itself is not captured, nor
    is anything printed by a forked child.

    An error of the function never reaches whoever prints: it ends the capture, and `stop` raises it.

    Args:
        write_line: Takes each line.

    Example:
        >>> lines = []
        >>> with ConsoleCapture(lines.append):
        ...     print("epoch 1")
        epoch 1
        >>> lines
        ['epoch 1']
    """

    def __init__(self, write_line: Callable[[str], None]) -> None:
        self._write_line = write_line
        self._reset()

    def _reset(self) -> None:
        self._tees: dict[str, _Tee] = {}
        self._assemblers: list[LineAssembler] = []
        self._assembly = threading.RLock()  # a signal handler may print while its own thread holds it
        self._is_assembling = False
        self._printed: deque[tuple[LineAssembler, str]] = deque()
        self._lines: deque[str] = deque()
        self._delivery = threading.Lock()
        self._delivering_thread: int | None = None
        self._error: Exception | None = None

    def start(self) -> None:
        """Begin to capture; without effect while it runs already."""
        if self._tees:
            return
        _captures.add(self)
        for name in _STREAMS:
            stream = getattr(sys, name)
            if stream is None:  # a process without a console
                continue
            assembler = LineAssembler()
            self._assemblers.append(assembler)
            self._tees[name] = _Tee(stream, partial(self._take, assembler))
            setattr(sys, name, cast(TextIO, self._tees[name]))

    def stop(self) -> None:
        """End the capture, give out a line that was begun, and put the original streams back.

        A stream that somebody else has wrapped or replaced in between stays as it is; ours passes everything on.

        Raises:
            Exception: Whatever the function raised, once.
        """
        self._end()
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.stop()
            return
        self._end()
        if self._error is not None:
            error.add_note(f"The console was captured only up to an error of its own: {self._error!r}")
            self._error = None

    def _end(self) -> None:
        self._restore_streams()
        with self._assembly:
            self._assemble()
            for assembler in self._assemblers:
                self._lines.extend(assembler.finish())
            self._assemblers = []
        if self._delivering_thread != threading.get_ident():
            self._deliver(_LAST_WAIT_S)
            if self._lines and self._error is None:
                self._error = TimeoutError(f"{len(self._lines)} printed lines could not be given out")

    def _restore_streams(self) -> None:
        for name, tee in self._tees.items():
            if getattr(sys, name) is tee:
                setattr(sys, name, tee.innermost_in_use())
            tee.take = None
        self._tees = {}

    def _abandon(self) -> None:
        """Leave the capture to the parent: this is a forked child, and its copies of the locks may be held for ever."""
        self._restore_streams()
        self._reset()

    def _take(self, assembler: LineAssembler, text: str) -> None:
        if self._delivering_thread == threading.get_ident():
            return
        self._printed.append((assembler, text))
        if "\n" not in text and len(text) < _SMALL and len(self._printed) < _MANY:
            return  # no line ends here: this can wait for one that does
        with self._assembly:
            if self._is_assembling:
                return  # this is a signal handler; what it interrupted goes on with its text
            self._is_assembling = True
            try:
                self._assemble()
            finally:
                self._is_assembling = False
        if self._lines:
            # Waiting for the thread in the function could be a deadlock, never waiting could fill the memory.
            self._deliver(_BACKLOG_WAIT_S if len(self._lines) > _BACKLOG else 0.0)

    def _assemble(self) -> None:
        while self._printed:
            assembler, text = self._printed.popleft()
            self._lines.extend(assembler.feed(text))

    def _deliver(self, patience_s: float) -> None:
        while self._lines and self._delivery.acquire(patience_s > 0, patience_s or -1):
            try:
                self._delivering_thread = threading.get_ident()
                self._drain()
            finally:
                self._delivering_thread = None
                self._delivery.release()

    def _drain(self) -> None:
        while self._lines:
            line = self._lines.popleft()
            if self._error is not None:
                continue  # the capture has ended; what was under way is dropped
            try:
                self._write_line(line)
            except Exception as error:  # noqa: BLE001 - kept, whatever it is: stop() raises it
                self._error = error
                for tee in self._tees.values():
                    tee.take = None


class _Tee:
    """Stands in for a text stream: passes everything on, and shows what is written to a function."""

    def __init__(self, stream: TextIO, take: Callable[[str], None]) -> None:
        self.stream = stream
        self.take: Callable[[str], None] | None = take

    def write(self, text: str) -> int:
        written = self.stream.write(text)
        take = self.take
        if take is not None:
            take(text)
        return written

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def innermost_in_use(self) -> TextIO:
        stream: TextIO | _Tee = self.stream
        while isinstance(stream, _Tee) and stream.take is None:
            stream = stream.stream
        return cast(TextIO, stream)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stream.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


_captures: weakref.WeakSet[ConsoleCapture] = weakref.WeakSet()


def _abandon_captures() -> None:
    for capture in _captures:
        capture._abandon()


os.register_at_fork(after_in_child=_abandon_captures)
