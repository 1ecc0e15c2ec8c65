"""The order of syncs on which promises stand: what goes away or takes a name waits for what it relies on."""

from __future__ import annotations

import contextlib
import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import playhead
from playhead import disk
from playhead.lanes.arrays.config import ReplayConfig
from playhead.testing import Operation, operations_of
from playhead.trace import Trace, TraceWriter
from playhead.trace.writing import recover
from tests.crash.replays import play


@pytest.fixture
def store(tmp_path: Path) -> playhead.Store:
    return playhead.open(tmp_path / "s")


def place(done: list[Operation], name: str, fits: Callable[[str], bool]) -> list[int]:
    return [number for number, one in enumerate(done) if one.name == name and fits(one.path)]


def ends(*endings: str) -> Callable[[str], bool]:
    return lambda path: path.endswith(endings)


def test_what_was_logged_is_on_the_medium_before_the_run_says_that_it_ended(store: playhead.Store) -> None:
    run = store.run("p", "n", environment=False)
    run.log({"a": 1})
    run.log_text("hello")
    done = operations_of(run.finish)
    (said,) = place(done, "rename", ends("status.json"))
    for name in ("events.jsonl", "logs.txt"):
        assert place(done[:said], "fsync", ends(name)), name


def test_an_image_is_on_the_medium_before_the_line_that_names_it(store: playhead.Store) -> None:
    with store.run("p", "n", environment=False) as run:
        done = operations_of(lambda: run.log_image("image", np.zeros((2, 2), np.uint8)))
    folder = Path(next(one.path for one in done if one.name == "mkdir"))
    (named,) = place(done, "write", ends("events.jsonl"))
    for path in (folder, folder.parent):
        assert Operation("fsync", str(path), 0) in done[:named]


def test_a_claim_goes_after_the_rows_that_it_stood_for_are_on_the_medium(store: playhead.Store) -> None:
    run = store.run("p", "n", run_id="r", environment=False)
    run.log({"a": 1})
    works: list[Callable[[], object]] = [
        run.finish,
        lambda: store.runs["r"].tag("x"),
        lambda: store.runs["r"].delete(),  # noqa: PLW0108  looked up when it is called
        lambda: store.runs.deleted["r"].purge(),  # noqa: PLW0108
    ]
    for work in works:
        done = operations_of(work)
        gone = place(done, "unlink", lambda path: "/.recording/" in path and path.endswith(".json"))[-1]
        assert place(done[:gone], "fsync", ends("playhead.db-wal")), done


def test_a_summary_and_an_environment_take_their_names_when_they_are_on_the_medium(store: playhead.Store) -> None:
    def work() -> None:
        with store.run("p", "n") as run:
            run.set_primary_metric("a")
            for value in range(3):
                run.log({"a": value})
                run.flush()

    done = operations_of(work)
    for name in ("summary.json", "environment.json"):
        taken = place(done, "rename", ends(name))
        assert taken
        for number in taken:
            assert done[number - 1].name == "fsync", done[number - 2 : number + 1]
            assert f".{name}." in done[number - 1].path


def test_a_folder_that_is_taken_away_is_out_of_sight_for_good_before_it_is_emptied(
    store: playhead.Store, tmp_path: Path
) -> None:
    (tmp_path / "x").write_text("x")
    with store.run("p", "n", run_id="r", environment=False) as run:
        run.log({"a": 1})
    store.artifacts.save("policy", tmp_path / "x")
    aborted = store.dataset("d").new_episode()
    aborted.append("x", 1.0, 1)
    aborted.flush()
    store.runs["r"].delete()
    for work, name in (
        (aborted.abort, "000000000000"),
        (lambda: store.artifacts["policy:v1"].purge(), "v1"),  # noqa: PLW0108
        (lambda: store.runs.deleted["r"].purge(), "r"),  # noqa: PLW0108
    ):
        done = operations_of(work)
        hidden = next(n for n, one in enumerate(done) if one.name == "rename" and name in Path(one.path).name)
        emptied = next(
            n for n, one in enumerate(done) if n > hidden and one.name == "unlink" and one.path == done[hidden].path
        )
        assert place(done[hidden:emptied], "fsync", os.path.isdir), (name, done[hidden : emptied + 1])


def test_a_view_that_takes_new_parts_is_on_the_medium_before_they_are_there(store: playhead.Store) -> None:
    with store.run("p", "n", run_id="r", environment=False) as run:
        reel = run.new_reel(config=ReplayConfig(segment_bytes=3000, chunk=4, level=1))
        for _ in range(4):
            play(reel, 20)
    from playhead.care import optimizing

    done = operations_of(lambda: optimizing.compact(store._home, level=9))
    parts = place(done, "rename", lambda path: "/replay/r/" in path and not disk.is_temporary(Path(path).name))
    (view, *_) = place(done, "rename", ends("/replay/r.h5"))
    assert view < parts[0]
    assert place(done[view : parts[0]], "fsync", ends("/replay"))


