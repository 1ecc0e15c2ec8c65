"""Batches of a table: every row once, the right values, the same order on any number of ranks, resumed anywhere."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.errors import Closed, NotFound, WrongType
from playhead.order import Order
from playhead.table import Table
from tests.train.tables import ROW, add, numbers, rows_of, table

torch = pytest.importorskip("torch")

from playhead.train import TableLoader  # noqa: E402

WAYS: list[dict[str, Any]] = [
    {"device": "numpy"},
    {"device": "cpu"},
    {"device": "cpu", "prefetch": 0},
    {"device": "cpu", "resident": True},
]


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return table(tmp_path_factory.mktemp("t") / "games", [97, 203, 500, 1, 199])


def seen(loader: TableLoader) -> list[list[int]]:
    return [numbers(batch) for batch in loader]


def feeds() -> int:
    return sum(thread.name == "playhead-feed" for thread in threading.enumerate())


@pytest.mark.parametrize("size", [2.5, 64.0, "64"])
def test_a_batch_has_a_whole_number_of_rows(games: Table, size: Any) -> None:
    with pytest.raises(WrongType, match="whole number"):
        games.loader(size)


@pytest.mark.parametrize("options", WAYS, ids=str)
def test_columns_without_elements_have_their_shape(tmp_path: Path, options: dict[str, Any]) -> None:
    data = {"none": np.zeros((10, 0), np.float32), "few": np.zeros((10, 2, 0), np.int8), "x": np.arange(10)}
    found = Table.build(data, tmp_path / "t")
    assert found["none"].shape == (10, 0)
    assert found["few"].shape == (10, 2, 0)
    batches = list(found.loader(2, **options))
    assert [tuple(batch["none"].shape) for batch in batches] == [(2, 0)] * 5
    assert [tuple(batch["few"].shape) for batch in batches] == [(2, 2, 0)] * 5
    assert sorted(number for batch in batches for number in batch["x"].tolist()) == list(range(10))


@pytest.mark.parametrize("options", WAYS, ids=str)
def test_every_row_comes_once_in_the_order_and_with_its_values(games: Table, options: dict[str, Any]) -> None:
    loader = games.loader(64, seed=3, **options)
    batches = list(loader)
    assert len(batches) == 16
    assert [len(batch["board"]) for batch in batches] == [64] * 15 + [40]
    assert [number for batch in batches for number in numbers(batch)] == Order(1000, 3, 0)[np.arange(1000)].tolist()
    for batch in batches:
        assert list(batch) == list(ROW.names or ())
        rows = games.get_batch(numbers(batch))
        for name, values in batch.items():
            expected = rows[name].view(np.int64) if name == "board" and options["device"] != "numpy" else rows[name]
            assert np.array_equal(np.asarray(values), expected), name
    kinds = {name: values.dtype for name, values in batches[0].items()}
    if options["device"] == "numpy":
        assert kinds == games.columns | {"ev_values": np.dtype("<f4")}
    else:
        wanted = [torch.int64, torch.uint8, torch.uint8, torch.float32, torch.int64, torch.int32]
        assert list(kinds.values()) == wanted
        assert batches[0]["ev_values"].shape == (64, 4)
    assert loader.epoch == 1


@pytest.mark.parametrize("options", WAYS, ids=str)
def test_views_columns_and_small_ends(games: Table, options: dict[str, Any]) -> None:
    view = games.filter("max_score >= 100 and max_score <= 200")
    loader = view.loader(50, columns=["step_index", "board"], drop_last=True, **options)
    batches = list(loader)
    assert [list(batch) for batch in batches] == [["step_index", "board"]] * 14
    shown = [number for batch in batches for number in numbers(batch)]
    assert len(set(shown)) == 700
    assert set(shown) <= set(range(97, 800))
    plain = games.loader(300, shuffle=False, **options)
    assert [number for batch in plain for number in numbers(batch)] == list(range(1000))
    assert len(seen(games.loader(5000, **options))) == 1
    assert seen(games.filter("max_score > 5000").loader(10, device="numpy")) == []


def test_batches_stay_what_they_are(games: Table) -> None:
    for options in WAYS:
        loader = games.loader(10, **options)
        kept = list(loader)
        copies = [np.asarray(batch["ev_values"]).copy() for batch in kept]
        list(loader)
        assert all(
            np.array_equal(np.asarray(batch["ev_values"]), copy) for batch, copy in zip(kept, copies, strict=True)
        )


@pytest.mark.parametrize("world", [1, 2, 3, 5])
@pytest.mark.parametrize("drop_last", [False, True])
def test_ranks_share_one_order(games: Table, world: int, drop_last: bool) -> None:
    size = 60 // world
    loaders = [games.loader(size, seed=1, rank=rank, world=world, drop_last=drop_last) for rank in range(world)]
    parts = [seen(loader) for loader in loaders]
    assert [len(part) for part in parts] == [
        len(games.loader(size, rank=r, world=world, drop_last=drop_last)) for r in range(world)
    ]
    steps = max(len(part) for part in parts)
    together = [number for step in range(steps) for part in parts if step < len(part) for number in part[step]]
    assert together == Order(1000, 1, 0)[np.arange(960 if drop_last else 1000)].tolist()


@pytest.mark.parametrize("taken", [0, 1, 7, 15, 16])
def test_it_goes_on_with_the_next_batch_on_any_number_of_ranks(games: Table, taken: int) -> None:
    whole = [number for batch in seen(games.loader(60, seed=2)) for number in batch]
    first = games.loader(30, seed=2, rank=1, world=2)
    iterator = iter(first)
    for _ in range(taken):
        next(iterator)
    state = first.state_dict()
    for size, world in ((60, 1), (20, 3), (30, 2)):
        loaders = [games.loader(size, seed=9, rank=rank, world=world) for rank in range(world)]
        for loader in loaders:
            loader.load_state_dict(dict(state))
            assert loader.state_dict() == state
        parts = [seen(loader) for loader in loaders]
        rest = [part[step] for step in range(max(map(len, parts))) for part in parts if step < len(part)]
        assert [number for batch in rest for number in batch] == whole[taken * 60 :]
    with pytest.raises(WrongType, match="no whole number of batches"):
        games.loader(7).load_state_dict(state | {"items": 60})


@pytest.mark.parametrize("options", WAYS, ids=str)
def test_what_was_made_ahead_does_not_count(games: Table, options: dict[str, Any]) -> None:
    whole = seen(games.loader(10, seed=5))
    loader = games.loader(10, seed=5, **options)
    for taken, _ in enumerate(loader, 1):
        if taken == 37:
            break
    again = games.loader(10, seed=0, **options)
    again.load_state_dict(loader.state_dict())
    assert seen(again) == whole[37:]
    assert seen(loader) == whole[37:]  # and who broke off goes on as well
    assert again.state_dict() == loader.state_dict()
    assert loader.state_dict()["epoch"] == 1


def test_a_state_of_the_last_batch_begins_the_next_epoch(games: Table) -> None:
    loader = games.loader(500, seed=5)
    iterator = iter(loader)
    next(iterator)
    next(iterator)
    assert (loader.epoch, loader.state_dict()["epoch"], loader.state_dict()["items"]) == (0, 1, 0)
    other = games.loader(300, seed=5)
    other.load_state_dict(loader.state_dict())
    assert seen(other) == seen(games.loader(300, seed=5, epoch=1))


def test_another_table_or_view_is_refused(games: Table, tmp_path: Path) -> None:
    state = games.loader(10).state_dict()
    add(tmp_path / "same size", [97, 203, 500, 1, 199], seed=1)
    with pytest.raises(WrongType, match="another table"):
        Table.open(tmp_path / "same size").loader(10).load_state_dict(state)
    with pytest.raises(WrongType, match="another table, or of another view"):
        games.filter("max_score > 0").loader(10).load_state_dict(state)
    with pytest.raises(WrongType, match=r"has 97"):
        table(tmp_path / "small", [97]).loader(10).load_state_dict(state)
    with pytest.raises(WrongType, match="no state of a loader of tables"):
        games.loader(10).load_state_dict({"epoch": 0, "items": 0, "seed": 0})
    Table.open(games.path, mmap=True).loader(10).load_state_dict(state)


@pytest.mark.parametrize("where", [None, "max_score <= 300"])
def test_a_table_that_grew_ends_its_epoch_as_it_was(tmp_path: Path, where: str | None) -> None:
    old = table(tmp_path / "t", [97, 203, 500]).filter(where)
    whole = seen(old.loader(50, seed=4))
    loader = old.loader(50, seed=4)
    iterator = iter(loader)
    for _ in range(5):
        next(iterator)
    state = loader.state_dict()
    add(tmp_path / "t", [100, 200], first=800)
    grown = Table.open(tmp_path / "t").filter(where)
    again = grown.loader(50, seed=4)
    again.load_state_dict(state)
    assert again.state_dict() == state
    assert len(again) == 16
    assert seen(again) == whole[5:]
    assert again.epoch == 1
    assert sorted(number for batch in seen(again) for number in batch) == list(range(1100))
    with pytest.raises(WrongType, match="has 800"):
        old.loader(50).load_state_dict(again.state_dict())


def test_resuming_is_quick(tmp_path: Path) -> None:
    big = table(tmp_path / "t", [50_000] * 20)
    view = big.filter(rows=lambda rows: rows["move"] != 1)
    assert view.spans.count > 200_000
    state = big.loader(4096, seed=1).state_at(3, 100)
    took = []
    for _ in range(5):
        start = time.perf_counter()
        loader = big.loader(4096)
        loader.load_state_dict(state)
        next(iter(loader))
        took.append(time.perf_counter() - start)
    assert min(took) < 0.05  # 10 ms are measured on a machine that does nothing else


def test_errors_of_the_thread_come_up_and_training_can_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    games = table(tmp_path / "t", [1000])
    loader = games.loader(10, device="numpy")
    got = games.get_batch
    calls = []

    def failing(places: Any, out: Any = None) -> Any:
        calls.append(len(places))
        if len(calls) == 3:
            raise OSError("the disk is gone")
        return got(places, out)

    monkeypatch.setattr(games, "get_batch", failing)
    found = []
    with pytest.raises(OSError, match="the disk is gone"):
        found.extend(numbers(batch) for batch in loader)
    assert found
    found.extend(numbers(batch) for batch in loader)
    assert found == seen(Table.open(tmp_path / "t").loader(10, device="numpy"))


def test_iterators_that_nobody_wants_end_their_thread(games: Table) -> None:
    assert feeds() == 0
    loader = games.loader(1)
    iterators = [iter(loader) for _ in range(1)]
    next(iterators[0])
    assert feeds() == 1
    for _ in loader:
        break
    with pytest.raises(Closed, match="anew"):
        next(iterators[0])
    iterators.clear()
    gc.collect()
    for _ in range(100):
        if not feeds():
            break
        time.sleep(0.02)
    assert feeds() == 0
    loader.epoch = 5
    assert loader.state_dict()["epoch"] == 5


def test_wrong_arguments_say_what_is_right(games: Table) -> None:
    with pytest.raises(NotFound, match="bord"):
        games.loader(10, columns=["bord"])
    for wrong in ({"rank": 2, "world": 2}, {"rank": 0}, {"columns": "board"}, {"columns": []}):
        with pytest.raises(WrongType):
            games.loader(10, **wrong)
    with pytest.raises(WrongType):
        games.loader(0)
    with pytest.raises(WrongType, match="resident"):
        games.loader(1, device="numpy", resident=True)
    assert "batch 0 of 100" in repr(games.loader(10))


def test_the_rank_comes_from_torchrun_or_torch(games: Table, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert seen(games.loader(10)) == seen(games.loader(10, rank=1, world=4))
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/meet", rank=0, world_size=1)
    try:
        assert len(games.loader(10)) == 100
    finally:
        torch.distributed.destroy_process_group()


def test_without_torch_batches_are_arrays(games: Table) -> None:
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "import importlib.util; find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *a: None if name == 'torch' else find(name, *a)\n"
        "from playhead import Table\n"
        f"print(sum(type(b['board']).__name__ == 'ndarray' for b in Table.open({str(games.path)!r}).loader(100)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=os.environ)
    assert done.stdout.strip() == "10", done.stderr


def test_rows_of_any_numbers_pass_the_device_unchanged(tmp_path: Path) -> None:
    """The layout on the device keeps every column, whatever its type and shape."""
    from playhead.catalog.tables import EPISODE
    from playhead.layout import TableFolder
    from playhead.table.writing import TableWriter

    row = np.dtype(
        [
            ("a", "u1"),
            ("b", "<f8", (3,)),
            ("c", "?"),
            ("d", "<u2", (2, 3)),
            ("e", "<i2"),
            ("f", "<f2"),
            ("g", "<u4"),
            ("h", "i1"),
        ]
    )
    rng = np.random.default_rng(0)
    rows = np.frombuffer(rng.integers(0, 256, 500 * row.itemsize, dtype=np.uint8).tobytes(), row).copy()
    rows["c"] = rng.integers(0, 2, 500)
    rows["b"], rows["f"] = rng.random((500, 3)), rng.random(500)
    (tmp_path / "t").mkdir()
    with TableWriter(TableFolder(tmp_path / "t"), row, EPISODE) as writer:
        writer.add(rows, [{"num_steps": 500, "run_id": "r", "episode_id": "e", "return": 1.0}])
    opened = Table.open(tmp_path / "t")
    for resident in (True, False):
        for batch in opened.loader(33, shuffle=False, device="cpu", resident=resident, drop_last=True):
            first = int(np.flatnonzero((rows["b"] == batch["b"][0].numpy()).all(axis=1))[0])
            for name, values in batch.items():
                assert np.array_equal(values.numpy(), rows[name][first : first + 33]), name


def test_large_tables_are_brought_to_the_device_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from playhead.train import table_device

    monkeypatch.setattr(table_device, "_SENT", 64)
    games = table(tmp_path / "t", [1000])
    for view in (games, games.filter(rows=lambda rows: rows["move"] > 1)):
        loader = view.loader(100, device="cpu", resident=True)
        assert loader.is_resident
        assert seen(loader) == seen(view.loader(100, device="numpy"))
    assert rows_of(3)["board"][0] == 1 << 63


@pytest.mark.parametrize("n", [1, 1000, 65_537, 100_003, 1_000_000_007, 2**32, 2**32 + 1, 2**45 + 3])
def test_the_order_on_the_device_is_the_order(n: int) -> None:
    from playhead.train.table_device_order import OrderOnDevice

    for seed in range(3):
        order = Order(n, seed, 1)
        positions = np.unique(np.linspace(0, n - 1, 50_000).astype(np.int64))
        assert np.array_equal(OrderOnDevice(order, "cpu")[torch.from_numpy(positions)].numpy(), order[positions])


def test_the_thread_that_reads_ahead_ends_before_python_does() -> None:
    script = """
import atexit, threading, time
ended = []
atexit.register(lambda: print(ended, [one.name for one in threading.enumerate()]))
from playhead.train.table_feed import Feed
def work():
    yield 1
    time.sleep(0.3)
    ended.append(True)
    yield 2
print(next(Feed(work(), 2)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split("\n") == ["1", "[True] ['MainThread']", ""]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_device_that_is_not_there(games: Table) -> None:
    with pytest.raises(WrongType, match="sees no GPU"):
        games.loader(8, device="cuda")
