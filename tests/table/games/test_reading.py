"""Games come back as they were written, from each of the four kinds of files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from playhead.errors import MissingExtra, NotFound, WrongShape, WrongType
from playhead.table import games
from playhead.table.games import a2pack, a2run2
from tests.table.games.files import game, put, read

STEPS = (0, 1, 2, 137)


@pytest.mark.parametrize("count", STEPS)
def test_a2run2(tmp_path: Path, count: int) -> None:
    one = game(count, seed=count)
    rows, runs = read(put(tmp_path / "one.a2run2", one))
    assert runs == [one.known]
    np.testing.assert_array_equal(rows, one.rows)


@pytest.mark.parametrize("count", STEPS)
def test_a2run(tmp_path: Path, count: int) -> None:
    one = game(count, bare=True, seed=count)
    rows, runs = read(put(tmp_path / "one.a2run", one), "compute")
    assert runs == [one.known]
    np.testing.assert_array_equal(rows["board"], one.rows["board"])
    np.testing.assert_array_equal(rows["move"], one.rows["move"])
    np.testing.assert_array_equal(rows["ev_legal"], games.legal_moves(one.rows["board"]))


@pytest.mark.parametrize("align", [1, 64, 4096])
@pytest.mark.parametrize("sums", [True, False], ids=["sums", "no sums"])
def test_a2pack(tmp_path: Path, align: int, sums: bool) -> None:
    played = [game(count, seed=count, engine=f"engine {count}") for count in (3, 0, 41, 7)]
    rows, runs = read(put(tmp_path / "games.a2pack", *played, align=align, sums=sums))
    assert runs == [one.known for one in played]
    np.testing.assert_array_equal(rows, np.concatenate([one.rows for one in played]))


def test_a_pack_of_both_versions(tmp_path: Path) -> None:
    played = [game(5, seed=1), game(6, bare=True, seed=2), game(7, seed=3)]
    path = put(tmp_path / "games.a2pack", *played, kinds=[2, 1, 2])
    rows, runs = read(path, "compute")
    assert [run["num_steps"] for run in runs] == [5, 6, 7]
    np.testing.assert_array_equal(rows[:5], played[0].rows)
    np.testing.assert_array_equal(rows["board"][5:11], played[1].rows["board"])
    with pytest.raises(WrongType, match=r"games.a2pack, run 1: step 0 has no branches.*branches='compute'"):
        read(path)


def test_dat(tmp_path: Path) -> None:
    played = [game(count, seed=count, engine="é" * count) for count in (3, 0, 41, 7)]
    rows, runs = read(put(tmp_path / "games.dat", *played))
    assert runs == [one.known for one in played]
    expected = np.concatenate([one.rows for one in played])
    for name in ("board", "move", "ev_legal", "step_index"):
        np.testing.assert_array_equal(rows[name], expected[name])
    np.testing.assert_allclose(rows["ev_values"], expected["ev_values"], atol=0.5 / 65535 + 1e-7)
    assert (rows["ev_values"][np.arange(len(rows)), rows["move"]] == 1).all()


@pytest.mark.parametrize("name", ["none.a2pack", "none.dat"])
def test_a_pack_without_games(tmp_path: Path, name: str) -> None:
    assert list(games.read(put(tmp_path / name), dtype=games.STEP)) == []


@pytest.mark.parametrize("name", ["games.a2pack", "games.dat"])
def test_packs_are_given_in_pieces_of_whole_games(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    played = [game(count, seed=count) for count in (30, 30, 30, 200, 30)]
    path = put(tmp_path / name, *played)
    for module in ("a2pack", "dat"):
        monkeypatch.setattr(f"playhead.table.games.{module}._AT_ONCE", 100)
    pieces = list(games.read(path, dtype=games.STEP))
    assert [[run["num_steps"] for run in runs] for _, runs in pieces] == [[30, 30, 30], [200], [30]]
    assert [len(rows) for rows, _ in pieces] == [90, 200, 30]
    assert a2pack._AT_ONCE == 100


# -- branches -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bare.a2run2", "bare.a2run", "bare.dat"])
def test_games_without_branches(tmp_path: Path, name: str) -> None:
    one = game(50, bare=True)
    one.rows["board"][7] = 0x0011_0000_0000_0000  # can go down, left and right
    one.rows["move"][7] = 3
    path = put(tmp_path / name, one)
    with pytest.raises(WrongType, match=rf"{name}.*: step 0 has no branches.*Pass branches='compute'"):
        read(path)
    rows, _ = read(path, "compute")
    assert rows["ev_legal"][7] == 0b1110
    assert rows["ev_values"][7].tolist() == [0, 0, 0, 1]


def test_some_steps_without_branches(tmp_path: Path) -> None:
    one = game(9)
    one.rows["ev_legal"][4], one.rows["ev_values"][4] = 255, 0
    path = put(tmp_path / "one.a2run2", one)
    with pytest.raises(WrongType, match="step 4 has no branches"):
        read(path)
    rows, _ = read(path, "compute")
    np.testing.assert_array_equal(np.delete(rows, 4), np.delete(one.rows, 4))


@pytest.mark.parametrize("name", ["one.a2run2", "one.dat"])
def test_a_chosen_move_that_is_illegal_keeps_its_0(tmp_path: Path, name: str) -> None:
    one = game(1)
    one.rows["move"], one.rows["ev_legal"], one.rows["ev_values"] = 1, 0b0101, [0.5, 0, 0.25, 0]
    rows, _ = read(put(tmp_path / name, one))
    assert (rows["move"][0], rows["ev_legal"][0]) == (1, 0b0101)
    np.testing.assert_allclose(rows["ev_values"][0], [0.5, 0, 0.25, 0], atol=1e-5)


def test_a_chosen_move_that_the_board_does_not_allow_keeps_its_0(tmp_path: Path) -> None:
    one = game(1, bare=True)
    one.rows["board"], one.rows["move"] = 0x1000_0000_0000_0000, 0  # one tile, in the upper left corner; up
    rows, _ = read(put(tmp_path / "one.a2run", one), "compute")
    assert rows["ev_legal"][0] == 0b1010
    assert rows["ev_values"][0].tolist() == [0, 0, 0, 0]


def test_values_are_clamped(tmp_path: Path) -> None:
    one = game(1)
    one.rows["move"], one.rows["ev_legal"], one.rows["ev_values"] = 0, 0b1111, [0.3, -0.0, np.inf, -np.inf]
    rows, _ = read(put(tmp_path / "one.a2run2", one))
    assert rows["ev_values"].tolist() == [[1, 0, 1, 0]]
    assert not np.signbit(rows["ev_values"]).any()


# -- many moves -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".a2run2", ".a2run"])
def test_step_index_holds_65536_moves_and_more_when_widened(tmp_path: Path, suffix: str) -> None:
    most = put(tmp_path / f"most{suffix}", game(65536, bare=True))
    rows, _ = read(most, "compute")
    assert rows["step_index"][-1] == 65535
    more = put(tmp_path / f"more{suffix}", game(65537, bare=True))
    with pytest.raises(WrongType, match=r"more.*: a game of 65,537 moves.*widen=True"):
        read(more, "compute")
    rows, _ = read(more, "compute", widen=True)
    assert rows.dtype.itemsize == 34
    np.testing.assert_array_equal(rows["step_index"], np.arange(65537))


# -- which files ----------------------------------------------------------------------------------------------------


def test_files_are_found_in_the_order_of_their_paths(tmp_path: Path) -> None:
    names = ["b.a2run2", "a/z.a2run", "a/b/c.dat", "a-b.a2pack", "a.a2run2", "B.a2run2"]
    for name in [*names, "notes.txt", "a/x.a2run2.tmp", "a/a2run2"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "folder.dat").mkdir()
    (tmp_path / "round").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "lost.dat").symlink_to(tmp_path / "nowhere")
    found = [str(path.relative_to(tmp_path)) for path in games.find(tmp_path)]
    assert found == ["B.a2run2", "a/b/c.dat", "a/z.a2run", "a-b.a2pack", "a.a2run2", "b.a2run2"]


def test_one_file_is_found_as_it_is(tmp_path: Path) -> None:
    path = put(tmp_path / "one.a2run2", game(1))
    assert games.find(path) == [path]


def test_what_is_not_of_games_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    assert games.find(tmp_path) == []
    with pytest.raises(WrongType, match=r"end in \.a2run2, \.a2run, \.a2pack, \.dat"):
        games.find(tmp_path / "notes.txt")
    with pytest.raises(WrongType, match=r"notes\.txt"):
        list(games.read(tmp_path / "notes.txt", dtype=games.STEP))
    with pytest.raises(NotFound, match="no such file or folder"):
        games.find(tmp_path / "nothing")
    for suffix in games.SUFFIXES:
        with pytest.raises(NotFound, match="is missing"):
            list(games.read(tmp_path / f"nothing{suffix}", dtype=games.STEP))


def test_a_file_of_version_1_that_was_renamed(tmp_path: Path) -> None:
    one = game(4, bare=True)
    path = put(tmp_path / "one.a2run", one).rename(tmp_path / "one.a2run2")
    rows, runs = read(path, "compute")
    assert runs == [one.known]
    np.testing.assert_array_equal(rows["board"], one.rows["board"])


def test_other_types_and_ways_are_refused(tmp_path: Path) -> None:
    path = put(tmp_path / "one.a2run2", game(1))
    with pytest.raises(WrongType, match="step_dtype"):
        list(games.read(path, dtype=np.dtype([("board", "<u8")])))
    with pytest.raises(WrongType, match="'guess'"):
        list(games.read(path, dtype=games.STEP, branches="guess"))


def test_a_checksum_needs_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path / "one.a2run", game(1))
    monkeypatch.setitem(sys.modules, "google_crc32c", None)
    with pytest.raises(MissingExtra, match=r"google-crc32c.*playhead\[games\]"):
        read(path, "compute")


# -- writing --------------------------------------------------------------------------------------------------------


def test_an_engine_nobody_knows_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "one.a2run2"
    games.write_a2run2(path, game(1).rows, 0, max_score=0, highest_tile=2)
    assert read(path)[1][0]["engine"] == ""
    assert os.listdir(tmp_path) == ["one.a2run2"]


def test_rows_that_are_none_are_not_written(tmp_path: Path) -> None:
    about = {"max_score": 0, "highest_tile": 0}
    with pytest.raises(WrongShape, match="ev_legal, ev_values is missing"):
        a2run2.write_a2run2(tmp_path / "x.a2run2", np.zeros(1, [("board", "<u8"), ("move", "u1")]), 0, **about)
    rows = game(1).rows
    rows["move"] = 4
    with pytest.raises(WrongType, match="a move is 0"):
        a2run2.write_a2run2(tmp_path / "x.a2run2", rows, 0, **about)
    assert not (tmp_path / "x.a2run2").exists()


def test_a_time_that_is_no_number_is_unknown(tmp_path: Path) -> None:
    path = put(tmp_path / "one.a2run2", game(1, elapsed_s=float("nan")))
    assert read(path)[1][0]["elapsed_s"] is None