# -- after the machine was started again ----------------------------------------------------------------------------------


def left_by_an_earlier_boot(store: playhead.Store, **process: object) -> Path:
    """Leave a run whose recorder ended with the machine, with a claim that is fresh."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            run = playhead.open(store.path).run("p", "n", run_id="r", environment=False)
            reel = run.new_reel(config=ReplayConfig(segment_bytes=1 << 14, chunk=4))
            for value in range(40):
                run.log({"a": value})
                play(reel, 4)
            run.flush(sync=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    (claim,) = (store.path / ".recording").glob("*.json")
    content = json.loads(claim.read_text())
    content["process"] |= {"place": "another-boot/pid:[1]", **process}
    claim.write_text(json.dumps(content))
    return claim


def test_a_run_that_ended_with_its_machine_is_recovered_at_the_next_open(store: playhead.Store) -> None:
    left_by_an_earlier_boot(store)
    with playhead.open(store.path) as again:
        assert again.runs["r"].status == "failed"
        assert again.runs["r"]["a"].values.tolist() == [*range(40)]
        with again.run("p", "n", run_id="r", resume=True, environment=False) as run:
            run.log({"a": 40})
        assert again.runs["r"]["a"].values.tolist() == [*range(41)]


def test_a_run_of_another_machine_is_not_taken_for_one_of_an_earlier_boot(store: playhead.Store) -> None:
    left_by_an_earlier_boot(store, hostname="elsewhere")
    with playhead.open(store.path) as again:
        assert again.runs["r"].status == "running"


def test_rows_of_lines_that_a_power_cut_took_away_go_too(store: playhead.Store) -> None:
    left_by_an_earlier_boot(store)
    events = store.runs["r"].path / "events.jsonl"
    lines = events.read_bytes().splitlines(keepends=True)
    events.write_bytes(b"".join(lines[:10]) + bytes(len(lines[10])) + b"".join(lines[11:20]) + lines[20][:9])
    with playhead.open(store.path) as again:
        assert again.runs["r"]["a"].values.tolist() == [*range(10), *range(12, 20)]  # the next line lost its begin
        with again.run("p", "n", run_id="r", resume=True, environment=False) as run:
            run.log({"a": 99})
        assert again.runs["r"]["a"].values.tolist()[-1] == 99


def test_a_reel_goes_on_where_a_power_cut_took_a_block_out_of_its_journal(store: playhead.Store) -> None:
    left_by_an_earlier_boot(store)
    segment = sorted((store.path / "replay/r.journal").glob("*.seg"))[-1]
    data = bytearray(segment.read_bytes())
    middle = len(data) // 2 // 512 * 512
    data[middle : middle + 512] = bytes(512)
    segment.write_bytes(data)
    with playhead.open(store.path) as again:
        kept = len(again.sql("SELECT row FROM steps WHERE run_id = 'r'"))
        assert 0 < kept < 160
        with again.run("p", "n", run_id="r", resume=True, environment=False) as run:
            reel = run.new_reel()
            assert reel.row == kept
            play(reel, 4)
        rows = again.sql("SELECT row, reward FROM steps WHERE run_id = 'r' ORDER BY row").to_pylist()
        assert np.array_equal([row["row"] for row in rows], range(kept + 4))
        assert [row["reward"] for row in rows] == [row / 2 for row in range(kept + 4)]


def test_take_away_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder/in").mkdir(parents=True)
    disk.take_away(tmp_path / "folder")
    assert list(tmp_path.iterdir()) == []


def test_a_trace_ends_where_a_power_cut_took_a_block_out_of_its_tape(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "x.trace")
    for step in range(60):
        writer.append({"n": step, "noise": random.Random(step).randbytes(100)}, input=step)
        if step == 20:
            writer.flush(sync=True)
            promised = sum(file.stat().st_size for file in writer._tape._journal.folder.glob("*.seg"))
        elif step > 20:
            writer.flush()
    writer._tape.abandon()
    (segment,) = (tmp_path / ".x.trace.recording").glob("*.seg")
    whole = segment.read_bytes()
    at = -(-promised // 512) * 512
    segment.write_bytes(whole[:at] + bytes(512) + whole[at + 512 :])
    kept = len(Trace.open(tmp_path / "x.trace"))
    assert 21 <= kept < 60
    assert recover(tmp_path / "x.trace")
    with TraceWriter(tmp_path / "x.trace", resume=True) as writer:
        assert writer.append({"n": kept}, input=kept) == kept
    assert [Trace.open(tmp_path / "x.trace").input(step) for step in range(kept)] == [*range(kept)]
