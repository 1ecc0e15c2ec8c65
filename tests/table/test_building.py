"""Tables made of games: the same bytes each time, whole or not at all, and added to."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead import disk
from playhead.catalog.tables import GAME
from playhead.errors import BadQuery, Closed, Damaged, Empty, Exists, NotFound, StoreLocked, WrongShape, WrongType
from playhead.layout import TableFolder
from playhead.table import Table, games, reading, sources
from playhead.table.building import append, build, decoded
from playhead.table.writing import TableWriter
from playhead.testing import count_operations, failing_at, killed_at
from tests.table.games.files import Game, game, put

LENGTHS = (5, 1, 40, 17, 300, 2)


def folder_of_games(path: Path, lengths: tuple[int, ...] = LENGTHS, *, first: int = 0) -> list[Game]:
    path.mkdir()
    played = [game(n, seed=first + i, max_score=1000 * (first + i)) for i, n in enumerate(lengths)]
    for number, one in enumerate(played):
        put(path / f"{first + number:04}.a2run2", one)
    return played


def rows_of(played: list[Game]) -> np.ndarray[Any, Any]:
    rows = np.concatenate([one.rows for one in played])
    rows["run_id"] = np.repeat(np.arange(len(played)), [len(one.rows) for one in played])
    return rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder_of_games(tmp_path / "games")
    return tmp_path / "games"


def names_in(path: Path) -> list[str]:
    return sorted(os.listdir(path))


def test_builds_the_rows_and_runs_of_a_folder(tmp_path: Path) -> None:
    played = folder_of_games(tmp_path / "games")
    table = build(tmp_path / "games", tmp_path / "table")
    assert np.array_equal(np.load(tmp_path / "table/steps.npy"), rows_of(played))
    assert np.array_equal(table[:], rows_of(played))
    assert [run["max_score"] for run in table.runs] == [1000 * number for number in range(len(LENGTHS))]
    assert [run["num_steps"] for run in table.runs] == list(LENGTHS)
    assert table.built["source"] == str(tmp_path / "games")
    assert table.built["branches"] == "require"
    assert names_in(tmp_path) == ["games", "table"]
    assert table.verify() == []


def test_a_file_and_a_list_are_sources_too(folder: Path, tmp_path: Path) -> None:
    one = build(folder / "0002.a2run2", tmp_path / "one")
    assert len(one) == 40
    several = build([folder / "0004.a2run2", str(folder / "0000.a2run2")], tmp_path / "several")
    assert [run["num_steps"] for run in several.runs] == [300, 5]


@pytest.mark.parametrize("workers", [2, 3])
def test_any_number_of_workers_gives_the_same_bytes(folder: Path, tmp_path: Path, workers: int) -> None:
    (folder / "0003.a2run2").write_bytes(b"\x05\x00")
    build(folder, tmp_path / "one", workers=1, errors="skip", where="max_score != 2000")
    table = build(folder, tmp_path / "many", workers=workers, errors="skip", where="max_score != 2000")
    assert (tmp_path / "one/steps.npy").read_bytes() == (tmp_path / "many/steps.npy").read_bytes()
    assert [run["max_score"] for run in table.runs] == [0, 1000, 4000, 5000]
    assert [one["source"] for one in table.built["skipped"]] == [str(folder / "0003.a2run2")]


def test_an_error_of_another_process_comes_as_it_is(folder: Path, tmp_path: Path) -> None:
    whole = (folder / "0004.a2run2").read_bytes()
    (folder / "0004.a2run2").write_bytes(whole[:-40])
    with pytest.raises(Damaged, match=r"0004\.a2run2") as here:
        build(folder, tmp_path / "table", workers=1)
    with pytest.raises(Damaged, match=r"0004\.a2run2") as there:
        build(folder, tmp_path / "table", workers=2)
    assert str(here.value) == str(there.value)
    assert there.value.path == str(folder / "0004.a2run2")
    assert names_in(tmp_path) == ["games"]


def test_what_is_skipped_is_listed(folder: Path, tmp_path: Path) -> None:
    (folder / "0001.a2run2").write_bytes(b"")
    put(folder / "0003.a2run2", game(3, bare=True))
    table = build(folder, tmp_path / "table", errors="skip")
    assert len(table.runs) == 4
    first, second = table.built["skipped"]
    assert first["source"].endswith("0001.a2run2")
    assert "damaged" in first["why"]
    assert "branches" in second["why"]
    assert (second["kept"], table.built["skipped_count"]) == (0, 2)
    with pytest.raises(WrongType, match="raise, skip"):
        build(folder, tmp_path / "other", errors="ignore")


def test_games_without_branches_are_kept_on_request(tmp_path: Path) -> None:
    path = put(tmp_path / "bare.a2run2", game(30, bare=True))
    with pytest.raises(WrongType, match="branches"):
        build(path, tmp_path / "table")
    table = build(path, tmp_path / "table", branches="compute")
    assert len(table) == 30
    assert table.append(path).built["appended"]  # as it was built


def test_columns_are_chosen_renamed_and_made(folder: Path, tmp_path: Path) -> None:
    whole = build(folder, tmp_path / "whole")
    table = build(folder, tmp_path / "some", columns={"b": "board", "best": lambda rows: rows["ev_values"].max(axis=1)})
    assert list(table.columns) == ["b", "best", "run_id", "step_index"]
    assert np.array_equal(table["b"], whole["board"])
    assert np.array_equal(table["best"], whole["ev_values"].max(axis=1))
    assert np.array_equal(table["run_id"], whole["run_id"])
    with pytest.raises(NotFound, match="no column 'bord'"):
        build(folder, tmp_path / "wrong", columns=["bord"])
    with pytest.raises(WrongType, match="workers=1"):
        build(folder, tmp_path / "wrong", columns={"x": lambda rows: rows["board"]}, workers=2)
    with pytest.raises(WrongType, match="for each of the"):
        build(folder, tmp_path / "wrong", columns={"x": lambda _rows: np.zeros(3)})
    assert names_in(tmp_path) == ["games", "some", "whole"]


def test_where_is_on_the_runs(folder: Path, tmp_path: Path) -> None:
    table = build(folder, tmp_path / "table", where="max_score >= 3000 and num_steps > 2")
    assert [run["num_steps"] for run in table.runs] == [17, 300]
    assert table["run_id"].max() == 1
    with pytest.raises(BadQuery):
        build(folder, tmp_path / "wrong", where="max_score >")
    with pytest.raises(BadQuery, match="max_scor"):
        build(folder, tmp_path / "wrong", where="max_scor > 1")


def test_sources_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotFound, match=r"\.a2run2"):
        build(tmp_path / "empty", tmp_path / "table")
    with pytest.raises(NotFound, match="nothing at"):
        build(tmp_path / "missing", tmp_path / "table")
    with pytest.raises(Empty):
        build([], tmp_path / "table")
    with pytest.raises(WrongType, match="int"):
        build(7, tmp_path / "table")
    assert names_in(tmp_path) == ["empty"]


def test_shards(folder: Path, tmp_path: Path) -> None:
    table = build(folder, tmp_path / "table", shard_bytes=3200)
    assert len(names_in(tmp_path / "table/shards")) == 4
    whole = build(folder, tmp_path / "whole")
    assert np.array_equal(table[:], whole[:])
    grown = table.append(folder)
    assert np.array_equal(grown[len(table) :]["board"], whole["board"])
    assert len(names_in(tmp_path / "table/shards")) == 8


def test_one_shard_is_a_function_of_its_sources(folder: Path) -> None:
    plan = sources.plan(folder, sources.Options())
    shard = decoded(plan.items[1:3], plan.dtype, plan.known)
    assert [run["num_steps"] for run in shard.runs] == [1, 40]
    assert len(shard.rows) == 41
    assert (shard.failure, shard.skipped) == (None, [])


# Where there is something already.


def test_what_is_there_is_not_replaced(folder: Path, tmp_path: Path) -> None:
    table = build(folder, tmp_path / "table")
    with pytest.raises(Exists, match="overwrite=True"):
        build(folder / "0000.a2run2", tmp_path / "table")
    assert len(Table.open(tmp_path / "table")) == len(table)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/thesis.txt").write_text("years of work")
    with pytest.raises(Exists, match=r"thesis\.txt"):
        build(folder, tmp_path / "notes", overwrite=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(Exists, match="is a file"):
        build(folder, tmp_path / "file", overwrite=True)
    (tmp_path / "void").mkdir()
    assert len(build(folder, tmp_path / "void")) == len(table)


def test_overwrite_replaces_the_whole(folder: Path, tmp_path: Path) -> None:
    old = build(folder, tmp_path / "table")
    before = old[:].copy()
    new = build(folder / "0000.a2run2", tmp_path / "table", overwrite=True)
    assert len(new) == len(Table.open(tmp_path / "table")) == 5
    assert np.array_equal(old[:], before)
    with pytest.raises(Closed, match="open it again"):  # its runs are gone, and those that are there are others
        old.filter("max_score > 0")
    assert names_in(tmp_path) == ["games", "table"]


def test_a_table_that_is_added_to_is_not_replaced(folder: Path, tmp_path: Path) -> None:
    build(folder, tmp_path / "table")
    with TableWriter(TableFolder(tmp_path / "table")), pytest.raises(StoreLocked):
        build(folder, tmp_path / "table", overwrite=True)
    assert names_in(tmp_path) == ["games", "table"]


def test_a_file_system_that_cannot_exchange_is_named_before_the_work(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(folder, tmp_path / "table")

    def cannot(one: Any, _other: Any) -> None:
        raise OSError(errno.EINVAL, "no", str(one))

    monkeypatch.setattr(disk, "exchange", cannot)
    with pytest.raises(Exists, match="another name"):
        build(folder, tmp_path / "table", overwrite=True)
    assert names_in(tmp_path) == ["games", "table"]


def test_exchange_swaps_two_folders(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).write_text("")
    disk.exchange(tmp_path / "a", tmp_path / "b")
    assert (names_in(tmp_path / "a"), names_in(tmp_path / "b")) == (["b"], ["a"])
    with pytest.raises(FileNotFoundError):
        disk.exchange(tmp_path / "a", tmp_path / "c")


# Kills.


def test_killed_at_each_change_a_build_leaves_nothing_or_all(folder: Path, tmp_path: Path) -> None:
    expected = build(folder, tmp_path / "expected")[:].copy()
    changes = count_operations(lambda: build(folder, tmp_path / "counted", shard_bytes=4000))
    seen = set()
    out = tmp_path / "table"
    for n in range(changes):
        crash = killed_at(n, lambda _tell: build(folder, out, shard_bytes=4000))
        assert crash.killed
        if out.exists():
            assert np.array_equal(Table.open(out)[:], expected)
        seen.add(out.exists())
        shutil.rmtree(out, ignore_errors=True)
        build(folder, out)
        assert names_in(tmp_path) == ["counted", "expected", "games", "table"]  # leftovers were collected
        shutil.rmtree(out)
    assert seen == {False, True}


def test_killed_at_each_change_an_overwrite_leaves_the_old_or_the_new(folder: Path, tmp_path: Path) -> None:
    out, again = tmp_path / "table", folder / "0004.a2run2"
    build(folder, out)
    kept = tmp_path / "kept"
    shutil.copytree(out, kept)
    changes = count_operations(lambda: build(again, out, overwrite=True))
    seen = set()
    for n in range(changes):
        shutil.rmtree(out)
        shutil.copytree(kept, out)
        killed_at(n, lambda _tell: build(again, out, overwrite=True))
        found = Table.open(out)
        assert len(found) in (365, 300)
        assert found.verify() == []
        seen.add(len(found))
    assert seen == {365, 300}
    build(again, out, overwrite=True)
    assert names_in(tmp_path) == ["games", "kept", "table"]


def test_a_full_disk_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    changes = count_operations(lambda: build(folder, tmp_path / "counted"))
    for n in range(0, changes - 1, 2):
        with failing_at(n, errno.ENOSPC, lasting=False), pytest.raises(OSError, match="space"):
            build(folder, tmp_path / "table")
        assert not (tmp_path / "table").exists()


# Adding.


def test_append_goes_on_with_ids(folder: Path, tmp_path: Path) -> None:
    table = build(folder, tmp_path / "table")
    more = folder_of_games(tmp_path / "more", (7, 8), first=6)
    size = (tmp_path / "table/steps.npy").stat().st_size
    grown = append(tmp_path / "table", tmp_path / "more")
    assert len(grown) == len(table) + 15
    assert grown["run_id"][-15:].tolist() == [6] * 7 + [7] * 8
    assert np.array_equal(grown["board"][-8:], more[1].rows["board"])
    assert (tmp_path / "table/steps.npy").stat().st_size == size + 15 * 32
    assert [run["max_score"] for run in grown.runs[-2:]] == [6000, 7000]
    assert len(table) == 365
    assert grown.built["appended"] == [{"source": str(tmp_path / "more")}]
    assert grown.verify() == []


def test_append_refuses_other_rows_and_says_what_differs(folder: Path, tmp_path: Path) -> None:
    build(folder, tmp_path / "table", columns=["board", "move"])
    with pytest.raises(WrongType, match="move is missing"):
        append(tmp_path / "table", folder, columns=["board"])
    with pytest.raises(WrongType, match=r"ev_legal .* is new"):
        append(tmp_path / "table", folder, columns=["board", "move", "ev_legal"])
    arrays = {"board": np.zeros(3, np.uint64), "move": np.zeros(3, np.uint8)}
    with pytest.raises(WrongType, match="episode_id"):
        append(tmp_path / "table", arrays)
    assert len(append(tmp_path / "table", folder)) == 2 * 365  # the columns are those of the build


def test_an_append_that_fails_leaves_the_table(folder: Path, tmp_path: Path) -> None:
    build(folder, tmp_path / "table")
    (folder / "0005.a2run2").write_bytes(b"")
    with pytest.raises(Damaged):
        append(tmp_path / "table", folder)
    assert len(Table.open(tmp_path / "table")) == 365
    assert len(append(tmp_path / "table", folder, errors="skip")) == 365 + 363


def test_long_games_are_refused_or_widen_the_table(folder: Path, tmp_path: Path) -> None:
    rows = np.zeros(70_000, games.step_dtype(widen=True))
    rows["ev_legal"], rows["ev_values"][:, 0] = 1, 1
    rows["step_index"] = np.arange(len(rows))
    put(tmp_path / "long.a2run2", Game(rows))
    with pytest.raises(WrongType, match="widen"):
        build(tmp_path / "long.a2run2", tmp_path / "long")
    assert build(tmp_path / "long.a2run2", tmp_path / "long", widen=True)["step_index"].max() == 69_999
    table = build(folder, tmp_path / "table")
    with pytest.raises(WrongType, match="widen"):
        append(tmp_path / "table", tmp_path / "long.a2run2")
    assert len(append(tmp_path / "table", folder, widen=True)) == 730  # no need
    assert Table.open(tmp_path / "table").dtype == games.STEP
    wide = append(tmp_path / "table", tmp_path / "long.a2run2", widen=True)
    assert wide.dtype == games.step_dtype(widen=True)
    assert np.array_equal(wide[:365]["board"], table["board"])
    assert wide["step_index"][-1] == 69_999
    assert len(wide.runs) == 13
    assert len(append(tmp_path / "table", folder)) == len(wide) + 365  # also without being told
    assert names_in(tmp_path) == ["games", "long", "long.a2run2", "table"]


def test_killed_while_it_widens_a_table_is_old_or_new(folder: Path, tmp_path: Path) -> None:
    rows = np.zeros(66_000, games.step_dtype(widen=True))
    rows["ev_legal"], rows["ev_values"][:, 0] = 1, 1
    put(tmp_path / "long.a2run2", Game(rows))
    kept, out = tmp_path / "kept", tmp_path / "table"
    build(folder, kept)
    shutil.copytree(kept, out)
    changes = count_operations(lambda: append(out, tmp_path / "long.a2run2", widen=True))
    seen = set()
    for n in [*range(0, changes, 3), *range(changes - 2, changes + 3)]:
        shutil.rmtree(out)
        shutil.copytree(kept, out)
        killed_at(n, lambda _tell: append(out, tmp_path / "long.a2run2", widen=True))
        seen.add(len(Table.open(out)))
        assert Table.open(out).verify() == []
    assert seen == {365, 66_365}


def test_processes_end_with_the_one_that_started_them(folder: Path, tmp_path: Path) -> None:
    script = (
        "import os, sys, time\n"
        "from playhead.table import reading, sources\n"
        "if __name__ == '__main__':\n"
        "    plan = sources.plan(sys.argv[1], sources.Options())\n"
        "    blocks = reading.read_all(plan, workers=2, errors='raise', skipped=[], watch=lambda more: None)\n"
        "    next(blocks)\n"
        "    print(*os.popen(f'pgrep -P {os.getpid()} -f spawn_main').read().split(), flush=True)\n"
        "    time.sleep(60)\n"
    )
    (tmp_path / "script.py").write_text(script)
    command = [sys.executable, str(tmp_path / "script.py"), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        children = [int(pid) for pid in process.stdout.readline().split()]
        process.kill()
    assert children
    for _ in range(100):
        if not any(Path(f"/proc/{pid}").exists() for pid in children):
            return
        time.sleep(0.1)
    pytest.fail(f"{children} go on")


def test_a_run_may_come_in_parts(tmp_path: Path) -> None:
    rows = np.zeros(10, games.STEP)
    known = {"max_score": 1, "highest_tile": 2, "engine": "", "start_time": 0, "elapsed_s": 0.0}
    tmp_path.joinpath("table").mkdir()
    with TableWriter(TableFolder(tmp_path / "table"), games.STEP, GAME) as writer:
        writer.add(rows[:4], [])
        writer.add(rows[:3], [])
        writer.add(rows, [{"num_steps": 12} | known, {"num_steps": 5} | known])
        with pytest.raises(WrongShape):
            writer.add(rows, [{"num_steps": 12} | known])
    assert Table.open(tmp_path / "table")["run_id"].tolist() == [0] * 12 + [1] * 5
    with pytest.raises(WrongShape, match="was not"), TableWriter(TableFolder(tmp_path / "table")) as writer:
        writer.add(rows, [])
    assert len(Table.open(tmp_path / "table")) == 17


def test_large_files_are_read_here_in_their_turn(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(folder, tmp_path / "one", workers=1)
    monkeypatch.setattr(reading, "_LARGE", 1000)  # some are, and some go to other processes
    monkeypatch.setattr(reading, "_GROUP", 100)
    build(folder, tmp_path / "many", workers=2)
    assert (tmp_path / "one/steps.npy").read_bytes() == (tmp_path / "many/steps.npy").read_bytes()
