"""Of the file of a game nothing is lost: a table gives it back, field by field and byte for byte."""

from __future__ import annotations

import sqlite3
import struct
from pathlib import Path

import numpy as np
import pytest

import playhead
from playhead.care import verify
from playhead.catalog.tables import GAME, LATER, checksums
from playhead.errors import BadKey, BadSlice, Damaged, NotFound, OutOfRange, WrongType
from playhead.layout import TableFolder
from playhead.table import games
from playhead.table.games import a2run2, steps
from playhead.table.writing import TableWriter
from tests.table.games.files import Game, game, put, read
from tests.table.games.test_by_hand import A2RUN, A2RUN2, _crc32c_bit_by_bit

FINAL = 0xFEDC_BA98_7654_3210  # over 2^63, as most boards with a large tile in the corner are


def lively(count: int, seed: int) -> Game:
    """Make up a game whose player does not always choose the best move, and whose values may be any."""
    one = game(count, seed=seed)
    generator = np.random.default_rng(seed)
    one.final = FINAL - seed
    one.rows["move"] = generator.integers(0, 4, count)
    one.rows["ev_values"] = generator.normal(size=(count, 4)) * (one.rows["ev_legal"][:, None] >> np.arange(4) & 1)
    for place, odd in enumerate([-0.0, np.inf, -np.inf, 1e-45, 1.0000001]):
        one.rows["ev_values"][place], one.rows["ev_legal"][place] = odd, 15
    return one


def lacunary(count: int, seed: int) -> Game:
    """Make up one that has no branches here and there."""
    one = lively(count, seed)
    for place in (0, 1, 7, count - 1):
        one.rows["ev_legal"][place], one.rows["ev_values"][place] = 255, 0
    return one


def built(tmp_path: Path, **options: object) -> playhead.Table:
    return playhead.Table.build(tmp_path / "runs", tmp_path / "table", branches="compute", **options)


@pytest.mark.parametrize("decoder", ["plain", "compiled"])
def test_files_come_back_byte_for_byte(tmp_path: Path, decoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "_seen", 0 if decoder == "plain" else 1 << 40)
    (tmp_path / "runs").mkdir()
    folder = tmp_path / "runs"
    put(folder / "a.a2run2", lively(60, 1))
    put(folder / "b.a2run2", lacunary(60, 2))
    put(folder / "c.a2run2", game(40, seed=3))  # the chosen value is the same in all steps
    put(folder / "d.a2run2", game(0))
    put(folder / "e.a2run", game(20, bare=True, seed=4, engine="é"))
    put(folder / "f.dat", lively_of_dat(30, 5))
    (folder / "g.a2run2").write_bytes(A2RUN2)
    (folder / "h.a2run").write_bytes(A2RUN + _crc32c_bit_by_bit(A2RUN).to_bytes(4, "little"))
    nameless = game(3, seed=6)
    head = a2run2.About(7, bytes.fromhex("0100c0ff"), 1 << 62, 16, None)  # a NaN that says something, and no engine
    (folder / "i.a2run2").write_bytes(a2run2.encode(nameless.rows, 5, head))
    named = head._replace(engine="", elapsed=struct.pack("<f", 0.1))
    (folder / "j.a2run2").write_bytes(a2run2.encode(nameless.rows, 5, named))
    table = built(tmp_path)
    files = games.find(folder)
    assert len(table.runs) == len(files) == 10
    for run, file in zip(table.runs, files, strict=True):
        back = tmp_path / f"back{file.suffix}"
        games.restore(table, run["id"], back)
        assert back.read_bytes() == file.read_bytes(), file.name
    assert [run["final_board"] for run in table.runs][:2] == [f"{FINAL - 1:x}", f"{FINAL - 2:x}"]
    assert table.runs[5]["final_board"] is None  # a .dat does not have one
    assert table.runs[6]["final_board"] == f"{0x7F:016x}"
    assert table.runs[7]["final_board"] == "0200000000000000"
    assert all("original" not in run for run in table.runs)
    assert table.verify() == []


