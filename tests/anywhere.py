"""A program that uses everything of a store in the folder that it is given, wherever that lies."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import playhead
from playhead import export, plots
from playhead.care import DAMAGE, verify
from playhead.episode import DiskEpisode
from playhead.export.film import to_film
from playhead.lanes.video.reader import VideoSignal
from tests.care import everything


def main(root: Path) -> None:
    """Record, read, check and change a store, and write what people make of one."""
    root.mkdir()
    everything.make(root / "store")
    with playhead.open(root / "store") as store:
        dataset = store.dataset("teleop")
        [unfinished] = dataset.unfinished
        unfinished.recover()
        assert len(dataset.reload()) == 3
        episode = dataset.by_uid("uid1")
        assert isinstance(episode, DiskEpisode)
        lengths = {name: len(signal) for name, signal in episode.signals.items()}
        assert lengths == {"joint": 120, "said": 120, "camera": 12}, lengths
        take_files(episode, root)
        make_tables(store, root)
        run = store.runs["run_a"]
        assert run.traces["fit"].seek(0)["w"].tolist() == [0.0, 1.0, 2.0]
        assert run.episodes[0]["observation"].values.shape[1:] == (6,)
        assert [image.path.is_file() for image in run.media] == [True]
        store.artifacts["policy:v1"].download(root / "got")
    assert playhead.rebuild(root / "store") == []
    assert not [finding for finding in verify(root / "store", full=True) if finding.severity == DAMAGE]


def take_files(episode: DiskEpisode, root: Path) -> None:
    """Write an episode as files, and read its video as one of another program."""
    export.to_parquet(episode, root / "out.parquet")
    plots.contact_sheet(episode, root / "sheet.png")
    to_film(episode, root / "film.mp4")
    shutil.copy(episode.path / "camera.mp4", root / "theirs.mp4")
    stamps = pa.table({"ts_ns": pa.array(episode["camera"].timestamps, pa.int64())})
    with pa.OSFile(os.fsencode(root / "theirs.parquet"), "wb") as file:
        pq.write_table(stamps, file)
    theirs = VideoSignal(root / "theirs.mp4", root / "theirs.parquet")
    assert theirs.values.shape == (12, 32, 32, 3)


def make_tables(store: playhead.Store, root: Path) -> None:
    """Make tables of all kinds of files."""
    rows = {"value": np.arange(10.0), "run_id": np.zeros(10, np.uint32), "step_index": np.arange(10, dtype=np.uint16)}
    batch = pa.table(rows)
    with pa.OSFile(os.fsencode(root / "rows.parquet"), "wb") as file:
        pq.write_table(batch, file)
    with pa.OSFile(os.fsencode(root / "rows.arrow"), "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_table(batch)
    np.savez(root / "rows.npz", **rows)
    for kind in ("parquet", "arrow", "npz"):
        table = store.tables.build(kind, root / f"rows.{kind}")
        assert table["value"].tolist() == list(range(10))
        table.append(root / f"rows.{kind}")
    playhead.Table.merge([table.path, table.path], root / "two")
    store.tables.build("joints", store.dataset("teleop"), columns=["joint"], rate=20)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
