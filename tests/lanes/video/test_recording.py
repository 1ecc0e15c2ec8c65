"""The writer: what it refuses, how it ends, what a crash, a full disk and a fork leave."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead import tape, testing
from playhead.errors import BadKey, Closed, Exists, Forked, OutOfOrder, StoreLocked, WrongShape, WrongType
from playhead.lanes.video import VideoSignalWriter, encoder, recorder
from tests.lanes.video.clips import Paths, clip, grey

FRAMES = clip(14, 16, 24)


def writer_of(paths: Paths, **options: Any) -> VideoSignalWriter:
    return VideoSignalWriter(paths.video, paths.frames, **options)


def files_in(paths: Paths) -> list[str]:
    return sorted(path.name for path in paths.video.parent.iterdir())


def test_what_is_refused_changes_nothing(paths: Paths) -> None:
    refusals = [
        (grey(1, 16, 24)[0], 1, WrongShape, "Expected frame shape"),
        (np.zeros((16, 24, 4), np.uint8), 1, WrongShape, "Expected frame shape"),
        (np.zeros((0, 24, 3), np.uint8), 1, WrongShape, "Expected frame shape"),
        (FRAMES[0].astype(np.float32), 1, WrongType, "Expected uint8 dtype"),
        ("frame", 1, WrongType, "Expected uint8 dtype"),
        (FRAMES[0], 1.5, BadKey, "whole number"),
        (FRAMES[0], None, BadKey, "whole number"),
    ]
    with writer_of(paths, lossless=True) as writer:
        for frame, stamp, kind, words in refusals:
            with pytest.raises(kind, match=words):
                writer.append(frame, stamp)  # type: ignore[arg-type]
        writer.append(FRAMES[0], 10)
        for stamp in (10, 9, -1):
            with pytest.raises(OutOfOrder, match="not increasing"):
                writer.append(FRAMES[1], stamp)
        with pytest.raises(WrongShape, match="Frame shape"):
            writer.append(FRAMES[1][:8], 20)
        writer.append(FRAMES[1], 11)
    signal = paths.read()
    assert signal.timestamps.tolist() == [10, 11]
    np.testing.assert_array_equal(signal.values, np.stack(FRAMES[:2]))


def test_after_the_end(paths: Paths) -> None:
    writer = writer_of(paths)
    writer.append(FRAMES[0], 1)
    writer.close()
    writer.close()
    with pytest.raises(Closed, match="Cannot append to a finished writer"):
        writer.append(FRAMES[1], 2)
    with pytest.raises(Closed):
        writer.abort()
    with pytest.raises(Closed):
        writer.flush()
    assert len(paths.read()) == 1


def test_abort_removes_everything(paths: Paths) -> None:
    writer = writer_of(paths)
    for i, frame in enumerate(FRAMES):
        writer.append(frame, i)
    writer.flush(sync=True)
    writer.abort()
    writer.abort()
    writer.close()
    assert files_in(paths) == []
    with pytest.raises(Closed):
        writer.append(FRAMES[1], 99)


def test_an_exception_inside_the_block_keeps_what_was_recorded(paths: Paths) -> None:
    with pytest.raises(KeyError), writer_of(paths) as writer:
        writer.append(FRAMES[0], 1)
        raise KeyError
    assert len(paths.read()) == 1
    assert files_in(paths) == [paths.frames.name, paths.video.name]


def test_threads_end_with_the_writer(paths: Paths) -> None:
    def working() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread.name == "playhead-video"]

    before = len(working())
    with writer_of(paths) as writer:
        assert len(working()) == before
        writer.append(FRAMES[0], 1)
        assert len(working()) == before + 1
    assert len(working()) == before
    dropped = writer_of(Paths(paths.video.parent, "dropped"))
    dropped.append(FRAMES[0], 1)
    del dropped
    gc.collect()
    deadline = time.monotonic() + 10
    while len(working()) > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(working()) == before


def test_a_slow_encoder_holds_the_caller_up_and_drops_nothing(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    encode, waiting = encoder.Encoder.encode, []

    def slow(self: encoder.Encoder, frame: Any) -> encoder.Packet:
        time.sleep(0.002)
        return encode(self, frame)

    monkeypatch.setattr(encoder.Encoder, "encode", slow)
    with writer_of(paths, lossless=True) as writer:
        for i in range(100):
            writer.append(FRAMES[i % len(FRAMES)], i)
            line = writer._recorder._line
            assert line is not None
            waiting.append(len(line._waiting))
    assert 10 < max(waiting) <= recorder._MOST_WAITING
    np.testing.assert_array_equal(paths.read().values, np.stack([FRAMES[i % len(FRAMES)] for i in range(100)]))


def test_a_very_slow_encoder_is_never_far_behind(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    encode, waiting = encoder.Encoder.encode, []

    def slow(self: encoder.Encoder, frame: Any) -> encoder.Packet:
        time.sleep(0.02)
        return encode(self, frame)

    monkeypatch.setattr(encoder.Encoder, "encode", slow)
    monkeypatch.setattr(recorder, "_BEHIND_NS", 60_000_000)
    with writer_of(paths) as writer:
        for i in range(60):
            writer.append(FRAMES[i % len(FRAMES)], i)
            line = writer._recorder._line
            assert line is not None
            waiting.append(len(line._waiting))
    assert max(waiting[40:]) <= 4  # before the first frame is encoded, nobody knows how long one takes
    assert len(paths.read()) == 60


def test_packets_that_the_tape_does_not_fetch_hold_the_caller_up(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "_BACKLOG_BYTES", 2_000)
    with writer_of(paths, lossless=True) as writer:
        for i in range(60):
            writer.append(FRAMES[i % len(FRAMES)], i)
    assert len(paths.read()) == 60


def test_what_ends_the_encoder_is_raised_and_what_came_before_is_kept(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode = encoder.Encoder.encode

    def failing(self: encoder.Encoder, frame: Any) -> encoder.Packet:
        if self._count == 5:
            raise MemoryError("no more")
        return encode(self, frame)

    monkeypatch.setattr(encoder.Encoder, "encode", failing)
    writer = writer_of(paths, lossless=True)
    for i in range(6):
        writer.append(FRAMES[i], i)
    with pytest.raises(MemoryError):
        writer.flush()
    for _ in range(2):
        with pytest.raises(MemoryError):
            writer.append(FRAMES[6], 6)
    writer.close()
    np.testing.assert_array_equal(paths.read().values, np.stack(FRAMES[:5]))


def test_the_end_raises_what_ended_the_encoder(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(self: encoder.Encoder, frame: Any) -> encoder.Packet:
        raise MemoryError("no more")

    monkeypatch.setattr(encoder.Encoder, "encode", failing)
    writer = writer_of(paths)
    writer.append(FRAMES[0], 0)
    with pytest.raises(MemoryError):
        writer.close()
    writer.close()
    assert len(paths.read()) == 0


def test_a_full_disk_is_told_and_loses_nothing(paths: Paths) -> None:
    writer = writer_of(paths, lossless=True)
    with testing.failing_at(0, errno.ENOSPC, lasting=True):
        for i in range(5):
            writer.append(FRAMES[i], i)
        with pytest.raises(OSError, match="No space"):
            writer.flush()
        with pytest.raises(OSError, match="No space"):
            writer.close()
    writer.close()
    np.testing.assert_array_equal(paths.read().values, np.stack(FRAMES[:5]))
    assert files_in(paths) == [paths.frames.name, paths.video.name]


def test_sealing_may_be_tried_again_after_any_failure(paths: Paths) -> None:
    def record(name: str) -> Callable[[], None]:
        part = Paths(paths.video.parent / name)
        writer = writer_of(part, lossless=True)
        for i, frame in enumerate(FRAMES[:4]):
            writer.append(frame, i)
        writer.flush(sync=True)
        return writer.close

    count = testing.count_operations(record("count"))
    for n in range(count):
        close = record(f"run{n}")
        is_told = n < count - 1  # last goes the tape, hidden already, where it counts no more
        refusal = pytest.raises(OSError, match="Input/output") if is_told else contextlib.nullcontext()
        with testing.failing_at(n, errno.EIO), refusal:
            close()
        close()
        part = Paths(paths.video.parent / f"run{n}")
        np.testing.assert_array_equal(part.read().values, np.stack(FRAMES[:4]))
        assert files_in(part) == [part.frames.name, part.video.name]


def test_a_forked_child_neither_records_nor_hangs(paths: Paths) -> None:
    writer = writer_of(paths, lossless=True)
    for i in range(4):
        writer.append(FRAMES[i], i)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            refused = 0
            for call in (
                lambda: writer.append(FRAMES[5], 5),
                lambda: writer.append(FRAMES[5], 5),
                writer.flush,
                writer.close,
                writer.abort,
                lambda: writer._recorder.append(FRAMES[5], 5),
                writer._recorder.settle,
            ):
                try:
                    call()
                except Forked:
                    refused += 1
            writer._recorder.stop()
            status = 0 if refused == 7 else 2
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0
    writer.append(FRAMES[4], 4)
    writer.close()
    np.testing.assert_array_equal(paths.read().values, np.stack(FRAMES[:5]))


def test_one_writer_and_no_recovery_while_it_records(paths: Paths) -> None:
    with writer_of(paths) as writer:
        writer.append(FRAMES[0], 1)
        with pytest.raises(StoreLocked):
            writer_of(paths)
        with pytest.raises(StoreLocked):
            VideoSignalWriter.recover(paths.video, paths.frames)
    assert len(paths.read()) == 1
    assert not VideoSignalWriter.recover(paths.video, paths.frames)


def test_a_leftover_is_refused_until_it_is_recovered(paths: Paths) -> None:
    writer = writer_of(paths, lossless=True)
    for i in range(3):
        writer.append(FRAMES[i], i)
    writer.flush()
    writer._tape.abandon()  # as if the process had ended here
    with pytest.raises(Exists, match="recover"):
        writer_of(paths)
    assert VideoSignalWriter.recover(str(paths.video), str(paths.frames))
    np.testing.assert_array_equal(paths.read().values, np.stack(FRAMES[:3]))
    assert files_in(paths) == [paths.frames.name, paths.video.name]


def record_and_acknowledge(folder: Path, acknowledge: Callable[[Any], None]) -> None:
    paths = Paths(folder)
    with writer_of(paths, lossless=True, gop_size=4) as writer:
        for i, frame in enumerate(FRAMES):
            writer.append(frame, i)
            if i % 4 == 2:
                writer.flush(sync=i % 8 == 2)
                acknowledge(i + 1)
    acknowledge(len(FRAMES))


@pytest.mark.parametrize("torn", [False, True])
def test_a_kill_at_any_change_of_the_disk_leaves_a_prefix(tmp_path: Path, torn: bool) -> None:
    count = testing.count_operations(lambda: record_and_acknowledge(tmp_path / "count", lambda _: None))
    killed = 0
    for n in range(int(torn), count, 2):
        paths = Paths(tmp_path / f"run{n}")
        paths.video.parent.mkdir()
        crash = testing.killed_at(
            n, lambda acknowledge, paths=paths: record_and_acknowledge(paths.video.parent, acknowledge), torn=torn
        )  # type: ignore[misc]
        killed += crash.killed
        VideoSignalWriter.recover(paths.video, paths.frames)
        least = max(crash.acknowledged, default=0)
        if not paths.frames.exists():
            assert least == 0
            assert not paths.video.exists()
            continue
        signal = paths.read()
        assert len(signal) >= least
        signal.verify()
        assert signal.timestamps.tolist() == list(range(len(signal)))
        np.testing.assert_array_equal(list(signal.values), FRAMES[: len(signal)])
        assert not [name for name in files_in(paths) if name.endswith(".recording")]
    assert killed > count // 4


def test_the_loss_survives_a_crash(paths: Paths) -> None:
    writer = writer_of(paths, gop_size=4)
    for i, frame in enumerate(FRAMES):
        writer.append(frame, i)
    writer.flush()
    writer._tape.abandon()
    VideoSignalWriter.recover(paths.video, paths.frames)
    loss = paths.read().loss
    assert loss is not None
    assert loss.frames == 3  # the first, and the middles of the GOPs 0 and 1; that of 3 was not reached


def test_a_shared_tape(tmp_path: Path) -> None:
    """An episode records several videos on one tape, and seals each where it wants."""
    from playhead.lanes.video import LANE, Encoding, VideoRecorder, VideoSealer

    recording, videos = tape.Tape(tmp_path / "tape"), {}
    for name, encoding in {"left": Encoding(lossless=True), "right": Encoding(pixel_format="depth16")}.items():
        videos[name] = VideoRecorder(encoding, recording.check)
        recording.add(tape.Declaration(LANE, name, encoding.facts()), videos[name])
    deep = [frame[..., 0].astype(np.uint16) * 257 for frame in FRAMES]
    for i in range(len(FRAMES)):
        videos["left"].append(FRAMES[i], i)
        videos["right"].append(deep[i], i + 5)
    recording.close()
    places = {name: Paths(tmp_path, name) for name in videos}
    tape.seal(
        tmp_path / "tape",
        lambda declaration: VideoSealer(declaration, places[declaration.name].video, places[declaration.name].frames),
    )
    np.testing.assert_array_equal(places["left"].read().values, np.stack(FRAMES))
    np.testing.assert_array_equal(places["right"].read().values, np.stack(deep))
    assert places["right"].read().start_ts == 5
