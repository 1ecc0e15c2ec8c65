"""Programs that record reels and are stopped anywhere, and what must be there afterwards.

What a step holds is told by its row and by the session that recorded it, so that a byte of another step, or of another
attempt at the same one, never passes.

As a program (`python -m tests.crash.replay_campaign FOLDER REELS CLOSING`) it records for ever, in several reels that
share a thread where REELS is more than one, and says each step when it is recorded and when it is flushed.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

from playhead.errors import PlayheadError
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.kind import FINALS
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.spans import Span
from playhead.lanes.arrays.writer import ReelWriter
from playhead.layout import ReelFiles, ReplayFolder
from playhead.tape import Crew

CONFIG = ReplayConfig(chunk=4, segment_bytes=1500)
EPISODE, STEPS, SESSIONS = 6, 12, 2
AFTERWARDS = 9  # the session that records on when all is over


def frame(session: int, row: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng([session, row]).integers(0, 256, (6, 5), np.uint8)


def observation(session: int, row: int) -> np.ndarray[Any, Any]:
    return np.array([session, row, row * row], np.float32)


def arrays_of(session: int, row: int) -> dict[str, Any]:
    """Give what a step holds; every fifth has no frame."""
    arrays = {"observations": observation(session, row), "actions": np.array(row, np.int32)}
    return arrays if row % 5 == 3 else {**arrays, "frames": frame(session, row)}


def record(writer: ReelWriter, session: int) -> int:
    row = writer.row
    return writer.step(arrays_of(session, row), row + session / 8, False, False, b"[%d,%d]" % (session, row))


def final_of(session: int, row: int) -> np.ndarray[Any, Any]:
    return observation(session, -row)


# -- a program that comes to its end, if nobody stops it ----------------------------------------------------------------


class Told(NamedTuple):
    """What a program acknowledges: `opened`, `flushed` or `closed`, the session, and the row behind the last."""

    what: str
    session: int
    row: int


def files_in(path: Path) -> ReelFiles:
    return ReplayFolder(path).reel("run")


def work(path: Path, acknowledge: Callable[[Any], None], *, patient: bool = False) -> None:
    """Record two episodes, with flushes and several segments; close, go on, and do it again.

    Args:
        path: Where.
        acknowledge: Told what is safe.
        patient: Try again what fails.
    """

    def attempt(do: Callable[[], Any]) -> Any:
        for left in (2, 1, 0) if patient else (0,):
            try:
                return do()
            except OSError:
                if not left:
                    raise
        return None

    for session in range(SESSIONS):
        writer = attempt(lambda session=session: ReelWriter(files_in(path), CONFIG, facts={"session": session}))
        first = writer.row
        acknowledge(Told("opened", session, first))
        for number in range(STEPS):
            if number == EPISODE:
                seen = {"observations": final_of(session, writer.row)}
                attempt(lambda writer=writer, seen=seen: writer.end("terminated", seen))
            attempt(lambda writer=writer, session=session: record(writer, session))
            if number % 3 == 2:
                attempt(lambda writer=writer, number=number: writer.flush(sync=number == 5))
                acknowledge(Told("flushed", session, first + number + 1))
                with contextlib.suppress(OSError) if patient else contextlib.nullcontext():
                    writer.writer.run_now()  # so that segments fill up at the same steps each time
        attempt(writer.close)
        acknowledge(Told("closed", session, first + STEPS))


# -- what must be there -------------------------------------------------------------------------------------------------


def verify(files: ReelFiles, told: list[Told]) -> None:
    """Read what is left, go on recording, and read again: everything that was acknowledged is there, bit for bit."""
    least = max((one.row for one in told if one.what != "opened"), default=0)
    if files.exist():
        reel = Reel(files)
        length = assert_rows(reel, told, least)
        assert_episodes(reel, told)
        reel.close()
    else:
        assert not least
        length = 0
    following = Reel(files) if files.exist() else None
    assert_goes_on(files, told, length, following)
    if following is not None:
        following.close()


def assert_goes_on(files: ReelFiles, told: list[Told], length: int, following: Reel | None) -> None:
    writer = ReelWriter(files, CONFIG)
    assert writer.row == length, (writer.row, length)
    told = [*told, Told("opened", AFTERWARDS, length)]
    for _ in range(5):
        record(writer, AFTERWARDS)
    writer.flush()
    reel = following or Reel(files)
    reel.refresh()
    assert assert_rows(reel, told, length + 5) == length + 5
    writer.close()
    reel.refresh()
    for one in (reel, Reel(files)):
        assert assert_rows(one, told, length + 5) == length + 5
        assert_episodes(one, told)
        assert one.spans[-1].how == "closed"
        assert one.damage == []
    assert not files.journal.exists()
    assert json.loads(ReplayFolder(files.folder).index.read_bytes()) == {files.id: files.file.name}
    with h5py.File(files.file) as file:
        assert file.attrs["total_steps"] == length + 5
        assert file["rewards"].shape == (length + 5,)


def sessions_of(told: list[Told], length: int) -> Iterator[tuple[int, int, int]]:
    """Give each session that recorded anything, its first row, and the row behind its last."""
    opened = [(one.session, one.row) for one in told if one.what == "opened"]
    stops = [row for _, row in opened[1:]] + [length]
    for (session, first), after in zip(opened, stops, strict=False):
        yield session, first, max(first, min(after, length))


def assert_rows(reel: Reel, told: list[Told], least: int) -> int:
    """See that every step is the one that was recorded there; give how many there are."""
    length = reel.length
    assert length >= least, f"{least} steps were acknowledged, {length} are there"
    rows, infos = reel.rows(0, length), reel.infos(0, length)
    assert len(rows) == len(infos) == length
    assert (np.diff(rows["ts_ns"]) > 0).all()
    due = 0
    for session, first, after in sessions_of(told, length):
        for row in range(first, after):
            assert rows["reward"][row] == row + session / 8, row
            assert infos[row] == b"[%d,%d]" % (session, row)
            for name in ("frames", "observations", "actions"):
                found, expected = reel.row(name, row), arrays_of(session, row).get(name)
                assert (found is None) == (expected is None), (name, row)
                assert found is None or expected is None or found.tobytes() == expected.tobytes(), (name, row)
        due = after
    assert due == length, "steps that nobody recorded"
    return length


def assert_episodes(reel: Reel, told: list[Told]) -> None:
    """See that episodes begin where they did; that one that was open is kept, and its end is not made up."""
    spans = {span.start: span for span in reel.spans}
    closed = {one.session for one in told if one.what == "closed"}
    for session, first, after in sessions_of(told, reel.length):
        for start in range(first, after, EPISODE):
            is_last = start + EPISODE >= after
            span = spans.pop(start)
            assert span.length == min(EPISODE, after - start), span
            if start == first and not is_last:
                assert_ended(reel, span, session)
            elif session in closed:
                assert span.how == "closed", span
            else:
                assert span.how in (None, "terminated", "closed"), span
    assert not spans, spans


def assert_ended(reel: Reel, span: Span, session: int) -> None:
    assert span.how == "terminated", span
    assert span.final is not None
    found = reel.read("observations", span.final[0], span.final[0] + 1, axis=FINALS)[0]
    assert found.tobytes() == final_of(session, span.start + span.length).tobytes()


# -- a program that never ends of itself --------------------------------------------------------------------------------


def record_for_ever(folder: Path, count: int) -> None:
    """Record reels until somebody stops it; say each step, and what is flushed: `reel row ns`, `reel row flushed`."""
    crew = Crew(CONFIG.interval / 2) if count > 1 else None
    config = ReplayConfig(segment_bytes=12_000)
    writers = [ReelWriter(ReplayFolder(folder).reel(name), config, crew=crew) for name in names_of(count)]
    with contextlib.ExitStack() as stack:
        if sys.argv[3] == "closing":
            for writer in writers:
                stack.callback(writer.close)
        for writer in writers:
            say(f"{writer.id} {writer.row} opened")
        for number in range(1 << 30):
            for writer in writers:
                row = record(writer, 0)
                say(f"{writer.id} {row} {time.time_ns()}")
                if row % EPISODE == EPISODE - 1:
                    writer.end("terminated", {"observations": final_of(0, row + 1)})
                if number % 100 == 99:
                    writer.flush()
                    say(f"{writer.id} {row} flushed")
            time.sleep(0.003)


def names_of(count: int) -> list[str]:
    return [f"run.{number}" if number else "run" for number in range(count)]


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    faulthandler.register(signal.SIGUSR1)  # one that hangs can be asked where
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let what runs in the background ignore it
    try:
        record_for_ever(Path(sys.argv[1]), int(sys.argv[2]))
    except PlayheadError as error:
        say(f"raised {error!r}")
        raise
