"""The contract for lanes whose signals are files: each recording is made once, and opened anew by every test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playhead.signal import Signal
from playhead.testing import SignalContract
from tests.signal.machine import Samples


class RecordedContract(SignalContract):
    def record(self, samples: Samples, folder: Path) -> None:
        """Record a signal into an empty folder."""
        raise NotImplementedError

    def open(self, folder: Path) -> Signal[Any]:
        """Open what was recorded there."""
        raise NotImplementedError

    def make_signal(self, samples: Samples, tmp_path: Path) -> Signal[Any]:
        stamps = ",".join(str(stamp) for _, stamp in samples)  # how many there are says what the values are
        folder = tmp_path.parent / f"{type(self).__module__}.{type(self).__name__}" / f"at {stamps}"
        if not folder.exists():
            folder.mkdir(parents=True)
            self.record(samples, folder)
        return self.open(folder)
