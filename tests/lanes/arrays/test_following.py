"""Reading while another process records flat out and seals under our eyes: what was acknowledged is there, bit for bit."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from playhead.lanes.arrays.kind import FINALS
from playhead.lanes.arrays.reel import Reel
from tests.lanes.arrays.following_worker import EPISODE, arrays_of, final_of
from tests.lanes.arrays.reels import assert_same, reel_in

ROOT = Path(__file__).parents[3]


@contextlib.contextmanager
def recording(folder: Path, segment_bytes: int, codec: str, seconds: float) -> Iterator[Iterator[int]]:
    """Let another process record; what it has flushed, again and again, until it has closed the reel."""
    command = [sys.executable, "-m", "tests.lanes.arrays.following_worker"]
    arguments = [str(folder), str(seconds), str(segment_bytes), codec]
    with subprocess.Popen([*command, *arguments], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield acknowledged(process.stdout.fileno())
            assert process.wait(20) == 0
        finally:
            process.kill()


def acknowledged(pipe: int) -> Iterator[int]:
    """Give the newest line of a pipe, as soon as there is one."""
    rest = b""
    while data := os.read(pipe, 1 << 16):
        *lines, rest = (rest + data).split(b"\n")
        if lines:
            yield int(lines[-1])


def assert_rows(reel: Reel, start: int, stop: int) -> None:
    rows = reel.rows(start, stop)
    assert rows["reward"].tolist() == [row / 3 for row in range(start, stop)]
    assert rows["episode"].tolist() == [row // EPISODE for row in range(start, stop)]
    assert reel.infos(start, stop) == [b"%d" % row for row in range(start, stop)]
    expected = [arrays_of(row) for row in range(start, stop)]
    nothing = np.zeros((12, 10, 3), np.uint8)
    assert_same(reel.read("observations", start, stop), np.stack([row["observations"] for row in expected]))
    assert_same(reel.read("actions", start, stop), np.stack([row["actions"] for row in expected]))
    assert_same(reel.read("frames", start, stop), np.stack([row.get("frames", nothing) for row in expected]))
    present = reel.present("frames", start, stop)
    assert (np.ones(stop - start, bool) if present is None else present).tolist() == [
        "frames" in row for row in expected
    ]


def assert_some(reel: Reel, length: int, chance: random.Random) -> None:
    """Read rows here and there, in all ways."""
    positions = [chance.randrange(length) for _ in range(12)]
    for position in positions[:4]:
        found, expected = reel.row("frames", position), arrays_of(position).get("frames")
        assert (found is None) == (expected is None), position
        if found is not None and expected is not None:
            assert_same(found, expected, position)
    taken = reel.take("observations", np.array(positions))
    assert_same(taken, np.stack([arrays_of(position)["observations"] for position in positions]))
    start = chance.randrange(length)
    assert_rows(reel, start, min(length, start + 40))


def assert_episodes(reel: Reel) -> None:
    spans, length = reel.spans, reel.length  # reading may look at the files again, and find more
    for number, span in enumerate(spans):
        assert (span.number, span.start, span.facts) == (number, number * EPISODE, {"first": number * EPISODE})
        is_last = number == len(spans) - 1
        assert span.length == (length - span.start if is_last else EPISODE)
        if not is_last:
            assert span.how == "terminated", span
            assert span.final is not None
            final = reel.read("observations", span.final[0], span.final[0] + 1, axis=FINALS)[0]
            assert_same(final, final_of(span.start + EPISODE))


@pytest.mark.parametrize("codec", ["zstd", "lzf"])
def test_every_acknowledged_step_is_there(tmp_path: Path, codec: str) -> None:
    chance = random.Random(3)
    files = reel_in(tmp_path)
    following = stale = None
    checked = known = looks = most_parts = 0
    with recording(tmp_path, 60_000, codec, 2.0 if codec == "zstd" else 0.8) as flushed:
        for length in flushed:
            following = following or Reel(files)
            following.refresh()
            assert following.length >= length
            assert following.damage == []
            for start in range(checked, length, 500):
                assert_rows(following, start, min(start + 500, length))
            checked, looks = length, looks + 1
            most_parts = max(most_parts, len(following.parts))
            assert_some(following, length, chance)
            assert_episodes(following)
            if stale is not None:  # nobody told this one that what it knows was sealed and removed meanwhile
                assert_some(stale, known, chance)
            if stale is None or looks % 6 == 0:
                stale, known = Reel(files), length
                assert stale.length >= length
    assert following is not None
    following.refresh()
    assert following.length == checked
    assert following.spans[-1].how == "closed"
    assert not files.journal.exists()
    assert most_parts > 2, "nothing was sealed under our eyes"
    print(f"{codec}: {checked} steps, {looks} looks, {most_parts} parts")


def test_a_segment_does_not_grow_much_beyond_its_size_when_recording_is_flat_out(tmp_path: Path) -> None:
    largest = 0
    with recording(tmp_path, 60_000, "zstd", 1.0) as flushed:
        for _ in flushed:
            for segment in reel_in(tmp_path).journal.glob("*.seg"):
                with contextlib.suppress(FileNotFoundError):
                    largest = max(largest, segment.stat().st_size)
    assert largest < 20 * 60_000, f"a segment of {largest} bytes where 60000 were asked for"


def test_a_reader_that_comes_before_the_first_step(tmp_path: Path) -> None:
    files = reel_in(tmp_path)
    with recording(tmp_path, 1 << 28, "gzip", 0.3) as flushed:
        while not files.file.exists():
            time.sleep(0.005)
        reel = Reel(files)
        for length in flushed:
            reel.refresh()
            assert reel.length >= length
            assert_rows(reel, max(0, length - 50), length)
