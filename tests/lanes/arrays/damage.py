"""Reels that are damaged on purpose, and what may be lost of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from playhead.errors import NotFound, PlayheadError
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.kind import FINALS
from playhead.lanes.arrays.recorder import ReelRecorder
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.reeltape import Beginning
from playhead.lanes.arrays.sealing import make_empty
from tests.lanes.arrays.reels import FOR_EVER, Recording, noise, patterned, reel_in

Lost = set[tuple[str, int]]  # what, and which row

ROWS, INFOS = "steps", "infos"
ARRAYS = ("frames", "observations", "actions")
EPISODE = 5


class Unsealed(Recording):
    """A recording that stays in its journal, in as many segments as it has."""

    def resume(self) -> Any:
        make_empty(self.files)
        self.writer = ReelRecorder(self.files.journal, self.config, lambda _: Beginning())  # type: ignore[assignment]
        return self.writer


def record(recording: Recording, count: int, salt: int = 0) -> None:
    """Record steps, each of which has its records in the journal to itself; every fourth has no frame."""
    for number in range(len(recording.steps), len(recording.steps) + count):
        if number % EPISODE == 0:
            recording.end("terminated", {"observations": patterned(-number, (6,), "i2")})
            recording.begin({"first": number})
        arrays = {"observations": patterned(number, (6,), "i2"), "actions": np.array(number)}
        if number % 4 != 2:
            arrays["frames"] = noise(salt + number, (5, 4))
        recording.step(arrays, salt + number / 4, info=b'{"n": %d}' % number)
        recording.flush()
        recording.writer.writer.run_now()


def sealed(folder: Path, count: int, codec: str | None = "zstd", parts: int = 1) -> Recording:
    recording = Recording(reel_in(folder), ReplayConfig(interval=FOR_EVER, chunk=4, codec=codec))
    for part in range(parts):
        if part:
            recording.resume()
        record(recording, count)
        recording.close()
    return recording


def unsealed(folder: Path, count: int, segment_bytes: int) -> Recording:
    config = ReplayConfig(interval=FOR_EVER, chunk=4, segment_bytes=segment_bytes)
    recording = Unsealed(reel_in(folder), config)
    record(recording, count)
    recording.abandon()
    return recording


class Victim:
    """The files of a reel, which can be put back as they were."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.files = recording.files
        self.length = len(recording.steps)
        self._whole = {path: path.read_bytes() for path in self.files.folder.rglob("*") if path.is_file()}
        assert self.survey() == set()

    def bytes_of(self, path: Path) -> bytes:
        return self._whole[path]

    def write(self, path: Path, data: bytes | bytearray) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_bytes(data)

    def restore(self) -> None:
        for path in self.files.folder.rglob("*"):
            if path.is_file() and path not in self._whole:
                path.unlink()
        for path, data in self._whole.items():
            if not path.exists() or path.read_bytes() != data:
                self.write(path, data)

    @contextlib.contextmanager
    def flipped(self, path: Path, bit: int) -> Iterator[None]:
        data = bytearray(self._whole[path])
        data[bit // 8] ^= 1 << bit % 8
        with self.replaced(path, data):
            yield

    @contextlib.contextmanager
    def replaced(self, path: Path, data: bytes | bytearray | None) -> Iterator[None]:
        if data is None:
            path.unlink()
        else:
            self.write(path, data)
        yield
        self.restore()

    # -- what can still be read -------------------------------------------------------------------------------------

    def survey(self) -> Lost:
        """Read everything in all ways; give what cannot be read.

        Raises:
            AssertionError: Something was read that is not what was recorded, or an error says nothing of the place.
        """
        with self._naming():
            reel = Reel(self.files)
            return self._survey(reel)
        return {(what, row) for what in (ROWS, INFOS, *ARRAYS) for row in range(self.length)}

    @contextlib.contextmanager
    def _naming(self) -> Iterator[None]:
        """Take an error of ours, if it says where."""
        try:
            yield
        except PlayheadError as error:
            is_nowhere = isinstance(error, NotFound) and "no array" in str(error)
            assert is_nowhere or str(self.files.folder) in str(error) or self.files.id in str(error), error

    def _survey(self, reel: Reel) -> Lost:
        lost: Lost = set()
        length = min(reel.length, self.length)
        assert reel.length <= self.length, "steps from nowhere"
        for row in range(self.length):
            lost |= self._tried(ROWS, row, lambda row=row: self._assert_row(reel, row))
            lost |= self._tried(INFOS, row, lambda row=row: self._assert_info(reel, row))
        for name in ARRAYS:
            if length and not self._tried(name, 0, lambda name=name: self._assert_array(reel, name, 0, length)):
                lost |= {(name, row) for row in range(length, self.length)}
                continue
            for row in range(self.length):
                lost |= self._tried(name, row, lambda name=name, row=row: self._assert_array(reel, name, row, row + 1))
        self._assert_episodes(reel)
        reel.close()
        return lost

    def _tried(self, what: str, row: int, check: Callable[[], None]) -> Lost:
        with self._naming():
            check()
            return set()
        return {(what, row)}

    def assert_right_or_refused(self, reel: Reel, row: int) -> None:
        """See that nothing of a step is read as something else, whoever recorded on meanwhile."""
        self._tried(ROWS, row, lambda: self._assert_row(reel, row))
        self._tried(INFOS, row, lambda: self._assert_info(reel, row))
        for name in ARRAYS:
            self._tried(name, row, lambda name=name: self._assert_array(reel, name, row, row + 1))

    def _assert_row(self, reel: Reel, row: int) -> None:
        step = self.recording.steps[row]
        found = reel.rows(row, row + 1)
        if row >= reel.length:
            raise PlayheadError(f"{reel.files.id} ends before")
        expected = (step.ts_ns, step.reward, step.place, step.episode, step.flags)
        assert [tuple(one) for one in found[["ts_ns", "reward", "step", "episode", "flags"]].tolist()] == [expected], (
            row
        )

    def _assert_info(self, reel: Reel, row: int) -> None:
        if row >= reel.length:
            raise PlayheadError(f"{reel.files.id} ends before")
        assert reel.infos(row, row + 1) == [self.recording.steps[row].info]

    def _assert_array(self, reel: Reel, name: str, start: int, stop: int) -> None:
        like = self.recording.names[name]
        nothing = np.zeros(like.shape, like.dtype)
        expected = np.stack([step.arrays.get(name, nothing) for step in self.recording.steps[start:stop]])
        found = reel.read(name, start, stop)
        assert found.tobytes() == expected.tobytes(), (name, start)
        taken = reel.take(name, np.arange(start, stop)[::-1])
        assert taken[::-1].tobytes() == expected.tobytes(), (name, start)
        for row in range(start, stop):
            one, given = reel.row(name, row), self.recording.steps[row].arrays.get(name)
            assert (one is None) == (given is None), (name, row)
            assert one is None or given is None or one.tobytes() == given.tobytes(), (name, row)

    def _assert_episodes(self, reel: Reel) -> None:
        """See that what is said of episodes is right, as far as anything is said."""
        with self._naming():
            for span in reel.spans:
                expected = self.recording.episodes[span.number]
                assert span.start == expected.start or not span.facts, span
                assert span.how in (None, expected.how), span
                assert span.facts in ({}, None, expected.facts), span
                if span.final is not None:
                    row, names = span.final
                    assert names == list(expected.finals)
                    with self._naming():
                        found = reel.read("observations", row, row + 1, axis=FINALS)[0]
                        assert found.tobytes() == expected.finals["observations"].tobytes(), span
