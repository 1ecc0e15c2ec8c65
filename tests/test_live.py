"""`playhead.live`: publishing, watching, and noticing what happens to the other side."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import playhead
from playhead import clock, live
from playhead.errors import Closed, Forked, NotFound, WrongShape, WrongType
from playhead.lanes.live import segments
from tests.lanes.live.foreign import ForeignWriter

FRAME = np.arange(60 * 80 * 3, dtype=np.uint8).reshape(60, 80, 3)

PLAYING = """
import sys, time, numpy as np
from playhead import live
writer = live.LiveWriter(sys.argv[1])
while True:
    writer.step(np.zeros((60, 80, 3), np.uint8), 1.0)
    time.sleep(0.001)
"""
TAKING_AWAY = """
import sys
from multiprocessing import shared_memory
shared_memory.SharedMemory("mosaic.fastlane." + sys.argv[1]).close()
"""
WATCHING = """
import sys
from playhead import live
reader = live.LiveReader(sys.argv[1])
print("watching", flush=True)
while True:
    reader.latest()
"""


@pytest.fixture
def run_id() -> Iterator[str]:
    name = f"test-{os.getpid()}-{os.urandom(4).hex()}"
    yield name
    segments.path_of(name).unlink(missing_ok=True)


def seen(reader: live.LiveReader) -> live.LiveFrame:
    found = reader.latest()
    assert found is not None
    return found


def within_a_second(claim: Callable[[], bool]) -> bool:
    end = clock.elapsed_ns() + clock.SECOND
    while clock.elapsed_ns() < end:
        if claim():
            return True
        clock.sleep(0.01)
    return False


def start(program: str, run_id: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", program, run_id], stdout=subprocess.PIPE, text=True)


def wait_for(run_id: str) -> live.LiveReader:
    for _ in range(2000):
        try:
            return live.LiveReader(run_id)
        except NotFound:
            clock.sleep(0.01)
    raise AssertionError("nobody publishes")


def test_the_module_is_a_name_of_the_package() -> None:
    code = "import playhead; print(playhead.live.runs.__name__)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "runs\n"
    assert playhead.live is live


def test_what_is_published_is_seen(run_id: str) -> None:
    with live.LiveWriter(run_id, facts={"env_id": "Here-v0"}) as writer:
        assert writer.step(FRAME, 1.5, ended=False)
        with live.LiveReader(run_id) as reader:
            found = seen(reader)
            assert np.array_equal(found.picture, FRAME)
            assert (found.number, found.figures.reward, found.metadata.step) == (1, 1.5, 1)
            assert found.metadata.facts == {"env_id": "Here-v0"}
            assert found.metadata.run_id == run_id
            assert reader.state == live.LIVE
            [run] = [one for one in live.runs() if one.run_id == run_id]
            assert (run.width, run.height, run.state, run.figures.reward) == (80, 60, live.LIVE, 1.5)
            found.picture[:] = 0  # the caller's own
            assert np.array_equal(seen(reader).picture, FRAME)


def test_at_most_so_many_frames_a_second_are_published_and_all_steps_counted(run_id: str) -> None:
    with live.LiveWriter(run_id, rate=50) as writer:
        began, published, steps = clock.elapsed_ns(), 0, 0
        while clock.elapsed_ns() - began < clock.SECOND // 2:
            published += writer.step(FRAME, 1.0)
            steps += 1
        assert 5 <= published <= 26
        clock.sleep(0.03)
        assert writer.is_due
        assert writer.step(lambda: FRAME, 1.0, ended=True)
        assert not writer.is_due
        found = seen(live.LiveReader(run_id))
        assert (found.metadata.step, found.metadata.episode, found.figures.rolling_return) == (
            steps + 1,
            1,
            steps + 1.0,
        )
        assert found.figures.step_rate > 100


def test_a_picture_is_only_made_where_it_is_shown(run_id: str) -> None:
    made = []
    with live.LiveWriter(run_id, rate=1) as writer:
        for _ in range(100):
            writer.step(lambda: made.append(1) or FRAME)
    assert len(made) == 1


@pytest.mark.parametrize("char", ['"', "\\", "ü", "a/"])
def test_the_longest_run_id_is_read_as_it_is(char: str, run_id: str) -> None:
    name = run_id + char * ((200 - len(run_id)) // len(char.encode()))
    name = name.removesuffix("/")
    with live.LiveWriter(name) as writer:
        writer.step(FRAME, 1.5)
        with live.LiveReader(name) as reader:
            found = reader.latest()
            assert found is not None
            assert (found.metadata.run_id, found.metadata.episode_return) == (name, 1.5)
            assert reader.state == live.LIVE


@pytest.mark.parametrize("shape", [(60, 80), (60, 80, 1)])
def test_grey_pictures_become_colours_that_every_viewer_knows(run_id: str, shape: tuple[int, ...]) -> None:
    grey = np.arange(60 * 80, dtype=np.uint8).reshape(shape)
    with live.LiveWriter(run_id, rate=None) as writer:
        for _ in range(3):
            writer.publish(grey)
        found = seen(live.LiveReader(run_id)).picture
        assert found.shape == (60, 80, 3)
        assert all(np.array_equal(found[..., colour], grey.reshape(60, 80)) for colour in range(3))


def test_pictures_that_lie_oddly_in_memory_are_seen_as_they_are(run_id: str) -> None:
    with live.LiveWriter(run_id, rate=None) as writer:
        for odd in (FRAME[::-1], FRAME[:, ::2], np.asfortranarray(FRAME), FRAME.transpose(1, 0, 2)):
            writer.publish(odd)
            assert np.array_equal(seen(live.LiveReader(run_id)).picture, odd)


def test_several_pictures_are_shown_in_a_grid(run_id: str) -> None:
    with live.LiveWriter(run_id, rate=None) as writer:
        for _ in range(2):
            writer.publish([FRAME, FRAME // 2, FRAME // 3])
            found = seen(live.LiveReader(run_id)).picture
            assert found.shape == (120, 160, 3)
            assert np.array_equal(found[60:, :80], FRAME // 3)
            assert not found[60:, 80:].any()
        with pytest.raises(WrongShape, match="one shape"):
            writer.publish([FRAME, FRAME[:30]])
        with pytest.raises(WrongShape):
            writer.publish([])


def test_a_bad_picture_leaves_everything_as_it_was(run_id: str) -> None:
    with live.LiveWriter(run_id, rate=None) as writer:
        writer.publish(FRAME)
        for wrong in (FRAME.astype(np.float32), FRAME.astype(np.int8), FRAME[0, 0], "x"):
            with pytest.raises((WrongType, WrongShape)):
                writer.publish(wrong)  # type: ignore[arg-type]
        assert seen(live.LiveReader(run_id)).number == 1
        writer.publish(FRAME)
        assert seen(live.LiveReader(run_id)).number == 2


@pytest.mark.parametrize("options", [{"rate": 0}, {"rate": -1.0}, {"rate": float("nan")}, {"slots": 1}, {"slots": 2.5}])
def test_options_that_cannot_be_are_refused(run_id: str, options: dict[str, float]) -> None:
    with pytest.raises(WrongType):
        live.LiveWriter(run_id, **options)  # type: ignore[arg-type]


def test_a_frame_of_another_size_replaces_the_ring_and_readers_follow(run_id: str) -> None:
    with live.LiveWriter(run_id, rate=None) as writer:
        writer.publish(FRAME)
        writer.publish(FRAME)
        with live.LiveReader(run_id) as reader, open(segments.path_of(run_id), "rb") as before:
            assert seen(reader).number == 2
            writer.publish(np.zeros((120, 160, 4), np.uint8))
            assert int.from_bytes(before.read(12)[8:], "little") == 1  # what other viewers look at: it is invalidated
            found = seen(reader)  # at once, since the old ring says so
            assert (found.picture.shape, found.number, reader.state) == ((120, 160, 4), 3, live.LIVE)
            writer.publish(FRAME)
            assert seen(reader).number == 4
        assert [one.run_id for one in live.runs()].count(run_id) == 1


def test_readers_of_a_foreign_ring_follow_where_nobody_invalidates_it(run_id: str) -> None:
    theirs = ForeignWriter(run_id, 4, 4)
    theirs.publish(bytes(48))
    with live.LiveReader(run_id) as reader:
        assert seen(reader).picture.shape == (4, 4, 3)
        theirs.remove()
        assert reader.state == live.ENDED
        again = ForeignWriter(run_id, 8, 8)
        again.publish(bytes(192))
        assert within_a_second(lambda: seen(reader).picture.shape == (8, 8, 3))
        again.remove()


def test_a_foreign_writer_that_stops_is_quiet_within_a_second_or_so(run_id: str) -> None:
    theirs = ForeignWriter(run_id, 4, 4)
    try:
        with live.LiveReader(run_id) as reader:
            assert reader.state == live.QUIET
            theirs.publish(bytes(48))
            assert reader.state == live.LIVE
            clock.sleep(0.3)
            assert reader.state == live.LIVE
            clock.sleep(0.8)
            assert reader.state == live.QUIET
            assert run_id in [one.run_id for one in live.runs()]
            live.remove_stale()
            assert reader.state == live.QUIET  # nobody knows whose it is, so nobody removes it
            theirs.change(flags=1)
            assert reader.state == live.ENDED
    finally:
        theirs.remove()


def test_a_killed_writer_is_noticed_within_a_second(run_id: str) -> None:
    with start(PLAYING, run_id) as process, wait_for(run_id) as reader:
        assert reader.state == live.LIVE
        process.kill()
        assert within_a_second(lambda: reader.state == live.ENDED)
        assert seen(reader).picture.shape == (60, 80, 3)
        assert run_id not in [one.run_id for one in live.runs()]


def test_a_stopped_writer_is_still_alive(run_id: str) -> None:
    with start(PLAYING, run_id) as process, wait_for(run_id) as reader:
        process.send_signal(signal.SIGSTOP)
        clock.sleep(1.1)
        assert reader.state == live.LIVE
        process.kill()


def test_a_killed_reader_changes_nothing_for_the_writer_or_others(run_id: str) -> None:
    with live.LiveWriter(run_id, rate=None) as writer:
        writer.publish(FRAME)
        with start(WATCHING, run_id) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "watching\n"
            process.kill()
        for _ in range(100):
            writer.publish(FRAME)
        assert seen(live.LiveReader(run_id)).number == 101


def test_a_reader_that_ends_in_the_usual_way_leaves_the_ring(run_id: str) -> None:
    with live.LiveWriter(run_id) as writer:
        writer.publish(FRAME)
        code = f"from playhead import live; assert live.LiveReader({run_id!r}).latest() is not None"
        subprocess.run([sys.executable, "-c", code], check=True)
        assert live.LiveReader(run_id).state == live.LIVE


def test_a_viewer_that_takes_the_name_away_as_it_ends_is_survived(run_id: str) -> None:
    with live.LiveWriter(run_id, rate=None) as writer:
        writer.publish(FRAME)
        with live.LiveReader(run_id) as reader:
            subprocess.run([sys.executable, "-W", "ignore", "-c", TAKING_AWAY, run_id], check=True)
            assert within_a_second(lambda: not segments.path_of(run_id).exists())
            assert reader.state == live.ENDED
            clock.sleep(1.0)
            for shown in (FRAME, [FRAME, FRAME]):
                writer.publish(shown)
                assert reader.state == live.LIVE
            assert seen(reader).number == 3
    assert not segments.path_of(run_id).exists()


def test_closing_tells_readers_and_removes_it(run_id: str) -> None:
    writer = live.LiveWriter(run_id)
    writer.publish(FRAME)
    reader = live.LiveReader(run_id)
    writer.close()
    writer.close()
    assert reader.state == live.ENDED
    assert np.array_equal(seen(reader).picture, FRAME)
    assert not segments.path_of(run_id).exists()
    with pytest.raises(Closed, match="was closed"):
        writer.step(FRAME)
    reader.close()
    reader.close()
    with pytest.raises(Closed):
        reader.latest()
    with pytest.raises(NotFound, match="no live run"):
        live.LiveReader(run_id)


def test_a_writer_that_nobody_holds_any_more_is_removed(run_id: str) -> None:
    writer = live.LiveWriter(run_id)
    writer.publish(FRAME)
    del writer
    gc.collect()
    assert not segments.path_of(run_id).exists()


@pytest.mark.parametrize("ending", ["", "raise SystemExit(3)", "raise KeyError"])
def test_a_program_that_ends_without_closing_leaves_nothing(run_id: str, ending: str) -> None:
    code = f"import numpy as np\nfrom playhead import live\nw = live.LiveWriter({run_id!r})\n"
    code += f"w.publish(np.zeros((4, 4, 3), np.uint8))\nprint('there')\n{ending}"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.stdout == "there\n"
    assert not segments.path_of(run_id).exists()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_neither_publishes_nor_removes(run_id: str) -> None:
    with live.LiveWriter(run_id, rate=None) as writer:
        writer.publish(FRAME)
        pid = os.fork()
        if pid == 0:
            try:
                writer.publish(FRAME)
            except Forked:
                writer.close()
                del writer
                gc.collect()
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        assert live.LiveReader(run_id).state == live.LIVE
        assert seen(live.LiveReader(run_id)).number == 1
        writer.publish(FRAME)


def test_several_runs_are_live_at_once(run_id: str) -> None:
    writers = [live.LiveWriter(f"{run_id}.{number}") for number in range(5)]
    for number, writer in enumerate(writers):
        writer.publish(np.full((8, 8, 3), number, np.uint8))
    found = [one.run_id for one in live.runs() if one.run_id.startswith(run_id)]
    assert found == [f"{run_id}.{number}" for number in range(5)]
    assert [seen(live.LiveReader(one)).picture[0, 0, 0] for one in found] == list(range(5))
    for writer in writers:
        writer.close()


def test_a_reader_of_nothing_is_told_what_there_is(run_id: str) -> None:
    with live.LiveWriter(run_id) as writer:
        writer.publish(FRAME)
        with pytest.raises(NotFound, match=run_id):
            live.LiveReader("not-there")
