"""PyTorch's DataLoader over a table: batches at once, workers of any start, one copy in memory, our order."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.errors import OutOfRange, WrongType
from playhead.table import Table
from tests.train.tables import add, numbers, table

torch = pytest.importorskip("torch")

from playhead.train import TableBatchSampler, TableDataset  # noqa: E402


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("t") / "games"
    add(path, [97, 203, 500, 200])
    return path


def loaded(data: TableDataset, sampler: TableBatchSampler, **options: Any) -> list[dict[str, Any]]:
    return list(torch.utils.data.DataLoader(data, batch_sampler=sampler, collate_fn=data.collate, **options))


def test_rows_and_batches(path: Path) -> None:
    opened = Table.open(path)
    data = opened.dataset()
    assert len(data) == 1000
    assert data[-1]["step_index"].item() == 65_199
    assert data[5]["ev_values"].tolist() == [5, 5.25, 5.5, 5.75]
    assert numbers(data[[3, 1, 3]]) == [3, 1, 3]
    assert numbers(data.__getitems__([7, 8])) == [7, 8]
    assert list(opened.dataset(["move"])[0]) == ["move"]
    with pytest.raises(OutOfRange):
        data[1000]
    plain = torch.utils.data.DataLoader(data, batch_size=None, sampler=TableBatchSampler(opened, 100, seed=2))
    assert [numbers(batch) for batch in plain] == [numbers(batch) for batch in opened.loader(100, seed=2)]


@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_workers_of_any_start_give_the_batches_of_the_loader(path: Path, start: str, shared: bool) -> None:
    view = Table.open(path, shared=shared).filter("max_score >= 100")
    expected = list(view.loader(100, seed=3))
    found = loaded(view.dataset(), TableBatchSampler(view, 100, seed=3), num_workers=2, multiprocessing_context=start)
    assert len(found) == 10
    for one, other in zip(found, expected, strict=True):
        for name in one:
            assert torch.equal(one[name], other[name]), name


def test_it_travels_light_and_shares_the_memory(path: Path) -> None:
    for shared in (False, True):
        opened = Table.open(path, shared=shared)
        sent = pickle.dumps(opened.dataset())
        assert len(sent) < 2000
        data = pickle.loads(sent)
        assert numbers(data[np.arange(1000)]) == list(range(1000))
        if shared:
            opened.array["board"][5] = 77
            assert data[5]["board"].item() == 77  # the very same memory
            assert "shared" in data.__getstate__()


def test_a_table_that_grew_or_changed_since(tmp_path: Path) -> None:
    small = table(tmp_path / "t", [100])
    sent = pickle.dumps(small.dataset())
    add(tmp_path / "t", [100], first=100)
    assert len(pickle.loads(sent)) == 100
    (tmp_path / "t").rename(tmp_path / "gone")
    add(tmp_path / "t", [100], seed=1)
    with pytest.raises(WrongType, match="not the table that was opened"):
        pickle.loads(sent)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_workers_do_not_each_load_shards(tmp_path: Path) -> None:
    add(tmp_path / "t", [100] * 10, shard_bytes=200 * 32)
    opened = Table.open(tmp_path / "t", cached=2)
    with pytest.raises(WrongType, match=r"table\.loader"):
        loaded(opened.dataset(), TableBatchSampler(opened, 10), num_workers=1, multiprocessing_context="fork")
    assert len(loaded(opened.dataset(), TableBatchSampler(opened, 10))) == 100


def test_the_sampler_goes_on_like_the_loader(path: Path) -> None:
    opened = Table.open(path)
    whole = [numbers(batch) for batch in opened.loader(50, seed=1)]
    sampler = TableBatchSampler(opened, 50, seed=1)
    assert len(sampler) == 20
    assert [part.tolist() for part in sampler] == whole
    assert sampler.epoch == 1
    loader = opened.loader(50)
    loader.load_state_dict(sampler.state_at(0, 13))
    assert [numbers(batch) for batch in loader] == whole[13:]
    sampler.load_state_dict(opened.loader(50, seed=1).state_at(0, 17))
    assert [part.tolist() for part in sampler] == whole[17:]