def test_a_run_is_named_by_an_integer_of_any_kind(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    files = [put(tmp_path / f"runs/{seed}.a2run2", lively(20, seed)) for seed in range(3)]
    table = built(tmp_path)
    for run, file in zip(table.runs.ids, files, strict=True):
        games.restore(table, run, tmp_path / "back.a2run2")
        assert (tmp_path / "back.a2run2").read_bytes() == file.read_bytes()
        assert table.runs.original(run) == table.runs.original(int(run)) is not None
        assert table.runs[run] == table.runs[int(run)] == table.runs[np.uint8(run)]
        assert table.filter(runs=[run]).runs[0]["id"] == run
    for wrong in (1.0, "1", True, None):
        with pytest.raises(BadKey, match=r"the id of a run is a whole number"):
            games.restore(table, wrong, tmp_path / "back.a2run2")  # type: ignore[arg-type]
        with pytest.raises(BadKey, match=r"an index is a whole number"):
            table.runs[wrong]  # type: ignore[call-overload]


def test_runs_are_sliced_as_lists_are(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    for seed in range(3):
        put(tmp_path / f"runs/{seed}.a2run2", lively(20, seed))
    runs = built(tmp_path).runs
    assert [run["id"] for run in runs[::-1]] == [2, 1, 0]
    assert runs[3:] == []
    with pytest.raises(BadSlice, match="zero"):
        runs[::0]
    with pytest.raises(BadKey, match="bounds of a slice"):
        runs["a":]  # type: ignore[misc]
    for far in (3, -4, 1 << 70):
        with pytest.raises(OutOfRange, match="of 3"):
            runs[far]


def lively_of_dat(count: int, seed: int) -> Game:
    one = game(count, seed=seed)
    one.rows["move"] = np.random.default_rng(seed).integers(0, 4, count)
    one.rows["ev_legal"][3], one.rows["ev_values"][3] = 255, [0, 0.25, 0, 1]  # values without a mask
    return one


def test_games_of_a_pack_come_back_in_the_form_that_they_have_there(tmp_path: Path) -> None:
    played = [lively(20, 1), game(6, bare=True, seed=2), lively(30, 3)]
    (tmp_path / "runs").mkdir()
    put(tmp_path / "games.a2pack", *played, kinds=[2, 1, 2]).rename(tmp_path / "runs/games.a2pack")
    table = built(tmp_path)
    for number, (suffix, one) in enumerate(zip((".a2run2", ".a2run", ".a2run2"), played, strict=True)):
        games.restore(table, number, tmp_path / f"back{suffix}")
        assert (tmp_path / f"back{suffix}").read_bytes() == put(tmp_path / f"due{suffix}", one).read_bytes()
    with pytest.raises(WrongType, match=r"run 1 is of the form a2run: .* ends in \.a2run"):
        games.restore(table, 1, tmp_path / "back.a2run2")
    with pytest.raises(NotFound, match="run 3"):
        games.restore(table, 3, tmp_path / "back.a2run2")


def test_the_final_board_can_be_searched(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    for seed in range(3):
        put(tmp_path / f"runs/{seed}.a2run2", lively(20, seed))
    table = built(tmp_path, where="final_board like 'fedc%'")
    assert [run["id"] for run in table.filter(f"final_board = '{FINAL - 1:x}'").runs] == [1]
    with sqlite3.connect(table.path / "metadata.db") as connection:
        assert connection.execute("SELECT final_board FROM runs WHERE id = 2").fetchone() == (f"{FINAL - 2:x}",)


def test_it_stays_through_merge_filter_append_and_widening(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    files = [put(tmp_path / f"runs/{seed}.a2run2", lively(20 + seed, seed)) for seed in range(4)]
    table = built(tmp_path)
    more = put(tmp_path / "more.a2run2", lively(9, 9))
    table = table.append(more)
    both = playhead.Table.merge([table.filter(runs=[1, 3]), table], tmp_path / "both", widen=True)
    due = [files[1], files[3], *files, more]
    for number, file in enumerate(due):
        games.restore(both, number, tmp_path / "back.a2run2")
        assert (tmp_path / "back.a2run2").read_bytes() == file.read_bytes()
    copy = playhead.Table.build(both, tmp_path / "copy")
    games.restore(copy, 6, tmp_path / "back.a2run2")
    assert (tmp_path / "back.a2run2").read_bytes() == more.read_bytes()
    some = playhead.Table.merge([table.filter(rows=lambda rows: rows["step_index"] < 5)], tmp_path / "some")
    assert some.runs[0]["final_board"] == table.runs[0]["final_board"]
    with pytest.raises(NotFound, match="does not hold the file of run 0"):
        games.restore(some, 0, tmp_path / "back.a2run2")
    with pytest.raises(WrongType, match="lacks 15 of its steps"):
        games.restore(table.filter(rows=lambda rows: rows["step_index"] < 5), 0, tmp_path / "back.a2run2")
    boards = playhead.Table.build(tmp_path / "runs", tmp_path / "boards", columns=["board", "move"])
    with pytest.raises(WrongType, match="lacks the columns ev_legal, ev_values"):
        games.restore(boards, 0, tmp_path / "back.a2run2")


def test_a_table_of_an_earlier_version_takes_games_and_keeps_their_boards(tmp_path: Path) -> None:
    file = put(tmp_path / "one.a2run2", lively(20, 1))
    rows, (run,) = read(file)
    earlier = {name: kind for name, kind in GAME.items() if name not in LATER}
    (tmp_path / "old").mkdir()
    with TableWriter(TableFolder(tmp_path / "old"), games.STEP, earlier) as writer:
        writer.add(rows, [run])
    old = playhead.Table.open(tmp_path / "old")
    assert "final_board" not in old.runs[0]
    with pytest.raises(NotFound, match="does not hold the file of run 0"):
        games.restore(old, 0, tmp_path / "back.a2run2")
    grown = old.append(file)
    assert [one["final_board"] for one in grown.runs] == [None, f"{FINAL - 1:x}"]
    games.restore(grown, 1, tmp_path / "back.a2run2")
    assert (tmp_path / "back.a2run2").read_bytes() == file.read_bytes()
    assert grown.verify() == []
    again = playhead.Table.merge([tmp_path / "old", grown], tmp_path / "both")
    assert [one["final_board"] for one in again.runs] == [None, f"{FINAL - 1:x}"] * 2


def test_an_original_from_a_stranger_is_refused(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    put(tmp_path / "runs/one.a2run2", lively(20, 1))
    table = built(tmp_path)
    good = table.runs.original(0) or b""
    with sqlite3.connect(table.path / "metadata.db") as connection:
        for bad in (b"", b"x", good[:-3], playhead.zstd.compress(b"[]\n", 1), playhead.zstd.compress(b"{" * 9000, 1)):
            sum_ = checksums.of_original(bad)
            connection.execute("UPDATE playhead_originals SET data = ?, xxh3 = ?", (bad, sum_))
            connection.commit()
            with pytest.raises(Damaged, match=r"metadata\.db.*the original of run 0"):
                games.restore(table, 0, tmp_path / "back.a2run2")
        connection.execute("UPDATE playhead_originals SET data = ?", (good[:-1] + b"x",))
        connection.commit()
    with pytest.raises(Damaged, match="another original of run 0"):
        games.restore(table, 0, tmp_path / "back.a2run2")
    assert ["an original of run 0" in str(finding) for finding in table.verify()] == [True]


def test_in_a_store_it_stays_through_rebuild_and_verify_reads_it(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    file = put(tmp_path / "runs/one.a2run2", lively(20, 1))
    with playhead.open(tmp_path / "s") as store:
        store.tables.build("games", tmp_path / "runs")
    for old in (tmp_path / "s").glob("playhead.db*"):
        old.unlink()
    assert [one for one in verify(tmp_path / "s", full=True) if "games" in str(one)] == []
    with playhead.open(tmp_path / "s") as store:
        table = store.tables["games"]
        games.restore(table, 0, tmp_path / "back.a2run2")
        assert (tmp_path / "back.a2run2").read_bytes() == file.read_bytes()
    with sqlite3.connect(table.path / "metadata.db") as connection:
        connection.execute("UPDATE playhead_originals SET data = x'00'")
    assert any("an original of run 0" in str(one) for one in verify(tmp_path / "s", full=True))
