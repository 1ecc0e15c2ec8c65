"""A bit that flips in a Parquet file gives the same values, or an error that names the file; never anything else.

Here a tenth of all bits; `make campaign` tries every one.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import playhead
from playhead.errors import PlayheadError
from playhead.integrations.mosaic import rest
from playhead.lanes.vectors import SimpleSignal, SimpleSignalWriter
from playhead.lanes.video import index
from playhead.table.sources import arrow

STEP = 1 if os.environ.get("PLAYHEAD_CAMPAIGN") == "1" else 10  # of ten bits, five of a byte have their turn
Case = tuple[Path, Callable[[Path], Any], bool]


def _signal(folder: Path, values: list[Any]) -> Case:
    path = folder / "x.parquet"
    with SimpleSignalWriter[Any](path) as writer:
        for number, value in enumerate(values):
            writer.append(value, 1000 + 3 * number)

    def read(path: Path) -> Any:
        signal = SimpleSignal[Any](path)
        return signal.timestamps.tolist(), np.asarray(signal.values).tolist()

    return path, read, True


def _frames(folder: Path) -> Case:
    """Make the index of a video; that another video lies beside it is not of interest here."""
    with playhead.open(folder / "s") as store, store.dataset("d").new_episode() as writer:
        for k in range(12):
            writer.append("camera", np.full((32, 32, 3), 10 * k, np.uint8), 1000 + k * 40_000_000)
        path = writer.path / "camera.frames.parquet"

    def read(path: Path) -> Any:
        found = index.read(path)
        return found.stamps.tolist(), found.facts, found.owner

    return path, read, True


def _columns(path: Path) -> Any:
    return [{name: column.tolist() for name, column in part.items()} for part in arrow.parts(path)]


def _source(folder: Path) -> Case:
    """Make what a table is built of, with the checksums of pages; what the footer says has none."""
    path = folder / "rows.parquet"
    table = pa.table({"value": pa.array(np.arange(40.0)), "number": pa.array(np.arange(40, dtype=np.uint16))})
    pq.write_table(table, path, write_page_checksum=True)
    return path, _columns, False


def _given(folder: Path) -> Case:
    path = folder / "rows.arrow"
    table = pa.table({"value": pa.array(np.arange(40.0)), "name": pa.array(["a", "b"] * 20).dictionary_encode()})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return path, _columns, False


def _rest(folder: Path) -> Case:
    path = folder / "rest.parquet"
    with rest.writing(path, {"n": {int}, "any": {int, str}}) as writer:
        for number in range(30):
            writer.add({"n": number, "any": number if number % 2 else "text"})
    return path, lambda path: list(rest.rows_in(path)), False


KINDS: dict[str, Callable[[Path], Case]] = {
    "numbers": lambda folder: _signal(folder, [k / 7 for k in range(50)]),
    "texts": lambda folder: _signal(folder, [f"word {k}" for k in range(25)]),
    "arrays": lambda folder: _signal(folder, [np.arange(4.0) + k for k in range(20)]),
    "an index of frames": _frames,
    "rows for a table": _source,
    "rows in Arrow": _given,
    "rows of another program": _rest,
}


@pytest.fixture
def quick() -> Iterator[Path]:
    """A folder in memory: a file is written for each bit."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        yield Path(folder)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", KINDS)
def test_every_flipped_bit_gives_the_same_values_or_an_error_of_ours(quick: Path, kind: str) -> None:
    path, read, is_sealed = KINDS[kind](quick)
    due, whole = repr(read(path)), path.read_bytes()
    outcome: Counter[str] = Counter()
    for bit in range(0, 8 * len(whole), STEP):
        broken = bytearray(whole)
        broken[bit // 8] ^= 1 << bit % 8
        path.write_bytes(broken)
        try:
            found = repr(read(path))
        except PlayheadError as error:
            assert str(path) in str(error), f"bit {bit}"
            outcome["refused"] += 1
        except Exception as error:
            raise AssertionError(f"bit {bit} of {len(whole)} bytes") from error
        else:
            outcome["same" if found == due else "other"] += 1
            assert found == due or not is_sealed, f"bit {bit}"
    print(f"{kind}: {sum(outcome.values()):,} flips: {dict(outcome)}")
    assert outcome["refused"] > sum(outcome.values()) / 4
    assert path.suffix == ".arrow" or outcome["other"] <= sum(outcome.values()) / 20  # Arrow has no checksums
