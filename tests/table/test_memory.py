"""Where rows lie while they are used: how much memory that takes, what is refused, and who shares it."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.lanes.rows import memory
from playhead.lanes.rows.held import Shards
from playhead.table import Table
from tests.lanes.rows.made import GAMES, make

ROOT = Path(__file__).parents[2]
MIB = 1 << 20


def groups(
    monkeypatch: pytest.MonkeyPatch, path: Path, mine: str, files: dict[str, str], free_kib: int = 1 << 20
) -> int:
    """Tell how much memory is free where these files say so."""
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    (path / "mine").write_text(mine)
    (path / "meminfo").write_text(f"MemTotal: 9 kB\nMemAvailable:  {free_kib} kB\n")
    monkeypatch.setattr(memory, "_GROUPS", path)
    monkeypatch.setattr(memory, "_MINE", path / "mine")
    monkeypatch.setattr(memory, "_MEMORY", path / "meminfo")
    return memory.available()


V2 = {"memory.max": "1000\n", "memory.current": "400\n", "memory.stat": "anon 1\ninactive_file 100\n"}
JOB = {f"slurm/job_1/{name}": text for name, text in V2.items()}
V1 = {"memory/memory.limit_in_bytes": "1000", "memory/memory.usage_in_bytes": "700", "memory/memory.stat": "cache 1\n"}
UNLIMITED = {"memory/memory.limit_in_bytes": "9223372036854771712", "memory/memory.usage_in_bytes": "700"}


@pytest.mark.parametrize(
    ("mine", "files", "due"),
    [
        ("0::/\n", V2, 700),
        ("0::/\n", {**V2, "memory.max": "max\n"}, 1 << 30),
        ("0::/\n", {**V2, "memory.current": "5000\n", "memory.stat": ""}, 0),
        ("0::/slurm/job_1/step_0\n", JOB, 700),
        ("0::/slurm/job_1\n", {**JOB, "slurm/memory.max": "500", "slurm/memory.current": "450"}, 50),
        ("0::/elsewhere/of/the/host\n", V2, 700),
        ("12:cpu,cpuacct:/x\n7:memory:/docker/abc\n0::/\n", V1, 300),
        ("7:memory:/\n", UNLIMITED, 1 << 30),
        ("7:memory:/\n", {}, 1 << 30),
        ("", {}, 1 << 30),
    ],
)
def test_free_memory_is_that_of_the_control_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mine: str, files: dict[str, str], due: int
) -> None:
    assert groups(monkeypatch, tmp_path, mine, files) == due


def test_without_proc_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_MEMORY", tmp_path / "none")
    monkeypatch.setattr(memory, "_MINE", tmp_path / "none")
    assert memory.available() > 1 << 60


def test_what_does_not_fit_is_refused_with_a_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = make(tmp_path / "t", [1000])
    monkeypatch.setattr(memory, "available", lambda: 32_000)
    with pytest.raises(MemoryError, match="mmap=True"):
        Table.open(tmp_path / "t")
    assert Table.open(tmp_path / "t", mmap=True)[:].tobytes() == rows.tobytes()


def test_shards_are_held_as_many_as_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = make(tmp_path / "t", [1000], shard_bytes=100 * 32)
    places = np.random.default_rng(0).integers(0, 1000, 300)
    for free, most in [(100_000, 10), (12_000, 3), (4_000, 1)]:
        monkeypatch.setattr(memory, "available", lambda free=free: free)
        table = Table.open(tmp_path / "t")
        assert table.get_batch(places).tobytes() == rows[places].tobytes()
        held = table._rows
        assert len(held._held) == most if isinstance(held, Shards) else most == 10
    monkeypatch.setattr(memory, "available", lambda: 3_000)
    with pytest.raises(MemoryError, match="shard_bytes"):
        Table.open(tmp_path / "t")
    monkeypatch.setattr(memory, "available", lambda: 12_000)
    with pytest.raises(MemoryError):
        Table.open(tmp_path / "t", cached=5)


def measured(code: str, path: Path) -> int:
    """Give by how many bytes the memory of a process grew at most."""
    script = f"""
import resource, sys
import numpy as np
from playhead.table import Table
def most():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) * 1024
Table.open({str(path.parent / "small")!r})[:]
before = most()
{code}
print(most() - before)
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MALLOC_ARENA_MAX": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("memory")
    make(path / "small", [1000])
    make(path / "t", [2 * MIB], np.dtype([*GAMES.descr]))  # 64 MiB
    make(path / "shards", [2 * MIB], shard_bytes=8 * MIB)
    return path / "t"


def test_a_table_takes_its_size_and_little_more(large: Path) -> None:
    size = 64 * MIB
    for options in ("", ", shared=True"):
        assert measured(f"table = Table.open({str(large)!r}{options})", large) < 1.05 * size + 4 * MIB
    shards = large.parent / "shards"
    code = f"table = Table.open({str(shards)!r}, cached=2)\nfor n in range(8): table.get_batch(np.arange(n, 2 << 20, 9001))"
    assert measured(code, large) < 2.05 * 8 * MIB + 8 * MIB


def test_a_column_is_taken_without_a_copy_of_all_rows(large: Path) -> None:
    code = f"table = Table.open({str(large)!r}, mmap=True)\nmoves = table['move']"
    assert measured(code, large) < 64 * MIB + 2 * MIB + 60 * MIB  # mapped pages, the column, and a piece at a time


def taken(path: str, size: int, places: Any, answers: Any) -> None:
    """Take rows out of memory that another process made, as a spawned worker does."""
    shared = memory.Shared(size, path)
    rows = np.frombuffer(shared.bytes, GAMES)
    answers.put(rows[places].tobytes())


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_shared_memory_is_one_for_all_processes(tmp_path: Path, start: Any) -> None:
    rows = make(tmp_path / "t", [500])
    table = Table.open(tmp_path / "t", shared=True)
    owner = table._rows.owner  # type: ignore[attr-defined]
    assert isinstance(owner, memory.Shared)
    context = multiprocessing.get_context(start)
    answers = context.Queue()
    places = [3, 499, 3, 0]
    worker = context.Process(target=taken, args=(owner.path, rows.nbytes, places, answers))
    worker.start()
    assert answers.get(timeout=60) == rows[places].tobytes()
    worker.join()
    assert table[:].tobytes() == rows.tobytes()


def in_huge_pages(rows: np.ndarray[Any, Any]) -> int:
    """Count the bytes in huge pages of the shared memory that some rows lie in."""
    is_theirs = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        name, _, rest = line.partition(" ")
        if "-" in name:
            start, stop = (int(end, 16) for end in name.split("-"))
            is_theirs = start <= rows.ctypes.data < stop
        elif is_theirs and name == "ShmemPmdMapped:":
            return int(rest.split()[0]) << 10
    raise AssertionError("no memory holds them")


def test_shared_memory_is_in_huge_pages(large: Path) -> None:
    if not memory.Shared(2 * MIB).claim(0, 2 * MIB):
        pytest.skip("this kernel has none to share")
    table = Table.open(large, shared=True)
    assert in_huge_pages(table._rows.between(0, 1)) >= 60 * MIB
    assert table[:].tobytes() == Table.open(large, mmap=True)[:].tobytes()


def test_shared_memory_holds_shards_that_begin_within_a_huge_page(large: Path) -> None:
    shards = Table.open(large.parent / "shards", shared=True, cached=8)
    assert shards[:].tobytes() == Table.open(large, mmap=True)[:].tobytes()


def test_shared_memory_is_given_back() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        memory.Shared(1000)
    assert len(os.listdir("/proc/self/fd")) <= before + 2
