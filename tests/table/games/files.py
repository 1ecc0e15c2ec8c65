"""Games that were made up, and the files that the programs of 2048 would write of them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np

from playhead.table import games
from playhead.table.games.a2run2 import write_a2run2

Rows = np.ndarray[Any, np.dtype[Any]]
GENERATOR = np.random.default_rng(2048)


@dataclass
class Game:
    rows: Rows
    final: int = 0x1000_0000_0000_0001
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def known(self) -> dict[str, Any]:
        """What its file says of it, but for the final board, which a `.dat` does not have."""
        defaults = {"max_score": 20504, "highest_tile": 2048, "engine": "expectimax", "start_time": 1_755_927_754}
        return {"num_steps": len(self.rows)} | defaults | {"elapsed_s": 15.25} | self.about


def game(count: int, *, bare: bool = False, seed: int = 0, **about: Any) -> Game:
    """Make up a game: boards of all lengths, moves that are legal, values as the programs normalise them."""
    generator = np.random.default_rng(seed)
    rows = np.zeros(count, games.STEP)
    rows["board"] = generator.integers(0, 1 << 64, count, np.uint64) >> generator.integers(0, 64, count, np.uint64)
    rows["ev_legal"] = generator.integers(1, 16, count)
    shares = generator.random((count, 4)) * (rows["ev_legal"][:, None] >> np.arange(4) & 1)
    rows["move"] = np.argmax(shares, 1)
    rows["ev_values"] = shares
    rows["ev_values"][np.arange(count), rows["move"]] = 1
    rows["step_index"] = np.arange(count)
    if bare:
        rows["ev_legal"], rows["ev_values"] = 255, 0
    return Game(rows, about=about)


def put(path: Path, *played: Game, **options: Any) -> Path:
    """Write games as the name of the file says."""
    match path.suffix:
        case ".a2run2":
            (one,) = played
            about = {name: value for name, value in one.known.items() if name != "num_steps"}
            write_a2run2(path, one.rows, one.final, **about | {"engine": about["engine"] or None})
        case ".a2run":
            (one,) = played
            path.write_bytes(a2run(one))
        case ".a2pack":
            path.write_bytes(a2pack(path.parent, played, **options))
        case ".dat":
            path.write_bytes(dat(played))
    return path


def summed(data: bytes) -> bytes:
    return data + struct.pack("<I", google_crc32c.value(data))


def a2run(one: Game) -> bytes:
    known, engine = one.known, one.known["engine"].encode()
    head = struct.pack("<4sBBI", b"A2T1", 1, 0, len(one.rows)) + struct.pack("<Qf", known["start_time"], 15.25)
    head += struct.pack("<QIH", known["max_score"], known["highest_tile"], len(engine)) + engine
    states = np.append(one.rows["board"], np.uint64(one.final)).astype("<u8").tobytes()
    return summed(head + states + one.rows["move"].tobytes())


def a2pack(
    folder: Path, played: Sequence[Game], *, align: int = 64, sums: bool = True, kinds: Sequence[int] = (2,)
) -> bytes:
    runs = []
    for number, one in enumerate(played):
        kind = kinds[number % len(kinds)]
        runs.append((kind, a2run(one) if kind == 1 else put(folder / "one.a2run2", one).read_bytes()))
    head = b"A2PACK\0\0" + struct.pack("<IIQ", 1, 0, len(runs))
    at = len(head) + 4 + 32 * len(runs)
    index, body = b"", b""
    for kind, data in runs:
        gap = -at % align
        at += gap
        crc = google_crc32c.value(data) if sums else 0
        index += struct.pack("<QIHHII8x", at, len(data), kind, 0, crc, 0)
        body += bytes(gap) + data
        at += len(data)
    stats = struct.pack("<I", 5) + b"stats"
    foot = summed(struct.pack("<QIIQ", at, google_crc32c.value(index), 0, at)) + bytes(4)
    return summed(head) + index + body + stats + foot


def dat(played: Sequence[Game]) -> bytes:
    steps, about, first = b"", b"", 0
    for number, one in enumerate(played):
        known, engine, count = one.known, one.known["engine"].encode(), len(one.rows)
        for index, row in enumerate(one.rows):
            mask = 0 if row["ev_legal"] == 255 else int(row["ev_legal"])
            values = [round(float(value) * 65535) for value in row["ev_values"]]
            steps += struct.pack("<QIIBB4H6x", row["board"], number, index, row["move"], mask, *values)
        about += struct.pack("<IIIQIH", number, first, count, known["max_score"], known["highest_tile"], len(engine))
        about += engine + struct.pack("<Qf", known["start_time"], 15.25)
        first += count
    return summed(struct.pack("<4sIIQQ", b"2048", 1, len(played), first, 28 + len(steps)) + steps + about)


def read(path: Path, branches: str = "require", *, widen: bool = False) -> tuple[Rows, list[dict[str, Any]]]:
    """Read all of a file; of what is known, what every kind of file says."""
    dtype = games.step_dtype(widen=widen)
    found = list(games.read(path, dtype=dtype, branches=branches))
    rows = np.concatenate([rows for rows, _ in found]) if found else np.empty(0, dtype)
    some = ("final_board", "original")
    return rows, [{name: run[name] for name in run if name not in some} for _, runs in found for run in runs]
