"""The calls that users of the MOSAIC program know."""

from __future__ import annotations

import dataclasses
import gc
import os
import subprocess
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead import live
from playhead.errors import Closed, Exists, Forked, NotFound, WrongShape, WrongType
from playhead.lanes.live import segments
from playhead.live import FastLaneConfig, FastLaneMetrics, FastLaneReader, FastLaneWriter
from tests.lanes.live.foreign import HEADER, ForeignWriter, newest

CONFIG = FastLaneConfig(width=8, height=6, capacity=3, metadata_size=20)
PUBLISHING = """
import sys, time
from playhead.live import FastLaneConfig, FastLaneWriter
writer = FastLaneWriter.create(sys.argv[1], FastLaneConfig(8, 6))
writer.publish(bytes(9), metadata=b"{}")
print("publishing", flush=True)
time.sleep(60)
"""
FRAME = np.arange(6 * 8 * 3, dtype=np.uint8).reshape(6, 8, 3)


def test_what_is_published_is_read(run_id: str) -> None:
    with FastLaneWriter.create(run_id, CONFIG) as writer, FastLaneReader.attach(run_id) as reader:
        assert reader.latest_frame() is None
        assert (writer.head, reader.metrics()) == (0, FastLaneMetrics())
        for number in range(1, 8):
            metrics = FastLaneMetrics(last_reward=number, rolling_return=-2.5, step_rate_hz=60.0)
            assert writer.publish(FRAME + number, metrics=metrics, metadata=str(number)) == number
            found = reader.latest_frame()
            assert found is not None
            assert found.data == (FRAME + number).tobytes()
            assert (found.width, found.height, found.channels) == (8, 6, 3)
            assert (found.metadata, found.metrics) == (str(number).encode(), metrics)
            assert reader.metrics() == metrics
        assert (writer.capacity, reader.capacity, writer.head) == (3, 3, 7)


def test_the_sizes_are_those_that_its_users_know() -> None:
    config = FastLaneConfig(160, 210)
    assert dataclasses.astuple(config) == (160, 210, 3, "RGB", 128, 0)
    assert FastLaneMetrics() == FastLaneMetrics(last_reward=0.0, rolling_return=0.0, step_rate_hz=0.0)


def test_the_bytes_are_those_of_the_contract(run_id: str) -> None:
    config = FastLaneConfig(8, 6, 4, "RGBA", metadata_size=9)
    with FastLaneWriter.create(run_id, config, capacity=2) as writer:
        writer.publish(bytes(range(192)), metrics=FastLaneMetrics(1.0, 2.0, 3.0), metadata=b"0123456789")
        found = newest(segments.path_of(run_id))
    assert found == (1, (6, 8, 4), bytes(range(192)), b"012345678", (1.0, 2.0, 3.0))


def test_the_pixel_format_is_what_its_writer_calls_it(run_id: str) -> None:
    with FastLaneWriter.create(run_id, FastLaneConfig(8, 6, pixel_format="BGR")):
        assert HEADER.unpack(segments.path_of(run_id).read_bytes()[:80])[9] == zlib.crc32(b"BGR")


def test_numbers_stay_until_others_are_given_and_metadata_does_not(run_id: str) -> None:
    with FastLaneWriter.create(run_id, CONFIG) as writer, FastLaneReader.attach(run_id) as reader:
        writer.publish(FRAME, metrics=FastLaneMetrics(5.0), metadata=b"here")
        writer.publish(FRAME)
        found = reader.latest_frame()
        assert found is not None
        assert (found.metrics.last_reward, found.metadata) == (5.0, None)


@settings(max_examples=40, deadline=None)
@given(frame=st.binary(max_size=144), metadata=st.one_of(st.none(), st.binary(max_size=30), st.text(max_size=10)))
def test_a_frame_may_be_shorter_and_metadata_is_cut(frame: bytes, metadata: bytes | str | None) -> None:
    run_id = f"test-{os.getpid()}-short"
    with FastLaneWriter.create(run_id, CONFIG) as writer, FastLaneReader.attach(run_id) as reader:
        for _ in range(4):
            writer.publish(frame, metadata=metadata)
        found = reader.latest_frame()
        assert found is not None
        given = metadata.encode() if isinstance(metadata, str) else metadata or b""
        assert (found.data, found.metadata) == (frame, given[:20] or None)


@pytest.mark.parametrize("odd", [FRAME[::-1], np.asfortranarray(FRAME), FRAME[:, ::2], memoryview(FRAME), bytearray(9)])
def test_whatever_has_bytes_is_a_frame(run_id: str, odd: np.ndarray) -> None:
    with FastLaneWriter.create(run_id, CONFIG) as writer, FastLaneReader.attach(run_id) as reader:
        writer.publish(odd)
        found = reader.latest_frame()
        assert found is not None
        assert found.data == (bytes(odd) if isinstance(odd, bytearray) else odd.tobytes())


