"""Windows of episodes as tensors: right values, masks at the edges, the same order everywhere, resumed anywhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.dataset import Dataset, LocalDataset, LocalDatasetWriter
from playhead.episode import EpisodeView
from playhead.errors import BadName, MissingExtra, NotFound, WrongShape, WrongType

torch = pytest.importorskip("torch")

from playhead.train import EpisodeDataset, EpisodeLoader  # noqa: E402

MS = 1_000_000


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    root = tmp_path_factory.mktemp("episodes")
    writer = LocalDatasetWriter(root)
    for k in range(3):
        with writer.new_episode() as episode:
            episode.set_static("task", f"task {k}")
            episode.set_static("number", k)
            for i in range(10 + k):
                episode.append("state", np.array([k, i], np.float32), k * 10**9 + i * 100 * MS)
                episode.append("cam", np.full((16, 24, 3), 10 * i, np.uint8), k * 10**9 + i * 100 * MS + 5 * MS)
            for i in range(100):
                episode.append("force", float(i), k * 10**9 + i * 10 * MS)
    return LocalDataset(root)


def test_an_item_holds_windows_masks_and_staleness(dataset: Dataset) -> None:
    data = EpisodeDataset(
        dataset,
        {"state": (-0.1, 0.3, 0.1), "force": [-0.005, 0.005], "cam": [0.0]},
        rules={"force": "linear"},
        static=["task", "number"],
    )
    assert len(data) == 10 + 11 + 12
    item = data[12]
    assert (item["episode"], item["ts_ns"]) == (1, 10**9 + 200 * MS)
    assert item["state"].tolist() == [[1, 1], [1, 2], [1, 3], [1, 4]]
    assert item["force"].tolist() == [19.5, 20.5]
    assert item["mask"]["state"].tolist() == [True] * 4
    assert item["cam"].shape == (1, 16, 24, 3)
    assert item["cam"].dtype == torch.uint8
    assert abs(int(item["cam"][0].float().mean()) - 10) <= 2  # the frame of 195 ms ago
    assert item["staleness"]["cam"].tolist() == [95 * MS]
    assert (item["task"], item["number"]) == ("task 1", 1)
    first, last = data[0], data[9]
    assert first["mask"]["state"].tolist() == [False, True, True, True]
    assert first["mask"]["cam"].tolist() == [False]
    assert last["mask"]["state"].tolist()[:2] == [True, True]
    assert last["mask"]["state"].tolist()[-1] is False
    assert "33 moments of 3 episodes" in repr(data)


@pytest.mark.parametrize(
    "options", [{"rules": {"froce": "linear"}}, {"rules": {"force": "linaer"}}, {"tolerance": {"froce": 1}}]
)
def test_a_rule_or_tolerance_that_fits_nothing_is_refused(dataset: Dataset, options: dict[str, Any]) -> None:
    with pytest.raises(NotFound, match=r"froce|linaer"):
        EpisodeDataset(dataset, {"force": [0.0]}, **options)


def test_a_batch_is_the_items_together(dataset: Dataset) -> None:
    data = EpisodeDataset(dataset, {"state": [-0.1, 0.0], "cam": [0.0]}, static=["task"])
    numbers = [30, 2, 15, 2, 11]
    batch = data[numbers]
    assert batch["state"].shape == (5, 2, 2)
    for place, number in enumerate(numbers):
        item = data[number]
        assert torch.equal(batch["state"][place], item["state"])
        assert torch.equal(batch["cam"][place], item["cam"])
        assert torch.equal(batch["mask"]["state"][place], item["mask"]["state"])
        assert batch["task"][place] == item["task"]


def recorded(root: Path, **signals: list[Any]) -> Dataset:
    """Record episodes of two samples, one for each value that is given for the signals."""
    writer = LocalDatasetWriter(root)
    for values in zip(*signals.values(), strict=True):
        with writer.new_episode() as episode:
            for name, value in zip(signals, values, strict=True):
                episode.append(name, value, 0)
                episode.append(name, value, 100 * MS)
    return LocalDataset(root)


def test_a_batch_holds_the_values_of_episodes_of_different_types(tmp_path: Path) -> None:
    data = EpisodeDataset(recorded(tmp_path, gripper=[1, 0.5, True, np.float32(0.25)]), {"gripper": [0.0]})
    assert data[[0, 2, 4, 6]]["gripper"].tolist() == [[1.0], [0.5], [1.0], [0.25]]
    assert data[[6, 4, 2, 0]]["gripper"].tolist() == [[0.25], [1.0], [0.5], [1.0]]
    words = EpisodeDataset(recorded(tmp_path / "words", phase=["lift", 3]), {"phase": [0.0]})
    assert words[[2, 0]]["phase"] == [[3], ["lift"]]


def test_a_batch_of_episodes_of_different_shapes_is_refused(tmp_path: Path) -> None:
    data = EpisodeDataset(recorded(tmp_path, joint=[np.arange(3.0), np.array([7.0]), np.arange(4.0)]), {"joint": [0.0]})
    assert data[[2, 3]]["joint"].tolist() == [[[7.0]], [[7.0]]]
    for others in ([0, 2], [0, 4], [4, 2]):
        with pytest.raises(WrongShape, match="joint"):
            data[others]


@pytest.mark.parametrize("name", ["episode", "ts_ns", "mask", "staleness"])
def test_a_signal_called_as_what_an_item_holds_besides_is_refused(tmp_path: Path, name: str) -> None:
    dataset = recorded(tmp_path, **{name: [1.0], "state": [2.0]})
    with pytest.raises(BadName, match=name):
        EpisodeDataset(dataset, {name: [0.0]})
    with pytest.raises(BadName, match=name):
        EpisodeDataset(dataset, {"state": [0.0]}, static=[name])
    renamed = dataset.transform(lambda episode: EpisodeView({"other": episode.signals[name]}, episode.static))
    assert EpisodeDataset(renamed, {"other": [0.0]})[0]["other"].tolist() == [1.0]


def test_windows_that_reach_out_can_be_left_out(dataset: Dataset) -> None:
    data = EpisodeDataset(dataset, {"state": (-0.2, 0.31, 0.1)}, padded=False)
    assert len(data) == 5 + 6 + 7
    for number in range(len(data)):
        assert data[number]["mask"]["state"].all()
    assert data[0]["ts_ns"] == 200 * MS


def test_moments_may_lie_on_an_even_grid(dataset: Dataset) -> None:
    data = EpisodeDataset(dataset, {"force": [0.0]}, rate=50)
    first = [int(data[number]["ts_ns"]) for number in range(3)]
    assert first == [5 * MS, 25 * MS, 45 * MS]
    assert len(EpisodeDataset(dataset, {"force": [0.0]}, anchor="state")) == 33
    for rate in (0, -1, float("nan"), True):
        with pytest.raises(WrongType):
            EpisodeDataset(dataset, {"force": [0.0]}, rate=rate)
    with pytest.raises(NotFound, match="missing in the episode"):
        EpisodeDataset(dataset, {"elbow": [0.0]})


def seen(loader: EpisodeLoader) -> list[list[tuple[int, int]]]:
    return [list(zip(batch["episode"].tolist(), batch["ts_ns"].tolist(), strict=True)) for batch in loader]


@pytest.mark.parametrize("options", [{}, {"workers": 2}, {"workers": 1, "multiprocessing_context": "spawn"}], ids=str)
def test_the_order_is_the_same_whoever_reads(dataset: Dataset, options: dict[str, Any]) -> None:
    data = EpisodeDataset(dataset, {"state": [0.0], "cam": [0.0]})
    expected = [data[numbers]["ts_ns"].tolist() for numbers in data.loader(4, seed=5).batches()]
    found = [[stamp for _, stamp in batch] for batch in seen(data.loader(4, seed=5, **options))]
    assert found == expected
    assert len(found) == 8
    assert len({item for batch in seen(data.loader(4, seed=5)) for item in batch}) == 32


def test_epochs_differ_and_no_seed_means_no_shuffling(dataset: Dataset) -> None:
    data = EpisodeDataset(dataset, {"state": [0.0]})
    loader = data.loader(33, seed=1)
    one, two = seen(loader), seen(loader)
    assert one != two
    assert sorted(one[0]) == sorted(two[0])
    assert loader.epoch == 2
    plain = seen(data.loader(33, seed=None))[0]
    assert plain == sorted(plain)
    assert len(seen(data.loader(10, drop_last=False))) == 4


def test_ranks_share_one_order_and_another_number_goes_on_with_it(dataset: Dataset) -> None:
    data = EpisodeDataset(dataset, {"state": [0.0]})
    alone = [item for batch in seen(data.loader(8, seed=3)) for item in batch]
    ranks = [seen(data.loader(4, seed=3, rank=rank, world=2)) for rank in range(2)]
    together = [item for batches in zip(*ranks, strict=True) for batch in batches for item in batch]
    assert together == alone
    first = data.loader(4, seed=3, rank=0, world=2)
    iterator = iter(first)
    next(iterator)
    next(iterator)
    state = first.state_dict()
    assert state == {"epoch": 0, "items": 16, "seed": 3}
    resumed = data.loader(8, seed=0)
    resumed.load_state_dict(state)
    assert [item for batch in seen(resumed) for item in batch] == alone[16:]
    with pytest.raises(WrongType, match="no whole number of batches"):
        data.loader(5).load_state_dict(state)
    with pytest.raises(WrongType):
        data.loader(5, rank=2, world=2)


def test_workers_that_read_ahead_do_not_move_the_place(dataset: Dataset) -> None:
    data = EpisodeDataset(dataset, {"state": [0.0]})
    loader = data.loader(4, seed=3, workers=2)
    whole = seen(data.loader(4, seed=3))
    iterator = iter(loader)
    for _ in range(3):
        next(iterator)
    state = loader.state_dict()
    del iterator
    again = data.loader(4, seed=3)
    again.load_state_dict(state)
    assert seen(again) == whole[3:]


def test_without_torch_the_error_says_what_to_install() -> None:
    script = "import sys; sys.modules['torch'] = None\ntry:\n    import playhead.train.episodes\nexcept ImportError as e: print(type(e).__name__, e)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert found.startswith(MissingExtra.__name__)
    assert "pip install 'playhead[torch]'" in found


def test_items_go_through_the_collation_of_pytorch(dataset: Dataset) -> None:
    data = EpisodeDataset(dataset, {"state": [0.0], "cam": [0.0]}, transform=lambda item: item | {"extra": 1})
    loader = torch.utils.data.DataLoader(data, batch_size=4)
    batch = next(iter(loader))
    assert batch["state"].shape == (4, 1, 2)
    assert batch["mask"]["cam"].shape == (4, 1)
    assert np.asarray(batch["extra"]).shape == (4,)
