"""Files whose bytes were spelled by hand from the description of the formats, not by a writer of this project."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from playhead.table import games
from tests.table.games.files import read

A2RUN2 = bytes.fromhex(
    "02"  # steps
    "8ae49dac06"  # start_unix_s: 10 + 100 * 2^7 + 29 * 2^14 + 44 * 2^21 + 6 * 2^28
    "0000 7841"  # elapsed_s: 15.5
    "9801"  # max_score: 152
    "10"  # highest_tile: 16
    "01 03 613262"  # engine_str: Some("a2b")
    "02"  # how many steps
    "8180808080808008 03 01"  # board 1 + 8 * 2^49; right; branches follow
    "00 0000803e"  # up: legal, 0.25
    "01"  # down: illegal
    "00 000000c0"  # left: legal, -2
    "00 feff7f3f"  # right: legal, just below 1
    "80808080808080808001 00 01"  # board 1 << 63; up
    "00 0000003f"  # up: legal, 0.5
    "00 00000040"  # down: legal, 2
    "01 01"  # left and right: illegal
    "7f"  # final_board
)
A2RUN = bytes.fromhex(
    "41325431"  # A2T1
    "01 00"  # version, little-endian
    "01000000"  # steps
    "0a00000000000000"  # start
    "0000003f"  # elapsed: 0.5
    "0400000000000000"  # max_score
    "04000000"  # highest_tile
    "0200 7631"  # engine: "v1"
    "0000000000001100 0000000000000002"  # states: two tiles of 2 side by side in the first row, and the final board
    "02"  # moves: left
)


def test_a2run2(tmp_path: Path) -> None:
    path = tmp_path / "hand.a2run2"
    path.write_bytes(A2RUN2)
    rows, (run,) = read(path)
    start = 10 + 100 * 2**7 + 29 * 2**14 + 44 * 2**21 + 6 * 2**28
    assert run == {
        "num_steps": 2,
        "max_score": 152,
        "highest_tile": 16,
        "engine": "a2b",
        "start_time": start,
        "elapsed_s": 15.5,
    }
    assert rows["board"].tolist() == [1 + (8 << 49), 1 << 63]
    assert rows["move"].tolist() == [3, 0]
    assert rows["ev_legal"].tolist() == [0b1101, 0b0011]
    assert rows["ev_values"].tolist() == [[0.25, 0, 0, 1], [1, 1, 0, 0]]  # clamped; the chosen one is exactly 1
    assert rows["step_index"].tolist() == [0, 1]
    assert rows["run_id"].tolist() == [0, 0]


def test_a2run_of_version_1(tmp_path: Path) -> None:
    path = tmp_path / "hand.a2run"
    path.write_bytes(A2RUN + _crc32c_bit_by_bit(A2RUN).to_bytes(4, "little"))
    rows, (run,) = read(path, "compute")
    known = {"num_steps": 1, "max_score": 4, "highest_tile": 4, "engine": "v1", "start_time": 10, "elapsed_s": 0.5}
    assert run == known
    assert rows["board"].tolist() == [0x0011_0000_0000_0000]
    assert rows["move"].tolist() == [2]
    assert rows["ev_legal"].tolist() == [0b1110]  # all but up: the tiles are in the first row, and can go down
    assert rows["ev_values"].tolist() == [[0, 0, 1, 0]]


def test_a_pack_of_one_run(tmp_path: Path) -> None:
    head = b"A2PACK\0\0" + bytes.fromhex("01000000 00000000 0100000000000000")
    entry = bytes.fromhex("4000000000000000") + len(A2RUN2).to_bytes(4, "little")
    entry += bytes.fromhex("0200 0000 00000000 00000000 0000000000000000")  # no checksum
    data_end = (64 + len(A2RUN2)).to_bytes(8, "little")
    foot = data_end + _crc32c_bit_by_bit(entry).to_bytes(4, "little") + bytes(4) + bytes(8)  # no statistics
    data = head + _crc32c_bit_by_bit(head).to_bytes(4, "little") + entry + bytes(4) + A2RUN2
    path = tmp_path / "hand.a2pack"
    path.write_bytes(data + foot + _crc32c_bit_by_bit(foot).to_bytes(4, "little") + bytes(4))
    (tmp_path / "same.a2run2").write_bytes(A2RUN2)
    rows, runs = read(path)
    expected, expected_runs = read(tmp_path / "same.a2run2")
    assert runs == expected_runs
    np.testing.assert_array_equal(rows, expected)


def test_a_dat_of_one_run(tmp_path: Path) -> None:
    data = bytes.fromhex(
        "32303438 01000000 01000000 0100000000000000 3c00000000000000"  # 2048, version, runs, steps, metadata at 60
        "0000000000001100 00000000 00000000"  # board, run, index
        "03 0a ffff ffff 0000 0080 000000000000"  # move, mask: down and right; values; padding
        "00000000 00000000 01000000 2800000000000000 08000000 0300 c3a978"  # id, first, steps, score, tile, "éx"
        "ffffffff00000000 0000c03f"  # start, elapsed: 1.5
    )
    path = tmp_path / "hand.dat"
    path.write_bytes(data + _crc32c_bit_by_bit(data).to_bytes(4, "little"))
    rows, (run,) = read(path)
    assert rows["move"].tolist() == [3]
    assert rows["ev_legal"].tolist() == [0b1010]
    assert rows["ev_values"].tolist() == [[0, 1, 0, 1]]  # up is illegal, whatever its value; right is the chosen one
    assert (run["engine"], run["max_score"], run["start_time"], run["elapsed_s"]) == ("éx", 40, 0xFFFFFFFF, 1.5)


def test_a_row_is_what_the_seed_says() -> None:
    offsets = {name: games.STEP.fields[name][1] for name in games.STEP.names or ()}
    expected = {"board": 0, "move": 8, "ev_legal": 9, "ev_values": 10, "run_id": 26, "step_index": 30}
    assert (games.STEP.itemsize, offsets) == (32, expected)
    assert games.step_dtype() == games.STEP
    assert games.step_dtype(widen=True).itemsize == 34


def _crc32c_bit_by_bit(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