def test_what_is_no_frame_leaves_everything_as_it_was(run_id: str) -> None:
    with FastLaneWriter.create(run_id, CONFIG) as writer, FastLaneReader.attach(run_id) as reader:
        writer.publish(FRAME, metrics=FastLaneMetrics(1.0))
        with pytest.raises(ValueError, match="at most 144 bytes, not 145"):
            writer.publish(bytes(145), metrics=FastLaneMetrics(2.0))
        with pytest.raises(TypeError, match="bytes or an array"):
            writer.publish("frame", metrics=FastLaneMetrics(2.0))
        found = reader.latest_frame()
        assert found is not None
        assert (found.data, found.metrics.last_reward, writer.head) == (FRAME.tobytes(), 1.0, 1)


@pytest.mark.parametrize(
    "wrong", [{"width": 0}, {"height": -1}, {"channels": 2}, {"capacity": 0}, {"metadata_size": -1}]
)
def test_sizes_that_cannot_be_are_refused(run_id: str, wrong: dict[str, int]) -> None:
    with pytest.raises((WrongShape, WrongType)):
        FastLaneWriter.create(run_id, dataclasses.replace(CONFIG, **wrong))
    assert run_id not in segments.paths()


def test_errors_are_those_that_its_users_catch(run_id: str) -> None:
    with pytest.raises(FileNotFoundError, match="no live run") as missing:
        FastLaneReader.attach(run_id)
    assert isinstance(missing.value, NotFound)
    with FastLaneWriter.create(run_id, CONFIG) as writer:
        with pytest.raises(FileExistsError, match="publishes as") as taken:
            FastLaneWriter.create(run_id, CONFIG)
        assert isinstance(taken.value, Exists)
        assert writer.publish(FRAME) == 1


def test_the_end_is_seen_and_the_name_is_free(run_id: str) -> None:
    writer = FastLaneWriter.create(run_id, CONFIG)
    writer.publish(FRAME)
    reader = FastLaneReader.attach(run_id)
    assert not reader.is_invalidated
    writer.close()
    writer.unlink()
    assert reader.is_invalidated
    last = reader.latest_frame()
    assert last is not None
    assert last.data == FRAME.tobytes()
    with pytest.raises(Closed, match="was closed"):
        writer.publish(FRAME)
    again = FastLaneWriter.create(run_id, CONFIG)
    del again
    gc.collect()
    assert run_id not in segments.paths()


def test_our_own_readers_see_it_and_it_sees_our_own_writers(run_id: str) -> None:
    with FastLaneWriter.create(run_id, CONFIG) as writer:
        writer.publish(FRAME, metadata='{"step":7}')
        with live.LiveReader(run_id) as reader:
            found = reader.latest()
            assert found is not None
            assert (found.metadata.step, found.number) == (7, 1)
            assert np.array_equal(found.picture, FRAME)
    with live.LiveWriter(run_id) as ours:
        ours.step(FRAME, 2.0)
        frame = FastLaneReader.attach(run_id).latest_frame()
        assert frame is not None
        assert (frame.data, frame.metrics.last_reward) == (FRAME.tobytes(), 2.0)
        assert b'"run_id"' in (frame.metadata or b"")


def test_what_a_killed_program_left_is_noticed_and_out_of_the_way(run_id: str) -> None:
    with subprocess.Popen([sys.executable, "-c", PUBLISHING, run_id], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with live.LiveReader(run_id) as reader, FastLaneReader.attach(run_id) as theirs:
            assert reader.state == live.LIVE
            with pytest.raises(FileExistsError):
                FastLaneWriter.create(run_id, CONFIG)
            process.kill()
            process.wait()
            assert reader.state == live.ENDED
            assert theirs.is_invalidated
    with FastLaneWriter.create(run_id, CONFIG) as writer:
        assert writer.publish(FRAME) == 1


def test_it_reads_what_another_program_writes(run_id: str) -> None:
    theirs = ForeignWriter(run_id, 6, 8, room=5)
    try:
        theirs.publish(FRAME.tobytes(), (1.0, 2.0, 3.0), b"abc")
        found = FastLaneReader.attach(run_id).latest_frame()
        assert found is not None
        assert (found.data, found.metadata) == (FRAME.tobytes(), b"abc")
        assert found.metrics == FastLaneMetrics(1.0, 2.0, 3.0)
    finally:
        theirs.remove()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_neither_publishes_nor_removes(run_id: str) -> None:
    with FastLaneWriter.create(run_id, CONFIG) as writer:
        pid = os.fork()
        if pid == 0:
            try:
                writer.publish(FRAME)
            except Forked:
                writer.close()
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        assert writer.publish(FRAME) == 1
        assert run_id in segments.paths()
