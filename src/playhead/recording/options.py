"""How a run records, and what it captures besides what it is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from playhead.errors import WrongType

if TYPE_CHECKING:
    from playhead.capture.console import ConsoleCapture
    from playhead.capture.system import SystemSampler


@dataclass(frozen=True, slots=True)
class Options:
    """How a run records.

    Attributes:
        environment: Note git, packages and machine at the start.
        capture_console: Also write what is printed into the text log.
        system_metrics: Seconds between two samples of CPU, memory and GPU; None for none.
        sync_every: Seconds after which what was logged is put on the medium; None leaves that to the kernel.
    """

    environment: bool = True
    capture_console: bool = False
    system_metrics: float | None = None
    sync_every: float | None = None

    def check(self) -> None:
        """See that all of this can be done, before anything is made.

        Raises:
            WrongType: A time is not a positive number of seconds.
            MissingExtra: The machine cannot be sampled.
        """
        for name in ("system_metrics", "sync_every"):
            seconds = getattr(self, name)
            if seconds is not None and not (isinstance(seconds, (int, float)) and seconds > 0):
                raise WrongType(f"{name} is a positive number of seconds, or None, not {seconds!r}")
        if (sampler := self.sampler()) is not None:
            sampler.close()

    # What a run captures is loaded when one is captured: commands that only read start quicker without it.

    def sampler(self) -> SystemSampler | None:
        """Give what samples the machine, if that is wanted."""
        if self.system_metrics is None:
            return None
        from playhead.capture.system import SystemSampler

        return SystemSampler()

    def console(self, write_line: Callable[[str], None]) -> ConsoleCapture | None:
        """Give what hands over each printed line, if that is wanted."""
        if not self.capture_console:
            return None
        from playhead.capture.console import ConsoleCapture

        return ConsoleCapture(write_line)
