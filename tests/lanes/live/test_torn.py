"""No reader sees parts of two frames, however fast they are written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from playhead import clock, live

READS = round(100_000 * float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1")))
PATIENCE = 20 * clock.SECOND  # without a frame, while its writer goes on

OURS = """
import sys, numpy as np
from playhead import live
writer = live.LiveWriter(sys.argv[1], rate=None, slots=int(sys.argv[2]))
frames = [np.full((210, 160, 3), value, np.uint8) for value in range(256)]
number = 0
while True:
    number += 1
    writer.note(float(number))
    writer.publish(frames[number % 256])
"""
THEIRS = """
import sys
from tests.lanes.live.foreign import ForeignWriter
writer = ForeignWriter(sys.argv[1], 211, 160, capacity=int(sys.argv[2]), room=21)
frames = [bytes([value]) * writer.frame for value in range(256)]
number = 0
while True:
    number += 1
    writer.publish(frames[number % 256], metadata=b'{"step":%d}' % number)
"""


@contextmanager
def writing(program: str, *arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", program, *map(str, arguments)]) as process:
        try:
            yield process
        finally:
            process.kill()


def attached(run_id: str) -> live.LiveReader:
    end = clock.elapsed_ns() + PATIENCE
    while clock.elapsed_ns() < end:
        try:
            return live.LiveReader(run_id)
        except live_errors():
            clock.sleep(0.01)
    raise AssertionError("nobody publishes")


def live_errors() -> tuple[type[Exception], ...]:
    from playhead.errors import Damaged, NotFound

    return NotFound, Damaged


@pytest.mark.parametrize(("program", "slots"), [(OURS, 4), (OURS, 2), (THEIRS, 4)])
def test_no_frame_is_torn_while_the_writer_goes_flat_out(run_id: str, program: str, slots: int) -> None:
    with writing(program, run_id, slots), attached(run_id) as reader:
        numbers = set()
        read, last = 0, clock.elapsed_ns()
        while read < READS or len(numbers) <= READS // 100:  # it goes on meanwhile, when it gets a core
            found = reader.latest()
            if found is None:  # another frame came into its place each time, or the header is being written anew
                assert clock.elapsed_ns() - last < PATIENCE
                clock.sleep(0.0005)  # a writer that was put aside in the midst of it needs a core
                continue
            read, last = read + 1, clock.elapsed_ns()
            value = found.picture[0, 0, 0]
            assert (found.picture == value).all()
            assert found.metadata.step is not None
            assert found.metadata.step % 256 == value
            assert found.metadata.step == found.number
            numbers.add(found.number)


def test_a_writer_that_is_stopped_in_the_middle_leaves_whole_frames(run_id: str) -> None:
    with writing(OURS, run_id, 3) as process, attached(run_id) as reader:
        for _ in range(50):
            process.send_signal(signal.SIGSTOP)
            found = reader.latest()
            assert found is not None
            assert np.ptp(found.picture) == 0
            process.send_signal(signal.SIGCONT)
            clock.sleep(0.002)
