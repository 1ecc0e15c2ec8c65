"""How often an episode waits for the disk: the same few times, however many files it has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import playhead
from playhead.episode import DiskEpisodeWriter
from playhead.testing import operations_of

SIGNALS = 5


def syncs(work: Callable[[], object]) -> int:
    return sum(operation.name == "fsync" for operation in operations_of(work))


def record(writer: DiskEpisodeWriter, signals: int) -> None:
    writer.set_static("task", "stack")
    for stamp in range(20):
        for signal in range(signals):
            writer.append(f"joint{signal}", float(stamp), stamp)


@pytest.mark.parametrize("signals", [1, SIGNALS])
def test_closing_an_episode_is_one_round_of_syncs(tmp_path: Path, signals: int) -> None:
    writer = DiskEpisodeWriter(tmp_path / "e")
    record(writer, signals)
    assert 0 < syncs(writer.close) <= 3


@pytest.mark.parametrize("signals", [1, SIGNALS])
def test_a_short_episode_of_a_store_waits_three_times_in_all(store: playhead.Store, signals: int) -> None:
    store.dataset("d").new_episode().close()  # makes the folder of the dataset

    def one() -> None:
        with store.dataset("d").new_episode() as writer:
            record(writer, signals)

    assert 0 < syncs(one) <= 3


def test_many_episodes_wait_once_for_all(store: playhead.Store, tmp_path: Path) -> None:
    def stored() -> None:
        for _ in range(4):
            with store.dataset("d").new_episode(sync=False) as writer:
                record(writer, SIGNALS)

    store.dataset("d").new_episode(sync=False).close()  # makes the folder of the dataset, and notes that such follow
    assert syncs(stored) == 0
    assert syncs(store.dataset("d").sync) == 2  # for all files, and for the note of that
    assert len(store.dataset("d")) == 5

    def in_a_folder() -> None:
        with playhead.LocalDatasetWriter(tmp_path / "folder", sync=False) as writer:
            for _ in range(4):
                with writer.new_episode() as episode:
                    record(episode, 1)

    assert syncs(in_a_folder) <= 4  # two for the note that such follow, then as above
    assert len(playhead.LocalDataset(tmp_path / "folder")) == 4
