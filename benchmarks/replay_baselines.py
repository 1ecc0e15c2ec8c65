"""What the replay lanes are measured against: HDF5 with gzip behind a thread, and SQLite with arrays as JSON."""

from __future__ import annotations

import json
import queue
import sqlite3
import threading
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from benchmarks.replay_games import Played

BATCH, CHUNK, SCALARS, LEVEL, QUEUE = 100, 100, 1_000, 4, 1_000


class GzipWriter:
    """Steps into an HDF5 file by a thread of its own: batches of 100, chunks of 100 frames, gzip at level 4."""

    COLUMNS: tuple[tuple[str, Any], ...] = (
        ("frames", np.uint8),
        ("observations", np.uint8),
        ("actions", np.int32),
        ("rewards", np.float32),
        ("dones", np.bool_),
    )

    def __init__(self, path: Path) -> None:
        self._file = h5py.File(path, "w")
        self._waiting: queue.Queue[tuple[Any, ...] | None] = queue.Queue(QUEUE)
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def record_step(self, frame: Any, observation: Any, action: int, reward: float, done: bool) -> None:
        self._waiting.put((frame.copy(), observation.copy(), action, reward, done))

    def _work(self) -> None:
        batch: list[tuple[Any, ...]] = []
        while (step := self._waiting.get()) is not None:
            batch.append(step)
            if len(batch) == BATCH:
                self._write(batch)
                batch = []
        if batch:
            self._write(batch)

    def _write(self, batch: list[tuple[Any, ...]]) -> None:
        for (name, dtype), values in zip(self.COLUMNS, zip(*batch, strict=True), strict=True):
            rows = np.asarray(values, dtype)
            dataset = self._file.get(name)
            if dataset is None:
                dataset = self._make(name, rows)
            dataset.resize(len(dataset) + len(rows), axis=0)
            dataset[-len(rows) :] = rows

    def _make(self, name: str, rows: NDArray[Any]) -> Any:
        shape, is_small = rows.shape[1:], rows.ndim == 1
        chunks = (SCALARS if is_small else CHUNK, *shape)
        options = {} if is_small else {"compression": "gzip", "compression_opts": LEVEL}
        return self._file.create_dataset(
            name, (0, *shape), rows.dtype, maxshape=(None, *shape), chunks=chunks, **options
        )

    def close(self) -> dict[str, int]:
        """Write everything; give the bytes of each dataset."""
        self._waiting.put(None)
        self._thread.join()
        sizes = {name: dataset.id.get_storage_size() for name, dataset in self._file.items()}
        self._file.close()
        return sizes


class JsonDatabase:
    """A row of SQLite for each step, its arrays as JSON lists in BLOBs."""

    _SCHEMA = """
        CREATE TABLE steps (
            episode_id TEXT, step_index INTEGER, action INTEGER, observation BLOB, render_payload BLOB, reward REAL,
            terminated INTEGER, truncated INTEGER, info BLOB, PRIMARY KEY (episode_id, step_index))
    """

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute(self._SCHEMA)

    def record(self, played: Played, count: int) -> None:
        """Write the first steps of a game, in one transaction for each batch."""
        for i in range(count):
            row = (
                played.game,
                i,
                played.actions[i],
                _blob(played.observations[i]),
                _blob(played.frames[i]),
                played.rewards[i],
                played.terminated[i],
                played.truncated[i],
                json.dumps(played.infos[i]).encode(),
            )
            self._connection.execute("INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            if i % BATCH == BATCH - 1:
                self._connection.commit()
        self._connection.commit()

    def load(self, game: str) -> tuple[NDArray[np.uint8], list[float], list[int]]:
        """Give frames, rewards and actions of an episode."""
        query = "SELECT render_payload, reward, action FROM steps WHERE episode_id = ? ORDER BY step_index"
        rows = self._connection.execute(query, (game,)).fetchall()
        frames = np.stack([np.array(json.loads(payload), np.uint8) for payload, _, _ in rows])
        return frames, [reward for _, reward, _ in rows], [action for _, _, action in rows]

    def close(self) -> None:
        self._connection.close()


def _blob(array: NDArray[Any]) -> bytes:
    return json.dumps(array.tolist()).encode()
