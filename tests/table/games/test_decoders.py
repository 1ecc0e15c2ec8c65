"""The compiled decoder and the plain one give the same rows and stop for the same reason."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.table import games
from playhead.table.games import steps
from tests.table.games.files import game, put, read

compiled = steps.compiled()
boards = st.integers(0, (1 << 64) - 1) | st.integers(0, 300) | st.integers(0, 63).map(lambda bit: 1 << bit)
floats = st.floats(width=32, allow_nan=False) | st.floats(0, 1, width=32)


@st.composite
def encoded(draw: st.DrawFn) -> tuple[int, bytes]:
    """Draw the bytes of steps, right ones, or with a few bytes that are not."""
    count = draw(st.integers(0, 12))
    rows = np.zeros(count, games.STEP)
    for row in rows:
        row["board"], row["move"] = draw(boards), draw(st.integers(0, 3))
        row["ev_legal"] = draw(st.integers(0, 15) | st.just(255))
        row["ev_values"] = draw(st.tuples(floats, floats, floats, floats))
    data = bytearray(b"".join(games.a2run2._steps(rows)))
    for _ in range(draw(st.sampled_from([0, 0, 1, 2])) if data else 0):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return count, bytes(data[: draw(st.integers(0, len(data)) | st.just(len(data)))])


def _run(decoder: steps.Decoder, count: int, data: bytes, *, widen: bool = False) -> tuple[tuple[int, ...], object]:
    rows, chosen = np.zeros(count, games.step_dtype(widen=widen)), np.zeros(count, np.uint32)
    ended = decoder(data, 0, rows, chosen)
    if ended[0] != steps.FINE:
        return ended[:3], None
    assert len(steps.odd(data, 0, count)) == ended[3]
    return ended, rows.tobytes() + chosen.tobytes()


@settings(max_examples=400, deadline=None)
@given(encoded(), st.booleans())
def test_both_decode_alike(drawn: tuple[int, bytes], widen: bool) -> None:
    count, data = drawn
    assert _run(compiled, count, data, widen=widen) == _run(steps.plain, count, data, widen=widen)


@settings(max_examples=400, deadline=None)
@given(st.integers(1, 10), st.binary(max_size=200))
def test_both_refuse_noise_alike(count: int, data: bytes) -> None:
    assert _run(compiled, count, data) == _run(steps.plain, count, data)


def test_a_long_game_alike() -> None:
    data = b"".join(games.a2run2._steps(game(5000, seed=5).rows))
    found = _run(compiled, 5000, data)
    assert found == _run(steps.plain, 5000, data)
    assert found[0] == (steps.FINE, 5000, len(data), 0)


def test_without_numba_files_are_read_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path / "one.a2run2", game(100))
    expected, _ = read(path)
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setattr(steps, "_seen", 1 << 40)
    steps.best.cache_clear()
    steps.compiled.cache_clear()
    try:
        assert steps.best() is steps.plain
        np.testing.assert_array_equal(read(path)[0], expected)
    finally:
        steps.best.cache_clear()
        steps.compiled.cache_clear()


def test_numba_is_used_once_there_is_much_to_decode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path / "one.a2run2", game(10))
    monkeypatch.setattr(steps, "_seen", 0)
    monkeypatch.setattr(steps, "best", lambda: pytest.fail("so little needs no compiled decoder"))
    read(path)
    monkeypatch.setattr(steps, "_seen", 1 << 40)
    used: list[int] = []
    monkeypatch.setattr(steps, "best", lambda: lambda *given: used.append(1) or steps.plain(*given))
    read(path)
    assert used == [1]


def test_where_nothing_can_be_kept_it_is_compiled_for_this_process() -> None:
    script = (
        "import numba.core.caching as caching\n"
        "caching.CacheImpl._locator_classes = []\n"  # as where no folder can be written
        "from playhead.table.games import steps\n"
        "import numpy as np\n"
        "from playhead.table.games.rows import STEP\n"
        "rows = np.zeros(1, STEP)\n"
        "print(steps.compiled()(bytes([5, 2, 0]), 0, rows, np.zeros(1, np.uint32)), rows['board'][0], rows['ev_legal'][0])\n"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.split("\n")[0] == "(0, 1, 3, 0) 5 255"


# -- legal moves ----------------------------------------------------------------------------------------------------


def _slid(line: list[int]) -> list[int]:
    tiles = [tile for tile in line if tile]
    merged: list[int] = []
    while tiles:
        if len(tiles) > 1 and tiles[0] == tiles[1]:
            merged.append(tiles[0] + 1)
            tiles = tiles[2:]
        else:
            merged.append(tiles.pop(0))
    return merged + [0] * (4 - len(merged))


def _legal_one_by_one(board: int) -> int:
    tiles = np.array([board >> (60 - 4 * place) & 15 for place in range(16)]).reshape(4, 4)
    lines = {0: tiles.T, 1: tiles.T[:, ::-1], 2: tiles, 3: tiles[:, ::-1]}
    return sum(1 << move for move, sides in lines.items() if any(_slid(list(line)) != list(line) for line in sides))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.integers(0, (1 << 64) - 1)
        | st.lists(st.sampled_from("0012f"), min_size=16, max_size=16).map(lambda tiles: int("".join(tiles), 16)),
        max_size=20,
    )
)
def test_legal_moves_are_those_that_change_the_board(drawn: list[int]) -> None:
    found = games.legal_moves(np.array(drawn, np.uint64))
    assert found.tolist() == [_legal_one_by_one(board) for board in drawn]


@pytest.mark.parametrize(
    ("board", "legal"),
    [
        (0, 0),
        (0x1000_0000_0000_0000, 0b1010),
        (0x0000_0000_0000_0001, 0b0101),
        (0x1212_2121_1212_2121, 0),
        (0x1212_2121_1212_2144, 0b1100),
        (0x1212_2121_1212_1421, 0b0011),
        (0xFFFF_FFFF_FFFF_FFFF, 0b1111),
    ],
)
def test_legal_moves_of_boards_that_are_known(board: int, legal: int) -> None:
    assert games.legal_moves(np.array([board], np.uint64)).tolist() == [legal]
