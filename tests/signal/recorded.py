"""The contract for lanes whose signals are files: each recording is made once, and opened anew by every test."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from playhead.signal import Signal
from playhead.testing import SignalContract
from tests.signal.machine import Samples


class RecordedContract(SignalContract):
    folder: ClassVar[Path]
    made: ClassVar[dict[tuple[int, ...], Path]]

    @pytest.fixture(autouse=True, scope="class")
    def _keep_recordings(self, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> None:
        request.cls.folder = tmp_path_factory.mktemp("recordings")
        request.cls.made = {}

    def record(self, samples: Samples, folder: Path) -> None:
        """Record a signal into a folder of its own."""
        raise NotImplementedError

    def open(self, folder: Path) -> Signal[Any]:
        """Open what was recorded there."""
        raise NotImplementedError

    def make_signal(self, samples: Samples, tmp_path: Path) -> Signal[Any]:
        stamps = tuple(stamp for _, stamp in samples)  # the values follow from how many there are
        if stamps not in self.made:
            folder = self.folder / str(len(self.made))
            folder.mkdir()
            self.record(samples, folder)
            self.made[stamps] = folder
        return self.open(self.made[stamps])
